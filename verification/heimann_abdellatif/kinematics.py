"""Heimann & Abdellatif, R4-01 to R4-07: machines from data, kinematics both ways, Jacobians, limits."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import yaml
from pkm_description.arrays import Array
from pkm_description.dynamics import gravity_forces, inverse_dynamics
from pkm_description.errors import KinematicsError
from pkm_description.kinematics import forward_kinematics, joint_motion, joint_positions, leg_lengths
from pkm_description.kinematics.closed_legs import close_legs
from pkm_description.kinematics.drive_map import twist_per_drive
from pkm_description.kinematics.rotation import (
    angle_rate_matrix,
    angle_rate_matrix_rate,
    angles_from_matrix,
    angular_motion,
    matrix_from_angles,
    rotation_log,
    skew,
)
from pkm_description.kinematics.workspace import position_violations, random_states
from pkm_description.loading import load_machine
from pkm_description.loading.yaml_reader import as_lists, by_name
from pkm_description.machine import Joint, Machine, PlatformMotion
from pkm_description.machine.machine import with_joints
from pkm_description.motion.coordinates import motion_from_coordinates
from pkm_description.motion.limits import check_motion, require_motion
from scipy.spatial.transform import Rotation

from verification.check import (
    Check,
    agree,
    at_least,
    at_most,
    equal,
    holds,
    near,
    not_reachable,
    refused,
    relative_error,
)
from verification.mechanics.neighbours import numeric_joint_map, smooth_derivative

#: m and rad of five-point differences
STEP = 1e-3


def checks(machine: Machine, quick: bool) -> Iterator[Check]:
    """Judge a hexapod of U-P legs."""
    motion = random_states(machine, 50 if quick else 500, seed=21)
    yield from definition_checks(machine)
    yield from pose_checks(machine, motion)
    yield from jacobian_checks(machine, motion)
    yield from cardan_checks(motion)


def definition_checks(machine: Machine) -> Iterator[Check]:
    """R4-01: another hexapod by changing the file alone."""
    random = np.random.default_rng(22)
    content = by_name(machine.path, yaml.safe_load(machine.path.read_text(encoding='utf-8')))
    base = machine.base_points + 0.02 * random.uniform(-1.0, 1.0, (6, 3))
    platform = machine.platform_points + 0.01 * random.uniform(-1.0, 1.0, (6, 3))
    turns = random.uniform(-0.2, 0.2, 6)
    for leg, points in zip(content['legs'].values(), zip(base, platform, turns, strict=True), strict=True):
        leg['base_point'], leg['platform_point'] = points[0].tolist(), points[1].tolist()
        leg['base_rpy'][2] += float(points[2])
    lower, upper = 0.01, 0.4
    content['leg_chain']['prismatic']['limits'].update(lower=lower, upper=upper)
    content['name'] = 'changed_in_its_file'
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / 'machine.yaml'
        file.write_text(yaml.safe_dump(as_lists(content), sort_keys=False), encoding='utf-8')
        changed = load_machine(file)
    kinds = tuple(joint.kind for joint in changed.legs[0].joints)
    yield equal('R4-01', 'joint kinds from the file', ('revolute', 'revolute', 'prismatic'), kinds)
    difference = np.concatenate([changed.base_points - base, changed.platform_points - platform])
    yield at_most('R4-01', 'base and platform points from the file', 0.0, difference, 'm')
    axes = Rotation.from_rotvec(np.outer(turns, [0.0, 0.0, 1.0])).apply(_first_axes(machine))
    yield at_most('R4-01', 'cardan axes from the file', 1e-14, _first_axes(changed) - axes)
    stroke = [changed.position_lower[2::3] - lower, changed.position_upper[2::3] - upper]
    yield at_most('R4-01', 'stroke from the file', 0.0, stroke, 'm')


def pose_checks(machine: Machine, motion: PlatformMotion) -> Iterator[Check]:
    """R4-02: lengths, cardan angles, and back by Newton."""
    pose = motion.position, motion.rotation_base_platform
    lengths = leg_lengths(machine, *pose)
    anchors = pose[0][:, None] + np.einsum('nij,kj->nki', pose[1], machine.platform_points)
    legs = anchors - machine.base_points
    yield at_most('R4-02', 'leg lengths = distances of the joints', 1e-14, lengths - np.linalg.norm(legs, axis=-1), 'm')
    positions = joint_positions(machine, *pose)
    alpha, beta = positions[:, ::3], positions[:, 1::3]
    direction = np.empty_like(legs)
    for leg, described in enumerate(machine.legs):
        first, second, third = described.joints
        turn_1 = Rotation.from_matrix(first.rotation_parent_joint) * Rotation.from_rotvec(
            alpha[:, leg, None] * first.axis
        )
        turn_2 = Rotation.from_matrix(second.rotation_parent_joint) * Rotation.from_rotvec(
            beta[:, leg, None] * second.axis
        )
        direction[:, leg] = (turn_1 * turn_2).apply(third.rotation_parent_joint @ third.axis)
    error = direction - legs / lengths[..., None]
    yield at_most('R4-02', 'cardan angles point the legs at the platform joints (scipy rotations)', 1e-12, error)
    found = forward_kinematics(machine, lengths - machine.lengths_at_zero)
    yield at_most('R4-02', 'round trip by Newton, position', 1e-10, found.position - pose[0], 'm')
    turned = rotation_log(np.swapaxes(found.rotation_base_platform, 1, 2) @ pose[1])
    yield at_most('R4-02', 'round trip by Newton, rotation', 1e-10, turned, 'rad')


def jacobian_checks(machine: Machine, motion: PlatformMotion) -> Iterator[Check]:
    """R4-03: twist per drive rate, and rates of all joints per twist."""
    pose = motion.position, motion.rotation_base_platform
    legs = close_legs(machine, *pose)

    error = relative_error(legs.joint_map, numeric_joint_map(machine, motion))
    yield at_most('R4-03', "dq'/dtheta' of all 18 joints against finite differences, relative", 1e-6, error)

    lengths = leg_lengths(machine, *pose)
    found = np.empty((len(motion), 6, 6))
    for leg, unit in enumerate(np.eye(6)):

        def coordinates(step: float, unit: Array = unit) -> Array:
            other = forward_kinematics(machine, lengths + step * unit - machine.lengths_at_zero).require()
            turn = rotation_log(other.rotation_base_platform @ np.swapaxes(pose[1], 1, 2))
            return np.concatenate([other.position, turn], axis=1)

        found[..., leg] = smooth_derivative(coordinates, STEP)
    error = relative_error(twist_per_drive(legs), found)
    yield at_most('R4-03', "J = dtheta'/dq_a' against differences of forward kinematics, relative", 1e-6, error)
    rates = joint_motion(machine, motion).velocities
    through = legs.joint_map @ (twist_per_drive(legs) @ rates[:, machine.drive_columns, None])
    yield agree('R4-03', 'all joint rates from the drive rates', 1e-11, through[..., 0], rates)


def cardan_checks(motion: PlatformMotion) -> Iterator[Check]:
    """R4-04: cardan angles and angular velocity in selectable order."""
    for order in ('xyz', 'zyx', 'zxz'):
        angles = angles_from_matrix(motion.rotation_base_platform, order)
        if order == 'zxz':
            # Euler angles are singular where the second angle is zero, which is home
            angles = angles + np.array([0.0, 0.8, 0.0])
        rotation = matrix_from_angles(angles, order)
        if order != 'zxz':
            yield at_most(
                'R4-04', f'{order}: rotation -> angles -> rotation', 1e-12, rotation - motion.rotation_base_platform
            )
        rates, second = angle_motion(angles, motion.angular_velocity, motion.angular_acceleration, order)
        velocity, acceleration = angular_motion(angles, rates, second, order)
        error = np.stack([velocity - motion.angular_velocity, acceleration - motion.angular_acceleration])
        yield at_most('R4-04', f"{order}: omega, omega' -> angle derivatives -> omega, omega'", 1e-10, error)

        def path(time: float, angles: Array = angles, rates: Array = rates, second: Array = second) -> Array:
            return angles + time * rates + 0.5 * time**2 * second

        def turned(time: float, order: str = order) -> Array:
            return matrix_from_angles(path(time), order)

        turning = smooth_derivative(turned, STEP)
        error = skew(motion.angular_velocity) @ rotation - turning
        yield at_most('R4-04', f"{order}: R' = omega x R, finite differences", 1e-6, error)

        def omega(time: float, order: str = order, rates: Array = rates, second: Array = second) -> Array:
            return (angle_rate_matrix(path(time), order) @ (rates + time * second)[..., None])[..., 0]

        error = smooth_derivative(omega, STEP) - motion.angular_acceleration
        yield at_most('R4-04', f"{order}: omega' against finite differences", 1e-6, error, 'rad/s^2')


def _first_axes(machine: Machine) -> Array:
    first = [leg.joints[0] for leg in machine.legs]
    return np.array([joint.rotation_parent_joint @ joint.axis for joint in first])


def angle_motion(angles: Array, velocity: Array, acceleration: Array, order: str) -> tuple[Array, Array]:
    """First and second derivatives (..., 3) of angles from angular velocity and acceleration (..., 3), base axes."""
    matrix = angle_rate_matrix(angles, order)
    rates = np.asarray(np.linalg.solve(matrix, velocity[..., None]), dtype=float)
    drift = angle_rate_matrix_rate(angles, rates[..., 0], order) @ rates
    second = np.linalg.solve(matrix, acceleration[..., None] - drift)
    return rates[..., 0], np.asarray(second[..., 0])


#: m/s^2
STANDARD_GRAVITY = 9.80665

#: joint limits for the check of each kind, narrow enough that a part of the tested poses breaks each of them
_ANGLE, _CONE = 0.45, 0.4


def limit_checks(machine: Machine, quick: bool) -> Iterator[Check]:
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
    time, rate, along = np.linspace(0.0, 1.0 / frequency, samples), 2.0 * np.pi * frequency, np.eye(6)[axis]
    sine, cosine = np.sin(rate * time)[:, None] * along, np.cos(rate * time)[:, None] * along
    return motion_from_coordinates(
        time, amplitude * sine, amplitude * rate * cosine, -amplitude * rate**2 * sine, machine.home
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

    def narrow(joint: Joint) -> Joint:
        limits = dataclasses.replace(joint.limits, lower=-_ANGLE, upper=_ANGLE)
        return joint if joint.actuated else dataclasses.replace(joint, limits=limits)

    narrowed = with_joints(machine, narrow)
    return dataclasses.replace(narrowed, legs=tuple(leg.with_end(cone=_CONE) for leg in narrowed.legs))
