"""MuJoCo model (MJCF) of a machine, written from the machine file's data without importing MuJoCo.

Topology: one root body ``base_link`` (readers such as Pinocchio fail on several root bodies). MuJoCo allows a free
joint at top level only, so the platform moves on three slides and a ball joint in one body: the same coordinates as
a free joint (position in base axes, quaternion wxyz; velocity in base axes, angular velocity in platform axes) and
the same dynamics. Legs end in the sites ``legN_tip``; a ``connect`` joins each to ``platform_anchorN``.

Integrator and constraint settings come from measurements, see :func:`mjcf_text`.
"""

from __future__ import annotations

from collections.abc import Iterable
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

import numpy as np
from numpy.typing import NDArray

from pkm_description.dynamics import gravity_forces
from pkm_description.kinematics import leg_motion
from pkm_description.kinematics.rotation import quaternion_from_matrix
from pkm_description.machine.model import Joint, Leg, Machine, RigidBody
from pkm_description.mechanism import Mechanism
from pkm_description.motion import PlatformMotion

Array = NDArray[np.float64]

#: s, physics step of the exported model
TIME_STEP = 0.001

#: constraint impedance, the stiffest that MuJoCo takes
_IMPEDANCE = '0.9999 0.9999 0.001 0.5 2'

#: MuJoCo's names of our joint kinds
_JOINT_TYPES = {'revolute': 'hinge', 'prismatic': 'slide'}

_COLORS = {
    'base': '0.25 0.27 0.30 1',
    'cylinder': '0.35 0.40 0.47 1',
    'rod': '0.80 0.82 0.85 1',
    'platform': '0.10 0.45 0.70 1',
}


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
    if not time_step > 0.0:
        raise ValueError(f'time_step = {time_step}, expected a positive number of seconds')
    stiff = {'solref': _text([4.0 * time_step, 1.0]), 'solimp': _IMPEDANCE}

    root = Element('mujoco', model=machine.name)
    SubElement(
        root,
        'compiler',
        angle='radian',
        autolimits='true',
    )
    option = SubElement(
        root, 'option', timestep=_text([time_step]), gravity=_text(machine.gravity), integrator='RK4',
        solver='Newton', tolerance='1e-14', iterations='100',
    )  # fmt: skip
    SubElement(option, 'flag', contact='disable')
    default = SubElement(root, 'default')
    SubElement(default, 'geom', contype='0', conaffinity='0', group='1', mass='0')
    SubElement(default, 'joint', solreffriction=_text([2.0 * time_step, 1.0]), solimpfriction=_IMPEDANCE)
    world = SubElement(root, 'worldbody')
    SubElement(world, 'light', pos='0 0 8', dir='0 0 -1', directional='true')
    base = SubElement(world, 'body', name='base_link')
    _add_ring(base, machine.base_points, 'base', _size(machine) * 0.012)
    for leg in machine.legs:
        _add_leg(base, leg, _size(machine) * 0.01)
    _add_platform(base, machine)

    closures = SubElement(root, 'equality')
    for number, leg in enumerate(machine.legs, start=1):
        sites = {
            'name': f'{leg.name}_closure',
            'site1': f'{leg.name}_tip',
            'site2': f'platform_anchor{number}',
        }
        SubElement(closures, 'connect', sites | stiff)
    drives = SubElement(root, 'actuator')
    for joint in machine.actuated_joints:
        attributes = {'name': joint.name, 'joint': joint.name}
        if np.isfinite(joint.limits.effort):
            attributes['ctrlrange'] = _text([-joint.limits.effort, joint.limits.effort])
        SubElement(drives, 'motor', attributes)
    _add_sensors(root, machine)
    _add_home(root, machine)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding='unicode') + '\n'


def _text(values: Iterable[float]) -> str:
    """Numbers as text that reads back to the same doubles."""
    return ' '.join(repr(float(value)) for value in np.asarray(values, dtype=float).ravel())


def _quaternion(rotation: Array) -> str:
    """MuJoCo's wxyz of a rotation matrix (3, 3)."""
    x, y, z, w = quaternion_from_matrix(rotation)
    return _text([w, x, y, z])


def _size(machine: Machine) -> float:
    """Length that scales the drawing, m."""
    return float(np.linalg.norm(machine.base_points - machine.base_points.mean(axis=0), axis=1).max())


def _add_inertial(element: Element, body: RigidBody) -> None:
    inertia = body.inertia
    full = [inertia[0, 0], inertia[1, 1], inertia[2, 2], inertia[0, 1], inertia[0, 2], inertia[1, 2]]
    SubElement(element, 'inertial', pos=_text(body.center_of_mass), mass=_text([body.mass]), fullinertia=_text(full))


def _add_joint(element: Element, joint: Joint) -> None:
    attributes = {'name': joint.name, 'type': _JOINT_TYPES[joint.kind], 'axis': _text(joint.axis)}
    if joint.friction.viscous:
        attributes['damping'] = _text([joint.friction.viscous])
    if joint.friction.coulomb:
        attributes['frictionloss'] = _text([joint.friction.coulomb])
    if np.isfinite(joint.limits.lower) and np.isfinite(joint.limits.upper):
        attributes['range'] = _text([joint.limits.lower, joint.limits.upper])
    SubElement(element, 'joint', attributes)


def _add_leg(base: Element, leg: Leg, radius: float) -> None:
    parent = base
    for place, joint in enumerate(leg.joints):
        body = SubElement(
            parent, 'body', name=joint.body.name,
            pos=_text(joint.translation), quat=_quaternion(joint.rotation_parent_joint),
        )  # fmt: skip
        _add_inertial(body, joint.body)
        _add_joint(body, joint)
        following = leg.joints[place + 1] if place + 1 < len(leg.joints) else None
        if following is not None and following.kind == 'prismatic':
            tip_at_zero = following.translation + following.rotation_parent_joint @ leg.tip
            _add_bar(body, np.zeros(3), 0.85 * tip_at_zero, 2.0 * radius, 'cylinder')
        elif joint.kind == 'prismatic':
            _add_bar(body, leg.tip - 0.85 * leg.length_at_zero * joint.axis, leg.tip, radius, 'rod')
        parent = body
    SubElement(parent, 'site', name=f'{leg.name}_tip', pos=_text(leg.tip), size=_text([1.5 * radius]))


def _add_platform(base: Element, machine: Machine) -> None:
    body = SubElement(base, 'body', name='platform_link')
    for name, axis in (('x', '1 0 0'), ('y', '0 1 0'), ('z', '0 0 1')):
        SubElement(body, 'joint', name=f'platform_{name}', type='slide', axis=axis)
    SubElement(body, 'joint', name='platform_rotation', type='ball')
    _add_inertial(body, machine.platform)
    _add_ring(body, machine.platform_points, 'platform', _size(machine) * 0.02)
    for number, point in enumerate(machine.platform_points, start=1):
        SubElement(
            body,
            'site',
            name=f'platform_anchor{number}',
            pos=_text(point),
            size=_text([0.012 * _size(machine)]),
        )
    imu = machine.imu
    SubElement(
        body, 'site', name=imu.frame, type='box', pos=_text(imu.position), quat=_quaternion(imu.rotation_platform_imu),
        size=_text([0.03 * _size(machine)] * 3), rgba='0.9 0.5 0.1 1',
    )  # fmt: skip


def _add_ring(element: Element, points: Array, color: str, radius: float) -> None:
    """Bars from joint to joint, ordered around their centre (drawing only)."""
    centred = points - points.mean(axis=0)
    order = np.argsort(np.arctan2(centred[:, 1], centred[:, 0]))
    for start, end in zip(points[order], np.roll(points[order], -1, axis=0), strict=True):
        if np.linalg.norm(end - start) > 0.1 * radius:  # legs may share a point, and readers refuse empty bars
            _add_bar(element, start, end, radius, color)


def _add_bar(element: Element, start: Array, end: Array, radius: float, color: str) -> None:
    SubElement(
        element, 'geom', type='capsule', fromto=_text([*start, *end]), size=_text([radius]), rgba=_COLORS[color],
    )  # fmt: skip


def _add_sensors(root: Element, machine: Machine) -> None:
    sensors = SubElement(root, 'sensor')
    SubElement(sensors, 'accelerometer', name='imu_accelerometer', site=machine.imu.frame)
    SubElement(sensors, 'gyro', name='imu_gyro', site=machine.imu.frame)
    for joint in machine.actuated_joints:
        SubElement(sensors, 'jointpos', name=f'{joint.name}_position', joint=joint.name)
        SubElement(sensors, 'jointvel', name=f'{joint.name}_velocity', joint=joint.name)
        SubElement(sensors, 'jointactuatorfrc', name=f'{joint.name}_effort', joint=joint.name)


def _add_home(root: Element, machine: Machine) -> None:
    """Keyframe with closed loops; coordinates in the order of the bodies: legs, then platform."""
    mechanism = Mechanism(machine)
    home = machine.home
    motion = PlatformMotion.at_rest(home.position, home.rotation_base_platform)
    joints = leg_motion(mechanism, motion).positions[0].ravel()
    weight = gravity_forces(mechanism, motion.position, motion.rotation_base_platform)[0]
    position = f'{_text(joints)} {_text(home.position)} {_quaternion(home.rotation_base_platform)}'
    SubElement(SubElement(root, 'keyframe'), 'key', name='home', qpos=position, ctrl=_text(weight))
