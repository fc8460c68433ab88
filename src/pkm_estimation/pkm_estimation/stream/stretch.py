"""Many recorded samples at once: admitted together if nothing is wrong with any, then followed as one by one."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from pkm_description.arrays import Array
from pkm_description.kernels.model import Integers

from pkm_estimation.stream.messages import LegMeasurement, LegSample, MeasurementQueue
from pkm_estimation.stream.output import EstimatorOutput, OutputBlock
from pkm_estimation.stream.samples import ImuSample, Instant

if TYPE_CHECKING:
    from pkm_estimation.stream.pipeline import EstimatorPipeline

Outputs = list[EstimatorOutput | OutputBlock]


class Stretch(NamedTuple):
    """Samples, by topic in the order of their arrival, as the drivers have them.

    Attributes
    ----------
    imu_stamps, imu : (M,) ns, (M, 6) specific force and angular rate
    leg_stamps : (N,) ns
    names, positions, efforts : J names, (N, J), (N, J)
    """

    imu_stamps: Integers
    imu: Array
    leg_stamps: Integers
    names: Sequence[str]
    positions: Array
    efforts: Array


def process_stretch(pipeline: EstimatorPipeline, stretch: Stretch) -> Outputs | None:
    """Process samples; ``None``, and nothing is done, where they must be looked at one by one."""
    legs = _admitted(pipeline, stretch)
    if legs is None:
        return None
    queue, waiting = list(pipeline._imu), [item for item in pipeline._waiting if isinstance(item, LegMeasurement)]
    work = _Work(
        pipeline,
        np.array([*(item.instant.stamp for item in queue), *stretch.imu_stamps.tolist()], dtype=np.int64),
        np.concatenate([*(item.value[None] for item in queue), pipeline.imu_frame.to_platform(stretch.imu)]),
        np.array([*(item.instant.stamp for item in waiting), *stretch.leg_stamps.tolist()], dtype=np.int64),
        np.concatenate([*(item.sample.positions[None] for item in waiting), legs[0]]),
        np.concatenate([*(item.sample.efforts[None] for item in waiting), legs[1]]),
    )
    return work.process()


def _admitted(pipeline: EstimatorPipeline, stretch: Stretch) -> tuple[Array, Array] | None:
    """Admit all samples if that needs no decision; positions and efforts of the drives, else ``None``."""
    config, tracker, last = pipeline.config, pipeline.tracker, pipeline._last
    imu_gate, leg_gate = pipeline._imu_gate, pipeline._leg_gate
    waiting = [item for item in pipeline._waiting if isinstance(item, LegMeasurement)]
    if not tracker.can_follow or tracker.now is None or last is None or config.history > 0.0 or pipeline._user_gates:
        return None
    epochs = {imu_gate.epoch, leg_gate.epoch, tracker.now.instant.epoch, *(item.instant.epoch for item in waiting)}
    epochs |= {item.instant.epoch for item in pipeline._imu}
    # no queue gets too long, then, however many are processed before the next comes
    length = len(pipeline._imu) + len(waiting) + len(stretch.imu_stamps) + len(stretch.leg_stamps)
    if len(epochs) > 1 or length > config.queue_length or not np.isfinite(stretch.imu).all():
        return None
    if not (imu_gate.is_continued_by(stretch.imu_stamps) and leg_gate.is_continued_by(stretch.leg_stamps)):
        return None
    if len(stretch.leg_stamps) and stretch.leg_stamps[0] <= last.instant.stamp:
        return None
    legs = pipeline._reader.read_all(stretch.names, stretch.positions, stretch.efforts)
    if legs is None or any(not np.isfinite(item.sample.positions).all() for item in waiting):
        return None
    for topic, gate, stamps in (('imu', imu_gate, stretch.imu_stamps), ('legs', leg_gate, stretch.leg_stamps)):
        if len(stamps):
            gate.go_on(int(stamps[-1]))
            pipeline.health.admitted(topic, len(stamps), int(stamps[0]), int(stamps[-1]))
    return legs


class _Work:
    """Admitted samples, and how far they are processed.

    Parameters
    ----------
    pipeline : whose queues these samples replace
    imu_stamps, imu : (M,) ns, (M, 6) platform axes
    leg_stamps, positions, efforts : (N,) ns, (N, A), (N, A)
    """

    def __init__(
        self,
        pipeline: EstimatorPipeline,
        imu_stamps: Integers,
        imu: Array,
        leg_stamps: Integers,
        positions: Array,
        efforts: Array,
    ) -> None:
        self._pipeline, self._epoch = pipeline, pipeline._imu_gate.epoch
        self._imu_stamps, self._imu, self._leg_stamps = imu_stamps, imu, leg_stamps
        self._positions, self._efforts = positions, efforts
        self._due = leg_stamps + pipeline.tracker.delay.nanoseconds
        self._first_imu = self._first_leg = 0

    def process(self) -> Outputs:
        """Process all measurements that the IMU's samples reach; the rest waits in the pipeline's queues."""
        outputs: Outputs = []
        pipeline, tracker = self._pipeline, self._pipeline.tracker
        ready = int(np.searchsorted(self._due, self._imu_stamps[-1:], side='right').sum())
        while self._first_leg < ready:
            if tracker.can_follow:
                outputs += self._follow(ready)
            if self._first_leg < ready:
                outputs += self._decide()
        pipeline._imu = deque(self._imu_samples(len(self._imu_stamps)))
        pipeline._waiting = MeasurementQueue(self._measurement(k) for k in range(ready, len(self._due)))
        return outputs

    def _follow(self, ready: int) -> Outputs:
        """Follow the measurements before ``ready`` up to one that needs a decision."""
        pipeline, legs, imu = self._pipeline, slice(self._first_leg, ready), slice(self._first_imu, None)
        followed = pipeline.tracker.follow(
            self._imu_stamps[imu], self._imu[imu], self._leg_stamps[legs], self._positions[legs]
        )
        self._first_imu += followed.place
        self._first_leg += len(followed)
        if not len(followed):
            return []
        pipeline._last = last = self._measurement(self._first_leg - 1)
        block = followed.block()
        pipeline.health.outputs(block, followed.output(-1, last.sample.efforts, None))
        return [block]

    def _decide(self) -> Outputs:
        """Process the next measurement as if it had come alone."""
        pipeline = self._pipeline
        end = int(np.searchsorted(self._imu_stamps, self._due[self._first_leg])) + 1
        pipeline._imu = deque(self._imu_samples(end))
        pipeline._waiting = MeasurementQueue([self._measurement(self._first_leg)])
        outputs = pipeline._process_ready()
        self._first_imu = end - len(pipeline._imu)
        self._first_leg += 1
        return list(outputs)

    def _imu_samples(self, end: int) -> list[ImuSample]:
        stamps = self._imu_stamps[self._first_imu : end].tolist()
        values = self._imu[self._first_imu : end]
        return [ImuSample(Instant(self._epoch, stamp), value) for stamp, value in zip(stamps, values, strict=True)]

    def _measurement(self, index: int) -> LegMeasurement:
        sample = LegSample(self._positions[index], self._efforts[index], self._pipeline._reader.all)
        return LegMeasurement(Instant(self._epoch, self._leg_stamps.item(index)), sample)
