"""Interface of the measurement models of the drives, for any kind of legs."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from pkm_description.arrays import Array

from pkm_estimation.filters.interface import MeasurementModel


class LegModel(MeasurementModel):
    """Predicts what the drives measure; delay and place of the IMU and errors of the positions may be states.

    Attributes
    ----------
    imu : (6,) the IMU's last sample, nominal platform axes; kernels read it, too
    turning : (3,) rad/s^2, the slope of the last two of the rate; the same
    drive_count : A
    constraint_count : K, numbers of :meth:`observe` behind those of the drives, whose measured value is always zero
    """

    imu: Array
    turning: Array
    drive_count: int
    constraint_count: int = 0

    @property
    def angular_acceleration(self) -> Array:
        """Angular acceleration (3,) rad/s^2 of now, the slope of the last two samples, nominal platform axes."""
        return self.turning.copy()

    @property
    @abstractmethod
    def outside_unit_sphere(self) -> int:
        """Number of evaluated points with ``q.q > 1`` so far (S3-26)."""

    @abstractmethod
    def set_chart(self, rotation: Array) -> None:
        """Take positions and attitudes in the axes of a chart; ``rotation`` (3, 3) maps them to base axes."""

    @abstractmethod
    def measured(self, drive_positions: Array) -> Array:
        """What :meth:`observe` predicts, as measured (A + K,), by the positions of the drives (A,) m or rad."""

    def follow(self, imu_start: Array, imu_end: Array, duration: float) -> None:
        """Take note of the IMU samples (6,) between which the state was predicted, ``duration`` s."""
        self.imu[:], self.turning[:] = imu_end, (imu_end[3:] - imu_start[3:]) / duration

    def snapshot(self) -> Any:
        """State for :meth:`restore`; it is never changed in place."""
        return self.imu.copy(), self.turning.copy()

    def restore(self, snapshot: Any) -> None:
        """Restore a snapshot."""
        self.imu[:], self.turning[:] = snapshot
