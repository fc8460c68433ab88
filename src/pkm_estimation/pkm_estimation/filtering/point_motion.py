"""Motion of any point of the platform from the filter's states, with covariances (Miletovic et al. 2017, Eq. 29)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from pkm_description.arrays import Array, packed
from pkm_description.kinematics.rotation import cross, quaternion_from_matrix, rotated, rotation_exp

from pkm_estimation.filtering.delay_jacobian import moved_on_jacobian, turn_jacobian
from pkm_estimation.kernels.attitude import attitudes
from pkm_estimation.models import ATTITUDE, GYROSCOPE_BIAS, POSITION, VELOCITY, EstimatorGeometry
from pkm_estimation.models.attitude import LEAST_SQUARE, LEVI_CIVITA
from pkm_estimation.models.extra_states import StateLayout
from pkm_estimation.models.imu_constants import with_constants
from pkm_estimation.models.inertial_process import ImuMotion

_IDENTITY = np.eye(3)
# q @ this: skew(q), its rows one after the other
_SKEW = -LEVI_CIVITA.transpose(2, 0, 1).reshape(3, 9)


class Attitudes(NamedTuple):
    """Attitudes at N instants.

    Attributes
    ----------
    rotation : (N, 3, 3) from platform to base axes
    orientation : (N, 4) the same as quaternions xyzw with w >= 0
    by_q : (N, 3, 3) rotation about base axes per change of the state's q, the inverse of ``Q(q)``
    """

    rotation: Array
    orientation: Array
    by_q: Array


class _FilterStates(NamedTuple):
    """The arrays of :class:`FilterStates`.

    Attributes
    ----------
    state : (N, n), position and attitude seen from the chart
    covariance : (N, n, n)
    chart : (N, 3, 3), the chart's axes to base axes
    chart_quaternion : (N, 4) the same, xyzw
    imu : (N, 6) IMU samples of these instants, platform axes
    angular_acceleration : (N, 3) rad/s^2 there; used if the delay of the IMU is a state
    imu_covariance : (N, 6, 6) of one sample, platform axes
    """

    state: Array
    covariance: Array
    chart: Array
    chart_quaternion: Array
    imu: Array
    angular_acceleration: Array
    imu_covariance: Array


class FilterStates(_FilterStates):
    """States and covariances of the filter at N instants, in its own coordinates; arrays as in its base class."""

    @cached_property
    def attitudes(self) -> Attitudes:
        """Attitudes of the platform."""
        count = len(self.state)
        found = Attitudes(np.empty((count, 3, 3)), np.empty((count, 4)), np.empty((count, 3, 3)))
        attitudes(
            packed(self.state), ATTITUDE.start, packed(self.chart), packed(self.chart_quaternion), LEAST_SQUARE, *found
        )
        return found


@dataclass(frozen=True)
class PointMotion:
    """Motion of a point of the platform; with a leading sample axis for several instants.

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

    The angular rate is the sample minus its bias, so the twist covariance contains the sample's noise, too (taken
    as independent of the state: the last prediction used half of this sample, over one short interval). The result of
    an instant does not depend on the other instants, bit by bit: products are computed matrix by matrix.
    """
    rotation, orientation, by_q = known.attitudes
    imu_point = rotated(known.chart, known.state[:, POSITION])
    moved = ImuMotion.of(
        known.state, imu_point, rotation, known.imu, known.angular_acceleration, geometry.imu_position
    )
    if layout.groups:
        moved = with_constants(layout, known.state, moved, geometry.gravity)
    arm = moved.place if point is None else moved.place - point  # from the point to the IMU
    omega, base_arm = moved.angular_velocity, rotated(moved.rotation, arm)
    if layout.imu_delay is not None:
        orientation = quaternion_from_matrix(moved.rotation)
    jacobian = _jacobian(layout, by_q, known, moved, arm, base_arm)
    if layout.imu_delay is not None:
        jacobian += moved_on_jacobian(layout, known.state, by_q, rotation, geometry.gravity, moved, base_arm)
    total = jacobian @ known.covariance @ jacobian.transpose(0, 2, 1)
    rate_noise = jacobian[:, 6:, GYROSCOPE_BIAS]  # a bias acts like a constant error of the sample
    total[:, 6:, 6:] += rate_noise @ known.imu_covariance[:, 3:, 3:] @ rate_noise.transpose(0, 2, 1)
    return PointMotion(
        moved.position - base_arm,
        orientation,
        moved.rotation,
        moved.velocity - cross(omega, arm),
        omega,
        total[:, :6, :6],
        total[:, 6:, 6:],
    )


def _jacobian(
    layout: StateLayout, by_q: Array, known: FilterStates, moved: ImuMotion, arm: Array, base_arm: Array
) -> Array:
    """Jacobian (N, 12, n) of position, rotation about base axes, velocity, angular velocity; without the delay."""
    jacobian = np.zeros((len(by_q), 12, layout.size))
    mounting, omega = _IDENTITY, moved.angular_velocity
    if layout.imu_rotation is not None:
        mounting = rotation_exp(known.state[:, layout.imu_rotation])
    jacobian[:, 0:3, POSITION], jacobian[:, 6:9, VELOCITY] = known.chart, _IDENTITY
    jacobian[:, 0:3, ATTITUDE] = _skew(base_arm) @ by_q
    jacobian[:, 3:6, ATTITUDE] = by_q
    arm_matrix = _skew(arm)
    jacobian[:, 6:9, GYROSCOPE_BIAS] = -arm_matrix @ mounting
    jacobian[:, 9:12, GYROSCOPE_BIAS] = -mounting
    if layout.imu_position is not None:
        jacobian[:, 0:3, layout.imu_position] = -moved.rotation
        jacobian[:, 6:9, layout.imu_position] = -_skew(omega)
    if layout.imu_rotation is not None:
        turning = _skew(omega) @ turn_jacobian(known.state[:, layout.imu_rotation])
        jacobian[:, 6:9, layout.imu_rotation] = -arm_matrix @ turning
        jacobian[:, 9:12, layout.imu_rotation] = -turning
    return jacobian


def _skew(vectors: Array) -> Array:
    """The same as :func:`skew`, of a few vectors (..., 3), in one product."""
    return vectors.dot(_SKEW).reshape(*vectors.shape[:-1], 3, 3)
