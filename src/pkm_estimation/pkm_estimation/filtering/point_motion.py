"""Motion of any point of the platform from the filter's states, with covariances (Miletovic et al. 2017, Eq. 29)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from pkm_description.arrays import Array, packed
from pkm_description.errors import PkmError
from pkm_description.kinematics.rotation import cross, quaternion_from_matrix, rotated, rotation_exp, skew

from pkm_estimation.kernels.process import attitudes
from pkm_estimation.models import ACCELEROMETER_BIAS, ATTITUDE, GYROSCOPE_BIAS, POSITION, VELOCITY, EstimatorGeometry
from pkm_estimation.models.extra_states import StateLayout, with_constants
from pkm_estimation.models.inertial_process import LEAST_SQUARE, LEVI_CIVITA, ImuMotion, rotations_of

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


def moved_on_jacobian(
    layout: StateLayout, states: Array, by_q: Array, rotation: Array, gravity: Array, moved: ImuMotion, base_arm: Array
) -> Array:
    """Contribution of the remaining delay to the Jacobian (N, 12, n) of position, rotation and velocity by the states.

    Parameters
    ----------
    layout : with the delay as a state
    states : (N, n)
    by_q : (N, 3, 3) rotation about base axes per change of the attitude's states
    rotation : (N, 3, 3) before the extrapolation
    gravity : (3,) m/s^2, base axes
    moved : the motion after the extrapolation
    base_arm : (N, 3) m, from the point to the IMU, base axes, after the extrapolation
    """
    count, size = states.shape
    velocity, rate, force = states[:, VELOCITY], moved.angular_velocity, moved.specific_force
    turning = np.broadcast_to(moved.angular_acceleration, rate.shape)
    rest = states[:, layout.imu_delay]
    once = rest[:, :, None]
    half_square = 0.5 * once**2

    # samples less biases, turned by the mounting
    mounting = np.eye(3)
    by_rate, by_force, by_turning = (np.zeros((count, 3, size)) for _ in range(3))
    if layout.imu_rotation is not None:
        vector = states[:, layout.imu_rotation]
        mounting, left = rotation_exp(vector), turn_jacobian(vector)
        for change, value in ((by_rate, rate), (by_force, force), (by_turning, turning)):
            change[:, :, layout.imu_rotation] = -skew(value) @ left
    by_rate[:, :, GYROSCOPE_BIAS] = by_force[:, :, ACCELEROMETER_BIAS] = -mounting

    result = np.zeros((count, 12, size))
    to_platform = rotation.transpose(0, 2, 1)
    acceleration = force + rotated(to_platform, gravity)
    # attitude: R exp(turn)
    by_turn = once * by_rate + half_square * by_turning
    by_turn[:, :, layout.imu_delay] += (rate + rest * turning)[:, :, None]
    result[:, 3:6] = rotation @ turn_jacobian(rest * (rate + 0.5 * rest * turning)) @ by_turn
    # position: R (rest V + rest^2 / 2 f) + rest^2 / 2 g, and the arm turns along
    way = rotated(rotation, rest * velocity + 0.5 * rest**2 * force)
    result[:, 0:3] = skew(base_arm) @ result[:, 3:6] + rotation @ (half_square * by_force)
    result[:, 0:3, ATTITUDE] -= skew(way) @ by_q
    result[:, 0:3, VELOCITY] += once * rotation
    result[:, 0:3, layout.imu_delay] += rotated(rotation, velocity + rest * acceleration)[:, :, None]
    # velocity: V + rest (f + R^T g - omega x V)
    result[:, 6:9] = once * (by_force + skew(velocity) @ by_rate)
    result[:, 6:9, ATTITUDE] += once * (to_platform @ skew(gravity) @ by_q)
    result[:, 6:9, VELOCITY] -= once * skew(rate)
    result[:, 6:9, layout.imu_delay] += (acceleration - cross(rate, velocity))[:, :, None]
    return result


def turn_jacobian(vector: Array) -> Array:
    """Left Jacobian (N, 3, 3) of rotation vectors (N, 3): ``exp(v + dv) = exp(J dv) exp(v)`` to first order."""
    square = np.sum(vector * vector, axis=-1)[:, None, None]
    angle = np.sqrt(square)
    small = angle < 1e-3
    divisor = np.where(small, 1.0, angle)
    # by series where the quotients lose their digits
    first = 0.5 * np.sinc(0.5 * angle / np.pi) ** 2
    second = np.where(small, 1.0 / 6.0 - square / 120.0, (angle - np.sin(angle)) / divisor**3)
    generator = skew(vector)
    jacobian: Array = np.eye(3) + first * generator + second * (generator @ generator)
    return jacobian


class ObservationError(PkmError):
    """A user's measurement function returned predictions that cannot be used."""


def observed(observe: Callable[[PlatformPoints], Array], points: PlatformPoints, count: int) -> Array:
    """Predictions (count, N) of a user's function for N motions; raises ObservationError."""
    predicted = np.asarray(observe(points), dtype=float)
    shape = count, len(points.rotation)
    if predicted.shape != shape or not np.isfinite(predicted).all():
        what = f'predictions {predicted.shape}' if predicted.shape != shape else 'predictions that are not finite'
        raise ObservationError(f'the measurement function returned {what}, expected {shape} finite numbers')
    return predicted


class PlatformPoints:
    """N possible motions of the platform; vectors are (N, 3), independent of the filter's own coordinates.

    Parameters
    ----------
    layout, geometry : of the filter's states, and of the machine
    chart : (3, 3), the chart's axes to base axes
    states : (N, n), position and attitude seen from the chart
    imu : (6,) current IMU sample, nominal platform axes
    angular_acceleration : (3,) rad/s^2, current, the same axes; needed if the delay of the IMU is a state

    Attributes
    ----------
    rotation : (N, 3, 3), platform axes to base axes
    angular_velocity : (N, 3) rad/s, platform axes: the IMU sample less its bias
    specific_force : (N, 3) m/s^2, of the IMU's point, platform axes: the IMU sample less its bias
    """

    def __init__(
        self,
        layout: StateLayout,
        geometry: EstimatorGeometry,
        chart: Array,
        states: Array,
        imu: Array,
        angular_acceleration: Array,
    ) -> None:
        rotation, _ = rotations_of(states[:, ATTITUDE])
        position, rotation = states[:, POSITION] @ chart.T, chart @ rotation
        motion = ImuMotion.of(states, position, rotation, imu, angular_acceleration, geometry.imu_position)
        if layout.groups:
            motion = with_constants(layout, states, motion, geometry.gravity)
        self.rotation, self.angular_velocity = motion.rotation, motion.angular_velocity
        self.specific_force = motion.specific_force
        self._imu_point, self._velocity = motion.position, motion.velocity
        self._imu_place = np.broadcast_to(motion.place, motion.position.shape)

    def position(self, point: Array | None = None) -> Array:
        """Position (N, 3) m, base axes, of a point (3,) of the platform; default: its origin."""
        return self._imu_point + rotated(self.rotation, self._from_imu(point))

    def velocity(self, point: Array | None = None) -> Array:
        """Velocity (N, 3) m/s, base axes, of a point (3,) of the platform; default: its origin."""
        in_platform = self._velocity + np.cross(self.angular_velocity, self._from_imu(point))
        return rotated(self.rotation, in_platform)

    def _from_imu(self, point: Array | None) -> Array:
        return -self._imu_place if point is None else point - self._imu_place
