"""Many samples at once: admitted together if nothing is wrong with any, then followed as one by one.

Recorded ones, by a pipeline that can go back to where it was, or those that wait for a running node.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from copy import deepcopy
from math import inf
from typing import Any, NamedTuple, cast

import numpy as np
from pkm_description.arrays import Array
from pkm_description.kernels.model import Integers
from pkm_description.machine import Machine

from pkm_estimation.config import EstimatorConfig
from pkm_estimation.exchange.messages import LegMeasurement, LegSample, MeasurementQueue
from pkm_estimation.exchange.output import EstimatorOutput, OutputBlock
from pkm_estimation.exchange.samples import ImuSample, Instant
from pkm_estimation.filtering.point_motion import FilterStates
from pkm_estimation.filtering.step_record import StepRecord
from pkm_estimation.stream.pipeline import EstimatorPipeline
from pkm_estimation.tracking.follower import Followed

Outputs = list[EstimatorOutput | OutputBlock]
#: all that later samples depend on
Checkpoint = tuple[Any, ...]


class Stretch(NamedTuple):
    """Samples, by topic in the order of their arrival, as the drivers have them.

    Attributes
    ----------
    imu_stamps, imu : (M,) ns, (M, 6) specific force and angular rate
    leg_stamps : (N,) ns
    names, positions, efforts : J names, (N, J), (N, J)
    imu_covariances : (M, 18) as the messages of the IMU state them; ``None``: nothing is known of them
    """

    imu_stamps: Integers
    imu: Array
    leg_stamps: Integers
    names: Sequence[str]
    positions: Array
    efforts: Array
    imu_covariances: Array | None = None


class StretchPipeline(EstimatorPipeline):
    """Pipeline that takes recorded samples in stretches, too: every bit of the estimates is that of single samples."""

    def add_stretch(self, stretch: Stretch) -> Outputs | None:
        """Process samples; ``None``, and nothing is done, where they must be looked at one by one."""
        waiting = [item for item in self._waiting if isinstance(item, LegMeasurement)]
        legs = self._admitted(stretch, waiting)
        if legs is None:
            return None
        samples = AdmittedSamples(
            self._imu_gate.epoch,
            np.array([*(item.instant.stamp for item in self._imu), *stretch.imu_stamps.tolist()], dtype=np.int64),
            np.concatenate([*(item.value[None] for item in self._imu), self.imu_frame.to_platform(stretch.imu)]),
            np.concatenate([*(item.raw[None] for item in self._imu if item.raw is not None), stretch.imu]),
            np.array([*(item.instant.stamp for item in waiting), *stretch.leg_stamps.tolist()], dtype=np.int64),
            np.concatenate([*(item.sample.positions[None] for item in waiting), legs[0]]),
            np.concatenate([*(item.sample.efforts[None] for item in waiting), legs[1]]),
            self._reader.all,
        )
        return self._process_samples(samples)

    def _admitted(self, stretch: Stretch, waiting: list[LegMeasurement]) -> tuple[Array, Array] | None:
        """Admit all samples if that needs no decision; positions and efforts of the drives, else ``None``."""
        config, tracker, imu_gate, leg_gate = self.config, self.tracker, self._imu_gate, self._leg_gate
        if tracker.now is None or config.history > 0.0 or self._user_gates:
            return None
        epochs = {imu_gate.epoch, leg_gate.epoch, tracker.now.instant.epoch}
        epochs |= {item.instant.epoch for item in waiting} | {item.instant.epoch for item in self._imu}
        # no queue gets too long, then, however many are processed before the next comes
        length = len(self._imu) + len(waiting) + len(stretch.imu_stamps) + len(stretch.leg_stamps)
        if len(epochs) > 1 or length > config.queue_length or not np.isfinite(stretch.imu).all():
            return None
        if not self._resolution.is_known or self._repeated or tracker.imu_watch.has_repeats(stretch.imu):
            return None
        if not (imu_gate.is_continued_by(stretch.imu_stamps) and leg_gate.is_continued_by(stretch.leg_stamps)):
            return None
        if self._last is None or (stretch.leg_stamps <= self._last.instant.stamp).any():
            return None
        legs = self._reader.read_all(stretch.names, stretch.positions, stretch.efforts)
        if legs is None or any(not np.isfinite(item.sample.positions).all() for item in waiting):
            return None
        if self._message_noise is not None:
            self._message_noise.take_all(stretch.imu_stamps, stretch.imu_covariances)
        tracker.imu_watch.take_all(imu_gate.epoch, stretch.imu_stamps, stretch.imu)
        if len(stretch.leg_stamps):
            self._legs_at_last = set(self._reader.all.tolist())
        for topic, gate, stamps in (('imu', imu_gate, stretch.imu_stamps), ('legs', leg_gate, stretch.leg_stamps)):
            if len(stamps):
                gate.go_on(int(stamps[-1]))
                self.health.count(f'{topic}_received', len(stamps))
                self.health.admitted(topic, len(stamps), int(stamps[0]), int(stamps[-1]))
        return legs

    def _process_samples(self, samples: AdmittedSamples) -> Outputs:
        """Process all measurements that the IMU's samples reach; the rest waits in the queues."""
        outputs: Outputs = []
        leg, imu, frame = 0, 0, self.imu_frame
        while leg < (ready := self._ready(samples)):
            if frame is not self.imu_frame:
                frame = self.imu_frame
                samples = samples._replace(imu=frame.to_platform(samples.raw))
            here, there = slice(imu, None), slice(leg, self._good(samples, ready))
            followed = there.stop > leg and self.tracker.can_follow and self.tracker.follow(
                samples.imu_stamps[here], samples.imu[here], samples.leg_stamps[there], samples.positions[there]
            )
            if followed:
                imu, leg = imu + followed.place, leg + len(followed)
                outputs += self._followed(followed, samples, leg - 1)
            else:  # as if the next measurement had come alone
                due = self.tracker.due(Instant(samples.epoch, samples.leg_stamps.item(leg))).stamp
                end = max(int(np.searchsorted(samples.imu_stamps, due)), imu) + 1
                self._imu = deque(samples.imu_samples(imu, end))
                self._waiting = MeasurementQueue([samples.measurement(leg)])
                outputs += self._process_ready()
                imu, leg = end - len(self._imu), leg + 1
        samples = samples._replace(imu=self.imu_frame.to_platform(samples.raw))
        self._imu = deque(samples.imu_samples(imu, len(samples.imu)))
        self._waiting = MeasurementQueue(samples.measurement(k) for k in range(leg, len(samples.leg_stamps)))
        return outputs

    def _ready(self, samples: AdmittedSamples) -> int:
        """How many measurements the IMU's samples reach; a delay of the IMU may be found meanwhile."""
        reached = samples.imu_stamps[-1:] - self.tracker.delay.nanoseconds
        return int(np.searchsorted(samples.leg_stamps, reached, side='right').sum())

    def _good(self, samples: AdmittedSamples, ready: int) -> int:
        """How many of them come before samples of the IMU that cannot be right."""
        tracker = self.tracker
        begin = inf if tracker.now is None else tracker.imu_watch.next_begin(tracker.now.instant)
        if begin == inf:
            return ready
        return min(ready, int(np.searchsorted(samples.leg_stamps, begin - tracker.delay.nanoseconds, side='right')))

    def _followed(self, followed: Followed, samples: AdmittedSamples, last: int) -> Outputs:
        """Estimates at measurements that were followed, the last of which has the index ``last``."""
        self._last = samples.measurement(last)
        block = followed.block()
        self.health.outputs(block, followed.output(-1, samples.efforts[last], None))
        self.lasting.add_block(block)
        given = self._given(followed, block, samples, last)
        self._take_found()
        return given

    def _given(self, followed: Followed, block: OutputBlock, samples: AdmittedSamples, last: int) -> Outputs:
        """In which form these estimates are given."""
        return [block]


class AdmittedSamples(NamedTuple):
    """Admitted samples of one epoch.

    Attributes
    ----------
    epoch : of all
    imu_stamps, imu, raw : (M,) ns, (M, 6) in platform axes, and as the driver has them
    leg_stamps, positions, efforts : (N,) ns, (N, A), (N, A)
    drives : (A,) indices
    """

    epoch: int
    imu_stamps: Integers
    imu: Array
    raw: Array
    leg_stamps: Integers
    positions: Array
    efforts: Array
    drives: Integers

    def imu_samples(self, begin: int, end: int) -> list[ImuSample]:
        """Some of the IMU's samples, one by one."""
        stamps = self.imu_stamps[begin:end].tolist()
        return [
            ImuSample(Instant(self.epoch, stamp), value, raw)
            for stamp, value, raw in zip(stamps, self.imu[begin:end], self.raw[begin:end], strict=True)
        ]

    def measurement(self, index: int) -> LegMeasurement:
        """One of the measurements of the drives."""
        sample = LegSample(self.positions[index], self.efforts[index], self.drives)
        return LegMeasurement(Instant(self.epoch, self.leg_stamps.item(index)), sample)


class RepeatablePipeline(StretchPipeline):
    """Pipeline without a history that can return to checkpoints."""

    def __init__(self, machine: Machine, config: EstimatorConfig | None = None) -> None:
        super().__init__(machine, config)
        self.waits_for_imu = True  # a recorder may have written late what came in time

    def checkpoint(self) -> Checkpoint:
        """Where it is now."""
        inputs = deepcopy((self._imu_gate, self._leg_gate, self._user_gates, self.tracker.imu_watch))
        queues, known = (tuple(self._imu), tuple(self._repeated), tuple(self._waiting)), (self.machine, self._stds)
        return known, self.tracker.snapshot(), self.lasting.snapshot(), *queues, inputs, self._last

    def return_to(self, checkpoint: Checkpoint) -> StepRecord:
        """Return to a checkpoint and record all steps from then on; counters and events count nothing any more."""
        self.health.muted = True
        (machine, stds), tracker, lasting, imu, repeated, waiting, inputs, self._last = checkpoint
        if machine is not self.machine:
            self._begin_anew(machine, stds, 0)
        self.tracker.restore(tracker)
        self.lasting.restore(lasting)
        self._imu, self._repeated, self._waiting = deque(imu), list(repeated), MeasurementQueue(waiting)
        self._imu_gate, self._leg_gate, self._user_gates, self.tracker.imu_watch = deepcopy(inputs)
        record = StepRecord(lambda: self.imu_delay)
        self.filter.record = record
        return record


class LivePipeline(StretchPipeline):
    """Pipeline whose stretches give the same estimates, with efforts and baseline, as single samples do, bit by bit.

    Attributes
    ----------
    latest_only : whether of each stretch the latest estimate alone is given; the others are counted
    followed : measurements of the last stretch that went through the compiled loop
    """

    latest_only, followed = False, 0

    def add_live_stretch(self, stretch: Stretch) -> list[EstimatorOutput] | None:
        """Process samples; ``None``, and nothing is done, where they must be looked at one by one."""
        self.followed = 0
        return cast('list[EstimatorOutput] | None', self.add_stretch(stretch))

    def count_not_given(self, count: int) -> None:
        """Count estimates that are not given."""
        self.health.count('estimates_not_published', count)

    def _given(self, followed: Followed, block: OutputBlock, samples: AdmittedSamples, last: int) -> Outputs:
        count, begin = len(followed), last + 1 - len(followed)
        self.followed += count
        first = count - 1 if self.latest_only else 0
        if first:
            self.count_not_given(first)
        motions = followed.model.motion(FilterStates(*(values[first:] for values in block.known)))
        outputs: Outputs = []
        for place in range(first, count):
            measurement = samples.measurement(begin + place)
            baseline = None
            if self.baseline_wanted:
                baseline = self.tracker.baseline.estimate(measurement.instant, measurement.sample)
            output = followed.output(place, measurement.sample.efforts, baseline)
            output.motion = motions[place - first]  # for all at once: a tenth of the time
            outputs.append(output)
        return outputs
