"""MuJoCo model (MJCF) of a machine, written from the machine file's data without importing MuJoCo.

Topology: one root body ``base_link`` (readers such as Pinocchio fail on several root bodies). MuJoCo allows a free
joint at top level only, so the platform moves on three slides and a ball joint in one body: the same coordinates as
a free joint (position in base axes, quaternion wxyz; velocity in base axes, angular velocity in platform axes) and
the same dynamics. A planar platform moves on two slides and a hinge: x, y and the angle about z of ``base_link``.
Legs end in the sites ``legN_tip``; a ``connect`` joins each to ``platform_anchorN``. On planar machines its third row
is zero, which costs nothing: bodies in a plane have no z to be closed. Other closures: see
:func:`~pkm_description.export.mjcf.closed`.

Integrator and constraint settings come from measurements, see :func:`mjcf_text`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isfinite
from xml.etree.ElementTree import Element, SubElement

import numpy as np

from pkm_description.arrays import Array
from pkm_description.export.drawing import COLORS, Bar, drawing_size, machine_bars
from pkm_description.export.rest import RestConfiguration, home_configuration
from pkm_description.export.ros2_control import MUJOCO_IMU
from pkm_description.export.texts import LEAST_INERTIA, LEAST_MASS, add_provenance, filled, numbers, xml_text
from pkm_description.kinematics.arguments import require_machine
from pkm_description.kinematics.rotation import quaternion_from_matrix, rotation_about_axis
from pkm_description.machine import Joint, Leg, Machine, RigidBody
from pkm_description.machine.machine import ClosureEnd, closure_ends, closure_points
from pkm_description.machine.parts import HERE, Placement

#: distance between the two points by which a pin is held, as a part of the drawing's size. MuJoCo's constraints yield,
#: and a turn pulls the points apart by this lever: at a tenth of it a 3-UPU's platform is off by 0.3 mm, here by 4 um
_PIN_LENGTH = 1.0
#: s, physics step of the exported model
TIME_STEP = 0.001

#: constraint impedance, the stiffest that MuJoCo takes
_IMPEDANCE = '0.9999 0.9999 0.001 0.5 2'
#: attributes of an element
Attributes = dict[str, str]


@dataclass(frozen=True)
class Body:
    """A body of MuJoCo's tree.

    Attributes
    ----------
    name, parent : of the body, and of the one that carries it
    place : in its parent; none: that of the parent
    inertial, joints, sites : elements
    bars : of the drawing
    """

    name: str
    parent: str = ''
    place: Placement | None = None
    inertial: Attributes | None = None
    joints: list[Attributes] = field(default_factory=list)
    bars: list[Bar] = field(default_factory=list)
    sites: list[Attributes] = field(default_factory=list)


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
    radius, ends = 0.01 * drawing_size(machine), closure_ends(machine)
    bars = machine_bars(machine, radius)
    base, equality = Body('base_link', bars=bars['base_link']), list[tuple[str, Attributes]]()
    bodies = {base.name: base}
    for leg in machine.legs:
        bodies |= leg_bodies(leg, bars)
    if machine.has_platform:
        bodies[machine.platform.name] = _platform(machine, bars[machine.platform.name])
    for end in ends:
        equality += closed(bodies, end, machine.planar, radius)
    if machine.has_imu:
        imu = site(machine.imu.frame, Placement(machine.imu.position, machine.imu.rotation_platform_imu), 3.0 * radius)
        look = {'type': 'box', 'size': numbers([3.0 * radius] * 3), 'rgba': '0.9 0.5 0.1 1'}
        bodies[machine.platform.name].sites.append(imu | look)
    root = filled(
        'mjcf.xml.j2', machine=machine, bodies=bodies, equality=equality, time_step=time_step, impedance=_IMPEDANCE,
        colors=COLORS, mujoco_imu=MUJOCO_IMU, wxyz=wxyz, is_finite=isfinite,
    )  # fmt: skip
    _add_home(root, machine, ends)
    add_provenance(root, machine, 'mjcf')
    return xml_text(root, declaration=False)


def _platform(machine: Machine, bars: list[Bar]) -> Body:
    place = None
    if machine.planar:
        # at zero angle the platform has its home's tilt, if any, but no turn about z
        back = rotation_about_axis(np.array([0.0, 0.0, 1.0]), np.array(-_planar_angle(machine)))
        tilt = back @ machine.home.rotation_base_platform
        place = Placement(np.array([0.0, 0.0, machine.home.position[2]]), tilt)
        named = zip((('x', 'slide'), ('y', 'slide'), ('rotation', 'hinge')), map(numbers, tilt), strict=True)
        kinds = [(*words, axis) for words, axis in named]
    else:
        kinds = [('x', 'slide', '1 0 0'), ('y', 'slide', '0 1 0'), ('z', 'slide', '0 0 1')]
    joints = [{'name': f'platform_{key}', 'type': kind, 'axis': axis} for key, kind, axis in kinds]
    if not machine.planar:
        joints.append({'name': 'platform_rotation', 'type': 'ball'})
    return Body(machine.platform.name, 'base_link', place, inertial(machine.platform), joints, bars)


def _planar_angle(machine: Machine) -> float:
    """Angle of a planar platform at home about z of ``base_link``, rad."""
    rotation = machine.home.rotation_base_platform
    return float(np.arctan2(rotation[1, 0], rotation[0, 0]))


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


def leg_bodies(leg: Leg, bars: dict[str, list[Bar]]) -> dict[str, Body]:
    """Bodies of a leg by link name, with the bars of the drawing.

    Bodies without mass that carry one joint (the crosses of composed joints) are left out: MuJoCo lets a body have
    several joints, which turn one after the other.
    """
    found: dict[str, Body] = {}
    waiting: dict[int, list[tuple[Joint, Placement]]] = {}
    for number, (joint, parent) in enumerate(zip(leg.joints, leg.parents, strict=True)):
        # joints of bodies left out before this one: their frames' poses at zero in the body that carries them all
        before = waiting.get(parent, [])
        place = before[-1][1] @ joint.place if before else joint.place
        chain = [*before, (joint, place)]
        if _is_left_out(leg, number):
            waiting[number] = chain
            continue
        carrier = parent
        while carrier in waiting:
            carrier = leg.parents[carrier]
        name, link = joint.body.name, leg.joints[carrier].body.name if carrier >= 0 else 'base_link'
        joints = []
        for one, at in chain:
            axis = place.rotation.T @ at.rotation @ one.axis if before else one.axis
            joints.append(moving(one, axis, place.rotation.T @ (at.position - place.position)))
        found[name] = Body(name, link, place, inertial(joint.body), joints, bars.get(name, []))
    return found


def _is_left_out(leg: Leg, place: int) -> bool:
    body = leg.joints[place].body
    return is_massless(body) and leg.parents.count(place) == 1 and not closure_points(leg, body.name)


def closed(bodies: dict[str, Body], end: ClosureEnd, planar: bool, radius: float) -> list[tuple[str, Attributes]]:
    """Put the sites of a closure on its two bodies; returns what joins them, elements and their attributes.

    A ball is a ``connect``, a fixed joint a ``weld``, a pin two ``connect`` at points of its axis. MuJoCo has no
    universal joint for loops: a small cross turns on the leg's body and is pinned to the other one.
    """
    closure, second = end.closure, bodies[end.closure.other]
    second.sites.append(site(end.anchor, closure.other_frame, 1.2 * radius))
    body, frame, axis = bodies[closure.body], closure.frame, np.array([0.0, 0.0, 1.0])
    if closure.kind == 'universal':
        hinge = {'name': f'{closure.name}_cross', 'type': 'hinge', 'axis': '1.0 0.0 0.0'}
        body = Body(end.link, closure.body, closure.frame, inertial(RigidBody(end.link)), [hinge])
        bodies[end.link], frame, axis = body, HERE, np.array([0.0, 1.0, 0.0])
    body.sites.append(site(end.tip, frame, 1.5 * radius))
    first = {'name': closure.name, 'site1': end.tip, 'site2': end.anchor}
    if closure.kind == 'fixed':
        return [('weld', first)]
    if closure.kind == 'ball' or (planar and closure.kind == 'pin'):
        return [('connect', first)]
    # held at a second point of an axis, too
    along = Placement(100.0 * _PIN_LENGTH * radius * axis)
    for one, name, place in ((body, end.tip, frame), (second, end.anchor, closure.other_frame)):
        one.sites.append(site(f'{name}_axis', Placement((place @ along).position), radius))
    return [('connect', first), ('connect', {key: f'{name}_axis' for key, name in first.items()})]


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


def is_massless(body: RigidBody) -> bool:
    """Whether a body has neither mass nor inertia."""
    return body.mass == 0.0 and not body.inertia.any()


def inertial(body: RigidBody) -> Attributes:
    """Mass, centre of mass and inertia about it; of a body without mass the least that MuJoCo can do with."""
    mass, inertia = body.mass, body.inertia
    if is_massless(body):
        mass, inertia = LEAST_MASS, LEAST_INERTIA * np.eye(3)
    full = [inertia[0, 0], inertia[1, 1], inertia[2, 2], inertia[0, 1], inertia[0, 2], inertia[1, 2]]
    return {'pos': numbers(body.center_of_mass), 'mass': numbers([mass]), 'fullinertia': numbers(full)}


def moving(joint: Joint, axis: Array, position: Array) -> Attributes:
    """Joint about or along an axis (3,) through a point (3,) m, both in the frame of its body."""
    attributes = {'name': joint.name, 'type': _JOINT_TYPES[joint.kind], 'axis': numbers(axis)}
    if position.any():
        attributes['pos'] = numbers(position)
    values = {
        'damping': joint.friction.viscous, 'frictionloss': joint.friction.coulomb, 'armature': joint.rotor_inertia
    }  # fmt: skip
    attributes |= {key: numbers([value]) for key, value in values.items() if value}
    if np.isfinite(joint.limits.lower) or np.isfinite(joint.limits.upper):
        # a range has two ends
        attributes['range'] = numbers(np.clip([joint.limits.lower, joint.limits.upper], -_FAR, _FAR))
    return attributes


def site(name: str, place: Placement, size: float) -> Attributes:
    """Named frame of a body."""
    attributes = {'name': name, 'pos': numbers(place.position), 'size': numbers([size])}
    if not np.array_equal(place.rotation, np.eye(3)):
        attributes['quat'] = numbers(wxyz(place.rotation))
    return attributes
