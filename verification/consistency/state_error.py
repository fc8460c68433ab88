"""Errors of a filter's state in the coordinates of its covariance, and the directions in which a machine can err."""

from __future__ import annotations

import numpy as np
from pkm_description.arrays import Array
from pkm_description.kinematics.closed_legs import close_legs
from pkm_description.kinematics.rotation import quaternion_from_matrix, skew
from pkm_description.machine import Machine, PlatformMotion
from pkm_estimation.models import ATTITUDE, BIASES, POSITION, STATE_SIZE, VELOCITY
from pkm_estimation.motion_estimate import MotionEstimate
from pkm_estimation.stream import PlatformFilter
from scipy.linalg import null_space
from scipy.spatial.transform import Rotation

#: directions of the velocity in which the IMU's point moves by less than this share of the largest motion count as
#: blocked by the constraints
_MOVES = 0.1


def state_error(filter_: PlatformFilter, motion: PlatformMotion, sample: int, biases: Array) -> Array:
    """Estimate less truth (15,): position and attitude in the axes of the filter's present chart.

    ``biases`` (6,) are the true ones, platform axes.
    """
    truth = true_state(motion, filter_.geometry.imu_position, sample, biases, filter_.chart)
    error: Array = filter_.ukf.state[:STATE_SIZE] - truth
    error[POSITION] = filter_.chart.T @ filter_.imu_point - truth[POSITION]
    return error


def true_state(
    motion: PlatformMotion, imu_position: Array, sample: int | slice, biases: Array, chart: Array
) -> Array:
    """True states (..., 15), seen from a chart; ``biases`` (6,) are the true ones, platform axes."""
    rotation = motion.rotation_base_platform[sample]
    arm = rotation @ imu_position
    velocity = motion.linear_velocity[sample] + np.cross(motion.angular_velocity[sample], arm)
    state = np.empty((*arm.shape[:-1], STATE_SIZE))
    state[..., POSITION] = (motion.position[sample] + arm) @ chart
    state[..., VELOCITY] = (velocity[..., None, :] @ rotation)[..., 0, :]
    state[..., ATTITUDE] = quaternion_from_matrix(chart.T @ rotation)[..., :3]
    state[..., BIASES] = biases
    return state


def pose_errors(found: MotionEstimate, motion: PlatformMotion) -> Array:
    """Estimates less the samples of a motion that belong to them (N, 6): position m, and turn rad, base axes."""
    turned = Rotation.from_quat(found.orientation).as_matrix() @ motion.rotation_base_platform.transpose(0, 2, 1)
    return np.hstack([found.position - motion.position, Rotation.from_matrix(turned).as_rotvec()])


def normalised_squares(errors: Array, covariances: Array) -> Array:
    """``e^T P^-1 e`` (N,) of errors (N, n) by their covariances (N, n, n)."""
    return np.einsum('ni,ni->n', errors, np.linalg.solve(covariances, errors[..., None])[..., 0])


def free_directions(machine: Machine, motion: PlatformMotion, sample: int, chart: Array) -> Array:
    """Orthonormal columns (15, d): where the machine's constraints leave the state free, in a chart's axes.

    Directions that legs or a plane block have no random error: the filter keeps the constraints as exactly as
    ``constraint_std`` says, and the simulated machine keeps them exactly.
    """
    position, rotation = motion.position[sample], motion.rotation_base_platform[sample]
    constraints = close_legs(machine, position[None], rotation[None]).constraints[0]
    if not len(constraints):
        return np.eye(STATE_SIZE)
    twists = null_space(constraints)
    turning = chart.T @ twists[3:]
    moving = twists[:3] - skew(rotation @ machine.imu.position) @ twists[3:]
    quaternion = quaternion_from_matrix(chart.T @ rotation)
    attitude = 0.5 * (quaternion[3] * turning - skew(quaternion[:3]) @ turning)  # half (0, omega) times quaternion
    pose, _ = np.linalg.qr(np.vstack([chart.T @ moving, attitude]))
    ways, sizes, _ = np.linalg.svd(rotation.T @ moving)
    velocity = ways[:, : np.count_nonzero(sizes > _MOVES * sizes[0])]
    degrees_of_freedom, end = pose.shape[1], pose.shape[1] + velocity.shape[1]
    directions = np.zeros((STATE_SIZE, end + 6))
    directions[POSITION, :degrees_of_freedom], directions[ATTITUDE, :degrees_of_freedom] = pose[:3], pose[3:]
    directions[VELOCITY, degrees_of_freedom:end] = velocity
    directions[BIASES, end:] = np.eye(6)
    return directions


def normalised_error_squared(error: Array, covariance: Array, directions: Array) -> float:
    """``e^T P^-1 e`` within the span of orthonormal ``directions`` (n, d): chi-square with d degrees of freedom."""
    seen = directions.T @ error
    return float(seen @ np.linalg.solve(directions.T @ covariance @ directions, seen))
