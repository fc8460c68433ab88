"""Measurement model of the leg lengths with leg offsets and IMU delay, mounting and position as states."""

from __future__ import annotations

import numpy as np
from pkm_description.arrays import Array

from pkm_estimation.models.attitude import rotations_of
from pkm_estimation.models.extra_states import StateLayout
from pkm_estimation.models.imu_constants import with_constants
from pkm_estimation.models.inertial_process import ATTITUDE, POSITION, ImuMotion
from pkm_estimation.models.leg_model import LegModel


class CalibratedLegModel(LegModel):
    """Distances between base and platform joints for states with extra entries, all points (columns) in one call.

    Parameters
    ----------
    base_points : (L, 3) m, base axes
    platform_points : (L, 3) m, from the IMU's nominal place, platform axes
    gravity : (3,) m/s^2, base axes
    lengths_at_zero : (L,) m, of legs whose drives are at zero
    layout : where the extra states lie

    Attributes
    ----------
    imu : (6,) IMU sample of now, nominal platform axes; needed where the delay is a state
    angular_acceleration : (3,) rad/s^2 of now, the same; the slope of the last two samples
    """

    def __init__(
        self, base_points: Array, platform_points: Array, gravity: Array, lengths_at_zero: Array, layout: StateLayout
    ) -> None:
        self.leg_count = len(base_points)
        self._lengths_at_zero = lengths_at_zero
        self._platform_points, self._layout = platform_points, layout
        self.imu, self.angular_acceleration = np.zeros(6), np.zeros(3)
        self._outside = 0
        self._base = base_points, gravity
        self.set_chart(np.eye(3))

    @property
    def outside_unit_sphere(self) -> int:
        """Number of evaluated points with ``q.q > 1`` so far (S3-26)."""
        return self._outside

    def follow(self, imu_start: Array, imu_end: Array, duration: float) -> None:
        """Store the last IMU sample (6,) and the angular acceleration."""
        self.imu, self.angular_acceleration = imu_end, (imu_end[3:] - imu_start[3:]) / duration

    def snapshot(self) -> tuple[Array, Array]:
        """State for :meth:`restore`; it is never changed in place."""
        return self.imu, self.angular_acceleration

    def restore(self, snapshot: tuple[Array, Array]) -> None:
        """Restore a snapshot."""
        self.imu, self.angular_acceleration = snapshot

    def set_chart(self, rotation: Array) -> None:
        """Take positions and attitudes in the axes of a chart; ``rotation`` (3, 3) maps them to base axes."""
        base_points, gravity = self._base
        self._base_points, self._gravity = base_points @ rotation, rotation.T @ gravity

    def measured(self, drive_positions: Array) -> Array:
        """Leg lengths (L,) m by the positions of the drives (L,) m."""
        return drive_positions + self._lengths_at_zero

    def observe(self, states: Array) -> Array:
        """Leg lengths (L, N) of ``states`` (n, N)."""
        layout, rows = self._layout, states.T
        rotation, outside = rotations_of(rows[:, ATTITUDE])
        self._outside += outside
        motion = ImuMotion.of(rows, rows[:, POSITION], rotation, self.imu, self.angular_acceleration, np.zeros(3))
        motion = with_constants(layout, rows, motion, self._gravity)
        points = self._platform_points - np.broadcast_to(motion.place, (len(rows), 3))[:, None]
        vectors = motion.position[:, None] + points @ np.swapaxes(motion.rotation, 1, 2) - self._base_points
        lengths: Array = np.sqrt(np.sum(vectors * vectors, axis=-1)).T
        if layout.leg_offsets is not None:
            lengths = lengths + states[layout.leg_offsets]
        return lengths
