"""The last seconds of some curves, for plots."""

from __future__ import annotations

from collections import deque

import numpy as np
from pkm_description.arrays import Array


class History:
    """Samples of K curves over one time; a clock that jumps back begins anew.

    Parameters
    ----------
    curves : K
    span : s that are kept
    """

    def __init__(self, curves: int, span: float = 30.0) -> None:
        self._curves, self._span = curves, span
        self._rows: deque[tuple[float, Array]] = deque()

    def add(self, time: float, values: Array) -> None:
        """Add values (K,) at a time [s]; NaN leaves a gap."""
        if self._rows and time <= self._rows[-1][0]:
            if time == self._rows[-1][0]:
                return
            self._rows.clear()
        self._rows.append((time, np.asarray(values, dtype=float)))
        while self._rows[0][0] < time - self._span:
            self._rows.popleft()

    def __len__(self) -> int:
        return len(self._rows)

    def columns(self) -> tuple[Array, ...]:
        """Times (N,) and the K curves (N,) each."""
        if not self._rows:
            return (np.zeros(1), *(np.full(1, np.nan) for _ in range(self._curves)))
        times, values = zip(*self._rows, strict=True)
        return (np.array(times), *np.array(values).T)
