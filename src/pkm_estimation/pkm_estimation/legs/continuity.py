"""Whether a leg's own readings go on smoothly: what a leg that fails shows, and a wrong prediction does not."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.kernels.model import Integers

#: measurements that are kept; degree and number of earlier measurements of the polynomials that predict the next one
_KEPT, _POLYNOMIALS = 14, ((2, 8), (2, 5), (2, 3))
#: measurements before, whose prediction is judged for comparison
_COMPARED = 6
#: a leg breaks off if its own past leads nearer to the prediction than to it, by this factor
_CLEARLY = 0.5
#: mean square of what is usual up to which legs are where their past leads; median of the size of a normal number
_QUIET, _MEDIAN = 2.0, 0.6745
#: standard deviations of the noise within which a leg stands still
_STILL = 6.0
#: and those by which it should have moved
_EXPECTED = 5.0
#: ns between measurements of the slow memory
_SLOT = 20_000_000


class LegContinuity:
    """Remembers recent positions of the drives.

    Parameters
    ----------
    noise : (A,) m or rad, standard deviations of the positions
    """

    def __init__(self, noise: Array) -> None:
        self._noise = np.maximum(noise, 1e-12)
        self._has_noise = bool(noise.any())
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self._stamps: Integers = np.zeros(0, dtype=np.int64)
        self._positions: Array = np.zeros((0, len(self._noise)))
        self._slow: Array = np.zeros((0, len(self._noise)))
        self._slot, self._rejected = -1, -1

    def add(self, stamps: Integers, positions: Array) -> None:
        """Add measurements of ``stamps`` (N,) ns, (N, A), NaN where a leg has none."""
        if len(self._stamps) and not stamps[0] > self._stamps[-1]:  # another clock
            self.reset()
        slots = stamps // _SLOT
        first = slots != np.concatenate([[self._slot], slots[:-1]])
        if first.any():
            self._slow, self._slot = np.concatenate([self._slow, positions[first]])[-_KEPT:], slots.item(-1)
        stamps, positions = stamps[-_KEPT:], positions[-_KEPT:]
        self._stamps = np.concatenate([self._stamps, stamps])[-_KEPT:]
        self._positions = np.concatenate([self._positions, positions])[-_KEPT:]

    @property
    def last(self) -> tuple[int, Array] | None:
        """Stamp [ns] and positions (A,) of the last measurement."""
        return (self._stamps.item(-1), self._positions[-1]) if len(self._stamps) else None

    def is_repeated(self, positions: Array) -> bool:
        """Whether all positions (A,) are the last ones, to the last digit: not read anew, as noise would show."""
        return len(self._stamps) > 0 and bool(np.array_equal(positions, self._positions[-1]) and self._has_noise)

    def has_moved(self, since: Array, positions: Array) -> bool:
        """Whether any leg has moved from positions (A,) by more than its noise."""
        return bool((np.abs(positions - since) > _STILL * self._noise).any())

    def reject(self, stamp: int) -> None:
        """The measurement of ``stamp`` [ns], not added yet, is rejected because all legs jumped."""
        self._rejected = stamp

    @property
    def has_jumped(self) -> bool:
        """Whether the last measurement was rejected so."""
        return len(self._stamps) > 0 and self._stamps.item(-1) == self._rejected

    def evidence(self, stamp: int, positions: Array, residual: Array) -> NDArray[np.bool_]:
        """Which legs (A,) break off from their own past, or stand still while others move and they should.

        Parameters
        ----------
        stamp, positions : ns, (A,), the measurement, not added yet
        residual : (A,) of the positions against the filter's prediction
        """
        step, _ = self.step(stamp, positions)
        broken = np.abs(residual - step) < _CLEARLY * np.abs(step)
        return broken | self._stands_still(positions, residual)

    def goes_on(self, stamp: int, positions: Array, residual: Array) -> bool:
        """Whether the legs as a whole are where their own past leads, or nearer to it than the filter's prediction is.

        Not so in a burst of noise: it separates the measurement from both.
        """
        (step, usual), seen = self.step(stamp, positions), np.isfinite(residual)
        if np.mean(np.square(step[seen] / usual[seen])) < _QUIET:
            return True
        apart = (residual - step)[seen] / self._noise[seen]
        return bool(np.sum(np.square(step[seen] / self._noise[seen])) < np.sum(np.square(apart)))

    @property
    def is_known(self) -> bool:
        """Whether there are enough measurements to say where they lead to."""
        return len(self._stamps) == _KEPT

    def step(self, stamp: int, positions: Array) -> tuple[Array, Array]:
        """How far legs (A,) are from where their own positions before lead to, 0 where not known, and what is usual.

        Both in m or rad.
        """
        found, scale = np.zeros(len(self._noise)), self._noise
        if not self.is_known:
            return found, scale
        times = 1e-9 * (np.append(self._stamps, stamp) - stamp)
        values = np.vstack([self._positions, positions])
        best = np.inf
        for degree, count in _POLYNOMIALS:
            missed = []
            for last in range(_KEPT - _COMPARED, _KEPT + 1):
                weights = _weights(times[last - count : last] - times[last], degree)
                missed.append(values[last] - weights @ values[last - count : last])
            sizes = np.abs(np.nan_to_num(missed[:-1])) / _MEDIAN
            usual = max(float(np.median(sizes / self._noise)), float(1.0 + weights @ weights) ** 0.5)
            if usual < best:
                found, best = missed[-1], usual
                scale = np.fmax(usual * self._noise, np.median(sizes, axis=0))
        return np.nan_to_num(found), scale

    def _stands_still(self, positions: Array, residual: Array) -> NDArray[np.bool_]:
        found = np.zeros(len(self._noise), dtype=bool)
        for past in (self._positions, self._slow):
            for count in range(3, len(past) + 1):
                values = np.vstack([past[-count:], positions])
                still = np.ptp(values, axis=0) < _STILL * self._noise
                expected = np.abs(positions - residual - values[0])
                if 2 * np.count_nonzero(still) < len(still) + 1:
                    found |= still & (expected > _EXPECTED * self._noise)
        return found


def _weights(times: Array, degree: int) -> Array:
    """Weights (k,) of values at ``times`` (k,) s in the value at 0 of the polynomial that fits them best."""
    scale = float(np.abs(times).max()) or 1.0
    weights: Array = np.linalg.pinv(np.vander(times / scale, degree + 1, increasing=True))[0]
    return weights
