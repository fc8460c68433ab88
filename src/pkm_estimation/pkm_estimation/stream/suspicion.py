"""What legs and IMU measured since the IMU was left out because it does not fit: for a ranking of the causes."""

from __future__ import annotations

from collections import deque

import numpy as np
from pkm_description.arrays import Array
from pkm_description.kernels.model import Integers

#: why the IMU is left out, where its samples themselves do not say what is wrong with them
UNEXPLAINED = 'imu_off_prediction', 'imu_bias_implausible'
#: time [s] of measurements that are kept, shortest for a ranking, and without a further failure until it is over
_WINDOW, _SHORTEST, _OVER = 20.0, 10.0, 20.0


class Suspicion:
    """Measurements since a failure of the IMU, whether it was taken back meanwhile or not."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """There is none."""
        self._kept: deque[tuple[Integers, Array]] = deque()
        self._failed_at: int | None = None
        self.is_ranked = False

    @property
    def is_on(self) -> bool:
        """Whether the IMU has failed."""
        return self._failed_at is not None

    def fail(self, stamp: int) -> None:
        """The IMU is left out at a measurement of ``stamp`` [ns], for a reason that says nothing about the cause."""
        self._failed_at = stamp

    def add(self, stamps: Integers, positions: Array) -> None:
        """Take measurements (N,) ns, (N, A), if there is a suspicion; it ends where the IMU is good for long."""
        if self._failed_at is None or not len(stamps):
            return
        self._kept.append((stamps, positions))
        end = int(stamps[-1])
        while len(self._kept) > 1 and (end - int(self._kept[1][0][0])) * 1e-9 > _WINDOW:
            self._kept.popleft()
        if (end - self._failed_at) * 1e-9 > _OVER:
            self.clear()

    @property
    def begin(self) -> int | None:
        """Stamp [ns] of the first measurement that is kept."""
        return int(self._kept[0][0][0]) if self._kept else None

    @property
    def is_long(self) -> bool:
        """Whether there are measurements enough for a ranking, which has not been."""
        if self.is_ranked or not self._kept:
            return False
        return (int(self._kept[-1][0][-1]) - int(self._kept[0][0][0])) * 1e-9 >= _SHORTEST

    def measurements(self) -> tuple[Integers, Array]:
        """All that are kept: (N,) ns, (N, A)."""
        stamps, positions = zip(*self._kept, strict=True)
        return np.concatenate(stamps), np.concatenate(positions)
