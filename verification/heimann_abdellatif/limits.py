"""Heimann & Abdellatif, R4-05 to R4-07: the check before motion, and the printed limits of both machines."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np
from pkm_description.arrays import Array
from pkm_description.dynamics import gravity_forces, inverse_dynamics
from pkm_description.errors import KinematicsError
from pkm_description.kinematics import joint_positions, leg_lengths
from pkm_description.kinematics.workspace import position_violations, random_states
from pkm_description.machine import Machine, PlatformMotion
from pkm_description.motion.limits import check_motion, require_motion

from verification.check import Check, at_least, at_most, equal, holds, near, not_reachable, refused

#: m/s^2
STANDARD_GRAVITY = 9.80665

#: joint limits for the check of each kind, narrow enough that a part of the tested poses breaks each of them
_ANGLE, _CONE = 0.45, 0.4


def checks(machine: Machine, quick: bool) -> Iterator[Check]:
    """The machine's limits, and the check of motions against them."""
    yield from workspace_checks(machine, 300 if quick else 3000)
    if machine.name == 'msi':
        yield from msi_checks(machine)
    else:
        yield from palida_checks(machine)


def workspace_checks(machine: Machine, count: int) -> Iterator[Check]:
    """R4-05: every commanded pose is checked, for strokes, joint angles and tilts, before anything moves."""
    narrow = _with_narrow_joints(machine)
    motion = random_states(narrow, count, seed=31, turn=0.45, move=0.3)
    pose = motion.position, motion.rotation_base_platform
    found = position_violations(narrow, motion)
    lengths = leg_lengths(narrow, *pose) - narrow.lengths_at_zero
    angles = joint_positions(narrow, *pose).reshape(count, 6, 3)[..., :2]
    outside = {
        'stroke': ((lengths < narrow.position_lower[2::3]) | (lengths > narrow.position_upper[2::3])).sum(),
        'joint angle': (np.abs(angles) > _ANGLE).sum(),
        'tilt of ball joint': (_tilts(narrow, *pose) > _CONE).sum(),
    }
    counted = {
        'stroke': sum(one.limit == 'position' and one.unit == 'm' for one in found),
        'joint angle': sum(one.limit == 'position' and one.unit == 'rad' for one in found),
        'tilt of ball joint': sum(one.limit == 'tilt' for one in found),
    }
    for kind, expected in outside.items():
        what = f'{kind}: violations found in {count} poses, each with leg, joint and bound'
        yield holds('R4-05', what, f'{expected}, > 0', str(counted[kind]), 0 < expected == counted[kind])
    home = harmonic(machine, 0.0, 1.0, 2)
    yield equal('R4-05', 'violations at home', 0, len(check_motion(machine, home)))
    far = 0.9 * float(machine.legs[0].joints[2].limits.upper)
    for what, motion in (
        ('pose beyond the stroke', harmonic(machine, far, 0.1, 2)),
        ('motion beyond the drives speed and force', harmonic(machine, 0.05, 25.0, 2)),
    ):
        what = f'{what} is refused before motion'
        yield refused('R4-05', what, KinematicsError, require_motion, machine, motion)


def msi_checks(machine: Machine) -> Iterator[Check]:
    """R4-06: force, speed and acceleration, and the standard regime."""
    limits = [joint.limits for joint in machine.actuated_joints]
    yield equal('R4-06', 'force of every cylinder, N', [15000.0], sorted({limit.effort for limit in limits}))
    yield equal('R4-06', 'speed of every cylinder, m/s', [1.0], sorted({limit.velocity for limit in limits}))
    yield at_least(
        'R4-06', 'acceleration along x, y, z at home / g', 50.0, largest_accelerations(machine) / STANDARD_GRAVITY
    )
    for axis, name in enumerate('xyz'):
        motion = harmonic(machine, 0.025, 5.0, axis)
        if axis == 0:
            yield near('R4-06', '5 Hz, 25 mm: peak speed', 0.785, np.abs(motion.linear_velocity).max(), 5e-4, 'm/s')
            largest = np.abs(motion.linear_acceleration).max()
            yield near('R4-06', '5 Hz, 25 mm: peak acceleration', 24.7, largest, 0.05, 'm/s^2')
        yield equal('R4-06', f'5 Hz, 25 mm along {name}: violations', 0, len(check_motion(machine, motion)))


def palida_checks(machine: Machine) -> Iterator[Check]:
    """R4-07: printed force; the file says that its geometry is assumed."""
    efforts = sorted({joint.limits.effort for joint in machine.actuated_joints})
    yield equal('R4-07', 'force of every drive, N', [200.0], efforts)
    told = machine.provenance.get('legs', '')
    yield holds('R4-07', 'the file says that its geometry is assumed', 'assumed: ...', told, told.startswith('assumed'))
    forces = gravity_forces(machine, machine.home.position[None], machine.home.rotation_base_platform[None])
    yield at_most('R4-07', 'forces that hold the platform at home', 200.0, forces, 'N')
    reason = 'a property of the machine in Hannover: a simulated one has what friction and backlash it is given'
    yield not_reachable('R4-49', 'repeatability from point to point (printed: about 20 um)', '<= 20 um', reason)


def largest_accelerations(machine: Machine) -> Array:
    """Acceleration (3,) m/s^2 along x, y, z from rest at home that the drives' forces allow, without friction."""
    home = machine.home
    strongest = np.array([joint.limits.effort for joint in machine.actuated_joints])
    still = PlatformMotion.at_rest(home.position, home.rotation_base_platform)
    weight = inverse_dynamics(machine, still, friction=False)[0]
    result = []
    for axis in np.eye(3):
        per_unit = inverse_dynamics(
            machine, dataclasses.replace(still, linear_acceleration=axis[None]), friction=False
        )[0]
        slope = per_unit - weight
        result.append(np.min((strongest - weight * np.sign(slope)) / np.abs(slope)))
    return np.array(result)


def harmonic(machine: Machine, amplitude: float, frequency: float, axis: int, samples: int = 201) -> PlatformMotion:
    """One period of a sine of ``frequency`` Hz along an axis about home."""
    time = np.linspace(0.0, 1.0 / frequency, samples)
    rate, along = 2.0 * np.pi * frequency, np.eye(3)[axis]
    sine, cosine = np.sin(rate * time)[:, None], np.cos(rate * time)[:, None]
    still = np.zeros((samples, 3))
    return PlatformMotion(
        time,
        machine.home.position + amplitude * sine * along,
        np.broadcast_to(machine.home.rotation_base_platform, (samples, 3, 3)),
        amplitude * rate * cosine * along,
        still,
        -amplitude * rate**2 * sine * along,
        still,
    )


def _tilts(machine: Machine, position: Array, rotation_base_platform: Array) -> Array:
    """Angles (N, L) rad between a leg, seen from the platform, and the same leg at home."""
    home = machine.home
    directions = []
    for place, turn in ((position, rotation_base_platform), (home.position[None], home.rotation_base_platform[None])):
        vectors = (place[:, None] - machine.base_points) @ turn + machine.platform_points
        directions.append(vectors / np.linalg.norm(vectors, axis=-1, keepdims=True))
    return np.asarray(np.arccos(np.sum(directions[0] * directions[1], axis=-1)))


def _with_narrow_joints(machine: Machine) -> Machine:
    """The machine with tight limits of cardan angles and ball joints."""
    legs = []
    for leg in machine.legs:
        joints = tuple(
            joint
            if joint.actuated
            else dataclasses.replace(joint, limits=dataclasses.replace(joint.limits, lower=-_ANGLE, upper=_ANGLE))
            for joint in leg.joints
        )
        legs.append(dataclasses.replace(leg, joints=joints).with_end(cone=_CONE))
    return dataclasses.replace(machine, legs=tuple(legs))
