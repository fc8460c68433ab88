"""Curvature of the IMU signal between two samples.

The process takes its input as linear between samples. A sine of 1 Hz sampled at 100 Hz then lacks 3e-4 of its
amplitude, always with the same sign: less than a sample's noise, but no noise. Constants that are estimated to a few
parts in a hundred thousand err by many standard deviations by it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: relative to slopes and intervals: so much is rounding
_ROUNDING = 1e-6

#: the intervals between samples may differ by this part
_REGULAR = 0.5


class InputCurvature:
    """Mean of the signal between two samples less that of the straight line: ``-h^2 / 12`` times the second derivative.

    The second derivative in the middle of an interval is extrapolated from its slope and the two slopes before. Noise
    of a sample is only shifted between steps: the corrections' weights add up to zero.

    Attributes
    ----------
    memory : all that changes, replaced and never changed in place
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
        # a step may begin anywhere between two samples: their slope tells them from the next two
        over = passed >= (1.0 - _ROUNDING) * before
        if over or np.abs(slope - slopes[-1]).max() > _ROUNDING * np.abs(slope).max():
            regular = abs(interval - before) <= _REGULAR * before
            slopes, passed = [*slopes[-2:], slope] if regular else [slope], 0.0
        self.memory = slopes, interval, passed + duration
        if len(slopes) < 3:
            return np.zeros(len(slope))
        # 1.5 and -0.5 times the second derivative at the interval's beginning and at the one before
        bend = 1.5 * slopes[2] - 2.0 * slopes[1] + 0.5 * slopes[0]
        return -interval / 12.0 * bend
