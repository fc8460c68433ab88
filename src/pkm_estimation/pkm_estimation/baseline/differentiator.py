"""Differentiator with a second-order Butterworth low-pass (Miletovic et al. 2017, Eq. 28)."""

from __future__ import annotations

from math import sqrt
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from scipy.linalg.lapack import dtbtrs

from pkm_estimation.kernels.differentiator import RATE, differentiate

Numbers = TypeVar('Numbers', float, Array)


class ButterworthDifferentiator:
    """``B2(s) = s / (tau^2 s^2 + damping tau s + 1)``, discretised by the bilinear rule.

    Written as a state equation (smoothed signal and its rate), so that every sample may have its own interval; with
    a constant interval it is the bilinear transfer function, see :meth:`coefficients`.

    Parameters
    ----------
    time_constant : s; the default is the paper's tau_d, a cut-off of 25 rad/s (the "25 Hz" in print is a slip)
    damping : sqrt(2) makes it a Butterworth filter
    """

    def __init__(self, time_constant: float = 0.04, damping: float = sqrt(2.0)) -> None:
        if not (time_constant > 0.0 and damping > 0.0):
            raise ValueError(f'time_constant = {time_constant} and damping = {damping} must be positive')
        self.time_constant, self.damping = time_constant, damping
        self.stiffness, self.drag = 1.0 / time_constant**2, damping / time_constant
        #: see the kernel; replaced, never written into: a shallow copy of this object remembers it
        self.memory: Array | None = None

    @property
    def lag(self) -> float:
        """Delay [s] of slow signals (group delay at frequency zero)."""
        return self.damping * self.time_constant

    def noise_gain(self, interval: float) -> float:
        """Variance [1/s^2] of the output per variance of white noise in samples that are ``interval`` s apart.

        Sum of the squared impulse response of a second-order section (Jury 1964, Table III), which for this numerator
        comes down to two coefficients.
        """
        b0, _, a2 = self._section(2.0 / interval)
        return 2.0 * b0 * b0 / (1.0 - a2)

    def reset(self) -> None:
        """Forget the past; the next sample is taken as at rest."""
        self.memory = None

    def __call__(self, value: Array, interval: float) -> Array:
        """Filtered rate (...) of a signal; ``value`` (...) is its newest sample, ``interval`` s after the last."""
        return self.advance(np.ravel(value), interval).reshape(np.shape(value))

    def advance(self, values: Array, interval: float) -> Array:
        """The same for signals (k,)."""
        if self.memory is None:
            self.memory = np.array([np.zeros(len(values)), values, values])
        else:
            self.memory = self.memory.copy()
            differentiate(self.memory, values, 0, interval, self.stiffness, self.drag)
        return self.memory[RATE]

    def series(self, values: Array, intervals: Array, begins: NDArray[np.bool_]) -> Array:
        """What repeated calls give for N samples, whatever this object remembers: filtered rates (N, k).

        The recursion is a triangular system of equations with a narrow band, solved from the top.

        Parameters
        ----------
        values : (N, k), k signals
        intervals : (N,) s, from the sample before
        begins : (N,), True where the past is forgotten before the sample; always so before the first one
        """
        goes_on = ~begins
        goes_on[:1] = False
        half, keep, push = (np.where(goes_on, factor, 0.0) for factor in self.step(intervals))
        drift = half * (1.0 + keep)
        # unknowns x0, r0, x1, r1, ...: below the diagonal of ones stand -d(x1, r1) / d(x0, r0)
        band = np.zeros((4, 2 * len(values)))
        before = slice(0, -2, 2), slice(1, -2, 2)
        band[2, before[0]] = -(1.0 - 2.0 * half * push)[1:] * goes_on[1:]
        band[3, before[0]] = 2.0 * push[1:]
        band[1, before[1]] = -drift[1:]
        band[2, before[1]] = -keep[1:]
        sums = np.concatenate([values[:1], values[1:] + values[:-1]])
        right = np.empty((2 * len(values), values.shape[1]), order='F')
        right[0::2] = np.where(goes_on[:, None], (half * push)[:, None] * sums, values)
        right[1::2] = push[:, None] * sums
        states, _ = dtbtrs(band, right, uplo='L', diag='U', overwrite_b=1)
        rates: Array = states[1::2]
        return rates

    def step(self, interval: Numbers) -> tuple[Numbers, Numbers, Numbers]:
        """Factors of one step of ``interval`` s, number or array, see :mod:`pkm_estimation.kernels.differentiator`.

        Returns
        -------
        half, keep, push
        """
        half = 0.5 * interval
        above, below = half * (self.drag + half * self.stiffness), half * self.stiffness
        return half, (1.0 - above) / (1.0 + above), below / (1.0 + above)

    def coefficients(self, rate: float) -> tuple[Array, Array]:
        """Numerator (3,) and denominator (3,) in powers of z^-1 at a constant sample rate [Hz]."""
        b0, a1, a2 = self._section(2.0 * rate)
        return np.array([b0, 0.0, -b0]), np.array([1.0, a1, a2])

    def _section(self, k: float) -> tuple[float, float, float]:
        """Coefficients b0, a1, a2 of the second-order section with ``s = k (1 - z^-1) / (1 + z^-1)``; b2 is -b0."""
        square, middle = (self.time_constant * k) ** 2, self.damping * self.time_constant * k
        leading = square + middle + 1.0
        return k / leading, (2.0 - 2.0 * square) / leading, (square - middle + 1.0) / leading
