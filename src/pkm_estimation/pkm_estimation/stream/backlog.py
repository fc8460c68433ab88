"""Samples that wait for the pipeline of a running node, and what is done where they are too many.

What the middleware holds is not seen before it is taken; the executor takes all of it between two turns.

The rule, from doing all to doing least:

1. What waits is processed in stretches, as a recording is: the same bits at a fraction of the time.
2. More than ``maximum_lag`` behind, by more samples than one turn takes: of each turn the latest estimate alone is
   given.
3. More than twice as far behind: every second leg measurement is left out; if that does not help, every second of the
   others, and so on. Samples of the IMU are never left out.

What is not given and what is left out is counted. Queues are bounded; what would fall out at last is counted, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from pkm_description.arrays import Array

from pkm_estimation.stream.lag_rule import LagRule, Load
from pkm_estimation.stream.live import LivePipeline
from pkm_estimation.stream.output import EstimatorOutput
from pkm_estimation.stream.sample_queue import SampleQueue
from pkm_estimation.stream.stretch import Stretch

#: samples of a turn: fewest, if they had to be looked at one by one; most, if all is well
_FEWEST, _MOST = 20, 400
#: samples below which a stretch costs more than one by one
_FEW = 6
#: samples of a topic that may wait; a minute of an IMU at 1 kHz
_LONGEST = 60_000


class ImuInput(Protocol):
    """Sample of the IMU as its driver has it."""

    @property
    def stamp(self) -> int:
        """Stamp [ns]."""

    @property
    def specific_force(self) -> Sequence[float]:
        """Three numbers."""

    @property
    def angular_rate(self) -> Sequence[float]:
        """Three numbers."""

    @property
    def covariances(self) -> Sequence[float]:
        """Of both, row by row: 18 numbers."""


class LegInput(Protocol):
    """Joint positions by name, as the driver has them."""

    @property
    def stamp(self) -> int:
        """Stamp [ns]."""

    @property
    def names(self) -> tuple[str, ...]:
        """Of J joints."""

    @property
    def positions(self) -> Array:
        """By joint (J,)."""

    @property
    def efforts(self) -> Array:
        """By joint (J,), or none (0,)."""


class Backlog:
    """Queues of a running node before its pipeline.

    Parameters
    ----------
    pipeline : takes the samples
    maximum_lag : s by stamps, see the rule; 0: every estimate is given and no sample left out, however long it takes

    Attributes
    ----------
    baseline_wanted : whether the baseline runs, too; not while the node is behind, then it starts anew
    """

    def __init__(self, pipeline: LivePipeline, maximum_lag: float) -> None:
        self._pipeline = pipeline
        self._rule = LagRule(maximum_lag, _MOST, pipeline.health)
        self._longest_step = longest_step = round(1e9 * pipeline.config.clock_jump)
        self._imu: SampleQueue[ImuInput] = SampleQueue(longest_step)
        self._legs: SampleQueue[LegInput] = SampleQueue(longest_step)
        self._takes_covariances = pipeline.config.imu_noise == 'messages'
        self._turn = _FEWEST
        self.baseline_wanted = pipeline.baseline_wanted

    def __len__(self) -> int:
        return len(self._imu) + len(self._legs)

    @property
    def lag(self) -> float:
        """Time [s] by stamps from the first to the last sample that waits, of the topic where that is longer."""
        return 1e-9 * self._span

    @property
    def _span(self) -> int:
        return max(self._imu.span, self._legs.span)

    # -- samples -------------------------------------------------------------------------------------------------------

    def add_imu(self, sample: ImuInput) -> None:
        """Queue a sample of the IMU."""
        self._make_room(self._imu, 'imu')
        self._imu.add(sample)

    def add_legs(self, sample: LegInput) -> None:
        """Queue joint positions, or leave them out."""
        if self._rule.is_left_out():
            self._pipeline.health.count('legs_decimated')
            return
        self._make_room(self._legs, 'legs')
        self._legs.add(sample)

    def _make_room(self, queue: SampleQueue[Any], topic: str) -> None:
        if len(queue) >= _LONGEST:
            queue.take()
            self._pipeline.health.count(f'{topic}_backlog_overflow')

    def clear(self) -> None:
        """Forget what waits, which is counted: the node is not active any more."""
        for queue, topic in ((self._imu, 'imu'), (self._legs, 'legs')):
            self._pipeline.health.count(f'{topic}_dropped_inactive', len(queue))
            queue.clear()

    def report(self) -> Load:
        """Load since the last report."""
        return self._rule.report()

    # -- turns ---------------------------------------------------------------------------------------------------------

    def work(self) -> list[EstimatorOutput]:
        """Process the first of the samples that wait, some hundred at most; returns the estimates to be given."""
        first = (self._imu or self._legs).first if len(self) else 0
        if self._rule.look(self._span, len(self), len(self._legs), first):
            self._pipeline.health.count('legs_decimated', self._legs.halve())
        pipeline, is_behind, batch = self._pipeline, self._rule.is_behind, self._first(self._turn)
        pipeline.latest_only = is_behind
        pipeline.baseline_wanted = self.baseline_wanted and not is_behind
        outputs = None
        if len(batch) >= _FEW:
            legs = [sample for is_imu, sample in batch if not is_imu]
            stretch = self._stretch([sample for is_imu, sample in batch if is_imu], legs)
            outputs = None if stretch is None else pipeline.add_live_stretch(stretch)
            is_fast = outputs is not None and 2 * pipeline.followed >= len(legs)
            self._turn = min(2 * self._turn, _MOST) if is_fast else _FEWEST
        if outputs is None:
            outputs = [output for one in batch for output in self._hand_over(*one)]
        if is_behind and len(outputs) > 1:
            pipeline.count_not_given(len(outputs) - 1)
            del outputs[:-1]
        return outputs

    def _first(self, count: int) -> list[tuple[bool, Any]]:
        """Remove and return samples, within each topic in the order of arrival, and whether they are of the IMU."""
        taken: list[tuple[bool, Any]] = []
        for _ in range(min(count, len(self))):
            is_imu = self._is_imu_next()
            taken.append((is_imu, (self._imu if is_imu else self._legs).take()))
        return taken

    def _is_imu_next(self) -> bool:
        """Whether it is the IMU's turn: the earlier stamp has it; of topics with unlike clocks the longer queue."""
        imu, legs = self._imu, self._legs
        if not (imu and legs):
            return bool(imu)
        ahead = imu.first - legs.first
        return len(imu) >= len(legs) if abs(ahead) > self._longest_step else ahead <= 0

    def _hand_over(self, is_imu: bool, sample: Any) -> list[EstimatorOutput]:
        """Give a single sample to the pipeline."""
        if is_imu:
            return self._pipeline.add_imu(
                sample.stamp, sample.specific_force, sample.angular_rate, sample.covariances
            )
        return self._pipeline.add_joint_positions(sample.stamp, sample.names, sample.positions, sample.efforts)

    def _stretch(self, imu: Sequence[ImuInput], legs: Sequence[LegInput]) -> Stretch | None:
        """Samples as arrays; ``None`` where messages are not of one form."""
        if not legs or not imu:
            return None
        names, count = legs[0].names, len(legs[0].names)
        if any(sample.names != names or len(sample.positions) != count for sample in legs):
            return None
        unknown = np.full(count, np.nan)
        return Stretch(
            np.array([sample.stamp for sample in imu], dtype=np.int64),
            np.array([(*sample.specific_force, *sample.angular_rate) for sample in imu]),
            np.array([sample.stamp for sample in legs], dtype=np.int64),
            names,
            np.array([sample.positions for sample in legs]),
            np.array([sample.efforts if len(sample.efforts) == count else unknown for sample in legs]),
            np.array([sample.covariances for sample in imu]) if self._takes_covariances else None,
        )
