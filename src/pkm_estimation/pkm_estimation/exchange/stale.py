"""What positions say of their encoders: those that are not read anew, and steps that the machine file does not state.

A position that is not read anew repeats the last one to the last bit, although the platform moves.

A driver whose read failed, or that publishes more often than its bus is read, republishes what it has. Such a value
looks like a measurement and is none. Four hypotheses explain that some legs repeat their last positions:

- ``anew``: they were read anew, and repeat one by one, as often as at rest: never where there is noise, often where
  encoders are coarse; their innovations are as the filter expects, by chi-square;
- ``rest``: sensors without noise, as in a simulator, at rest: all legs repeat, their innovations are as the filter
  expects, and at the first repetition the IMU's samples differ by their noise only;
- ``wrong``: the same, but the prediction has become wrong, as with an IMU that fails: innovations and IMU say nothing;
- ``stale``: they repeat for certain, and the innovations say nothing.

The weights follow a hidden Markov model from the first repetition to the first position that differs. Whether sensors
have noise, and which legs repeat when others do not, is counted at rest.

Stale positions are not used: the filter goes on by the IMU, and its covariance grows as in any other time without legs.

An encoder whose step is larger than its noise has errors of a twelfth of the step's square. A few readings show the
step: the greatest common divisor of their differences, which is next to nothing where there is noise instead.
"""

from __future__ import annotations

from math import log

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.kernels.model import Integers
from pkm_description.machine import Machine
from scipy.special import chdtrc

from pkm_estimation.filters.kalman import solved

#: 1/s, how often encoders become stale, are read again, and how often a prediction becomes wrong otherwise
_STALE_RATE, _RETURN_RATE, _WRONG_RATE = 1e-3, 2.0, 1.5e-3
#: ns, shortest time between two measurements; tail probability from which on a distance counts as usual
_SHORTEST, _USUAL = 1000, 0.01
#: ns; legs that stay within so many standard deviations of their noise for so long are at rest
_REST, _STILL = 100_000_000, 8.0
#: standard deviations of its noise that a position must leave the line through the two before, to have jittered, and
#: how likely that is of sensors without noise
_JITTER, _JITTER_WITHOUT_NOISE = 2.0, 0.1
#: weight of stale positions, to that of positions that were read anew, from which on they are not used: a stale one
#: that is used does a hundred times the harm of a good one that is not
_COST = 0.01
#: m or rad, noise of sensors that have none
_LEAST_NOISE = 1e-12
#: changes of each position that are looked at; part of the noise below which a remainder is none
_CHANGES, _REMAINDER = 10, 0.01


class StaleEncoders:
    """Judges positions that repeat; attributes are replaced, never written into.

    Parameters
    ----------
    noise : (A,) m or rad, standard deviations of the positions

    Attributes
    ----------
    stamp : ns, of the last measurement
    legs : those that were stale at it
    """

    def __init__(self, noise: Array) -> None:
        self._noise = np.maximum(noise, _LEAST_NOISE)
        self._jittered, self._repeats = np.zeros(len(noise)), np.zeros(len(noise))
        self.reset()

    def reset(self) -> None:
        """Forget the last positions, but not how often legs repeat at rest."""
        nothing = np.full(len(self._noise), np.nan)
        self.stamp, self._last, self._before = 0, nothing, nothing
        self._slot, self._was_rest, self._is_rest = -1, True, True
        self._lowest, self._highest = nothing, nothing
        self._weights: tuple[float, float, float, float] | None = None
        self.legs: NDArray[np.intp] = np.zeros(0, dtype=np.intp)
        self._judged_at = 0

    def fresh(self, positions: Array) -> int:
        """How many of the first measurements (N, A) have no leg that repeats its position before."""
        repeated = (positions == np.vstack([self._last, positions[:-1]])).any(axis=1)
        return int(np.argmax(repeated)) if repeated.any() else len(positions)

    def repeated(self, positions: Array) -> NDArray[np.intp]:
        """Legs whose position, of (A,), is the last one."""
        return np.flatnonzero(positions == self._last)

    def still_stale(self, stamp: int, positions: Array) -> NDArray[np.intp]:
        """Legs that were stale and still repeat their positions (A,) at a stamp [ns], where there is no prediction.

        All of them, where they may as well be at rest since, for as long as encoders are likely to be stale.
        """
        legs = np.intersect1d(self.repeated(positions), self.legs)
        is_over = 1e-9 * (stamp - self._judged_at) * _RETURN_RATE > -log(_COST)
        return legs[:0] if is_over and len(legs) == len(positions) else legs

    def judge(
        self, stamp: int, legs: NDArray[np.intp], residual: Array, covariance: Array, imu_distance: float
    ) -> bool:
        """Whether legs that repeat their last positions are rather stale than read anew.

        Parameters
        ----------
        stamp : ns, of the measurement
        legs : (k,) that repeat
        residual, covariance : (A,), (A, A) m or rad, of the positions against the prediction
        imu_distance : squared Mahalanobis distance of the IMU's six numbers from those at the measurement before
        """
        seconds = 1e-9 * max(stamp - self.stamp, _SHORTEST)
        part = covariance[np.ix_(legs, legs)]
        fits = _fits(float(residual[legs] @ solved(part, residual[legs])), len(legs))
        chance = float(np.prod((self._repeats[legs] + 1.0) / (self._jittered[legs] + 2.0)))
        # of all positions that the prediction admits, few are within the noise of the last one
        chance *= min(1.0, float(np.prod(self._noise[legs]) / np.linalg.det(part) ** 0.5))
        if self._weights is None:
            rest = 0.5 * _JITTER_WITHOUT_NOISE ** self._jittered.max() if len(legs) == len(self._noise) else 0.0
            rest *= _fits(imu_distance, 6)
            # a prediction that fitted until now does not become wrong just when the platform stops
            anew, wrong, stale = 1.0 - rest, 0.0, 0.0
        else:
            anew, rest, wrong, stale = self._weights
            wrong += seconds * _WRONG_RATE * (anew * chance + rest)
        stale += seconds * (_STALE_RATE * (anew + rest) - min(_RETURN_RATE, 1.0 / seconds) * stale)
        anew, rest = anew * chance * fits, rest * fits
        total = anew + rest + wrong + stale
        self._weights = anew / total, rest / total, wrong / total, stale / total
        is_stale = stale > max(wrong, _COST * (anew + rest))
        self.legs, self._judged_at = legs if is_stale else legs[:0], stamp
        return is_stale

    def skip(self, stamp: int) -> None:
        """Take a measurement whose legs are all stale."""
        self.stamp = stamp

    def add(self, stamps: Integers, positions: Array) -> None:
        """Take measurements (N,) ns, (N, A), NaN where a leg has none: whether legs repeat at rest is counted."""
        slots = stamps // _REST
        begin = 0
        for end in (*(np.flatnonzero(np.diff(slots)) + 1).tolist(), len(stamps)):
            part, slot = positions[begin:end], int(slots[begin])
            same = part == np.vstack([self._last, part[:-1]])
            measured = np.isfinite(part)
            if not measured.all():  # each drive may have a publisher of its own
                part = np.where(measured, part, self._last)
            before = np.vstack([self._before, self._last, part])
            if slot != self._slot:
                self._was_rest = (self._is_rest and slot - self._slot == 1) or self._slot < 0
                self._slot, self._lowest, self._highest, self._is_rest = slot, part[0], part[0], True
            if self._is_rest:  # a slot with motion stays one
                lowest = np.minimum.accumulate(np.vstack([self._lowest, part]))[1:]
                highest = np.maximum.accumulate(np.vstack([self._highest, part]))[1:]
                rests = np.all(highest - lowest <= _STILL * self._noise, axis=1)
                self._lowest, self._highest, self._is_rest = lowest[-1], highest[-1], bool(rests[-1])
                if self._was_rest and rests[0]:
                    off = np.abs(part - 2.0 * before[1:-1] + before[:-2])
                    jittered = rests & (off > _JITTER * self._noise).any(axis=1)
                    self._jittered = self._jittered + measured[jittered].sum(axis=0)
                    self._repeats = self._repeats + same[jittered].sum(axis=0)
            self._before, self._last, self.stamp, begin = before[-2], part[-1], int(stamps[end - 1]), end
        if not same[-1].any():
            self._weights, self.legs = None, self.legs[:0]


def read_anew(positions: Array, stale: Integers) -> Array:
    """Positions (A,), NaN where legs are stale."""
    positions = positions.copy()
    positions[stale] = np.nan
    return positions


def _fits(distance: float, count: int) -> float:
    """How well a squared Mahalanobis distance of so many numbers fits: 1 for a usual one."""
    return min(1.0, float(chdtrc(count, distance)) / _USUAL)


class EncoderResolution:
    """Looks at the first positions of the drives for which the machine file states no resolution.

    Parameters
    ----------
    machine : noise and resolution of its drives' sensors

    Attributes
    ----------
    is_known : whether it needs to look no further
    steps : (A,) m or rad, largest steps that explain the positions
    """

    def __init__(self, machine: Machine) -> None:
        sensors, count = machine.leg_sensors, machine.actuated_count
        self._noise = np.broadcast_to(sensors.position_noise, count)
        stated = np.broadcast_to(sensors.position_resolution, count)
        self._missing = np.where((stated > 0.0) | (self._noise <= 0.0), 0, _CHANGES)
        self._last, self.steps = np.full(count, np.nan), np.zeros(count)
        self.is_known = not self._missing.any()

    def add(self, positions: Array) -> None:
        """Look at positions (A,), NaN where a leg has none."""
        for leg, (value, last) in enumerate(zip(positions.tolist(), self._last.tolist(), strict=True)):
            if self._missing[leg] and abs(value - last) > 0.0:
                least = _REMAINDER * float(self._noise[leg])
                self.steps[leg] = _common_divisor(abs(value - last), float(self.steps[leg]), least)
                self._missing[leg] -= 1
        self._last = np.where(np.isfinite(positions), positions, self._last)
        self.is_known = not self._missing.any()

    @property
    def unstated(self) -> Array:
        """Steps (A,) m or rad that are larger than the noise and not in the machine file, else 0."""
        return np.where(self.steps > self._noise, self.steps, 0.0)


def _common_divisor(one: float, other: float, least: float) -> float:
    """Greatest common divisor of two numbers, of which remainders below ``least`` are none (Euclid)."""
    while other > least:
        one, other = other, abs(one - round(one / other) * other)
    return one
