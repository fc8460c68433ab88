"""Streams on one time axis, whatever their stamps; smoothed on a grid; the lag of one signal behind another."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_estimation.bags import Imu, JointStates
from scipy.signal import savgol_coeffs, savgol_filter

from pkm_bringup.robot_check.recorded import Flags, Stamps

#: s between two instants of the grid, and instants of a smoothing polynomial (third degree)
INTERVAL, POINTS = 0.02, 7
#: instants without a sample that make a hole
_HOLE = 7
#: part of the messages that must be newer than all before for stamps to serve as time
_ORDERLY = 0.8
#: s that two signals must have in common for one to be late
_LEAST = 3.0
#: part of the shorter stream that must lie within the longer one for both to be on one clock
_SHARED = 0.5


class Stream(NamedTuple):
    """Messages of one topic, with the times of those that can be used.

    Attributes
    ----------
    which : ``joint`` or ``imu``
    topic : full name
    nominal : Hz, rate of the machine file; 0 without
    log : the messages; None if there are none
    times : (K,) ns, increasing
    rows : (K,) messages that they belong to
    source : ``stamps``, ``reception`` or ``counted`` (by the rate of the machine file)
    """

    which: str
    topic: str
    nominal: float
    log: JointStates | Imu | None
    times: Stamps = np.empty(0, dtype=np.int64)
    rows: NDArray[np.intp] = np.empty(0, dtype=np.intp)
    source: str = 'counted'

    @property
    def time(self) -> Array:
        """Times (K,) s."""
        return 1e-9 * self.times.astype(float)

    @property
    def names(self) -> tuple[str, ...]:
        """Of the joints."""
        return self.log.names if isinstance(self.log, JointStates) else ()

    @property
    def age(self) -> float:
        """Usual age [s] of a sample at its reception; NaN where no message has a stamp."""
        if self.log is None or not (self.log.stamps > 0).any():
            return float('nan')
        return 1e-9 * float(np.median((self.log.recorded_at - self.log.stamps)[self.log.stamps > 0]))

    def timed(self) -> Stream:
        """The stream with times: by stamps where these can be used, else by reception, else by counting."""
        if self.log is None:
            return self
        for times, source in ((self.log.stamps, 'stamps'), (self.log.recorded_at, 'reception')):
            # a single stamp far in the future must not make all that follow old ones
            rows = np.flatnonzero((times > 0) & ~lonely(times))
            newer = np.diff(np.maximum.accumulate(times[rows]), prepend=0) > 0
            if len(rows) >= 2 and np.count_nonzero(newer) >= _ORDERLY * len(times):
                return self._replace(times=times[rows[newer]], rows=rows[newer], source=source)
        rows = np.arange(len(self.log))
        return self._replace(times=np.rint(rows * 1e9 / (self.nominal or 100.0)).astype(np.int64), rows=rows)


def lonely(times: Stamps) -> Flags:
    """Which times (K,) ns lie far away from most that are not zero."""
    known = times[times > 0] if (times > 0).any() else times
    return np.asarray(np.abs(times - np.median(known)) > 4 * np.ptp(np.quantile(known, [0.05, 0.95])) + 10**9)


def aligned(joints: Stream, imu: Stream) -> tuple[Stream, Stream, str]:
    """Both streams with a common zero of time, and by what they have it: ``stamps``, ``reception`` or ``start``."""
    if joints.log is None or imu.log is None:
        joints, imu = (stream._replace(times=stream.times - stream.times[:1]) for stream in (joints, imu))
        return joints, imu, 'stamps'
    came = joints.log.recorded_at, imu.log.recorded_at
    ages = [int(np.median(at[own.rows] - own.times)) for at, own in zip(came, (joints, imu), strict=True)]
    ways = (
        ('stamps', joints.source == imu.source == 'stamps', 0),
        ('reception', all((at > 0).all() and np.ptp(at) > 0 for at in came), ages[1] - ages[0]),
        ('start', True, int(joints.times[0] - imu.times[0])),
    )
    for by, told, shift in ways:
        times = imu.times + shift
        common = min(joints.times[-1], times[-1]) - max(joints.times[0], times[0])
        if told and (by == 'start' or common > _SHARED * min(np.ptp(joints.times), np.ptp(times))):
            break
    origin = min(joints.times[0], times[0])
    return joints._replace(times=joints.times - origin), imu._replace(times=times - origin), by


class Signal(NamedTuple):
    """A stream of C channels on the grid.

    Attributes
    ----------
    time : (N,) s
    value, rate, acceleration : (N, C), smoothed, and its first and second derivative
    good : (N,) False near holes and ends
    noise, rate_noise : (C,) standard deviations that white noise of the samples leaves in values and rates
    """

    time: Array
    value: Array
    rate: Array
    acceleration: Array
    good: Flags
    noise: Array
    rate_noise: Array

    def rows(self, rows: NDArray[np.intp]) -> Signal:
        """The signal at some of its instants."""
        parts = ('time', 'value', 'rate', 'acceleration', 'good')
        return self._replace(**{part: getattr(self, part)[rows] for part in parts})

    def some(self, count: int) -> NDArray[np.intp]:
        """About ``count`` good instants, evenly taken."""
        rows = np.flatnonzero(self.good)
        return rows[:: max(1, len(rows) // count)]


def smoothed(time: Array, values: Array, grid: Array) -> Signal:
    """Average samples around each instant of the grid, then fit polynomials; nothing lags.

    Parameters
    ----------
    time : (K,) s, increasing
    values : (K, C); rows that are not finite do not count
    grid : (N,) s, equidistant
    """
    finite = np.isfinite(values).all(axis=1)
    time, values = time[finite], values[finite]
    edges = np.append(grid, grid[-1] + INTERVAL) - 0.5 * INTERVAL
    number, at, *sums = (np.histogram(time, edges, weights=one)[0] for one in (np.ones(len(time)), time, *values.T))
    known = number > 0.0
    even = np.column_stack([np.interp(grid, at[known] / number[known], one[known] / number[known]) for one in sums])
    hole = np.convolve(known, np.ones(_HOLE), 'same') == 0
    good = np.convolve(hole, np.ones(2 * POINTS - 1), 'same') == 0
    good[: POINTS // 2] = good[len(grid) - POINTS // 2 :] = False
    value, rate, acceleration = (
        savgol_filter(even, POINTS, 3, deriv=order, delta=INTERVAL, axis=0) for order in range(3)
    )
    # third differences of smooth signals vanish; of white noise they have a variance of 20
    steps = np.abs(np.diff(even, n=3, axis=0))
    white = np.median(steps[good[3:]] if good.any() else steps, axis=0) / 0.6745 / np.sqrt(20.0)
    # what the polynomials leave of the deviation of white noise, in values and rates
    gain = [float(np.linalg.norm(savgol_coeffs(POINTS, 3, deriv=order, delta=INTERVAL))) for order in (0, 1)]
    return Signal(grid, value, rate, acceleration, good, gain[0] * white, gain[1] * white)


class Lag(NamedTuple):
    """Delay of a signal behind another.

    Attributes
    ----------
    delay : s
    explained, at_once : part of its power that the other explains at that delay, and without
    unique : False where another delay explains as much (periodic motion)
    """

    delay: float
    explained: float
    at_once: float
    unique: bool


def lag(moved: Array, moves: Flags, felt: Array, feels: Flags, most: float) -> Lag | None:
    """Find the delay at which any linear map of what moved explains most of what is felt.

    The map is free: wrong orders, signs, units and axes do not matter.

    Parameters
    ----------
    moved, felt : (N, C) and (N, D) at the same instants
    moves, feels : (N,) where they are known
    most : s, farthest delay that is looked for

    Returns
    -------
    None if the signals have less than three seconds in common
    """

    def part(shift: int) -> float:
        rows = np.flatnonzero(feels)
        rows = rows[(rows - shift >= 0) & (rows - shift < len(moves))]
        rows = rows[moves[rows - shift]]
        if len(rows) < _LEAST / INTERVAL:
            return float('nan')
        cause, result = (values - values.mean(axis=0) for values in (moved[rows - shift], felt[rows]))
        left = result - cause @ np.linalg.lstsq(cause, result, rcond=1e-6)[0]
        power = float(np.sum(result**2))
        return 1.0 - float(np.sum(left**2)) / power if power > 0.0 else 0.0

    shifts = np.arange(-int(most / INTERVAL), int(most / INTERVAL) + 1)
    explained = np.array([part(shift) for shift in shifts.tolist()])
    if not np.isfinite(explained).any():
        return None
    # the nearest of all peaks that are as good as the best, between three instants a parabola
    before, peak, after = explained[:-2], explained[1:-1], explained[2:]
    top = np.flatnonzero((peak >= np.nanmax(explained) - 0.01) & ~(before > peak) & ~(after > peak))
    if len(top) == 0:
        return None
    best = top[np.argmin(np.abs(shifts[1:-1][top]))]
    bend = before[best] - 2.0 * peak[best] + after[best]
    beside = float(np.clip(0.5 * (before[best] - after[best]) / bend, -1.0, 1.0)) if bend < 0.0 else 0.0
    shift = shifts[1 + best]
    unique = not np.any(explained[np.abs(shifts - shift) > 0.5 / INTERVAL] > peak[best] - 0.05)
    return Lag(INTERVAL * (shift + beside), float(peak[best]), float(explained[shifts == 0][0]), unique)
