"""URDF of a machine, written from the machine's data.

A URDF is a tree, so the loops are cut at every closure, between ``legN_tip`` and ``platform_anchorN`` (see
:func:`~pkm_description.machine.machine.closure_ends`), whose origins coincide on a closed machine. The platform
is a branch of its own with a floating joint: robot_state_publisher leaves its transform (``base_link`` to
``platform_link``) to whoever knows the pose, i.e. the estimator. ``urdf/pkm.urdf.xacro`` describes the same tree for
users of xacro, of machines whose legs are chains alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import atan2, hypot, isfinite
from xml.etree.ElementTree import Comment, Element, SubElement

import numpy as np
from numpy.typing import ArrayLike

from pkm_description.arrays import Array
from pkm_description.export.drawing import base_joint_points, next_joints, platform_joint_points
from pkm_description.export.ros2_control import ControlOptions, add_ros2_control
from pkm_description.export.texts import add_provenance, numbers, xml_text
from pkm_description.kinematics.arguments import require_machine
from pkm_description.kinematics.rotation import rpy_from_matrix
from pkm_description.machine import ImuSensor, Joint, Leg, Machine, RigidBody
from pkm_description.machine.machine import ClosureEnd, closure_ends, closure_points
from pkm_description.machine.parts import HERE, INERTIA_ENTRIES, Placement

#: what a URDF says where the machine file gives no limit: position, velocity, effort
NO_LIMIT, NO_EFFORT_LIMIT = 1e3, 1e6

_DRAKE = 'https://drake.mit.edu'
#: name -> red, green, blue, opacity
MATERIALS = {
    'steel': '0.80 0.82 0.85 1',
    'casing': '0.35 0.40 0.47 1',
    'plate': '0.10 0.45 0.70 1',
    'dark': '0.25 0.27 0.30 1',
}
#: of links that never move: the numbers have no effect, but sdformat (Gazebo) silently drops links without mass and all
#: that hangs on them
RESTING = RigidBody('resting', 1.0, np.zeros(3), np.eye(3))


def urdf_text(machine: Machine, control: ControlOptions | None = None) -> str:
    """Write the machine as URDF.

    Friction laws appear as the nearest viscous and Coulomb friction. ``legN_base`` has the frame of the leg's first
    joint at zero position.

    Parameters
    ----------
    machine : all numbers come from it
    control : hardware of a ``<ros2_control>`` block; without it there is none
    """
    require_machine(machine)
    robot = Element('robot', name='pkm')
    robot.append(Comment(f' {machine.name}: written by export_machine from the machine file '))
    reach = drawing_reach(machine)
    for name, color in MATERIALS.items():
        SubElement(SubElement(robot, 'material', name=name), 'color', rgba=color)
    base = SubElement(robot, 'link', name='base_link')
    add_inertial(base, RESTING)
    add_balls(base, base_joint_points(machine), 0.05 * reach)
    ends = closure_ends(machine)
    for leg in machine.legs:
        _add_leg(robot, leg, reach)
        _add_frames(robot, [end for end in ends if end.leg is leg], machine.platform.name)
    if machine.has_platform:
        _add_platform(robot, machine, reach, ends)
    if control is not None:
        add_ros2_control(robot, machine, control)
    add_provenance(robot, machine, 'urdf')
    return xml_text(robot)


def _add_leg(robot: Element, leg: Leg, reach: float) -> None:
    """Links and joints of a leg, the first one on a link of its own, which has the joint's frame."""
    first, mount = leg.joints[0], f'{leg.name}_base'
    base = SubElement(robot, 'link', name=mount)
    add_inertial(base, RESTING)
    add_rail(base, first, reach)
    add_joint(robot, f'{leg.name}_mount', 'fixed', 'base_link', mount, first.place)
    for place, (joint, parent) in enumerate(zip(leg.joints, leg.parents, strict=True)):
        carrier = leg.joints[parent].body.name if parent >= 0 else 'base_link'
        add_chain_joint(robot, joint, *((carrier, joint.place) if place else (mount, HERE)))
        link = SubElement(robot, 'link', name=joint.body.name)
        add_inertial(link, joint.body)
        add_leg_body(link, leg, place, reach)


def _add_frames(robot: Element, ends: Sequence[ClosureEnd], platform: str) -> None:
    """Frames of a leg's closures; those on the platform follow with the platform."""
    for end in ends:
        closure = end.closure
        SubElement(robot, 'link', name=end.tip)
        mount = f'{end.leg.name}_end' if end.tip == f'{end.leg.name}_tip' else f'{end.tip}_mount'
        add_joint(robot, mount, 'fixed', closure.body, end.tip, closure.frame)
        if closure.other != platform:
            _add_anchor(robot, end)


def _add_anchor(robot: Element, end: ClosureEnd) -> None:
    SubElement(robot, 'link', name=end.anchor)
    closure = end.closure
    add_joint(robot, f'{end.anchor}_mount', 'fixed', closure.other, end.anchor, closure.other_frame)


def _add_platform(robot: Element, machine: Machine, reach: float, ends: Sequence[ClosureEnd]) -> None:
    """The platform with its IMU and the points where the legs end."""
    name, home = machine.platform.name, machine.home
    pose = Placement(home.position, home.rotation_base_platform)
    # origin: home, so a reader's zero configuration has the platform there. Floating on planar machines too:
    # robot_state_publisher would publish a planar joint as a fixed one.
    add_joint(robot, f'{name}_pose', 'floating', 'base_link', name, pose)
    # sdformat knows no floating joints but places the platform relative to one: a frame of that name (issue 1282)
    frame = SubElement(SubElement(robot, 'gazebo'), 'frame', name=f'{name}_pose', attached_to='base_link')
    SubElement(frame, 'pose').text = numbers(pose.position, rpy_from_matrix(pose.rotation) + 0.0)
    link = SubElement(robot, 'link', name=name)
    add_inertial(link, machine.platform)
    points = platform_joint_points(machine)
    disc = float(np.linalg.norm(points[:, :2], axis=1).max()) or 0.2 * reach
    plate = add_visual(link, 'cylinder', 'plate', radius=disc, length=0.04 * disc)
    add_origin(plate, Placement(np.array([0.0, 0.0, 0.03 * disc])))
    add_balls(link, points, 0.05 * reach)
    for end in ends:
        if end.closure.other == name:
            _add_anchor(robot, end)
    if machine.has_imu:
        _add_imu(robot, machine.imu, name, disc)


def _add_imu(robot: Element, imu: ImuSensor, parent: str, size: float) -> None:
    """Frame of the IMU."""
    link = SubElement(robot, 'link', name=imu.frame)
    add_visual(link, 'box', 'dark', size=[0.08 * size, 0.06 * size, 0.03 * size])
    place = Placement(imu.position, imu.rotation_platform_imu)
    add_joint(robot, f'{imu.frame}_mount', 'fixed', parent, imu.frame, place)


def drawing_reach(machine: Machine) -> float:
    """Length that scales the drawing [m]: half the distance of home from the base, or an open chain's longest link.

    Planar machines may have home in the origin of the base: then half the distance of the farthest base joint from it.
    """
    if machine.has_platform:
        distance = float(np.linalg.norm(machine.home.position))
        return 0.5 * (distance or float(np.linalg.norm(base_joint_points(machine), axis=1).max()))
    links = [float(np.abs(joint.translation).max()) for joint in machine.legs[0].joints[1:]]
    return 0.5 * max(0.1, *links)


def add_rail(link: Element, slider: Joint, reach: float) -> None:
    """Rail of a leg that starts with a slider, from limit to limit, in the frame of its first joint."""
    limits = slider.limits
    if slider.kind == 'prismatic' and np.isfinite([limits.lower, limits.upper]).all():
        add_bar(link, limits.lower * slider.axis, limits.upper * slider.axis, 0.02 * reach, 'dark')


def add_leg_body(link: Element, leg: Leg, place: int, reach: float) -> None:
    """Body of the joint at ``place``: to the next joints, to its closures; a free end beyond its centre of mass."""
    joint, origin = leg.joints[place], np.zeros(3)
    following, points = next_joints(leg, place), closure_points(leg, leg.joints[place].body.name)
    for one in following:
        # thick where the next body slides out of this one
        thickness = 0.045 if one.kind == 'prismatic' else 0.025
        add_bar(link, origin, one.translation, thickness * reach, 'casing')
    if following and joint.kind == 'prismatic':
        add_visual(link, 'box', 'casing', size=[0.12 * reach] * 3)
    for point in points:
        # a sliding rod reaches from the tip back into its cylinder
        is_rod = joint.kind == 'prismatic' and not following
        start, stop = (point, point - np.linalg.norm(joint.translation) * joint.axis) if is_rod else (origin, point)
        add_bar(link, start, stop, 0.025 * reach, 'steel')
    if not following and not points:
        add_bar(link, origin, 2.0 * joint.body.center_of_mass, 0.025 * reach, 'steel')


def add_origin(element: Element, place: Placement) -> None:
    """Origin at a place."""
    # adding 0.0 turns -0.0 into 0.0
    angles = rpy_from_matrix(place.rotation) + 0.0
    SubElement(element, 'origin', xyz=numbers(place.position), rpy=numbers(angles))


def add_inertial(link: Element, body: RigidBody) -> None:
    """Mass, centre of mass, and inertia about it."""
    inertial = SubElement(link, 'inertial')
    add_origin(inertial, Placement(body.center_of_mass))
    SubElement(inertial, 'mass', value=numbers([body.mass]))
    entries = {key: numbers([body.inertia[place]]) for key, place in INERTIA_ENTRIES.items()}
    SubElement(inertial, 'inertia', entries)


def add_joint(robot: Element, name: str, kind: str, parent: str, child: str, place: Placement) -> Element:
    """Joint whose frame has a place in the parent link."""
    joint = SubElement(robot, 'joint', name=name, type=kind)
    SubElement(joint, 'parent', link=parent)
    SubElement(joint, 'child', link=child)
    add_origin(joint, place)
    return joint


def add_chain_joint(robot: Element, joint: Joint, parent: str, place: Placement) -> None:
    """Moving joint of a leg with axis, limits, friction, and its rotor where it has one."""
    element = add_joint(robot, joint.name, joint.kind, parent, joint.body.name, place)
    SubElement(element, 'axis', xyz=numbers(joint.axis))
    limits = {
        'lower': (joint.limits.lower, -NO_LIMIT), 'upper': (joint.limits.upper, NO_LIMIT),
        'velocity': (joint.limits.velocity, NO_LIMIT), 'effort': (joint.limits.effort, NO_EFFORT_LIMIT),
    }  # fmt: skip
    SubElement(
        element, 'limit', {key: numbers([value if isfinite(value) else none]) for key, (value, none) in limits.items()}
    )
    friction = joint.friction
    SubElement(element, 'dynamics', damping=numbers([friction.viscous]), friction=numbers([friction.coulomb]))
    if joint.rotor_inertia > 0.0:
        _add_rotor(robot, joint)


def _add_rotor(robot: Element, joint: Joint) -> None:
    """Rotor inertia, for which plain URDF has no word: Drake's, already reflected to the joint."""
    transmission = SubElement(robot, 'transmission', name=f'{joint.name}_transmission')
    SubElement(transmission, 'type').text = 'transmission_interface/SimpleTransmission'
    SubElement(transmission, 'joint', name=joint.name)
    actuator = SubElement(transmission, 'actuator', name=f'{joint.name}_actuator')
    SubElement(actuator, f'{{{_DRAKE}}}rotor_inertia', value=numbers([joint.rotor_inertia]))
    SubElement(actuator, f'{{{_DRAKE}}}gear_ratio', value='1.0')


def add_visual(link: Element, shape: str, material: str, **sizes: ArrayLike) -> Element:
    """Visual of a ``box``, ``cylinder`` or ``sphere`` with its sizes in m; returns it, for an origin."""
    visual = SubElement(link, 'visual')
    geometry = SubElement(visual, 'geometry')
    SubElement(geometry, shape, {key: numbers(np.atleast_1d(size)) for key, size in sizes.items()})
    SubElement(visual, 'material', name=material)
    return visual


def add_bar(link: Element, start: Array, stop: Array, radius: float, material: str) -> None:
    """Round bar between two points (3,) m of the link; none where they coincide."""
    x, y, z = (stop - start).tolist()
    flat = hypot(x, y)
    length = hypot(flat, z)
    if length > 0.1 * radius:
        visual = add_visual(link, 'cylinder', material, radius=radius, length=length)
        angles = [0.0, atan2(flat, z), atan2(y, x)]
        SubElement(visual, 'origin', xyz=numbers(0.5 * (start + stop)), rpy=numbers(angles))


def add_balls(link: Element, points: Array, radius: float) -> None:
    """Balls where joints are, at points (L, 3) m of the link."""
    for point in points:
        add_origin(add_visual(link, 'sphere', 'dark', radius=radius), Placement(point))
