"""What a user's measurement model sees: the platform's motion at all sigma points."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from pkm_description.arrays import Array
from pkm_description.errors import PkmError
from pkm_description.kinematics.rotation import matrix_from_quaternion, rotated, rotation_exp

from pkm_estimation.models import ACCELEROMETER_BIAS, ATTITUDE, GYROSCOPE_BIAS, POSITION, VELOCITY, EstimatorGeometry
from pkm_estimation.models.extra_states import StateLayout


class ObservationError(PkmError):
    """A user's function gave predictions that are no use."""


def observed(observe: Callable[[PlatformPoints], Array], points: PlatformPoints, count: int) -> Array:
    """Predictions (count, N) of a user's function for N motions; raises ObservationError."""
    predicted = np.asarray(observe(points), dtype=float)
    shape = count, len(points.rotation)
    if predicted.shape != shape or not np.isfinite(predicted).all():
        what = f'predictions {predicted.shape}' if predicted.shape != shape else 'predictions that are not finite'
        raise ObservationError(f'its function gave {what}, expected {shape} finite numbers')
    return predicted


class PlatformPoints:
    """N possible motions of the platform; vectors are (N, 3), whatever the filter's own coordinates are.

    Parameters
    ----------
    layout, geometry : where the filter's states lie, and what it knows of the machine
    chart : (3, 3), the chart's axes to base axes
    states : (n, N), position and attitude seen from the chart
    imu : (6,) IMU sample of now, platform axes

    Attributes
    ----------
    rotation : (N, 3, 3), platform axes to base axes
    angular_velocity : (N, 3) rad/s, platform axes: the IMU sample less its bias
    specific_force : (N, 3) m/s^2, of the IMU's point, platform axes: the IMU sample less its bias
    """

    def __init__(
        self, layout: StateLayout, geometry: EstimatorGeometry, chart: Array, states: Array, imu: Array
    ) -> None:
        vector = states[ATTITUDE].T
        scalar = np.sqrt(np.maximum(1.0 - np.sum(vector * vector, axis=1, keepdims=True), 0.0))
        rotation = chart @ matrix_from_quaternion(np.concatenate([vector, scalar], axis=1))
        rate, force = imu[3:] - states[GYROSCOPE_BIAS].T, imu[:3] - states[ACCELEROMETER_BIAS].T
        if layout.imu_rotation is not None:
            mounting = rotation_exp(states[layout.imu_rotation].T)
            rate, force = rotated(mounting, rate), rotated(mounting, force)
        self._imu_place = np.broadcast_to(geometry.imu_position, vector.shape)
        if layout.imu_position is not None:
            self._imu_place = self._imu_place + states[layout.imu_position].T
        self._imu_point = states[POSITION].T @ chart.T
        self._velocity = states[VELOCITY].T
        if layout.imu_delay is not None:  # the states lag by the rest of the delay
            rest = states[layout.imu_delay].T
            felt = rotated(np.swapaxes(rotation, 1, 2), np.broadcast_to(geometry.gravity, vector.shape))
            acceleration = force + felt
            moved = rest * self._velocity + 0.5 * rest**2 * acceleration
            self._imu_point = self._imu_point + rotated(rotation, moved)
            self._velocity = self._velocity + rest * (acceleration - np.cross(rate, self._velocity))
            rotation = rotation @ rotation_exp(rate * rest)
        self.rotation, self.angular_velocity, self.specific_force = rotation, rate, force

    def position(self, point: Array | None = None) -> Array:
        """Position (N, 3) m, base axes, of a point (3,) of the platform; default: its origin."""
        return self._imu_point + rotated(self.rotation, self._from_imu(point))

    def velocity(self, point: Array | None = None) -> Array:
        """Velocity (N, 3) m/s, base axes, of a point (3,) of the platform; default: its origin."""
        in_platform = self._velocity + np.cross(self.angular_velocity, self._from_imu(point))
        return rotated(self.rotation, in_platform)

    def _from_imu(self, point: Array | None) -> Array:
        return -self._imu_place if point is None else point - self._imu_place
