"""Adaptation of the noise covariances to the innovations."""

from __future__ import annotations

from math import exp

import numpy as np
from pkm_description.arrays import Array

from pkm_estimation.filters import Innovation

#: measurements between two changes, and those after a change that still remember the old noise
_BLOCK, _SETTLING = 100, 20
#: largest factor of one change, and bounds of the factors: beyond them the cause is not noise
_LARGEST_CHANGE, _LEAST, _MOST = 5.0, 1e-4, 1e7
#: factor on the IMU noise of a lost filter, and how often in a row that is tried
_RESCUE, _MOST_RESCUES = 25.0, 4
#: exponent of the innovations' excess in the common factor, and change of log(Q / R) per correlation
_ANSWER, _RATIO_GAIN = 0.7, 2.0
#: part of the innovations' expected variance below which they say nothing of the legs' noise
_LEAST_SHARE = 0.2


class NoiseAdaptation:
    """Factors on Q and R that make the innovations as large as expected, and white.

    Scaling Q and R by the same factor keeps the filter's gain and scales the innovation covariance by that factor.
    A larger Q with the same R makes consecutive innovations less correlated. So the mean square of the normalised
    innovations gives the common factor, and their correlation the ratio of Q and R.

    Where the legs' noise is a small part of what the innovations are expected to be, they say nothing of it: R is kept,
    and Q alone is adapted. Otherwise the innovations of a model that is wrong (a late IMU), which no Q makes white,
    would take R to nothing.

    Parameters
    ----------
    mode : ``off``, ``q`` (R is kept) or ``q_and_r``
    leg_variance : (A,) of the legs' noise where ``r_factor`` is 1

    Attributes
    ----------
    q_factor, r_factor : on the variances
    is_on : whether the noise is adapted at all
    """

    def __init__(self, mode: str, leg_variance: Array) -> None:
        self.mode, self.is_on, self._leg_variance = mode, mode != 'off', leg_variance
        self.q_factor, self.r_factor = 1.0, 1.0
        self._rescues = 0
        self._clear(0)

    def _clear(self, skip: int) -> None:
        self._skip, self._count = skip, 0
        self._squares, self._products, self._numbers, self._shares = 0.0, 0.0, 0, 0.0
        self._last: Array | None = None

    def started(self) -> None:
        """Skip the first innovations after a start: they say nothing about the noise."""
        self._clear(_BLOCK)

    def rescue(self, excess: float) -> bool:
        """Raise the IMU noise of a filter that is lost; False if noise is not adapted, or if that does not help.

        A model that is wrong in something (a delay, a mounting) loses a filter again after each start. With more noise
        it follows the legs, and its claims are those of the legs. ``excess``: the NIS by that which counts as lost;
        what is far beyond noise, as a jump, needs a new start.
        """
        if not excess < _RESCUE or not self.is_on or self._rescues >= _MOST_RESCUES or self.q_factor >= _MOST:
            return False
        self._rescues += 1
        self.q_factor = min(_MOST, _RESCUE * self.q_factor)
        self._clear(_SETTLING)
        return True

    @property
    def constant_for(self) -> int | None:
        """Number of innovations after which the factors will be the same, ``None``: any."""
        return self._skip + _BLOCK - 1 - self._count if self.is_on else None

    def accept(self, innovation: Innovation) -> bool:
        """Add an innovation; True if the factors have changed."""
        if not self.is_on:
            return False
        if self._skip > 0:
            self._skip -= 1
            return False
        error = np.nan_to_num(innovation.residual / np.sqrt(innovation.variance))
        used = np.isfinite(innovation.residual)
        # an outlier must not decide: it is clipped to ten standard deviations
        error = np.clip(error, -10.0, 10.0)
        self._squares += float(error @ error)
        self._numbers += int(used.sum())
        self._shares += self.r_factor * float((self._leg_variance / innovation.variance)[used].sum())
        if self._last is not None:
            self._products += float(error @ self._last)
        self._last = error
        self._count += 1
        if self._count < _BLOCK:
            return False
        excess = self._squares / max(1, self._numbers)
        correlation = self._products / max(self._squares, 1e-12)
        common = min(_LARGEST_CHANGE, max(1.0 / _LARGEST_CHANGE, excess**_ANSWER))
        if self.mode == 'q' or self._shares < _LEAST_SHARE * self._numbers:
            self.q_factor *= common
        else:
            ratio = exp(_RATIO_GAIN * correlation)
            self.q_factor *= common * ratio
            self.r_factor *= common / ratio
        self.q_factor = min(_MOST, max(_LEAST, self.q_factor))
        self.r_factor = min(_MOST, max(_LEAST, self.r_factor))
        self._clear(_SETTLING)
        self._rescues = 0
        return True
