"""Heimann & Abdellatif, R4-01 to R4-07: machines from data, kinematics both ways, Jacobians, limits."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import yaml
from pkm_description.arrays import Array
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
from pkm_description.kinematics.workspace import random_states
from pkm_description.loading import load_machine
from pkm_description.loading.yaml_reader import as_lists, by_name
from pkm_description.machine import Machine, PlatformMotion
from scipy.spatial.transform import Rotation

from verification.check import Check, at_most, equal, relative_error
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
    yield at_most(
        'R4-03', 'all joint rates from the drive rates, relative', 1e-11, relative_error(through[..., 0], rates)
    )


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
