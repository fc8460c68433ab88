"""Motion of any point of the platform from the filter's states, with covariances (Miletovic et al. 2017, Eq. 29)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from pkm_description.arrays import Array
from pkm_description.kinematics.rotation import cross, quaternion_from_matrix, rotated, rotation_exp

from pkm_estimation.models import ACCELEROMETER_BIAS, ATTITUDE, GYROSCOPE_BIAS, POSITION, VELOCITY, EstimatorGeometry
from pkm_estimation.models.attitude_chart import scalar_parts
from pkm_estimation.models.extra_states import StateLayout
from pkm_estimation.models.quaternion_products import LEVI_CIVITA

_IDENTITY = np.eye(3)
# q @ this: skew(q), its rows one after the other
_SKEW = -LEVI_CIVITA.transpose(2, 0, 1).reshape(3, 9)
# p @ this: the matrix (4, 4) that multiplies quaternions xyzw by p from the left
_LEFT = np.zeros((4, 16))
_LEFT[3] = np.eye(4).ravel()
_LEFT[:3].reshape(3, 4, 4)[:, :3, :3] = _SKEW.reshape(3, 3, 3)
_LEFT[:3].reshape(3, 4, 4)[:, :3, 3], _LEFT[:3].reshape(3, 4, 4)[:, 3, :3] = _IDENTITY, -_IDENTITY


class FilterStates(NamedTuple):
    """What the filter knew at N instants, in its own coordinates.

    Attributes
    ----------
    state : (N, n), position and attitude seen from the chart
    covariance : (N, n, n)
    chart : (N, 3, 3), the chart's axes to base axes
    chart_quaternion : (N, 4) the same, xyzw
    imu : (N, 6) IMU samples of these instants, platform axes
    imu_covariance : (N, 6, 6) of one sample, platform axes
    """

    state: Array
    covariance: Array
    chart: Array
    chart_quaternion: Array
    imu: Array
    imu_covariance: Array


@dataclass(frozen=True)
class PointMotion:
    """Motion of a point of the platform; with a leading sample axis where many are asked for.

    Attributes
    ----------
    position : (3,) m, base axes
    orientation : (4,) quaternion xyzw, platform axes in base axes
    rotation_base_platform : (3, 3)
    velocity, angular_velocity : (3,) m/s, rad/s, platform axes
    pose_covariance : (6, 6) of position and rotation about base axes
    twist_covariance : (6, 6) of velocity and angular velocity, platform axes
    """

    position: Array
    orientation: Array
    rotation_base_platform: Array
    velocity: Array
    angular_velocity: Array
    pose_covariance: Array
    twist_covariance: Array

    def __getitem__(self, index: int) -> PointMotion:
        """One of many."""
        return PointMotion(*(values[index] for values in vars(self).values()))


def point_motions(
    layout: StateLayout, geometry: EstimatorGeometry, known: FilterStates, point: Array | None = None
) -> PointMotion:
    """Pose and twist of a point (3,) of the platform (default: origin) at N instants (Eq. 29).

    The angular rate is the sample less its bias, so the twist's covariance contains the sample's noise, too (taken
    as independent of the state: the last prediction saw half of this sample, over one short interval). The numbers of
    an instant are the same, bit by bit, whatever the other instants are: products are taken matrix by matrix.
    """
    state, imu = known.state, known.imu
    velocity = state[:, VELOCITY]
    rotation, orientation, by_q = attitudes(known)
    imu_point = rotated(known.chart, state[:, POSITION])
    place, mounting = geometry.imu_position, _IDENTITY
    if layout.imu_position is not None:
        place = place + state[:, layout.imu_position]
    if layout.imu_rotation is not None:
        mounting = rotation_exp(state[:, layout.imu_rotation])
    arm = place if point is None else place - point  # from the point to the IMU
    omega = imu[:, 3:] - state[:, GYROSCOPE_BIAS]
    if layout.imu_rotation is not None:
        omega = rotated(mounting, omega)
    lag: Array | None = None
    if layout.imu_delay is not None:  # the state lags by the rest of the delay: move on by it
        rest = state[:, layout.imu_delay]
        force = rotated(mounting, imu[:, :3] - state[:, ACCELEROMETER_BIAS])
        acceleration = force + rotated(rotation.transpose(0, 2, 1), geometry.gravity)
        change = acceleration - cross(omega, velocity)
        lag = np.concatenate(
            [rotated(rotation, velocity), rotated(rotation, omega), change, np.zeros(change.shape)], axis=1
        )
        imu_point = imu_point + rest * lag[:, :3] + 0.5 * rest**2 * rotated(rotation, acceleration)
        turn = rotation_exp(rest * omega)
        rotation, velocity = rotation @ turn, velocity + rest * lag[:, 6:9]
        orientation = quaternion_from_matrix(rotation)
    base_arm = rotated(rotation, arm)
    jacobian = _jacobian(layout, by_q, known, rotation, mounting, omega, arm, base_arm, lag)
    total = jacobian @ known.covariance @ jacobian.transpose(0, 2, 1)
    rate_noise = jacobian[:, 6:, GYROSCOPE_BIAS]  # a bias is a sample's error that stays
    total[:, 6:, 6:] += rate_noise @ known.imu_covariance[:, 3:, 3:] @ rate_noise.transpose(0, 2, 1)
    return PointMotion(
        imu_point - base_arm,
        orientation,
        rotation,
        velocity - cross(omega, arm),
        omega,
        total[:, :6, :6],
        total[:, 6:, 6:],
    )


def attitudes(known: FilterStates) -> tuple[Array, Array, Array]:
    """Rotations (N, 3, 3) from platform to base axes, the same as quaternions xyzw (N, 4) with w >= 0, and by q.

    The latter (N, 3, 3), the inverse of ``Q(q)``, is rotation about base axes per change of q.
    """
    q = known.state[:, ATTITUDE]
    e0, turn = scalar_parts(q), _skew(q)
    twice_e0, norm = 2.0 * e0[:, None, None], np.add.reduce(q * q, axis=1) + e0 * e0  # 1 but for the guard of e0
    in_chart = _IDENTITY + (twice_e0 * turn + 2.0 * (turn @ turn)) / norm[:, None, None]
    by_q = twice_e0 * _IDENTITY + 2.0 * turn + (2.0 / e0)[:, None, None] * (q[:, :, None] * q[:, None, :])
    left = known.chart_quaternion.dot(_LEFT).reshape(-1, 4, 4)
    orientation = rotated(left, np.concatenate([q, e0[:, None]], axis=1))
    orientation /= np.copysign(np.sqrt(norm), orientation[:, 3])[:, None]
    return known.chart @ in_chart, orientation, known.chart @ by_q


def _jacobian(
    layout: StateLayout, by_q: Array, known: FilterStates, rotation: Array, mounting: Array, omega: Array, arm: Array,
    base_arm: Array, lag: Array | None,
) -> Array:  # fmt: skip
    """Position, rotation about base axes, velocity, angular velocity by the states (N, 12, n)."""
    jacobian = np.zeros((len(by_q), 12, layout.size))
    jacobian[:, 0:3, POSITION], jacobian[:, 6:9, VELOCITY] = known.chart, _IDENTITY
    jacobian[:, 0:3, ATTITUDE] = _skew(base_arm) @ by_q
    jacobian[:, 3:6, ATTITUDE] = by_q
    arm_matrix = _skew(arm)
    jacobian[:, 6:9, GYROSCOPE_BIAS] = -arm_matrix @ mounting
    jacobian[:, 9:12, GYROSCOPE_BIAS] = -mounting
    if layout.imu_position is not None:
        jacobian[:, 0:3, layout.imu_position] = -rotation
        jacobian[:, 6:9, layout.imu_position] = -_skew(omega)
    if layout.imu_rotation is not None:  # to first order in the correction of the mounting
        turning = _skew(omega)
        jacobian[:, 6:9, layout.imu_rotation] = -arm_matrix @ turning
        jacobian[:, 9:12, layout.imu_rotation] = -turning
    if lag is not None:
        jacobian[:, :, layout.imu_delay] = lag[:, :, None]
        jacobian[:, 0:3, layout.imu_delay] -= cross(lag[:, 3:6], base_arm)[:, :, None]
    return jacobian


def _skew(vectors: Array) -> Array:
    """The same as :func:`skew`, of a few vectors (..., 3), in one product."""
    return vectors.dot(_SKEW).reshape(*vectors.shape[:-1], 3, 3)
