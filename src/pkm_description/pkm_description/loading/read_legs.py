"""Read the legs of a machine file."""

from __future__ import annotations

import numpy as np

from pkm_description.arrays import Array
from pkm_description.loading.read_friction import read_friction
from pkm_description.loading.read_parts import BODY_KEYS, LARGEST_ANGLE, read_body, read_rotation
from pkm_description.loading.yaml_reader import Section
from pkm_description.machine import Joint, JointFriction, JointLimits, Leg


def read_legs(top: Section) -> tuple[Leg, ...]:
    """Legs of the whole file, in its order."""
    instances, chain = top.section('legs').named_sections(), top.section('leg_chain').named_sections()
    count = len(instances)
    if count == 0:
        raise top.error('legs', {}, 'a parallel machine needs legs; add leg1, leg2, ...')
    if not chain:
        raise top.error('leg_chain', {}, 'a leg needs joints; add them from base to platform')
    for section in chain.values():
        section.expect_keys(
            ['type', 'axis', 'origin', 'body'], ['actuated', 'limits', 'friction', 'home', 'rotor_inertia']
        )
    closed = 'platform' in top.content
    tips = top.vector_per_leg('leg_tip', 3, count) if closed else np.zeros((count, 3))
    cones = _ball_cones(top, count)
    closure_kind = 'pin' if closed and top.content['platform'].get('freedom') == 'planar' else 'ball'
    platform = top.content['platform']['link'] if closed else ''
    legs = []
    for index, (name, instance) in enumerate(instances.items()):
        instance.expect_keys(['base_point', 'base_rpy', *(['platform_point'] if closed else [])])
        base_rotation = read_rotation(instance, 'base_rpy')
        joints = []
        for place, (joint_name, section) in enumerate(chain.items()):
            origin = section.section('origin')
            origin.expect_keys(['xyz', 'rpy'])
            translation, rotation = origin.vector_per_leg('xyz', 3, count)[index], read_rotation(origin, 'rpy')
            if place == 0:
                translation = instance.vector('base_point', 3) + base_rotation @ translation
                rotation = base_rotation @ rotation
            joints.append(_joint(section, name, joint_name, index, count, translation, rotation))
        leg = Leg(name, tuple(joints))
        if closed:
            point = instance.vector('platform_point', 3)
            leg = Leg.to_platform(name, leg.joints, closure_kind, tips[index], platform, point, float(cones[index]))
        legs.append(leg)
    return tuple(legs)


def _ball_cones(top: Section, count: int) -> Array:
    """Largest tilt of the ball joints (count,) rad; infinite where the file gives none."""
    if 'ball_joint' not in top.content:
        return np.full(count, np.inf)
    section = top.section('ball_joint')
    section.expect_keys(['cone'])
    if top.section('platform').content.get('freedom') == 'planar':
        raise top.error('ball_joint', section.content, 'planar machines end in pins, not in ball joints; leave it out')
    cones = section.per_leg('cone', count, above=0.0)
    if cones.max() > np.pi:
        raise section.error('cone', float(cones.max()), 'looks like degrees; give rad, at most pi')
    return cones


def _joint(
    section: Section, leg: str, name: str, index: int, count: int, translation: Array, rotation: Array
) -> Joint:
    kind = section.text('type')
    if kind not in ('revolute', 'prismatic'):
        raise section.error('type', kind, "choose 'revolute' or 'prismatic'")
    axis = section.vector('axis', 3)
    if abs(np.linalg.norm(axis) - 1.0) > 1e-9:
        raise section.error('axis', axis.tolist(), f'must be a unit vector; its length is {np.linalg.norm(axis):.6g}')
    actuated = section.flag('actuated', False)
    if actuated and 'limits' not in section.content:
        raise section.error('limits', None, 'is missing; a driven joint needs lower, upper, velocity and effort')
    body = section.section('body')
    body.expect_keys(['name', *BODY_KEYS])
    limits = _limits(section, index, count, actuated) if 'limits' in section.content else JointLimits()
    friction = JointFriction()
    if 'friction' in section.content:
        friction = read_friction(section.section('friction'), index, count, limits.velocity)
    return Joint(
        name=f'{leg}_{name}',
        kind=kind,
        axis=axis,
        translation=translation,
        rotation_parent_joint=rotation,
        actuated=actuated,
        limits=limits,
        friction=friction,
        body=read_body(body, f'{leg}_{body.identifier("name")}', index, count),
        home=_home(section, kind, limits, index, count),
        rotor_inertia=float(section.per_leg('rotor_inertia', count, 0.0, least=0.0)[index]),
    )


def _home(section: Section, kind: str, limits: JointLimits, index: int, count: int) -> float:
    """Joint position at home; where the file is silent, zero, or the middle of a prismatic joint's stroke."""
    middle = 0.5 * (limits.lower + limits.upper)
    default = middle if kind == 'prismatic' and np.isfinite(middle) else 0.0
    home = float(section.per_leg('home', count, default)[index])
    if kind == 'revolute' and abs(home) > LARGEST_ANGLE:
        raise section.error('home', home, 'looks like degrees; give rad')
    return home


def _limits(section: Section, index: int, count: int, actuated: bool) -> JointLimits:
    part, keys = section.section('limits'), ['lower', 'upper', 'velocity', 'effort']
    part.expect_keys(keys if actuated else [], [] if actuated else keys)
    limits = JointLimits(
        lower=float(part.per_leg('lower', count, -np.inf)[index]),
        upper=float(part.per_leg('upper', count, np.inf)[index]),
        velocity=float(part.per_leg('velocity', count, np.inf, above=0.0)[index]),
        effort=float(part.per_leg('effort', count, np.inf, above=0.0)[index]),
    )
    if not limits.lower < limits.upper:
        raise part.error('upper', limits.upper, f'must be greater than lower = {limits.lower}')
    if section.content['type'] == 'revolute':
        for key, value in (('lower', limits.lower), ('upper', limits.upper)):
            if np.isfinite(value) and abs(value) > LARGEST_ANGLE:
                raise part.error(key, value, 'looks like degrees; give rad')
    return limits
