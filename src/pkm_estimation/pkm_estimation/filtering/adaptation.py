"""Noise of IMU (Q) and legs (R), adapted at run time to the innovations (Miletovic et al. 2017, section 6)."""

from __future__ import annotations

from math import exp

import numpy as np
from pkm_description.arrays import Array

from pkm_estimation.filters import Innovation

#: measurements between two changes, and those after a change that still remember the old noise
_BLOCK, _SETTLING = 100, 20
#: largest factor of one change, and bounds of the factors: beyond them it is no matter of noise
_LARGEST_CHANGE, _LEAST, _MOST = 5.0, 1e-4, 1e7
#: exponent with which an excess of the innovations is answered, and change of log(Q / R) per correlation
_ANSWER, _RATIO_GAIN = 0.7, 2.0


class NoiseAdaptation:
    """Factors on Q and R with which innovations are as large as expected, and white.

    With both noises scaled alike the filter's gain stays and the innovations' variances grow alike. With more Q for the
    same R neighbouring innovations become less correlated. So the mean square of the normalised innovations tells one
    number, and their correlation the other.

    Parameters
    ----------
    mode : ``off``, ``q`` (R is believed) or ``q_and_r``

    Attributes
    ----------
    q_factor, r_factor : on the variances
    """

    def __init__(self, mode: str) -> None:
        self.mode = mode
        self.q_factor, self.r_factor = 1.0, 1.0
        self._clear(0)

    def _clear(self, skip: int) -> None:
        self._skip, self._count = skip, 0
        self._squares, self._products, self._numbers = 0.0, 0.0, 0
        self._last: Array | None = None

    def started(self) -> None:
        """The filter started: its first innovations tell nothing about noise."""
        self._clear(_BLOCK)

    def accept(self, innovation: Innovation) -> bool:
        """Take note of an innovation; True if the factors have changed."""
        if self.mode == 'off':
            return False
        if self._skip > 0:
            self._skip -= 1
            return False
        error = np.nan_to_num(innovation.residual / np.sqrt(innovation.variance))
        used = np.isfinite(innovation.residual)
        # one wild sample must not decide: it counts as if it was at ten deviations
        error = np.clip(error, -10.0, 10.0)
        self._squares += float(error @ error)
        self._numbers += int(used.sum())
        if self._last is not None:
            self._products += float(error @ self._last)
        self._last = error
        self._count += 1
        if self._count < _BLOCK:
            return False
        excess = self._squares / max(1, self._numbers)
        correlation = self._products / max(self._squares, 1e-12)
        common = min(_LARGEST_CHANGE, max(1.0 / _LARGEST_CHANGE, excess**_ANSWER))
        if self.mode == 'q':
            self.q_factor *= common
        else:
            ratio = exp(_RATIO_GAIN * correlation)
            self.q_factor *= common * ratio
            self.r_factor *= common / ratio
        self.q_factor = min(_MOST, max(_LEAST, self.q_factor))
        self.r_factor = min(_MOST, max(_LEAST, self.r_factor))
        self._clear(_SETTLING)
        return True
