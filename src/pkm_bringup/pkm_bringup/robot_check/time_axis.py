"""One time axis for two topics whose stamps may be wrong in every way, and the delay between their clocks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array

from pkm_bringup.robot_check.agreement import INTERVAL, Smoothed, smoothed
from pkm_bringup.robot_check.recorded import ImuLog, JointLog, Stamps

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
    stamp_offset : s, by which the IMU's axis was moved against its own stamps; 0 when aligned by stamps
    """

    joints: TimeAxis | None
    imu: TimeAxis | None
    aligned_by: str = 'stamps'
    stamp_offset: float = 0.0


def time_axes(
    joints: JointLog | None, imu: ImuLog | None, joint_rate: float = 100.0, imu_rate: float = 100.0
) -> TimeAxes:
    """Time axes of both streams; by stamps where these can be used, else by reception, else by counting.

    Parameters
    ----------
    joint_rate, imu_rate : Hz, for streams without any usable time
    """
    legs = None if joints is None else _axis(joints.stamps, joints.received, joint_rate)
    body = None if imu is None else _axis(imu.stamps, imu.received, imu_rate)
    if legs is None or body is None or joints is None or imu is None:
        origin = min((int(axis[0][0]) for axis in (legs, body) if axis is not None), default=0)
        return TimeAxes(None if legs is None else _from(legs, origin), None if body is None else _from(body, origin))
    if legs[2] == body[2] == 'stamps' and _share_time(legs[0], body[0]):
        origin = min(int(legs[0][0]), int(body[0][0]))
        return TimeAxes(_from(legs, origin), _from(body, origin))
    shift, how = _shift(legs, body, joints, imu)
    moved = body[0] + shift, body[1], body[2]
    origin = min(int(legs[0][0]), int(moved[0][0]))
    return TimeAxes(_from(legs, origin), _from(moved, origin), how, 1e-9 * shift)


_Axis = tuple[Stamps, NDArray[np.intp], str]


def _axis(stamps: Stamps, received: Stamps, rate: float) -> _Axis:
    for times, source in ((stamps, 'stamps'), (received, 'reception')):
        good = np.flatnonzero(times > 0)
        if len(good) < max(2, _ORDERLY * len(times)):
            continue
        steps = np.diff(times[good])
        if np.count_nonzero(steps > 0) < _ORDERLY * len(steps):
            continue
        newest = np.maximum.accumulate(times[good])
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
    lags = [np.median(log.received[axis[1]] - axis[0]) for log, axis in ((joints, legs), (imu, body))]
    arrived = joints.received[legs[1]], imu.received[body[1]]
    told = all((times > 0).all() and len(times) > 1 and np.ptp(times) > 0 for times in arrived)
    if told and _share_time(np.sort(arrived[0]), np.sort(arrived[1])):
        return int(lags[1] - lags[0]), 'reception'
    return int(legs[0][0] - body[0][0]), 'start'


def _from(axis: _Axis, origin: int) -> TimeAxis:
    return TimeAxis(1e-9 * (axis[0] - origin).astype(float), axis[1], axis[2])


#: s, largest shift of the clocks that is looked for, and the least time that must be left
_FARTHEST, _LEAST = 5.0, 3.0
#: part of the gyroscope's power that the drives must explain
ENOUGH = 0.6


@dataclass(frozen=True)
class ClockShift:
    """Delay of the IMU's time behind the drives'.

    Attributes
    ----------
    delay : s; positive: the IMU's stamps are late
    explained : part of the angular rate's power that the drives' rates explain at that delay
    drift : s/s, by which the delay grows; NaN where the recording is too short to tell
    drift_std : s/s
    unique : False where another delay explains as much (periodic motion)
    """

    delay: float
    explained: float
    drift: float
    drift_std: float
    unique: bool


def clock_shift(drives: tuple[Array, Array], gyroscope: tuple[Array, Array]) -> ClockShift | None:
    """Find the delay at which any linear map of the drives' rates explains most of the angular rate.

    The map is free: wrong orders, signs, units and axes do not matter.

    Parameters
    ----------
    drives : times (K,) s, positions (K, A)
    gyroscope : times (M,) s, angular rates (M, 3)

    Returns
    -------
    None if the streams have less than three seconds in common
    """
    limits = [(times[0], times[-1]) for times, _ in (drives, gyroscope)]
    begin, end = min(one[0] for one in limits), max(one[1] for one in limits)
    grid = begin + INTERVAL * np.arange(int((end - begin) / INTERVAL))
    if len(grid) * INTERVAL < _LEAST or min(len(drives[0]), len(gyroscope[0])) < 20:
        return None
    legs, body = (smoothed(times, values, grid) for times, values in (drives, gyroscope))
    own = [(grid >= low) & (grid <= high) & one.good for (low, high), one in zip(limits, (legs, body), strict=True)]
    most = int(min(_FARTHEST, 0.4 * (end - begin)) / INTERVAL)
    shifts = np.arange(-most, most + 1)
    explained = np.array([_explained(legs, body, own, shift) for shift in shifts.tolist()])
    if not np.isfinite(explained).any():
        return None
    # the nearest of all that are as good as the best
    best = int(np.nanargmax(np.where(explained >= np.nanmax(explained) - 0.01, -np.abs(shifts), -np.inf)))
    while 0 < best < len(shifts) - 1 and max(explained[best - 1], explained[best + 1]) > explained[best]:
        best += 1 if explained[best + 1] > explained[best - 1] else -1
    far = np.abs(shifts - shifts[best]) > 0.5 / INTERVAL
    unique = not bool(np.any(explained[far] > explained[best] - 0.05))
    delay = INTERVAL * (shifts[best] + _peak(explained, best))
    drift, drift_std = _drift(legs, body, own, shifts[best], grid)
    return ClockShift(delay, float(explained[best]), drift, drift_std, unique)


def _explained(legs: Smoothed, body: Smoothed, own: list[Array], shift: int) -> float:
    """Part of the angular rate's power explained by the drives' rates ``shift`` instants earlier."""
    rows = _common(own, shift)
    if np.count_nonzero(rows) < _LEAST / INTERVAL:
        return float('nan')
    rates, angular = legs.rate[rows - shift], body.value[rows]
    rates, angular = rates - rates.mean(axis=0), angular - angular.mean(axis=0)
    power = float(np.sum(angular**2))
    if power <= 0.0:
        return 0.0
    left = angular - rates @ np.linalg.lstsq(rates, angular, rcond=1e-6)[0]
    return 1.0 - float(np.sum(left**2)) / power


def _common(own: list[Array], shift: int) -> Array:
    """Instants at which the IMU is known, and ``shift`` instants earlier the drives."""
    rows = np.flatnonzero(own[1])
    rows = rows[(rows - shift >= 0) & (rows - shift < len(own[0]))]
    return rows[own[0][rows - shift]]


def _peak(values: Array, best: int) -> float:
    """Fraction of an instant by which the peak lies beside its highest value (parabola)."""
    if not 0 < best < len(values) - 1:
        return 0.0
    before, peak, after = values[best - 1 : best + 2]
    bend = before - 2.0 * peak + after
    return float(np.clip(0.5 * (before - after) / bend, -1.0, 1.0)) if bend < 0.0 else 0.0


def _drift(legs: Smoothed, body: Smoothed, own: list[Array], shift: int, grid: Array) -> tuple[float, float]:
    """Slope of the delay over time, by its first-order effect ``d(rate) = -(delay0 + drift t) d/dt rate``."""
    rows = _common(own, int(shift))
    if len(rows) < 8.0 / INTERVAL:
        return float('nan'), float('nan')
    rates, angular = legs.rate[rows - shift], body.value[rows]
    rates, angular = rates - rates.mean(axis=0), angular - angular.mean(axis=0)
    gains = np.linalg.lstsq(rates, angular, rcond=1e-6)[0]
    slope = -legs.acceleration[rows - shift] @ gains
    time = grid[rows] - grid[rows].mean()
    left = angular - rates @ gains
    columns = np.column_stack([slope.ravel(), (slope * time[:, None]).ravel()])
    normal = columns.T @ columns
    if np.linalg.cond(normal) > 1e12:
        return float('nan'), float('nan')
    answer = np.linalg.solve(normal, columns.T @ left.ravel())
    error = left.ravel() - columns @ answer
    # errors of poses that change slowly are alike over about a second
    alike = 1.0 / INTERVAL
    std = np.sqrt(error @ error / len(error) * alike * np.linalg.inv(normal)[1, 1])
    return float(answer[1]), float(std)
