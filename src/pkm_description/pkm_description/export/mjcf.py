"""MuJoCo model (MJCF) of a machine, written from the machine file's data without importing MuJoCo.

Topology: one root body ``base_link`` (readers such as Pinocchio fail on several root bodies). MuJoCo allows a free
joint at top level only, so the platform moves on three slides and a ball joint in one body: the same coordinates as
a free joint (position in base axes, quaternion wxyz; velocity in base axes, angular velocity in platform axes) and
the same dynamics. A planar platform moves on two slides and a hinge: x, y and the angle about z of ``base_link``.
Legs end in the sites ``legN_tip``; a ``connect`` joins each to ``platform_anchorN``. On planar machines its third row
is zero, which costs nothing: bodies in a plane have no z to be closed. Other closures: see
:func:`~pkm_description.export.mjcf.add_closure`.

Integrator and constraint settings come from measurements, see :func:`mjcf_text`.
"""

from __future__ import annotations

from xml.etree.ElementTree import Element, SubElement

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
from pkm_description.export.rest import RestConfiguration, home_configuration
from pkm_description.export.ros2_control import MUJOCO_IMU
from pkm_description.export.texts import LEAST_INERTIA, LEAST_MASS, add_provenance, numbers, xml_text
from pkm_description.kinematics.arguments import require_machine
from pkm_description.kinematics.rotation import quaternion_from_matrix
from pkm_description.machine import Joint, Leg, Machine, RigidBody
from pkm_description.machine.machine import ClosureEnd, closure_ends, closure_points

#: distance between the two points by which a pin is held, as a part of the drawing's size. MuJoCo's constraints yield,
#: and a turn pulls the points apart by this lever: at a tenth of it a 3-UPU's platform is off by 0.3 mm, here by 4 um
_PIN_LENGTH = 1.0
#: s, physics step of the exported model
TIME_STEP = 0.001

#: constraint impedance, the stiffest that MuJoCo takes
_IMPEDANCE = '0.9999 0.9999 0.001 0.5 2'


def mjcf_text(machine: Machine, time_step: float = TIME_STEP) -> str:
    """Write the machine as MJCF.

    MuJoCo's default constraints would leave 0.7 m/s^2 of error in an accelerometer, so the settings are stiff, as
    far as the step allows: time constants of four steps for the closures (with two, RK4's stages see the loop's own
    dynamics and accelerations are ten times less accurate) and two steps for Coulomb friction (full force as soon
    as a joint slides faster than it loses speed in about two steps, true sticking below). RK4 makes positions,
    velocities, accelerations and forces of one instant belong together; MuJoCo's other integrators hold velocities
    half a step late.

    Parameters
    ----------
    machine : all numbers come from it
    time_step : s

    Returns
    -------
    str
        XML; keyframe ``home`` has closed loops and drive forces that carry the weight.

    """
    require_machine(machine)
    if not time_step > 0.0:
        raise ValueError(f'time_step = {time_step}, expected a positive number of seconds')
    stiff = {'solref': numbers([4.0 * time_step, 1.0]), 'solimp': _IMPEDANCE}

    root = Element('mujoco', model=machine.name)
    SubElement(root, 'compiler', angle='radian', autolimits='true')
    option = SubElement(
        root, 'option', timestep=numbers([time_step]), gravity=numbers(machine.gravity), integrator='RK4',
        solver='Newton', tolerance='1e-14', iterations='100',
    )  # fmt: skip
    SubElement(option, 'flag', contact='disable')
    default = SubElement(root, 'default')
    SubElement(default, 'geom', contype='0', conaffinity='0', group='1', mass='0')
    SubElement(default, 'joint', solreffriction=numbers([2.0 * time_step, 1.0]), solimpfriction=_IMPEDANCE)
    world = SubElement(root, 'worldbody')
    SubElement(world, 'light', pos='0 0 8', dir='0 0 -1', directional='true')
    base = SubElement(world, 'body', name='base_link')
    radius = 0.01 * drawing_size(machine)
    add_bars(base, ring(base_joint_points(machine), 1.2 * radius, 'base'))
    bodies, ends = {'base_link': base}, closure_ends(machine)
    for leg in machine.legs:
        add_bars(base, rail(leg, radius))
        bodies |= add_leg(base, leg, radius)
    if machine.has_platform:
        bodies[machine.platform.name] = _add_platform(base, machine, radius)
    if ends:
        equality = SubElement(root, 'equality')
        for end in ends:
            add_closure(bodies, equality, end, machine.planar, radius, stiff)
    _add_imu(bodies, machine, radius)
    drives = SubElement(root, 'actuator')
    for joint in machine.actuated_joints:
        attributes = {'name': joint.name, 'joint': joint.name}
        if np.isfinite(joint.limits.effort):
            attributes['ctrlrange'] = numbers([-joint.limits.effort, joint.limits.effort])
        SubElement(drives, 'motor', attributes)
    _add_sensors(root, machine)
    _add_home(root, machine, ends)
    add_provenance(root, machine, 'mjcf')
    return xml_text(root, declaration=False)


def _add_platform(base: Element, machine: Machine, radius: float) -> Element:
    name = machine.platform.name
    if machine.planar:
        # at zero angle the platform has its home's tilt, if any, but no turn about z
        tilt = _turn_about_z(-_planar_angle(machine)) @ machine.home.rotation_base_platform
        body = add_body(base, name, np.array([0.0, 0.0, machine.home.position[2]]), tilt)
        for key, kind, axis in (('x', 'slide', tilt[0]), ('y', 'slide', tilt[1]), ('rotation', 'hinge', tilt[2])):
            SubElement(body, 'joint', name=f'platform_{key}', type=kind, axis=numbers(axis))
    else:
        body = SubElement(base, 'body', name=name)
        for key, text in (('x', '1 0 0'), ('y', '0 1 0'), ('z', '0 0 1')):
            SubElement(body, 'joint', name=f'platform_{key}', type='slide', axis=text)
        SubElement(body, 'joint', name='platform_rotation', type='ball')
    add_inertial(body, machine.platform)
    add_bars(body, ring(platform_joint_points(machine), 2.0 * radius, 'platform'))
    return body


def _add_imu(bodies: dict[str, Element], machine: Machine, radius: float) -> None:
    if not machine.has_imu:
        return
    imu = machine.imu
    mounting = {'pos': numbers(imu.position), 'quat': numbers(wxyz(imu.rotation_platform_imu))}
    look = {'type': 'box', 'size': numbers([3.0 * radius] * 3), 'rgba': '0.9 0.5 0.1 1'}
    SubElement(bodies[machine.platform.name], 'site', {'name': imu.frame} | mounting | look)


def _planar_angle(machine: Machine) -> float:
    """Angle of a planar platform at home about z of ``base_link``, rad."""
    rotation = machine.home.rotation_base_platform
    return float(np.arctan2(rotation[1, 0], rotation[0, 0]))


def _turn_about_z(angle: float) -> Array:
    cosine, sine = np.cos(angle), np.sin(angle)
    return np.array([[cosine, -sine, 0.0], [sine, cosine, 0.0], [0.0, 0.0, 1.0]])


def _add_sensors(root: Element, machine: Machine) -> None:
    sensors = SubElement(root, 'sensor')
    if machine.has_imu:
        # names by which mujoco_ros2_control knows that the three are one IMU; it takes none without orientation
        SubElement(sensors, 'accelerometer', name=f'{MUJOCO_IMU}_accel', site=machine.imu.frame)
        SubElement(sensors, 'gyro', name=f'{MUJOCO_IMU}_gyro', site=machine.imu.frame)
        SubElement(sensors, 'framequat', name=f'{MUJOCO_IMU}_quat', objtype='site', objname=machine.imu.frame)
    for joint in machine.actuated_joints:
        SubElement(sensors, 'jointpos', name=f'{joint.name}_position', joint=joint.name)
        SubElement(sensors, 'jointvel', name=f'{joint.name}_velocity', joint=joint.name)
        SubElement(sensors, 'jointactuatorfrc', name=f'{joint.name}_effort', joint=joint.name)


def _add_home(root: Element, machine: Machine, ends: tuple[ClosureEnd, ...]) -> None:
    """Keyframe with closed loops; coordinates in the order of the bodies."""
    home = home_configuration(machine)
    x, y, z = machine.home.position.tolist()
    places = {
        **{name: [value] for name, value in (home.joint_positions | cross_angles(ends, home)).items()},
        'platform_x': [x], 'platform_y': [y], 'platform_z': [z],
        'platform_rotation': [_planar_angle(machine)] if machine.planar else wxyz(machine.home.rotation_base_platform),
    }  # fmt: skip
    coordinates = [places[joint.get('name', '')] for joint in root.findall('worldbody//joint')]
    key = {'name': 'home', 'qpos': numbers(*coordinates), 'ctrl': numbers(home.drive_forces)}
    SubElement(SubElement(root, 'keyframe'), 'key', key)


def add_leg(base: Element, leg: Leg, radius: float) -> dict[str, Element]:
    """Bodies of a leg; link name -> element.

    Bodies without mass that carry one joint (the crosses of composed joints) are left out: MuJoCo lets a body have
    several joints, which turn one after the other.
    """
    bars, elements = leg_bars(leg, radius), {'base_link': base}
    waiting: dict[int, list[tuple[Joint, Array, Array]]] = {}
    for place, (joint, parent) in enumerate(zip(leg.joints, leg.parents, strict=True)):
        # joints of bodies left out before this one: their frames' poses at zero in the body that carries them all
        before = waiting.get(parent, [])
        position, rotation = np.zeros(3), np.eye(3)
        if before:
            _, position, rotation = before[-1]
        pose = position + rotation @ joint.translation, rotation @ joint.rotation_parent_joint
        chain = [*before, (joint, *pose)]
        if _is_left_out(leg, place):
            waiting[place] = chain
            continue
        carrier = parent
        while carrier in waiting:
            carrier = leg.parents[carrier]
        link = leg.joints[carrier].body.name if carrier >= 0 else 'base_link'
        body = add_body(elements[link], joint.body.name, *pose)
        add_inertial(body, joint.body)
        for one, origin, axes in chain:
            turn = pose[1].T @ axes
            add_joint(body, one, turn @ one.axis if before else one.axis, pose[1].T @ (origin - pose[0]))
        add_bars(body, bars.get(joint.body.name, []))
        elements[joint.body.name] = body
    del elements['base_link']
    return elements


def _is_left_out(leg: Leg, place: int) -> bool:
    body = leg.joints[place].body
    return is_massless(body) and leg.parents.count(place) == 1 and not closure_points(leg, body.name)


def add_closure(
    bodies: dict[str, Element], equality: Element, end: ClosureEnd, planar: bool, radius: float, stiff: dict[str, str]
) -> None:
    """Sites of a closure on its two bodies, and what joins them.

    A ball is a ``connect``, a fixed joint a ``weld``, a pin two ``connect`` at points of its axis. MuJoCo has no
    universal joint for loops: a small cross turns on the leg's body and is pinned to the other one.
    """
    closure = end.closure
    first, second = bodies[closure.body], bodies[closure.other]
    add_site(second, end.anchor, closure.other_point, 1.2 * radius, closure.rotation_other)
    if closure.kind == 'universal':
        cross = add_body(first, end.link, closure.point, closure.rotation_body)
        add_inertial(cross, RigidBody(end.link, LEAST_MASS, np.zeros(3), LEAST_INERTIA * np.eye(3)))
        SubElement(cross, 'joint', name=f'{closure.name}_cross', type='hinge', axis='1.0 0.0 0.0')
        add_site(cross, end.tip, np.zeros(3), 1.5 * radius)
        _pin(equality, end, (cross, np.zeros(3), np.eye(3)), second, np.array([0.0, 1.0, 0.0]), radius, stiff)
        return
    add_site(first, end.tip, closure.point, 1.5 * radius, closure.rotation_body)
    sites = {'name': closure.name, 'site1': end.tip, 'site2': end.anchor}
    if closure.kind == 'fixed':
        SubElement(equality, 'weld', sites | stiff)
    elif closure.kind == 'ball' or planar:
        SubElement(equality, 'connect', sites | stiff)
    else:
        held = first, closure.point, closure.rotation_body
        _pin(equality, end, held, second, np.array([0.0, 0.0, 1.0]), radius, stiff)


def _pin(
    equality: Element, end: ClosureEnd, first: tuple[Element, Array, Array], second: Element, axis: Array,
    radius: float, stiff: dict[str, str],
) -> None:  # fmt: skip
    """Join two bodies at the closure's sites and at a second point of an axis (3,) of the closure's frames."""
    closure, along = end.closure, 100.0 * _PIN_LENGTH * radius * axis
    body, point, rotation = first
    add_site(body, f'{end.tip}_axis', point + rotation @ along, radius)
    add_site(second, f'{end.anchor}_axis', closure.other_point + closure.rotation_other @ along, radius)
    for name, suffix in ((closure.name, ''), (f'{closure.name}_axis', '_axis')):
        sites = {'name': name, 'site1': f'{end.tip}{suffix}', 'site2': f'{end.anchor}{suffix}'}
        SubElement(equality, 'connect', sites | stiff)


def cross_angles(ends: tuple[ClosureEnd, ...], rest: RestConfiguration) -> dict[str, float]:
    """Joint name -> angle [rad] of the crosses of universal closures where a machine rests."""
    angles = {}
    for end in ends:
        closure = end.closure
        if closure.kind == 'universal':
            here = rest.link_poses[closure.body][1] @ closure.rotation_body
            there = rest.link_poses[closure.other][1] @ closure.rotation_other
            _, cosine, sine = here.T @ there[:, 1]
            angles[f'{closure.name}_cross'] = float(np.arctan2(sine, cosine))
    return angles


#: rad or m, where a joint has no limit
_FAR = 1e6

#: MuJoCo's names of our joint kinds
_JOINT_TYPES = {'revolute': 'hinge', 'prismatic': 'slide'}


def wxyz(rotation: Array) -> Array:
    """Quaternion (4,) of a rotation matrix (3, 3) in MuJoCo's order."""
    x, y, z, w = quaternion_from_matrix(rotation)
    return np.array([w, x, y, z])


def add_body(parent: Element, name: str, position: Array, rotation: Array) -> Element:
    """Body at (3,) m with axes (3, 3) in its parent's frame."""
    return SubElement(parent, 'body', name=name, pos=numbers(position), quat=numbers(wxyz(rotation)))


def is_massless(body: RigidBody) -> bool:
    """Whether a body has neither mass nor inertia."""
    return body.mass == 0.0 and not body.inertia.any()


def add_inertial(element: Element, body: RigidBody) -> None:
    """Mass, centre of mass and inertia about it; of a body without mass the least that MuJoCo can do with."""
    mass, inertia = body.mass, body.inertia
    if is_massless(body):
        mass, inertia = LEAST_MASS, LEAST_INERTIA * np.eye(3)
    full = [inertia[0, 0], inertia[1, 1], inertia[2, 2], inertia[0, 1], inertia[0, 2], inertia[1, 2]]
    SubElement(element, 'inertial', pos=numbers(body.center_of_mass), mass=numbers([mass]), fullinertia=numbers(full))


def add_joint(element: Element, joint: Joint, axis: Array, position: Array) -> None:
    """Joint about or along an axis (3,) through a point (3,) m, both in the frame of the element's body."""
    attributes = {'name': joint.name, 'type': _JOINT_TYPES[joint.kind], 'axis': numbers(axis)}
    if position.any():
        attributes['pos'] = numbers(position)
    if joint.friction.viscous:
        attributes['damping'] = numbers([joint.friction.viscous])
    if joint.friction.coulomb:
        attributes['frictionloss'] = numbers([joint.friction.coulomb])
    if joint.rotor_inertia:
        attributes['armature'] = numbers([joint.rotor_inertia])
    if np.isfinite(joint.limits.lower) or np.isfinite(joint.limits.upper):
        # a range has two ends
        attributes['range'] = numbers(np.clip([joint.limits.lower, joint.limits.upper], -_FAR, _FAR))
    SubElement(element, 'joint', attributes)


def add_site(element: Element, name: str, position: Array, size: float, rotation: Array | None = None) -> None:
    """Named point (3,) m of a body, with axes (3, 3) if given."""
    attributes = {'name': name, 'pos': numbers(position), 'size': numbers([size])}
    if rotation is not None and not np.array_equal(rotation, np.eye(3)):
        attributes['quat'] = numbers(wxyz(rotation))
    SubElement(element, 'site', attributes)


def add_bars(element: Element, bars: list[Bar]) -> None:
    """Bars as capsules."""
    for bar in bars:
        SubElement(
            element, 'geom', type='capsule', fromto=numbers(bar.start, bar.end), size=numbers([bar.radius]),
            rgba=COLORS[bar.color],
        )  # fmt: skip
