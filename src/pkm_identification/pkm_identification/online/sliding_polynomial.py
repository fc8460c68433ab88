"""Causal motion of the drives: a polynomial through a sliding window, evaluated in its middle.

Positions and efforts go through the same window, so that both sides of the regression are late by the same time and
smoothed alike (parallel filters). The lag is half the window, known exactly, and stated with every sample.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array

#: samples that a window has beyond the coefficients of its polynomial
SPARE = 3
#: part of the window that a gap between two samples may have
LONGEST_GAP = 1.0 / 3.0
#: frequencies at which the response is known, and rad per window up to which
RESPONSE = 400
#: samples that the memory holds before the oldest are moved out
MEMORY = 4096


class WindowSample(NamedTuple):
    """Motion and efforts of A drives in the middle of a window.

    Attributes
    ----------
    stamp : ns, of the middle
    positions, velocities, accelerations : (A,) rad or m and their rates
    efforts : (A,) N or N m, smoothed like the positions
    slowest : (A,) rad/s or m/s, least speed within the window; 0 where the drive reverses in it
    noise_share : of the variance of white noise that smoothing leaves; its inverse counts samples that are alike
    acceleration_std : (A,) standard deviation of the accelerations by the scatter of the positions
    effort_scatter : (A,) variance of the measured efforts about the polynomial
    effort_rates : (A,) N/s or N m/s, of the efforts
    velocity_std : (A,) standard deviation of the velocities by the scatter of the positions
    """

    stamp: int
    positions: Array
    velocities: Array
    accelerations: Array
    efforts: Array
    slowest: Array
    noise_share: float
    acceleration_std: Array
    effort_scatter: Array
    effort_rates: Array
    velocity_std: Array


class SlidingPolynomial:
    """Least-squares polynomial through the samples of the last ``window`` seconds, at their own times.

    Stamps may jitter and samples may be missing. After a gap the window begins anew. A stream too slow for the window
    makes it longer, once, and :attr:`window` says so.

    Parameters
    ----------
    drives : number A
    window : s
    degree : of the polynomial

    Attributes
    ----------
    gaps : how often the window began anew
    """

    def __init__(self, drives: int, window: float = 0.2, degree: int = 4) -> None:
        self.gaps = self._last_gap = 0
        self._degree, self._window = degree, round(window * 1e9)
        self._stamps = np.zeros(MEMORY, dtype=np.int64)
        self._values = np.zeros((MEMORY, 2 * drives))
        self._first = self._last = 0
        self._offsets: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self._weights = self._basis = np.zeros((0, 0))

    @property
    def window(self) -> float:
        """Length of the window, s; the lag is half of it."""
        return self._window / 1e9

    @property
    def response(self) -> tuple[Array, Array]:
        """Angular frequencies (F,) rad/s, rising, and the parts (F,) of a wave's amplitude that smoothing leaves."""
        time = self._offsets * 1e-9
        frequencies = np.linspace(0.0, RESPONSE / self.window, RESPONSE + 1)
        return frequencies, np.cos(np.outer(frequencies, time)) @ self._weights[0]

    def reset(self) -> None:
        """Forget all samples."""
        self._first = self._last = self._last_gap = 0

    def add(self, stamp: int, positions: Array, efforts: Array) -> WindowSample | None:
        """Take a sample at ``stamp`` [ns], later than the last one; ``None`` as long as the window is not full."""
        if self._last > self._first and stamp - self._stamps[self._last - 1] > LONGEST_GAP * self._window:
            self._widen(stamp)
        if self._last == MEMORY:
            kept = slice(self._first, self._last)
            count = self._last - self._first
            self._stamps[:count], self._values[:count] = self._stamps[kept].copy(), self._values[kept].copy()
            self._first, self._last = 0, count
        self._stamps[self._last] = stamp
        self._values[self._last] = np.concatenate([positions, efforts])
        self._last += 1
        if stamp - self._stamps[self._first] < self._window:
            return None
        while stamp - self._stamps[self._first + 1] >= self._window:
            self._first += 1
        if self._last - self._first < self._degree + 1 + SPARE:
            self._window = round((self._degree + 1 + SPARE) * self._window / (self._last - self._first))
            return None
        return self._middle()

    def _widen(self, stamp: int) -> None:
        """Begin anew after a gap; a stream whose samples are all as far apart gets a longer window instead."""
        gap, before = stamp - int(self._stamps[self._last - 1]), self._last_gap
        self._last_gap = gap
        if 2 * before > gap > before // 2:
            self._window = max(self._window, (self._degree + 1 + SPARE) * gap)
            return
        if self._last - self._first > 1:
            self.gaps += 1
        self._first = self._last = 0

    def _middle(self) -> WindowSample:
        part = slice(self._first, self._last)
        stamps, values = self._stamps[part], self._values[part]
        middle = (int(stamps[0]) + int(stamps[-1])) // 2
        offsets = stamps - middle
        if not np.array_equal(offsets, self._offsets):
            self._offsets = offsets
            self._weights, self._basis = _weights(np.asarray(offsets * 1e-9, dtype=float), self._degree)
        drives = values.shape[1] // 2
        origin = values[len(values) // 2]  # smoothing differences keeps their digits
        changes = values - origin
        found = self._weights @ changes
        value, rate, ends = found[0] + origin, found[1, :drives], found[3:, :drives]
        least = np.minimum(np.abs(rate), np.abs(ends).min(axis=0))
        reverses = (np.sign(ends) != np.sign(rate)).any(axis=0)
        power = (changes**2).sum(axis=0) - ((self._basis.T @ changes) ** 2).sum(axis=0)
        scatter = np.maximum(power, 0.0) / (len(values) - self._degree - 1)
        return WindowSample(
            middle, value[:drives], rate.copy(), found[2, :drives].copy(), value[drives:],
            np.where(reverses, 0.0, least), float(self._weights[0] @ self._weights[0]),
            np.sqrt(scatter[:drives] * (self._weights[2] @ self._weights[2])), scatter[drives:],
            found[1, drives:].copy(), np.sqrt(scatter[:drives] * (self._weights[1] @ self._weights[1])),
        )  # fmt: skip


def _weights(time: Array, degree: int) -> tuple[Array, Array]:
    """Weights (5, n) of samples in value and two derivatives at time 0 and rates at both ends; orthonormal basis."""
    reach = float(np.abs(time).max())
    scaled = time / reach
    basis, triangle = np.linalg.qr(scaled[:, None] ** np.arange(degree + 1))
    coefficients = np.linalg.solve(triangle, basis.T)
    power = np.arange(1, degree + 1)
    rates = [(power * end ** (power - 1)) @ coefficients[1:] / reach for end in (scaled[0], scaled[-1])]
    weights = [coefficients[0], coefficients[1] / reach, 2.0 * coefficients[2] / reach**2, *rates]
    return np.stack(weights), np.asarray(basis)
