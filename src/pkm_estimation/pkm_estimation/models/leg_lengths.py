"""Leg lengths as a function of the state: the measurement model (Miletovic Eq. 20 with Eqs 1 and 25).

The equations are in :mod:`pkm_estimation.kernels.leg_lengths`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from pkm_description.arrays import Array
from pkm_description.kernels.jit import bound, structure

from pkm_estimation.filters.interface import CorrectionMemory, FilterMemory
from pkm_estimation.kernels.leg_lengths import LegsData, lengths_of_all
from pkm_estimation.kernels.steps import update
from pkm_estimation.models.extra_states import StateLayout
from pkm_estimation.models.inertial_process import STATE_SIZE, as_points
from pkm_estimation.models.leg_model import LegModel


class LegLengthModel(LegModel):
    """Distances between base and platform joint centres.

    Leg offsets, and delay, mounting and place of the IMU may be states.

    Parameters
    ----------
    base_points : (L, 3) m, base frame
    platform_points : (L, 3) m, from the point that the state describes (the IMU's nominal place), platform axes
    lengths_at_zero : (L,) m, of legs whose drives are at zero; default: lengths themselves are measured
    gravity : (3,) m/s^2, base frame; needed where the delay is a state
    layout : where constants lie as states; default: there are none

    Attributes
    ----------
    data, struct : what the kernels read, for NumPy and for kernels
    """

    def __init__(
        self,
        base_points: Array,
        platform_points: Array,
        lengths_at_zero: Array | float = 0.0,
        gravity: Array | None = None,
        layout: StateLayout | None = None,
    ) -> None:
        self.drive_count = len(base_points)
        self._lengths_at_zero = lengths_at_zero
        self._base_points, self._gravity = base_points, np.zeros(3) if gravity is None else gravity
        self.imu, self.turning = np.zeros(6), np.zeros(3)
        self.data = LegsData(
            base_points=np.array(base_points, dtype=float),
            platform_points=np.array(platform_points, dtype=float),
            gravity=np.array(self._gravity, dtype=float),
            rows=(layout or StateLayout(STATE_SIZE)).first_rows,
            imu=self.imu,
            angular_acceleration=self.turning,
            outside=np.zeros(1, dtype=np.int64),
        )
        self.struct = structure(self.data)
        self._memory: FilterMemory | None = None
        self._correction: CorrectionMemory | None = None
        self._update: Callable[..., int]

    @property
    def outside_unit_sphere(self) -> int:
        """Number of evaluated points with ``q.q > 1`` so far (S3-26)."""
        return int(self.data.outside[0])

    def set_chart(self, rotation: Array) -> None:
        """Take positions and attitudes in the axes of a chart; ``rotation`` (3, 3) maps them to base axes."""
        self.data.base_points[:] = self._base_points @ rotation
        self.data.gravity[:] = rotation.T @ self._gravity

    def measured(self, drive_positions: Array) -> Array:
        """Leg lengths (L,) m by the positions of the drives (L,) m."""
        return drive_positions + self._lengths_at_zero

    def observe(self, points: Array) -> Array:
        """Leg lengths (N, L) of points (N, n)."""
        values = np.empty((len(points), self.drive_count))
        lengths_of_all(self.struct, as_points(points), values)
        return values

    def correct(self, memory: FilterMemory, correction: CorrectionMemory, limit: float) -> int:
        """Correct an unscented filter in a single call."""
        if memory is not self._memory or correction is not self._correction:
            self._memory, self._correction = memory, correction
            self._update = bound(update, memory.struct, self.struct, correction.struct, numbers=1)
        return self._update(limit)
