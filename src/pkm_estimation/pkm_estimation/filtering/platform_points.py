"""Motion of the platform at all sigma points: the input of a user's measurement model."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from pkm_description.arrays import Array
from pkm_description.errors import PkmError
from pkm_description.kinematics.rotation import rotated

from pkm_estimation.models import ATTITUDE, POSITION, EstimatorGeometry
from pkm_estimation.models.attitude import rotations_of
from pkm_estimation.models.extra_states import StateLayout
from pkm_estimation.models.imu_constants import with_constants
from pkm_estimation.models.inertial_process import ImuMotion


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
