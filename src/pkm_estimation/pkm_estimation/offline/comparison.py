"""Bitwise comparison of a recorded live run with an offline run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array

from pkm_estimation.bags import JointStates, RecordedData
from pkm_estimation.motion_estimate import MotionEstimate
from pkm_estimation.stream import EstimatorOutput, EstimatorPipeline
from pkm_estimation.stream.stretch import Outputs, Stretch, StretchPipeline

Stamps = NDArray[np.int64]
_FIELDS = ('position', 'orientation', 'linear_velocity', 'angular_velocity', 'pose_covariance', 'twist_covariance')


@dataclass(frozen=True)
class LiveComparison:
    """Recorded live odometry against an offline run.

    Attributes
    ----------
    recorded : number of recorded messages
    reproduced : how many of them the offline run reproduces to the last bit, up to the first difference
    only_live : how many of them come before its first estimate, e.g. because the sensors were recorded later
    only_offline : estimates between the first and the last recorded message that were not recorded
    difference : the first difference in words, ``None`` if there is none
    largest : m, largest difference of a position of those that both have
    """

    recorded: int
    reproduced: int
    only_live: int
    only_offline: int
    difference: str | None
    largest: float

    @property
    def identical(self) -> bool:
        """True if there is something to compare and all of it is the same; ``only_live`` does not count."""
        return self.difference is None and self.reproduced > 0


def compare_with_live(offline: MotionEstimate, live: MotionEstimate) -> LiveComparison:
    """Compare the raw doubles of pose, twist and covariances, stamp by stamp, in the order of both.

    A stamp that comes again (the clock was reset) is another estimate.
    """
    recorded = len(live)
    if not recorded:
        return LiveComparison(0, 0, 0, 0, 'no live estimate was recorded', 0.0)
    where = _in_order(offline.stamps, live.stamps)
    both, only_offline = np.flatnonzero(where >= 0), _missing_between(where)
    if not len(both):
        nothing = f'the offline run has none of the {recorded} recorded estimates'
        return LiveComparison(recorded, 0, recorded, 0, nothing, 0.0)
    begin = int(both[0])
    same = where >= 0
    for name in _FIELDS:
        same &= _same_bits(getattr(offline, name)[where], getattr(live, name))
    largest = float(np.linalg.norm(offline.position[where[both]] - live.position[both], axis=1).max())
    if same[begin:].all():
        return LiveComparison(recorded, recorded - begin, begin, only_offline, None, largest)
    first = begin + int(np.argmin(same[begin:]))
    told = _describe(offline, live, first, int(where[first]))
    return LiveComparison(recorded, first - begin, begin, only_offline, told, largest)


def compare_innovations(
    stamps: NDArray[np.int64], names: Sequence[str], rows: Array, live: JointStates
) -> LiveComparison:
    """Compare the raw doubles of ``platform/innovations`` with an offline run: rows (N, 3 A + 1), stamps (N,) ns."""
    recorded = len(live)
    if list(live.names) != list(names):
        return LiveComparison(recorded, 0, 0, 0, f'the recording has the numbers {", ".join(live.names)}', 0.0)
    where = _in_order(stamps, live.stamps)
    both, only_offline = np.flatnonzero(where >= 0), _missing_between(where)
    if not len(both):
        nothing = f'the offline run has none of the {recorded} recorded ones'
        return LiveComparison(recorded, 0, recorded, 0, nothing, 0.0)
    begin = int(both[0])
    same = (where >= 0) & _same_bits(rows[where], live.positions)
    if same[begin:].all():
        return LiveComparison(recorded, recorded - begin, begin, only_offline, None, 0.0)
    first = begin + int(np.argmin(same[begin:]))
    stamp = int(live.stamps[first])
    told = f'message {first}, stamp {stamp} ns: the offline run has none there'
    if where[first] >= 0:
        ours, theirs = rows[where[first]], live.positions[first]
        column = next(index for index in range(len(names)) if not _same_bits(ours[index, None], theirs[index, None])[0])
        told = (
            f'message {first}, stamp {stamp} ns: {names[column]} is {float(theirs[column])!r} in the recording and '
            f'{float(ours[column])!r} offline'
        )
    return LiveComparison(recorded, first - begin, begin, only_offline, told, 0.0)


def _missing_between(where: NDArray[np.intp]) -> int:
    """Offline estimates between the first and the last that were recorded, which were not."""
    found = where[where >= 0]
    return int(found[-1] - found[0]) + 1 - len(found) if len(found) else 0


def _in_order(offline: NDArray[np.int64], live: NDArray[np.int64]) -> NDArray[np.intp]:
    """For each live stamp the index of the next offline one that equals it, after those before; -1: there is none."""
    places: dict[int, list[int]] = {}
    for index, stamp in enumerate(offline.tolist()):
        places.setdefault(stamp, []).append(index)
    where, last = [], -1
    for stamp in live.tolist():
        place = next((index for index in places.get(stamp, ()) if index > last), -1)
        last = max(last, place)
        where.append(place)
    return np.array(where, dtype=np.intp)


def _same_bits(left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Per row: the same doubles; compares bits, so that NaN equals NaN and -0 differs from 0."""
    bits = [np.ascontiguousarray(array, dtype=float).reshape(len(array), -1).view(np.int64) for array in (left, right)]
    same: NDArray[np.bool_] = np.all(bits[0] == bits[1], axis=1)
    return same


def _describe(offline: MotionEstimate, live: MotionEstimate, first: int, where: int) -> str:
    stamp = int(live.stamps[first])
    if where < 0:
        return f'message {first}, stamp {stamp} ns: the offline run has no estimate there'
    for name in _FIELDS:
        ours, theirs = getattr(offline, name)[where], getattr(live, name)[first]
        if not _same_bits(ours[None], theirs[None])[0]:
            entry = tuple(int(i) for i in np.argwhere(ours != theirs)[0]) if (ours != theirs).any() else ()
            return (
                f'message {first}, stamp {stamp} ns: {name}{list(entry)} is {float(theirs[entry])!r} in the recording '
                f'and {float(ours[entry])!r} offline'
            )
    raise AssertionError('called without a difference')


class RecordedSamples:
    """Samples of IMU and drives, by their place in the recording.

    Parameters
    ----------
    data : the recording
    start_stamp : leave out leg measurements before this stamp [ns]

    Raises
    ------
    MissingTopicError
        If the recording lacks one of the topics.
    """

    def __init__(self, data: RecordedData, start_stamp: int | None = None) -> None:
        self.imu = imu = data.require(data.imu_data_raw, 'imu/data_raw')
        self.legs = legs = data.require(data.joint_states, 'joint_states')
        self._is_imu = _in_recorded_order(imu.recorded_at, legs.recorded_at)
        self._imu_before = np.concatenate([[0], np.cumsum(self._is_imu)]).tolist()
        self._values = np.concatenate([imu.specific_force, imu.angular_rate], axis=1)
        self._names = tuple(legs.names)
        start = start_stamp or 0
        self._first_leg = int((np.append(legs.stamps, start) >= start).argmax())

    def __len__(self) -> int:
        return len(self._is_imu)

    def one_by_one(self, pipeline: EstimatorPipeline, begin: int, end: int) -> Iterator[EstimatorOutput]:
        """Estimates from the samples of these places, each handed over by itself."""
        imu, legs = self.imu, self.legs
        for done in range(begin, end):
            row, leg = self._imu_before[done], done - self._imu_before[done]
            if self._is_imu[done]:
                covariances = None if imu.covariances is None else imu.covariances[row]
                value = self._values[row]
                yield from pipeline.add_imu(int(imu.stamps[row]), value[:3], value[3:], covariances)
            elif leg >= self._first_leg:
                unlike = legs.unlike.get(leg) or (self._names, legs.positions[leg], legs.efforts[leg])
                yield from pipeline.add_joint_positions(int(legs.stamps[leg]), *unlike)

    def together(self, pipeline: StretchPipeline, begin: int, end: int) -> Outputs | None:
        """Estimates from the samples of these places; ``None``, and nothing is done, where each must be looked at."""
        stretch = self._stretch(begin, end)
        return None if stretch is None else pipeline.add_stretch(stretch)

    def _stretch(self, begin: int, end: int) -> Stretch | None:
        imu, legs = self.imu, self.legs
        row = slice(self._imu_before[begin], self._imu_before[end])
        leg = slice(begin - row.start, end - row.stop)
        if leg.start < self._first_leg or legs.unlike:
            return None
        return Stretch(
            imu.stamps[row], self._values[row], legs.stamps[leg], self._names, legs.positions[leg], legs.efforts[leg],
            None if imu.covariances is None else imu.covariances[row],
        )  # fmt: skip


def _in_recorded_order(imu_at: Stamps, legs_at: Stamps) -> NDArray[np.bool_]:
    """Merge two streams by the recorder's time, each in its own order: which of the samples are the IMU's."""
    # running maximum: a recorder's clock that steps back must not change the order within a stream
    at = np.concatenate([np.maximum.accumulate(imu_at), np.maximum.accumulate(legs_at)])
    return np.repeat([True, False], [len(imu_at), len(legs_at)])[np.argsort(at, kind='stable')]
