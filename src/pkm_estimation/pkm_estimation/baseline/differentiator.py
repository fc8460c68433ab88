"""Differentiator with a second-order Butterworth low-pass (Miletovic et al. 2017, Eq. 28)."""

from __future__ import annotations

from math import sqrt

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class ButterworthDifferentiator:
    """``B2(s) = s / (tau^2 s^2 + damping tau s + 1)``, discretised by the bilinear rule.

    Written as a state equation (smoothed signal and its rate), so that every sample may have its own interval; with
    a constant interval it is the bilinear transfer function, see :meth:`coefficients`.

    Parameters
    ----------
    time_constant : s; the default is the paper's tau_d, a cut-off of 25 rad/s (its "25 Hz" is a slip, D3)
    damping : sqrt(2) makes it a Butterworth filter
    """

    def __init__(self, time_constant: float = 0.04, damping: float = sqrt(2.0)) -> None:
        if not (time_constant > 0.0 and damping > 0.0):
            raise ValueError(f'time_constant = {time_constant} and damping = {damping} must be positive')
        self.time_constant, self.damping = time_constant, damping
        self._smoothed: Array | None = None
        self._rate: Array | None = None
        self._value: Array | None = None

    @property
    def lag(self) -> float:
        """Delay [s] of slow signals (group delay at frequency zero)."""
        return self.damping * self.time_constant

    def noise_gain(self, interval: float) -> float:
        """Variance [1/s^2] of the output per variance of white noise in samples that are ``interval`` s apart.

        Sum of the squared impulse response, in closed form for a second-order section (Jury 1964, Table III).
        """
        (b0, b1, b2), (_, a1, a2) = self.coefficients(1.0 / interval)
        above = (b0 * b0 + b1 * b1 + b2 * b2) * (1.0 + a2) - 2.0 * b1 * (b0 + b2) * a1
        above += 2.0 * b0 * b2 * (a1 * a1 - a2 * (1.0 + a2))
        return float(above / ((1.0 - a2) * ((1.0 + a2) ** 2 - a1 * a1)))

    def reset(self) -> None:
        """Forget the past; the next sample is taken as at rest."""
        self._smoothed = None

    def __call__(self, value: Array, interval: float) -> Array:
        """Filtered rate (...) of a signal; ``value`` (...) is its newest sample, ``interval`` s after the last."""
        if self._smoothed is None or self._rate is None or self._value is None:
            self._smoothed, self._rate, self._value = np.array(value), np.zeros_like(value), np.array(value)
            return self._rate
        # trapezoidal rule for  x1' = x2,  tau^2 x2' = u - x1 - damping tau x2,  solved for the new x2
        half, stiffness = 0.5 * interval, 1.0 / self.time_constant**2
        drag = self.damping / self.time_constant
        force = stiffness * (self._value + value - 2.0 * self._smoothed - half * self._rate) - drag * self._rate
        rate = (self._rate + half * force) / (1.0 + half * (drag + half * stiffness))
        self._smoothed = self._smoothed + half * (self._rate + rate)
        self._rate, self._value = rate, np.array(value)
        return rate

    def coefficients(self, rate: float) -> tuple[Array, Array]:
        """Numerator (3,) and denominator (3,) in powers of z^-1 at a constant sample rate [Hz]."""
        k, tau = 2.0 * rate, self.time_constant
        leading = (tau * k) ** 2 + self.damping * tau * k + 1.0
        numerator = np.array([k, 0.0, -k]) / leading
        denominator = np.array([leading, 2.0 - 2.0 * (tau * k) ** 2, (tau * k) ** 2 - self.damping * tau * k + 1.0])
        return numerator, denominator / leading
