"""A pipeline that can go back to where it was and take the same samples again."""

from __future__ import annotations

from collections import deque
from copy import deepcopy
from typing import Any, NamedTuple, cast

from pkm_description.arrays import Array
from pkm_description.machine import Machine

from pkm_estimation.config import EstimatorConfig
from pkm_estimation.exchange.messages import MeasurementQueue
from pkm_estimation.exchange.output import EstimatorOutput, OutputBlock
from pkm_estimation.filtering.point_motion import FilterStates
from pkm_estimation.filtering.step_record import StepRecord
from pkm_estimation.stream.stretch import AdmittedSamples, Outputs, Stretch, StretchPipeline
from pkm_estimation.tracking.follower import Followed


class Checkpoint(NamedTuple):
    """All that later samples depend on."""

    tracker: tuple[Any, ...]
    imu: tuple[Any, ...]
    repeated: tuple[Any, ...]
    waiting: tuple[Any, ...]
    gates: tuple[Any, ...]
    last: Any
    watch: dict[str, Any]
    lasting: tuple[Any, ...]
    known: tuple[Machine, dict[str, Array]]


class RepeatablePipeline(StretchPipeline):
    """Pipeline without a history that can return to checkpoints."""

    def __init__(self, machine: Machine, config: EstimatorConfig | None = None) -> None:
        super().__init__(machine, config)
        self.waits_for_imu = True  # a recorder may have written late what came in time

    def checkpoint(self) -> Checkpoint:
        """Where it is now."""
        gates = deepcopy((self._imu_gate, self._leg_gate, self._user_gates))
        watch = self.tracker.imu_watch.snapshot()
        queues = tuple(self._imu), tuple(self._repeated), tuple(self._waiting)
        known = self.machine, self._stds
        return Checkpoint(self.tracker.snapshot(), *queues, gates, self._last, watch, self.lasting.snapshot(), known)

    def return_to(self, checkpoint: Checkpoint) -> StepRecord:
        """Return to a checkpoint and record all steps from then on; counters and events count nothing any more."""
        self.health.muted = True
        if checkpoint.known[0] is not self.machine:
            self._begin_anew(*checkpoint.known, 0)
        self.tracker.restore(checkpoint.tracker)
        self.lasting.restore(checkpoint.lasting)
        self.tracker.imu_watch.restore(checkpoint.watch)
        self._imu, self._repeated = deque(checkpoint.imu), list(checkpoint.repeated)
        self._waiting = MeasurementQueue(checkpoint.waiting)
        self._imu_gate, self._leg_gate, self._user_gates = deepcopy(checkpoint.gates)
        self._last = checkpoint.last
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
