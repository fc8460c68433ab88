"""Streams on one time axis, whatever their stamps, and smoothed on a grid."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from scipy.signal import savgol_coeffs, savgol_filter

from pkm_bringup.robot_check.recorded import ImuLog, JointLog, Stamps

#: s between two instants of the grid, and instants of a smoothing polynomial (third degree)
INTERVAL, POINTS = 0.02, 7
#: s without a sample after which the grid has a hole
_HOLE = 0.12
#: part of the steps that must go forward for stamps to serve as time
_ORDERLY = 0.8
#: part of the shorter stream that must lie within the longer one for both to be on one clock
_SHARED = 0.5


@dataclass(frozen=True)
class TimeAxis:
    """Times of a stream's usable messages.

    Attributes
    ----------
    seconds : (K,) s, increasing
    rows : (K,) messages that they belong to
    source : ``stamps``, ``reception`` or ``counted`` (by the rate of the machine file)
    """

    seconds: Array
    rows: NDArray[np.intp]
    source: str


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
    joints: JointLog | None, imu: ImuLog | None, joint_rate: float = 100.0, imu_rate: float = 100.0
) -> TimeAxes:
    """Time axes of both streams; by stamps where these can be used, else by reception, else by counting.

    Parameters
    ----------
    joint_rate, imu_rate : Hz, for streams without any usable time
    """
    logs = (joints, joint_rate), (imu, imu_rate)
    axes = [None if log is None else _axis(log.stamps, log.received, rate) for log, rate in logs]
    aligned = 'stamps'
    if joints is not None and imu is not None:
        legs, body = axes
        assert legs is not None
        assert body is not None
        if not (legs[2] == body[2] == 'stamps' and _share_time(legs[0], body[0])):
            shift, aligned = _shift(legs, body, joints, imu)
            axes[1] = body[0] + shift, body[1], body[2]
    origin = min((int(axis[0][0]) for axis in axes if axis is not None), default=0)
    found = [
        None if axis is None else TimeAxis(1e-9 * (axis[0] - origin).astype(float), axis[1], axis[2]) for axis in axes
    ]
    return TimeAxes(found[0], found[1], aligned)


_Axis = tuple[Stamps, NDArray[np.intp], str]


def _axis(stamps: Stamps, received: Stamps, rate: float) -> _Axis:
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
        return times[good][fresh], good[fresh], source
    rows = np.arange(len(stamps))
    return np.rint(rows * 1e9 / rate).astype(np.int64), rows, 'counted'


def _share_time(first: Stamps, second: Stamps) -> bool:
    common = min(first[-1], second[-1]) - max(first[0], second[0])
    return bool(common > _SHARED * min(first[-1] - first[0], second[-1] - second[0]))


def _shift(legs: _Axis, body: _Axis, joints: JointLog, imu: ImuLog) -> tuple[int, str]:
    """What to add to the IMU's times [ns] to bring both on one axis, and by what that is told."""
    arrived = joints.received[legs[1]], imu.received[body[1]]
    told = all((times > 0).all() and len(times) > 1 and np.ptp(times) > 0 for times in arrived)
    if told and _share_time(np.sort(arrived[0]), np.sort(arrived[1])):
        return int(np.median(arrived[1] - body[0]) - np.median(arrived[0] - legs[0])), 'reception'
    return int(legs[0][0] - body[0][0]), 'start'


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
