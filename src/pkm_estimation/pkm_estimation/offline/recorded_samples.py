"""Samples of a recording in the order in which they were recorded, for the pipeline."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from pkm_estimation.bags import RecordedData
from pkm_estimation.stream import EstimatorOutput, EstimatorPipeline
from pkm_estimation.stream.stretch import Stretch

Stamps = NDArray[np.int64]


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

    def stretch(self, begin: int, end: int) -> Stretch | None:
        """The samples of these places together; ``None`` where they must be handed over one by one."""
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
