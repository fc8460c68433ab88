"""Read joints with their friction, bodies, poses and the platform of a machine file."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from scipy.spatial.transform import Rotation

from pkm_description.arrays import Array
from pkm_description.errors import FrictionLawError
from pkm_description.friction_laws import FrictionLaw, ViscousCoulomb
from pkm_description.friction_laws.law import SLIDING_LEVELS
from pkm_description.friction_laws.laws import friction_law, friction_law_class
from pkm_description.loading.checks import check_inertia
from pkm_description.loading.yaml_reader import Section
from pkm_description.machine import Freedom, Joint, JointFriction, JointLimits, Pose, RigidBody
from pkm_description.machine.parts import INERTIA_ENTRIES, Placement, inertia_tensor

BODY_KEYS = ('mass', 'center_of_mass', 'inertia')

#: rad; what is larger was meant in degrees
LARGEST_ANGLE = 2.0 * np.pi
_SIMPLE = ('revolute', 'prismatic')
#: kinds of joints that are made of several, and the ends of the names of these
_PARTS = {'universal': ('1', '2'), 'spherical': ('1', '2', '3'), 'cylindrical': ('slide', 'turn')}
_COMPOSED = tuple(_PARTS)


@dataclass(frozen=True)
class LegPlace:
    """One of the legs that share a chain.

    Attributes
    ----------
    leg : name
    index, count : of the leg among those that use its chain
    base : the leg's base frame in ``base_link``
    """

    leg: str
    index: int
    count: int
    base: Placement


def read_joints(sections: dict[str, Section], place: LegPlace) -> tuple[Joint, ...]:
    """Joints of a leg, from base to platform.

    Raises
    ------
    MachineFileError
        Naming file, key, value and what to do.
    """
    joints: list[Joint] = []
    bodies: list[str] = []
    for name, section in sections.items():
        read = read_joint(name, section, place, bodies)
        bodies.append(section.content['body']['name'])
        joints += read
    return tuple(joints)


def read_joint(name: str, section: Section, place: LegPlace, bodies: list[str]) -> list[Joint]:
    """One joint of the file, as the revolute and prismatic joints that it is made of.

    Parameters
    ----------
    bodies : names of the bodies before it, as the file has them
    """
    kind = section.content.get('type')
    if kind in _COMPOSED and 'actuated' in section.content:
        reason = f'a {kind} joint is passive; write it as revolute and prismatic joints, and drive one of them'
        raise section.error('actuated', section.content['actuated'], reason)
    needed = ['axes' if kind == 'universal' else 'axis', 'origin', 'body']
    optional = ['actuated', 'limits', 'friction', 'home', 'rotor_inertia', 'parent']
    if kind in _COMPOSED:
        optional = ['home', 'parent', *(f'friction_{suffix}' for suffix in _PARTS[kind])]
        optional += [] if kind == 'cylindrical' else ['limits', 'friction']
    section.expect_keys(['type', *needed], optional)
    kind = section.text('type')
    if kind not in (*_SIMPLE, *_COMPOSED):
        raise section.error(
            'type', kind, "choose 'revolute' or 'prismatic'; or 'universal', 'spherical', 'cylindrical', made of them"
        )
    parent = _parent(section, bodies)
    origin = _origin(section, place)
    if not bodies or parent == 'base_link':
        origin = place.base @ origin
    body_section = section.section('body')
    body_section.expect_keys(['name', *BODY_KEYS])
    body = read_body(body_section, f'{place.leg}_{body_section.identifier("name")}', place.index, place.count)
    if kind in _COMPOSED:
        joints = _composed(kind, name, section, place, body)
    else:
        joints = [_simple(kind, name, section, place, body)]
    link = parent if parent in ('', 'base_link') else f'{place.leg}_{parent}'
    first = replace(joints[0], translation=origin.position, rotation_parent_joint=origin.rotation, parent=link)
    return [first, *joints[1:]]


def _parent(section: Section, bodies: list[str]) -> str:
    """Name of the body that carries the joint, as the file has it; empty: the one before."""
    if 'parent' not in section.content:
        return ''
    parent = section.text('parent')
    if parent not in ('base_link', *bodies):
        known = ', '.join(['base_link', *bodies])
        raise section.error('parent', parent, f'is no body that stands before this joint; choose one of: {known}')
    return parent


def _origin(section: Section, place: LegPlace) -> Placement:
    origin = section.section('origin')
    origin.expect_keys(['xyz', 'rpy'])
    position = origin.vector_per_leg('xyz', 3, place.count)[place.index]
    return Placement(position, read_rotation(origin, 'rpy', place.index, place.count))


def _simple(kind: str, name: str, section: Section, place: LegPlace, body: RigidBody) -> Joint:
    actuated = section.flag('actuated', False)
    if actuated and 'limits' not in section.content:
        raise section.error('limits', None, 'is missing; a driven joint needs lower, upper, velocity and effort')
    limits = _limits(section, place, actuated) if 'limits' in section.content else JointLimits()
    return Joint(
        name=f'{place.leg}_{name}',
        kind=kind,
        axis=read_axis(section, 'axis', section.vector('axis', 3)),
        translation=np.zeros(3),
        rotation_parent_joint=np.eye(3),
        actuated=actuated,
        limits=limits,
        friction=_friction(section, place, limits),
        body=body,
        home=_home(section, kind, limits, place),
        rotor_inertia=float(section.per_leg('rotor_inertia', place.count, 0.0, least=0.0)[place.index]),
    )


def _composed(kind: str, name: str, section: Section, place: LegPlace, body: RigidBody) -> list[Joint]:
    """Joints of a universal (two turns), spherical (three) or cylindrical one (slide, turn), massless between them."""
    limits = _limits(section, place, False) if 'limits' in section.content else JointLimits()
    common = _friction(section, place, limits)
    kinds: list[tuple[str, Array, JointLimits]]
    if kind == 'cylindrical':
        axis = read_axis(section, 'axis', section.vector('axis', 3))
        kinds = [('prismatic', axis, JointLimits()), ('revolute', axis, JointLimits())]
    elif kind == 'universal':
        first, second = _universal_axes(section)
        kinds = [('revolute', first, limits), ('revolute', second, limits)]
    else:
        # the turn about the axis comes last: the first two tilt it, and it may be idle
        axis = read_axis(section, 'axis', section.vector('axis', 3))
        first = _across(axis)
        kinds = [
            ('revolute', first, limits), ('revolute', np.cross(axis, first), limits), ('revolute', axis, JointLimits())
        ]  # fmt: skip
    homes = np.zeros(len(kinds))
    if 'home' in section.content:
        homes = section.vector_per_leg('home', len(kinds), place.count)[place.index]
    joints = []
    for number, (suffix, (part_kind, axis, own_limits)) in enumerate(zip(_PARTS[kind], kinds, strict=True)):
        last = number == len(kinds) - 1
        own = f'friction_{suffix}'
        friction = _friction(section, place, limits, own) if own in section.content else common
        joints.append(
            Joint(
                name=f'{place.leg}_{name}_{suffix}', kind=part_kind, axis=axis, translation=np.zeros(3),
                rotation_parent_joint=np.eye(3), actuated=False, limits=own_limits, friction=friction,
                body=body if last else RigidBody(f'{body.name}_{name}_{suffix}'), home=float(homes[number]),
                part_of=f'{place.leg}_{name}',
            )
        )  # fmt: skip
    return joints


def _universal_axes(section: Section) -> tuple[Array, Array]:
    parts = section.entries('axes', 2, 'the two axes of the joint, each of three numbers')
    first, second = (read_axis(parts, key, parts.vector(key, 3)) for key in parts.content)
    if abs(first @ second) > 1e-9:
        reason = f'must be perpendicular; the cosine between them is {first @ second:.6g}'
        raise section.error('axes', section.content['axes'], reason)
    return first, second


def _across(axis: Array) -> Array:
    """A unit vector across an axis: the coordinate axis that is farthest from it, made perpendicular."""
    unit = np.eye(3)[int(np.argmin(np.abs(axis)))]
    across: Array = unit - (unit @ axis) * axis
    return across / np.linalg.norm(across)


def read_axis(section: Section, key: str, axis: Array) -> Array:
    """Refuse an axis (3,) that is no unit vector."""
    if abs(np.linalg.norm(axis) - 1.0) > 1e-9:
        raise section.error(key, axis.tolist(), f'must be a unit vector; its length is {np.linalg.norm(axis):.6g}')
    return axis


def _friction(section: Section, place: LegPlace, limits: JointLimits, key: str = 'friction') -> JointFriction:
    if key not in section.content:
        return JointFriction()
    return read_friction(section.section(key), place.index, place.count, limits.velocity)


def _home(section: Section, kind: str, limits: JointLimits, place: LegPlace) -> float:
    """Joint position at home; where the file is silent, zero, or the middle of a prismatic joint's stroke."""
    middle = 0.5 * (limits.lower + limits.upper)
    default = middle if kind == 'prismatic' and np.isfinite(middle) else 0.0
    home = float(section.per_leg('home', place.count, default)[place.index])
    if kind == 'revolute' and abs(home) > LARGEST_ANGLE:
        raise section.error('home', home, 'looks like degrees; give rad')
    return home


def _limits(section: Section, place: LegPlace, actuated: bool) -> JointLimits:
    part, keys = section.section('limits'), ['lower', 'upper', 'velocity', 'effort']
    part.expect_keys(keys if actuated else [], [] if actuated else keys)
    index, count = place.index, place.count
    bounds = {'lower': (-np.inf, None), 'upper': (np.inf, None), 'velocity': (np.inf, 0.0), 'effort': (np.inf, 0.0)}
    limits = JointLimits(*(float(part.per_leg(key, count, *bound)[index]) for key, bound in bounds.items()))
    if not limits.lower < limits.upper:
        raise part.error('upper', limits.upper, f'must be greater than lower = {limits.lower}')
    if section.content['type'] != 'prismatic':
        for key, value in (('lower', limits.lower), ('upper', limits.upper)):
            if np.isfinite(value) and abs(value) > LARGEST_ANGLE:
                raise part.error(key, value, 'looks like degrees; give rad')
    return limits


def read_friction(section: Section, index: int, count: int, speed: float = np.inf) -> JointFriction:
    """Friction of one leg's joint.

    Parameters
    ----------
    section : the mapping below ``friction:``
    index, count : leg, and number of legs
    speed : m/s or rad/s, limit of the joint's velocity; up to there ``viscous`` and ``coulomb`` are nearest to a law

    Raises
    ------
    MachineFileError
        Unknown law or key, a parameter that is missing or that the law does not take, static below Coulomb friction.
    """
    if 'law' not in section.content:
        section.expect_keys([], ['viscous', 'coulomb', 'offset'])
        viscous, coulomb = (section.per_leg(key, count, 0.0, least=0.0)[index] for key in ('viscous', 'coulomb'))
        offset = float(section.per_leg('offset', count, 0.0)[index])
        return JointFriction(ViscousCoulomb(viscous=float(viscous), coulomb=float(coulomb), offset=offset), speed)
    return JointFriction(_read_law(section, index, count), speed)


def _read_law(section: Section, index: int, count: int) -> FrictionLaw:
    try:
        kind = friction_law_class(section.content['law'])
        numbers = [item.name for item in dataclasses.fields(kind) if item.metadata['role'] not in ('option', 'sign')]
        numbers.append('sign_width')
        # the law itself says which keys and numbers it does not take
        one_leg = {
            key: float(section.per_leg(key, count)[index]) if key in numbers else value
            for key, value in section.content.items()
        }
        law = friction_law(one_leg)
    except FrictionLawError as error:
        value = section.content.get(error.key)
        one_of_list = isinstance(value, list) and error.value is not value
        key = f'{error.key}[{index}]' if one_of_list else error.key
        raise section.error(key, error.value, error.reason) from None
    _require_static_above_coulomb(section, law, index)
    return law


def _require_static_above_coulomb(section: Section, law: FrictionLaw, index: int) -> None:
    """Identified laws may have it the other way round; in a file it is a mix-up of two numbers."""
    for static, coulomb in SLIDING_LEVELS.items():
        low, high = getattr(law, static, None), getattr(law, coulomb, None)
        if low is not None and high is not None and low < high:
            key = f'{static}[{index}]' if isinstance(section.content[static], list) else static
            raise section.error(
                key, low,
                f'is below {coulomb} = {high:g}, but friction at rest is at least that of motion; exchange them, or '
                'choose a law without a static level (viscous_coulomb)',
            )  # fmt: skip


def read_platform(top: Section) -> tuple[Freedom, Pose, RigidBody]:
    """Freedom, home and body of the platform; of an open chain, which has none, a body without mass."""
    if 'platform' not in top.content:
        return 'none', Pose(np.zeros(3), np.eye(3)), RigidBody('')
    platform = top.section('platform')
    platform.expect_keys(['link', 'home', 'body'], ['freedom'])
    freedom = platform.text('freedom', 'free')
    if freedom not in ('free', 'planar'):
        raise platform.error('freedom', freedom, "choose 'free' or 'planar'")
    body = platform.section('body')
    body.expect_keys(BODY_KEYS)
    place = platform.section('home')
    place.expect_keys(['xyz', 'rpy'])
    home = Pose(place.vector('xyz', 3), read_rotation(place, 'rpy'))
    return cast(Freedom, freedom), home, read_body(body, platform.identifier('link'), 0, 1)


def read_body(section: Section, name: str, index: int, count: int) -> RigidBody:
    """Body of one leg (or the platform: index 0 of 1); a number may be a list with one entry per leg."""
    inertia = section.section('inertia')
    inertia.expect_keys(INERTIA_ENTRIES)
    tensor = inertia_tensor(float(inertia.per_leg(key, count)[index]) for key in INERTIA_ENTRIES)
    check_inertia(section, tensor)
    # lighter bodies are dropped or refused by simulators that read the exports
    mass = float(section.per_leg('mass', count, least=1e-3)[index])
    return RigidBody(name, mass, section.vector_per_leg('center_of_mass', 3, count)[index], tensor)


def read_rotation(section: Section, key: str, index: int = 0, count: int = 1) -> Array:
    """Rotation matrix (3, 3) of roll, pitch and yaw at ``key``, of one leg where there are several."""
    angles = section.vector(key, 3) if count == 1 else section.vector_per_leg(key, 3, count)[index]
    if np.abs(angles).max() > LARGEST_ANGLE:
        raise section.error(key, angles.tolist(), 'looks like degrees; roll, pitch, yaw are given in rad')
    # not matrix_from_rpy: its last bits differ, and with them those of all recorded estimates
    return Rotation.from_euler('xyz', angles).as_matrix()
