"""Gazebo model (SDF 1.9) of a machine, written from the machine file's data.

SDF places links by their poses, and joint position zero is where they are placed. Loops can only be closed between
links that stand right, so the links stand where the machine starts, at home or elsewhere: **Gazebo's joint positions
count from there**. Each joint carries its own position at the start as ``pkm:start_position``; limits are shifted
accordingly.

Gazebo's physics gives a link one parent joint. Two ways to close the loops all the same:

- ``detachable`` (Fortress with ignition-physics 5.2 or newer, and all later releases): the first closure on the
  platform carries it, every other closure ends in a small link that the DetachableJoint system welds to the platform
  (or to what else the closure holds) when the simulation starts. Each is a part of the body that it is welded to, with
  its centre of mass and a share of mass and inertia, so that the closed machine is the file's.
- ``native``: the platform is the child of every closing joint. Valid SDF, but engines refuse it up to gz-physics 9
  (gz-physics pull request 987 will take it).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import pairwise
from xml.etree.ElementTree import Comment, Element, SubElement

import numpy as np

from pkm_description.arrays import Array
from pkm_description.export.drawing import (
    COLORS,
    Bar,
    base_joint_points,
    drawing_size,
    leg_bars,
    platform_joint_points,
    rail,
    ring,
)
from pkm_description.export.rest import RestConfiguration, start_configuration
from pkm_description.export.sdf_systems import GazeboVersion, SdfOptions, add_model_systems, add_weld, add_world_systems
from pkm_description.export.texts import SMALL_MASS, add_provenance, numbers, xml_text
from pkm_description.kinematics.arguments import require_machine
from pkm_description.kinematics.rotation import matrix_from_rpy, quaternion_from_matrix
from pkm_description.loading.checks import exported_names
from pkm_description.machine import Closure, ImuSensor, Joint, Leg, Machine, RigidBody
from pkm_description.machine.machine import ClosureEnd, closure_ends, joined, with_joints
from pkm_description.machine.parts import INERTIA_ENTRIES

_KINDS = {'ball': 'ball', 'pin': 'revolute', 'universal': 'universal', 'fixed': 'fixed'}


def sdf_text(machine: Machine, options: SdfOptions | None = None) -> str:
    """Write the machine as SDF.

    Raises
    ------
    KinematicsError
        The loops cannot be closed where the machine shall start.
    """
    require_machine(machine)
    options = options or SdfOptions()
    given, machine = machine, with_unique_links(machine)
    root = Element('sdf', {'version': '1.9', 'xmlns:pkm': PKM_NAMESPACE})
    if options.world:
        parent = SubElement(root, 'world', name=options.world_name)
        _add_physics(parent, machine, options)
        add_world_systems(parent, options.version)
    else:
        parent = root
        root.append(Comment(' the world needs the systems physics and imu, and the pgs solver: see option world '))
    _add_model(parent, machine, options)
    add_provenance(root, given, 'sdf')
    return xml_text(root)


def _add_physics(world: Element, machine: Machine, options: SdfOptions) -> None:
    taken = [options.model_name_of(machine)]
    physics = SubElement(world, 'physics', name=unused_name('dart', taken, '_engine'), type='dart')
    SubElement(physics, 'max_step_size').text = numbers([options.time_step])
    SubElement(physics, 'real_time_factor').text = '1.0'
    # the default solver (dantzig) crashes on redundant loops, gz-physics issue 719
    SubElement(SubElement(SubElement(physics, 'dart'), 'solver'), 'solver_type').text = 'pgs'
    # the file's gravity is in axes of the base
    rotation_world_base = matrix_from_rpy(np.array(options.base_pose[3:]))
    SubElement(world, 'gravity').text = numbers(rotation_world_base @ machine.gravity)
    light = SubElement(world, 'light', name=unused_name('sun', taken, '_light'), type='directional')
    SubElement(light, 'pose').text = '0 0 10 0 0 0'
    SubElement(light, 'direction').text = '-0.4 0.2 -0.9'


def _add_model(parent: Element, machine: Machine, options: SdfOptions) -> None:
    model = SubElement(parent, 'model', name=options.model_name_of(machine))
    if any(options.base_pose):
        SubElement(model, 'pose').text = numbers(options.base_pose)
    SubElement(model, 'self_collide').text = 'false'
    weighed = _with_crosses_in_bodies(machine)
    start = start_configuration(weighed, options.start)
    radius = 0.01 * drawing_size(machine)

    # base_link stands still, its inertia has no effect; but a link without one is not accepted
    base = add_link(model, 'base_link', None)
    add_inertial(base, RigidBody('base_link', 1.0, np.zeros(3), np.eye(3)))
    rails = [bar for leg in machine.legs for bar in rail(leg, radius)]
    add_visuals(base, ring(base_joint_points(machine), 1.2 * radius, 'base') + rails)
    add_joint(model, 'base_mount', 'fixed', 'world', 'base_link')
    # what is left of the bodies by link name, and the small links by the name of their closure
    ends = welded_ends(machine) if options.loop == 'detachable' else []
    bodies, welded = split_bodies(machine, ends)
    for leg in machine.legs:
        _add_leg(model, leg, bodies, start, radius)
    if machine.has_platform:
        _add_platform(model, machine, bodies[machine.platform.name], start, options)
    for end in closure_ends(machine):
        _add_closure(model, machine, end, welded.get(end.closure.name), start, options)
    add_model_systems(model, options, weighed, start)


def _add_leg(
    model: Element, leg: Leg, bodies: dict[str, RigidBody], start: RestConfiguration, radius: float
) -> None:
    bars = leg_bars(leg, radius)
    for joint, parent in zip(leg.joints, leg.parents, strict=True):
        name = joint.body.name
        link = add_link(model, name, start.link_poses[name])
        add_inertial(link, bodies[name])
        add_visuals(link, bars.get(name, []))
        carrier = leg.joints[parent].body.name if parent >= 0 else 'base_link'
        add_axis(add_joint(model, joint.name, joint.kind, carrier, name), joint, start.joint_positions[joint.name])


def _add_platform(
    model: Element, machine: Machine, body: RigidBody, start: RestConfiguration, options: SdfOptions
) -> None:
    name = machine.platform.name
    link = add_link(model, name, start.link_poses[name])
    add_inertial(link, body)
    add_visuals(link, ring(platform_joint_points(machine), 0.02 * drawing_size(machine), 'platform'))
    if machine.has_imu:
        add_frame(model, machine.imu.frame, name, machine.imu.position, machine.imu.rotation_platform_imu)
        add_imu(link, machine.imu, options.topic(machine, 'imu'), options.version, options.frame_prefix)


def _add_closure(
    model: Element, machine: Machine, end: ClosureEnd, small: RigidBody | None, start: RestConfiguration,
    options: SdfOptions,
) -> None:  # fmt: skip
    """Frames of a closure, the joint that closes it, and the small link with its weld where there is one."""
    closure = end.closure
    add_frame(model, end.tip, closure.body, closure.point, closure.rotation_body)
    child, place = closure.other, (closure.other_point, closure.rotation_other)
    if small is not None:
        child = small.name
        pose = closure.other_point, closure.rotation_other
        add_inertial(add_link(model, child, pose, relative_to=closure.other), small)
        add_weld(model, options, machine, closure.other, end)
        place = np.zeros(3), np.eye(3)
    add_closing_joint(model, machine, closure, child, place, start)
    add_frame(model, end.anchor, closure.other, closure.other_point, closure.rotation_other)


def add_closing_joint(
    model: Element, machine: Machine, closure: Closure, child: str, place: tuple[Array, Array],
    start: RestConfiguration,
) -> None:  # fmt: skip
    """Joint from a leg's body to a child, at a place of it: (3,) m and (3, 3); planar machines: pins about z.

    A universal joint's first axis stands in the leg's body: where it is when the simulation starts.
    """
    joint = add_joint(model, closure.name, _KINDS[closure.kind], closure.body, child)
    add_pose(joint, *place)
    if closure.kind == 'pin':
        attributes = {'expressed_in': 'base_link'} if machine.planar else {}
        SubElement(SubElement(joint, 'axis'), 'xyz', attributes).text = numbers([0.0, 0.0, 1.0])
    elif closure.kind == 'universal':
        here = start.link_poses[closure.body][1] @ closure.rotation_body
        _, turn = start.link_poses.get(closure.other, (None, np.eye(3)))  # the base stands as it is
        there = turn @ closure.rotation_other
        for name, axis in (('axis', there.T @ here[:, 0]), ('axis2', np.array([0.0, 1.0, 0.0]))):
            SubElement(SubElement(joint, name), 'xyz').text = numbers(axis)


#: share of a body's mass that each link gets: much lighter ones make the equations of motion worse conditioned
_SHARE = 1e-3

#: kg m^2 of bodies without mass
_SMALL_INERTIA = 1e-7
#: of our own elements in the SDF, which Gazebo hands on without looking at them
PKM_NAMESPACE = 'urn:pkm-suite:sdf:1'


def add_pose(element: Element, position: Array, rotation: Array | None = None, relative_to: str = '') -> None:
    """Pose with a quaternion: exact where roll, pitch and yaw lose digits."""
    attributes = {'relative_to': relative_to} if relative_to else {}
    if rotation is None or np.array_equal(rotation, np.eye(3)):
        SubElement(element, 'pose', attributes).text = numbers(position, [0.0, 0.0, 0.0])
    else:
        attributes['rotation_format'] = 'quat_xyzw'
        SubElement(element, 'pose', attributes).text = numbers(position, quaternion_from_matrix(rotation))


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
    # both ends are always written: some versions take absent bounds for zero
    ends = {'lower': max(limits.lower - start, -1e16), 'upper': min(limits.upper - start, 1e16)}
    limit = SubElement(axis, 'limit')
    for key, value in {**ends, 'effort': limits.effort, 'velocity': limits.velocity}.items():
        if np.isfinite(value):
            SubElement(limit, key).text = numbers([value])
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


def welded_ends(machine: Machine) -> list[ClosureEnd]:
    """Closures that are closed by welds: all but the first on the platform, whose joint carries the platform."""
    ends = closure_ends(machine)
    carrier = next((end for end in ends if end.closure.other == machine.platform.name), None)
    return [end for end in ends if end is not carrier]


def split_bodies(
    machine: Machine, ends: Sequence[ClosureEnd]
) -> tuple[dict[str, RigidBody], dict[str, RigidBody]]:
    """Take a small body out of what each closure holds: the same body on a smaller scale, with its centre of mass.

    Welded to it again, they give the machine file's bodies: mass, centre of mass and inertia.

    Returns
    -------
    bodies : link name -> what is left of a body
    small : closure name -> small body, its frame that of the closure on the other body
    """
    bodies = {joint.body.name: joint.body for joint in with_least_masses(machine).joints}
    if machine.has_platform:
        bodies[machine.platform.name] = machine.platform
    whole, small = dict(bodies), {}
    for end in ends:
        closure = end.closure
        if closure.other == 'base_link':
            small[closure.name] = _small(end.link)
            continue
        part = _scaled(whole[closure.other], _SHARE)
        bodies[closure.other] = _scaled(
            whole[closure.other], bodies[closure.other].mass / whole[closure.other].mass - _SHARE
        )
        small[closure.name] = replace(part.moved(closure.other_frame.inverse), name=end.link)
    return bodies, small


def with_least_masses(machine: Machine) -> Machine:
    """The machine as SDF has it: bodies without mass get a little, because engines take no others."""
    return with_joints(
        machine, lambda joint: joint if joint.body.mass > 0.0 else replace(joint, body=_small(joint.body.name))
    )


def _with_crosses_in_bodies(machine: Machine) -> Machine:
    """The machine with the little masses of crosses as points of the bodies behind them: where both have their frames.

    A cross with mass of its own would leave no turn idle, as those of a rod between two balls are.
    """
    behind = {one.body.name: other for one, other in pairwise(machine.joints) if one.part_of and not one.body.mass}
    points: dict[str, list[RigidBody]] = {}
    for cross in behind:
        body = cross
        while body in behind:
            body = behind[body].body.name
        points.setdefault(body, []).append(RigidBody('', SMALL_MASS))
    return with_joints(machine, lambda joint: replace(joint, body=joined(joint.body, *points.get(joint.body.name, []))))


def _small(name: str) -> RigidBody:
    return RigidBody(name, SMALL_MASS, np.zeros(3), _SMALL_INERTIA * np.eye(3))


def _scaled(body: RigidBody, share: float) -> RigidBody:
    return replace(body, mass=share * body.mass, inertia=share * body.inertia)
