"""Elements of an SDF file: links, joints, frames, sensors, visuals."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from xml.etree.ElementTree import Element, SubElement

import numpy as np

from pkm_description.arrays import Array
from pkm_description.errors import PkmError
from pkm_description.export.drawing import COLORS, Bar
from pkm_description.export.sdf_systems import GazeboVersion
from pkm_description.export.texts import SMALL_MASS, numbers
from pkm_description.kinematics.rotation_formats import quaternion_from_rotation
from pkm_description.loading.checks import exported_names
from pkm_description.machine import ImuSensor, Joint, Machine, RigidBody
from pkm_description.machine.machine import ClosureEnd, closure_ends, with_joints
from pkm_description.machine.parts import INERTIA_ENTRIES, unit_inertia

#: share of a body's mass that each link gets first: much lighter ones make the equations of motion worse conditioned
_FIRST_SHARE = 1e-3

#: below this mass [kg] physics engines and converters take a link for massless
_LEAST_MASS = 1e-5

#: kg m^2 of bodies without mass
_SMALL_INERTIA = 1e-7
#: of our own elements in the SDF, which Gazebo hands on without looking at them
PKM_NAMESPACE = 'urn:pkm-suite:sdf:1'


def add_pose(element: Element, position: Array, rotation: Array | None = None, relative_to: str = '') -> None:
    """Pose with a quaternion: exact where roll, pitch and yaw lose digits."""
    attributes = {'relative_to': relative_to} if relative_to else {}
    if rotation is None:
        SubElement(element, 'pose', attributes).text = numbers(position, [0.0, 0.0, 0.0])
    else:
        attributes['rotation_format'] = 'quat_xyzw'
        SubElement(element, 'pose', attributes).text = numbers(position, quaternion_from_rotation(rotation))


def add_link(model: Element, name: str, pose: tuple[Array, Array] | None, relative_to: str = 'base_link') -> Element:
    """Link at a pose (position (3,) m, rotation (3, 3)) in another frame."""
    link = SubElement(model, 'link', name=name)
    if pose is not None:
        add_pose(link, *pose, relative_to=relative_to)
    return link


def add_frame(model: Element, name: str, link: str, position: Array, rotation: Array | None = None) -> None:
    """Named frame fixed to a link."""
    add_pose(SubElement(model, 'frame', name=name, attached_to=link), position, rotation)


def add_inertial(link: Element, body: RigidBody) -> None:
    """Mass, centre of mass and inertia about it, in link axes."""
    inertial = SubElement(link, 'inertial')
    add_pose(inertial, body.center_of_mass)
    SubElement(inertial, 'mass').text = numbers([body.mass])
    inertia = SubElement(inertial, 'inertia')
    for key, place in INERTIA_ENTRIES.items():
        SubElement(inertia, key).text = numbers([body.inertia[place]])


def add_joint(model: Element, name: str, kind: str, parent: str, child: str) -> Element:
    """Joint in the origin of the child's frame."""
    joint = SubElement(model, 'joint', name=name, type=kind)
    SubElement(joint, 'parent').text = parent
    SubElement(joint, 'child').text = child
    return joint


def add_axis(element: Element, joint: Joint, start: float) -> None:
    """Axis, limits and friction of a leg joint whose zero in Gazebo is its position at the start [rad, m]."""
    axis = SubElement(element, 'axis')
    SubElement(axis, 'xyz').text = numbers(joint.axis)
    limits, losses = joint.limits, joint.friction
    limit = SubElement(axis, 'limit')
    # both are always written: some versions take absent bounds for zero
    SubElement(limit, 'lower').text = numbers([max(limits.lower - start, -1e16)])
    SubElement(limit, 'upper').text = numbers([min(limits.upper - start, 1e16)])
    if np.isfinite(limits.effort):
        SubElement(limit, 'effort').text = numbers([limits.effort])
    if np.isfinite(limits.velocity):
        SubElement(limit, 'velocity').text = numbers([limits.velocity])
    dynamics = SubElement(axis, 'dynamics')
    SubElement(dynamics, 'damping').text = numbers([losses.viscous])
    SubElement(dynamics, 'friction').text = numbers([losses.coulomb])
    SubElement(element, 'pkm:start_position').text = numbers([start])
    if joint.rotor_inertia:
        SubElement(element, 'pkm:rotor_inertia').text = numbers([joint.rotor_inertia])


def add_imu(link: Element, imu: ImuSensor, topic: str, version: GazeboVersion, frame_prefix: str = '') -> None:
    """Inertial measurement unit with its noise and bias, without the orientation that a real one does not know.

    The bias is written as mean of the noise: that of Gazebo's ``bias_mean`` gets a random sign in every run.
    """
    visuals = [str(visual.get('name')) for visual in link.findall('visual')]
    sensor = SubElement(link, 'sensor', name=unused_name(imu.frame, visuals, '_sensor'), type='imu')
    add_pose(sensor, imu.position, imu.rotation_platform_imu)
    SubElement(sensor, 'always_on').text = '1'
    SubElement(sensor, 'update_rate').text = numbers([imu.rate])
    SubElement(sensor, 'topic').text = topic
    SubElement(sensor, version.sensor_frame).text = f'{frame_prefix}{imu.frame}'
    element = SubElement(sensor, 'imu')
    SubElement(element, 'enable_orientation').text = '0'
    for key, noise, bias in (
        ('angular_velocity', imu.gyroscope_noise, imu.gyroscope_bias),
        ('linear_acceleration', imu.accelerometer_noise, imu.accelerometer_bias),
    ):
        quantity = SubElement(element, key)
        for axis, std, offset in zip('xyz', noise, bias, strict=True):
            one = SubElement(SubElement(quantity, axis), 'noise', type='gaussian')
            SubElement(one, 'mean').text = numbers([offset])
            SubElement(one, 'stddev').text = numbers([std])


def add_visuals(link: Element, bars: list[Bar]) -> None:
    """Bars as cylinders; nothing collides."""
    for number, bar in enumerate(bars, start=1):
        visual = SubElement(link, 'visual', name=f'bar{number}')
        add_pose(visual, bar.place.position, bar.place.rotation)
        cylinder = SubElement(SubElement(visual, 'geometry'), 'cylinder')
        SubElement(cylinder, 'radius').text = numbers([bar.radius])
        SubElement(cylinder, 'length').text = numbers([bar.length])
        material = SubElement(visual, 'material')
        for key in ('ambient', 'diffuse'):
            SubElement(material, key).text = COLORS[bar.color]


def unused_name(wanted: str, taken: Collection[str], suffix: str) -> str:
    """The wanted name, with the suffix as often as it takes to differ from all others."""
    while wanted in taken:
        wanted += suffix
    return wanted


def with_unique_links(machine: Machine) -> Machine:
    """The machine with other names for leg bodies that are called like a joint, or like what the exporter adds.

    Joints keep their names, because commands and joint states use them; a link ``leg1_slide`` beside a joint
    ``leg1_slide`` becomes ``leg1_slide_link``. That no joint is called like a frame is checked when a file is loaded.
    """
    fixed = exported_names(machine) | set(machine.joint_names)
    bodies = {joint.body.name for leg in machine.legs for joint in leg.joints}

    names = {}
    for joint in machine.joints:
        if joint.body.name in fixed:
            names[joint.body.name] = unused_name(joint.body.name, fixed | bodies, '_link')
            bodies.add(names[joint.body.name])
    return replace(machine, legs=tuple(leg.with_body_names(names) for leg in machine.legs))


class ExportError(PkmError):
    """A machine that the format cannot hold."""


def with_least_masses(machine: Machine) -> Machine:
    """The machine as SDF has it: bodies without mass get a little, because engines take no others."""
    return with_joints(
        machine, lambda joint: joint if joint.body.mass > 0.0 else replace(joint, body=_small(joint.body.name))
    )


def moving_bodies(machine: Machine) -> list[RigidBody]:
    """Leg bodies, and the platform where there is one."""
    return [joint.body for joint in machine.joints] + ([machine.platform] if machine.has_platform else [])


def welded_ends(machine: Machine) -> list[ClosureEnd]:
    """Closures that are closed by welds: all but the first on the platform, whose joint carries the platform."""
    ends = closure_ends(machine)
    carrier = next((end for end in ends if end.closure.other == machine.platform.name), None)
    return [end for end in ends if end is not carrier]


def split_bodies(
    machine: Machine, ends: Sequence[ClosureEnd]
) -> tuple[dict[str, RigidBody], dict[str, RigidBody]]:
    """Take a small body out of what each closure holds.

    Welded to it again, they give the machine file's bodies: mass, centre of mass and inertia.

    Returns
    -------
    bodies : link name -> what is left of a body
    small : closure name -> small body, its frame that of the closure on the other body

    Raises
    ------
    ExportError
        A body's inertia is too small to take anything away (or it is flat and the legs end above it).
    """
    bodies = {body.name: body for body in moving_bodies(machine)}
    small: dict[str, RigidBody] = {}
    for name in {end.closure.other: None for end in ends}:
        held = [end for end in ends if end.closure.other == name]
        if name == 'base_link':
            small |= {end.closure.name: _small(end.link) for end in held}
            continue
        bodies[name], taken = _split(machine, bodies[name], held)
        small |= taken
    return bodies, small


def _small(name: str) -> RigidBody:
    return RigidBody(name, SMALL_MASS, np.zeros(3), _SMALL_INERTIA * np.eye(3))


def _split(machine: Machine, body: RigidBody, ends: Sequence[ClosureEnd]) -> tuple[RigidBody, dict[str, RigidBody]]:
    share = _FIRST_SHARE
    while (mass := share * body.mass) > _LEAST_MASS:
        # like the body's, so that a flat plate stays one
        inertia = 0.1 * share * body.inertia
        rest = _without(body, np.array([end.closure.other_point for end in ends]), mass, inertia)
        if _is_physical(rest):
            small = {}
            for end in ends:
                turn = end.closure.rotation_other
                small[end.closure.name] = RigidBody(end.link, mass, np.zeros(3), turn.T @ inertia @ turn)
            return rest, small
        share *= 0.1
    what = 'the platform' if body.name == machine.platform.name else body.name
    raise ExportError(
        f'{machine.name}: {what} ({body.mass:g} kg) has too little inertia for the links that '
        "detachable joints need; choose loop 'native'"
    )


def _without(body: RigidBody, points: Array, mass: float, inertia: Array) -> RigidBody:
    """A body without small ones of a mass [kg] and inertia (3, 3) in points (K, 3) m."""
    left = body.mass - mass * len(points)
    center = (body.mass * body.center_of_mass - mass * points.sum(axis=0)) / left
    tensor = body.inertia + body.mass * unit_inertia(body.center_of_mass)
    tensor = tensor - len(points) * inertia - mass * sum((unit_inertia(point) for point in points), np.zeros((3, 3)))
    return RigidBody(body.name, left, center, tensor - left * unit_inertia(center))


def _is_physical(body: RigidBody) -> bool:
    """Some distribution of positive mass has this inertia; a flat plate is the limit."""
    principal = np.linalg.eigvalsh(body.inertia)
    flat = principal[0] + principal[1]
    return bool(body.mass > 0.0 and principal[0] > 0.0 and principal[2] <= flat * (1.0 + 1e-9))
