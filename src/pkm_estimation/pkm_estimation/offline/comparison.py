"""Bitwise comparison of a recorded live run with an offline run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

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
    names = [f'{name}{list(place)}' for name in _FIELDS for place in np.ndindex(getattr(live, name).shape[1:])]
    comparison, where = _compared(names, (offline.stamps, _rows(offline)), (live.stamps, _rows(live)))
    both = np.flatnonzero(where >= 0)
    apart = np.linalg.norm(offline.position[where[both]] - live.position[both], axis=1)
    return replace(comparison, largest=float(apart.max(initial=0.0)))


def compare_innovations(
    stamps: NDArray[np.int64], names: Sequence[str], rows: Array, live: JointStates
) -> LiveComparison:
    """Compare the raw doubles of ``platform/innovations`` with an offline run: rows (N, 3 A + 1), stamps (N,) ns."""
    if list(live.names) != list(names):
        return LiveComparison(len(live), 0, 0, 0, f'the recording has the numbers {", ".join(live.names)}', 0.0)
    return _compared(names, (stamps, rows), (live.stamps, live.positions))[0]


def _rows(motion: MotionEstimate) -> Array:
    """All numbers of each estimate (N, 85)."""
    return np.hstack([getattr(motion, name).reshape(len(motion), -1) for name in _FIELDS])


def _compared(
    names: Sequence[str], offline: tuple[Stamps, Array], live: tuple[Stamps, Array]
) -> tuple[LiveComparison, NDArray[np.intp]]:
    """Compare the named numbers (N, C) at stamps (N,) ns; also the place of each live row in the offline run, or -1."""
    recorded = len(live[0])
    where = _in_order(offline[0], live[0])
    both = np.flatnonzero(where >= 0)
    if not len(both):
        nothing = f'the offline run has none of the {recorded} recorded estimates'
        told = nothing if recorded else 'no live estimate was recorded'
        return LiveComparison(recorded, 0, recorded, 0, told, 0.0), where
    begin = int(both[0])
    # estimates between the first and the last that were recorded, which were not
    only_offline = int(where[both[-1]] - where[begin]) + 1 - len(both)
    # compares bits, so that NaN equals NaN and -0 differs from 0
    ours, theirs = (np.ascontiguousarray(rows, dtype=float).view(np.int64) for rows in (offline[1], live[1]))
    other = ours[where] != theirs
    differs = (where < 0) | other.any(axis=1)
    if not differs[begin:].any():
        return LiveComparison(recorded, recorded - begin, begin, only_offline, None, 0.0), where
    first = begin + int(np.argmax(differs[begin:]))
    told = f'message {first}, stamp {int(live[0][first])} ns: '
    if where[first] < 0:
        told += 'the offline run has no estimate there'
    else:
        column = int(np.argmax(other[first]))
        recorded_value, value = float(live[1][first, column]), float(offline[1][where[first], column])
        told += f'{names[column]} is {recorded_value!r} in the recording and {value!r} offline'
    return LiveComparison(recorded, first - begin, begin, only_offline, told, 0.0), where


def _in_order(offline: Stamps, live: Stamps) -> NDArray[np.intp]:
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
        # by the recorder's time, each stream in its own order, also where the recorder's clock steps back
        at = np.concatenate([np.maximum.accumulate(one.recorded_at) for one in (imu, legs)])
        self._is_imu = np.repeat([True, False], [len(imu), len(legs)])[np.argsort(at, kind='stable')]
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
        imu, legs = self.imu, self.legs
        row = slice(self._imu_before[begin], self._imu_before[end])
        leg = slice(begin - row.start, end - row.stop)
        if leg.start < self._first_leg or legs.unlike:
            return None
        return pipeline.add_stretch(Stretch(
            imu.stamps[row], self._values[row], legs.stamps[leg], self._names, legs.positions[leg], legs.efforts[leg],
            None if imu.covariances is None else imu.covariances[row],
        ))  # fmt: skip
