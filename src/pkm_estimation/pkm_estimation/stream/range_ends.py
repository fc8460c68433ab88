"""Ends of the IMU's range where no file states it: :mod:`pkm_estimation.kernels.imu_ends`."""

from __future__ import annotations

import numpy as np
from pkm_description.arrays import Array, packed
from pkm_description.kernels.model import Integers

from pkm_estimation.kernels.imu_ends import HIGHEST, LOWER, LOWEST, ROWS, STEP, UPPER, find_ends


class RangeEnds:
    """Finds the ends of the range in a stream of samples."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self._count, self._memory = np.zeros(1, dtype=np.int64), np.zeros((ROWS, 6))
        self._memory[[LOWEST, STEP, UPPER]], self._memory[[HIGHEST, LOWER]] = np.inf, -np.inf

    def find(self, values: Array) -> Integers:
        """Axes (M,), counted from 1, that are at an end in samples (M, 6) that continue this stream; 0: none."""
        found = np.zeros(len(values), dtype=np.int64)
        find_ends(self._count, self._memory, packed(values), found)
        return found
