"""Streams on one time axis, whatever their stamps, and smoothed on a grid."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_estimation.bags import Imu, JointStates
from scipy.signal import savgol_coeffs, savgol_filter

from pkm_bringup.robot_check.recorded import Stamps

#: s between two instants of the grid, and instants of a smoothing polynomial (third degree)
INTERVAL, POINTS = 0.02, 7
#: s without a sample after which the grid has a hole
_HOLE = 0.12
#: part of the steps that must go forward for stamps to serve as time
_ORDERLY = 0.8
#: s, largest shift of the clocks that is looked for, and the least time that must be left
_FARTHEST, _LEAST = 5.0, 3.0
#: part of the shorter stream that must lie within the longer one for both to be on one clock
_SHARED = 0.5


@dataclass(frozen=True)
class TimeAxis:
    """Times of a stream's usable messages.

    Attributes
    ----------
    times : (K,) ns, increasing
    rows : (K,) messages that they belong to
    source : ``stamps``, ``reception`` or ``counted`` (by the rate of the machine file)
    """

    times: Stamps
    rows: NDArray[np.intp]
    source: str

    @property
    def seconds(self) -> Array:
        """Times (K,) s."""
        return 1e-9 * self.times.astype(float)

    def shifted(self, by: int) -> TimeAxis:
        """The axis with ``by`` ns added."""
        return replace(self, times=self.times + by)


@dataclass(frozen=True)
class TimeAxes:
    """Time axes of joints and IMU, with a common zero.

    Attributes
    ----------
    joints, imu : None without messages
    aligned_by : ``stamps``, ``reception`` or ``start``: what both axes have in common
    """

    joints: TimeAxis | None
    imu: TimeAxis | None
    aligned_by: str = 'stamps'


def time_axes(
    joints: JointStates | None, imu: Imu | None, joint_rate: float = 100.0, imu_rate: float = 100.0
) -> TimeAxes:
    """Time axes of both streams; by stamps where these can be used, else by reception, else by counting.

    Parameters
    ----------
    joint_rate, imu_rate : Hz, for streams without any usable time
    """
    legs, body = (
        None if log is None else _axis(log.stamps, log.recorded_at, rate)
        for log, rate in ((joints, joint_rate), (imu, imu_rate))
    )
    aligned = 'stamps'
    if joints is not None and imu is not None:
        assert legs is not None
        assert body is not None
        by_stamps = legs.source == body.source == 'stamps' and _share_time(legs.times, body.times)
        if not by_stamps:
            shift, aligned = _shift(legs, body, joints, imu)
            body = body.shifted(shift)
    origin = min((int(axis.times[0]) for axis in (legs, body) if axis is not None), default=0)
    return TimeAxes(legs and legs.shifted(-origin), body and body.shifted(-origin), aligned)


def _axis(stamps: Stamps, received: Stamps, rate: float) -> TimeAxis:
    for times, source in ((stamps, 'stamps'), (received, 'reception')):
        good = np.flatnonzero(times > 0)
        steps = np.diff(times[good])
        if len(good) < max(2, _ORDERLY * len(times)) or np.count_nonzero(steps > 0) < _ORDERLY * len(steps):
            continue
        # a single stamp far in the future must not make all that follow old ones
        wild = np.abs(times[good] - np.median(times[good])) > 4 * np.ptp(np.quantile(times[good], [0.05, 0.95])) + 10**9
        good = good[~wild]
        newest = np.maximum.accumulate(times[good])
        fresh = np.concatenate([[True], times[good][1:] > newest[:-1]])
        return TimeAxis(times[good][fresh], good[fresh], source)
    rows = np.arange(len(stamps))
    return TimeAxis(np.rint(rows * 1e9 / rate).astype(np.int64), rows, 'counted')


def _share_time(first: Stamps, second: Stamps) -> bool:
    common = min(first[-1], second[-1]) - max(first[0], second[0])
    return bool(common > _SHARED * min(first[-1] - first[0], second[-1] - second[0]))


def _shift(legs: TimeAxis, body: TimeAxis, joints: JointStates, imu: Imu) -> tuple[int, str]:
    """What to add to the IMU's times [ns] to bring both on one axis, and by what that is told."""
    arrived = joints.recorded_at[legs.rows], imu.recorded_at[body.rows]
    told = all((times > 0).all() and len(times) > 1 and np.ptp(times) > 0 for times in arrived)
    if told and _share_time(np.sort(arrived[0]), np.sort(arrived[1])):
        return int(np.median(arrived[1] - body.times) - np.median(arrived[0] - legs.times)), 'reception'
    return int(legs.times[0] - body.times[0]), 'start'


@dataclass(frozen=True)
class Signal:
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
    good: NDArray[np.bool_]
    noise: Array
    rate_noise: Array

    def rows(self, rows: NDArray[np.intp]) -> Signal:
        """The signal at some of its instants."""
        parts = ('time', 'value', 'rate', 'acceleration', 'good')
        return replace(self, **{part: getattr(self, part)[rows] for part in parts})

    def some(self, count: int) -> NDArray[np.intp]:
        """About ``count`` good instants, evenly taken."""
        rows = np.flatnonzero(self.good)
        return rows[:: max(1, len(rows) // count)]


def grid_of(*times: Array) -> Array:
    """Grid (N,) s over the time that all streams have in common; empty if there is none."""
    begin, end = max(time[0] for time in times), min(time[-1] for time in times)
    return np.asarray(begin + INTERVAL * np.arange(max(0, int((end - begin) / INTERVAL))))


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
    count = len(grid)
    place = np.rint((time - grid[0]) / INTERVAL).astype(int)
    inside = (place >= 0) & (place < count)
    _, place = np.unique(place[inside], return_inverse=True)
    number = np.bincount(place)
    at = np.bincount(place, time[inside]) / number
    means = np.column_stack([np.bincount(place, column) / number for column in values[inside].T])
    even = np.column_stack([np.interp(grid, at, column) for column in means.T])
    nearest = np.abs(grid[:, None] - at[np.clip(np.searchsorted(at, grid)[:, None] + [-1, 0], 0, len(at) - 1)]).min(1)
    hole = nearest > 0.5 * _HOLE
    good = np.convolve(hole, np.ones(POINTS), 'same') == 0
    good[: POINTS // 2] = good[count - POINTS // 2 :] = False
    value, rate, acceleration = (
        savgol_filter(even, POINTS, 3, deriv=order, delta=INTERVAL, axis=0) for order in range(3)
    )
    # third differences of smooth signals vanish; of white noise they have a variance of 20
    white = np.median(np.abs(np.diff(even, n=3, axis=0)), axis=0) / 0.6745 / np.sqrt(20.0)
    # what the polynomials leave of the deviation of white noise, in values and rates
    gain = [float(np.linalg.norm(savgol_coeffs(POINTS, 3, deriv=order, delta=INTERVAL))) for order in (0, 1)]
    return Signal(grid, value, rate, acceleration, good, gain[0] * white, gain[1] * white)


@dataclass(frozen=True)
class ClockShift:
    """Delay of the IMU's time behind the drives'.

    Attributes
    ----------
    delay : s; positive: the IMU's stamps are late
    explained : part of the angular rate's power that the drives' rates explain at that delay
    unique : False where another delay explains as much (periodic motion)
    """

    delay: float
    explained: float
    unique: bool


def clock_shift(drives: tuple[Array, Array], gyroscope: tuple[Array, Array], derivative: int = 1) -> ClockShift | None:
    """Find the delay at which any linear map of the drives' rates explains most of the angular rate.

    The map is free: wrong orders, signs, units and axes do not matter.

    Parameters
    ----------
    drives : times (K,) s, positions (K, A)
    gyroscope : times (M,) s, angular rates (M, 3); or specific forces
    derivative : of the drives: 1, or 2 with specific forces

    Returns
    -------
    None if the streams have less than three seconds in common
    """
    begin, end = (pick(drives[0][at], gyroscope[0][at]) for pick, at in ((min, 0), (max, -1)))
    grid = begin + INTERVAL * np.arange(int((end - begin) / INTERVAL))
    if len(grid) * INTERVAL < _LEAST or min(len(drives[0]), len(gyroscope[0])) < 20:
        return None
    legs, body = (smoothed(times, values, grid) for times, values in (drives, gyroscope))
    most = int(min(_FARTHEST, 0.4 * (end - begin)) / INTERVAL)
    shifts = np.arange(-most, most + 1)
    explained = np.array([_explained(legs, body, derivative, shift) for shift in shifts.tolist()])
    if not np.isfinite(explained).any():
        return None
    # the nearest of all that are as good as the best
    best = int(np.nanargmax(np.where(explained >= np.nanmax(explained) - 0.01, -np.abs(shifts), -np.inf)))
    while 0 < best < len(shifts) - 1 and max(explained[best - 1], explained[best + 1]) > explained[best]:
        best += 1 if explained[best + 1] > explained[best - 1] else -1
    far = np.abs(shifts - shifts[best]) > 0.5 / INTERVAL
    unique = not bool(np.any(explained[far] > explained[best] - 0.05))
    delay = INTERVAL * (shifts[best] + _peak(explained, best))
    return ClockShift(delay, float(explained[best]), unique)


def _explained(legs: Signal, body: Signal, derivative: int, shift: int) -> float:
    """Part of the IMU's power that a linear map of the drives ``shift`` instants earlier explains."""
    rows = np.flatnonzero(body.good)
    rows = rows[(rows - shift >= 0) & (rows - shift < len(legs.good))]
    rows = rows[legs.good[rows - shift]]
    if len(rows) < _LEAST / INTERVAL:
        return float('nan')
    moved, felt = (legs.rate, legs.acceleration)[derivative - 1][rows - shift], body.value[rows]
    moved, felt = moved - moved.mean(axis=0), felt - felt.mean(axis=0)
    left = felt - moved @ np.linalg.lstsq(moved, felt, rcond=1e-6)[0]
    power = float(np.sum(felt**2))
    return 1.0 - float(np.sum(left**2)) / power if power > 0.0 else 0.0


def _peak(values: Array, best: int) -> float:
    """Fraction of an instant by which the peak lies beside its highest value (parabola)."""
    if not 0 < best < len(values) - 1:
        return 0.0
    before, peak, after = values[best - 1 : best + 2]
    bend = before - 2.0 * peak + after
    return float(np.clip(0.5 * (before - after) / bend, -1.0, 1.0)) if bend < 0.0 else 0.0
