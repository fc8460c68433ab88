"""Curvature of the IMU signal between two samples.

The process takes its input as linear between samples. A sine of 1 Hz sampled at 100 Hz then lacks 3e-4 of its
amplitude, always with the same sign: less than a sample's noise, but no noise. Constants that are estimated to a few
parts in a hundred thousand err by many standard deviations by it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: slopes that differ by less than this part of the largest one belong to the same two samples
_SAME = 1e-6

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
        self.memory: tuple[list[Array], float] = [], 0.0

    def correction(self, start: Array, end: Array, duration: float, interval: float) -> Array:
        """Correction (6,) of the input for a step of ``duration`` s from ``start`` to ``end`` (6,).

        ``interval`` [s] lies between the two samples around it.
        """
        slopes, before = self.memory
        slope = (end - start) / duration
        if not slopes or np.abs(slope - slopes[-1]).max() > _SAME * max(np.abs(slope).max(), np.abs(slopes[-1]).max()):
            regular = abs(interval - before) <= _REGULAR * before
            slopes = [*slopes[-2:], slope] if regular else [slope]
            self.memory = slopes, interval
        if len(slopes) < 3:
            return np.zeros(len(slope))
        # 1.5 and -0.5 times the second derivative at the interval's beginning and at the one before
        bend = 1.5 * slopes[2] - 2.0 * slopes[1] + 0.5 * slopes[0]
        return -interval / 12.0 * bend
