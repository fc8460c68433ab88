"""Curvature of the IMU signal between two samples.

The process model interpolates its input linearly between samples. A sine of 1 Hz sampled at 100 Hz then loses 3e-4 of
its amplitude: less than the noise of a sample, but systematic. Constants that are estimated to a few parts in a
hundred thousand would be wrong by many standard deviations.
"""

from __future__ import annotations

import numpy as np
from pkm_description.arrays import Array

#: relative tolerance for rounding of slopes and intervals
_ROUNDING = 1e-6

#: allowed relative change of the interval between samples
_REGULAR = 0.5

#: number of slopes that the parabola is fitted to
_COUNT = 10
#: row that gives the parabola's derivative at the latest slope, per interval
_DERIVATIVE = np.linalg.pinv(np.vander(np.arange(1.0 - _COUNT, 1.0), 3, increasing=True))[1]


class InputCurvature:
    """Mean of the signal between two samples less that of the straight line: ``-h^2 / 12`` times the second derivative.

    The second derivative in the middle of an interval comes from a parabola fitted to the latest slopes. The weights of
    the corrections add up to zero, so noise of a sample is only shifted between steps. The weights are small, too: with
    the least number of slopes an eighth of the latest sample's noise was shifted, which looked like a delay of 0.7 ms
    where that noise is as large as the motion.

    Attributes
    ----------
    memory : all values that change; replaced, never changed in place
    """

    def __init__(self) -> None:
        self.start()

    def start(self) -> None:
        """Begin without a past."""
        # slopes of the last intervals; length of the last one and how much of it has passed [s]
        self.memory: tuple[list[Array], float, float] = [], 0.0, 0.0

    def correction(self, start: Array, end: Array, duration: float, interval: float) -> Array:
        """Correction (6,) of the input for a step of ``duration`` s from ``start`` to ``end`` (6,).

        ``interval`` [s] lies between the two samples around it.
        """
        slopes, before, passed = self.memory
        slope = (end - start) / duration
        # a step may begin anywhere between two samples; a new slope means a new pair of samples
        over = passed >= (1.0 - _ROUNDING) * before
        if over or np.abs(slope - slopes[-1]).max() > _ROUNDING * np.abs(slope).max():
            regular = abs(interval - before) <= _REGULAR * before
            slopes, passed = [*slopes[1 - _COUNT :], slope] if regular else [slope], 0.0
        self.memory = slopes, interval, passed + duration
        if len(slopes) < _COUNT:
            return np.zeros(len(slope))
        correction: Array = (-interval / 12.0) * _DERIVATIVE.dot(slopes)
        return correction
