"""One time axis for two topics, whose stamps may be wrong in every way."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array

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
