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
from typing import Any, NamedTuple

import numpy as np
from pkm_description.driver import ImuReading
from pkm_description.joint_states import JointReading

from pkm_estimation.exchange.health import HealthMonitor
from pkm_estimation.exchange.output import EstimatorOutput
from pkm_estimation.exchange.samples import SampleQueue
from pkm_estimation.stream.stretch import LivePipeline, Stretch

#: s, that a node may be behind where its samples may get lost
_USUAL = 0.5
#: parts of ``maximum_lag``: above the first legs are left out, below the second they are used again
_FAR, _NEAR = 2.0, 0.5
#: one leg measurement of so many is used, at least
_SPARSEST = 64
#: leg measurements that are used before more of them are
_BEFORE_MORE = 20
#: s from which on it is told how far behind the node was
_TOLD = 0.1
REMEDY = (
    'give the node a processor of its own (taskset, chrt -r 5), or lower view_rate, the number of its subscribers or '
    'the rate of the joint states'
)
#: samples of a turn: fewest, if they had to be looked at one by one; most, if all is well
_FEWEST, _MOST = 20, 400
#: samples below which a stretch costs more than one by one
_FEW = 6
#: samples of a topic that may wait; a minute of an IMU at 1 kHz
_LONGEST = 60_000


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
        self._imu: SampleQueue[ImuReading] = SampleQueue(longest_step)
        self._legs: SampleQueue[JointReading] = SampleQueue(longest_step)
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

    def add_imu(self, sample: ImuReading) -> None:
        """Queue a sample of the IMU."""
        self._make_room(self._imu, 'imu')
        self._imu.add(sample)

    def add_legs(self, sample: JointReading) -> None:
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

    def _stretch(self, imu: Sequence[ImuReading], legs: Sequence[JointReading]) -> Stretch | None:
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


# What is done where a running node is behind, by stamps: the latest estimate alone, then fewer leg measurements.
#
# Time comes from stamps alone: how far a node is behind is the time that the stamps of its waiting samples span. So it
# is the same with ``use_sim_time`` and without, and whatever the clock of the computer says.
def allowed_lag(setting: float, is_lossless: bool) -> float:
    """What a setting ``maximum_lag`` [s] means: -1 is 0.5 s, with lossless subscriptions 0: nothing is left out."""
    if setting >= 0.0:
        return setting
    return 0.0 if is_lossless else _USUAL


class Load(NamedTuple):
    """Load since the last report.

    Attributes
    ----------
    lag : s by stamps, largest
    waiting : samples, most
    used : one leg measurement of so many is used
    """

    lag: float
    waiting: int
    used: int

    def summary(self, remedy: str = REMEDY) -> tuple[str, str]:
        """Level and sentence, with what to do."""
        if self.lag < _TOLD:
            return 'ok', 'in time'
        left_out = f', one leg measurement of {self.used} is used' if self.used > 1 else ''
        return 'warn', f'up to {self.lag:.2g} s behind by stamps, {self.waiting} samples waited{left_out}: {remedy}'

    def values(self) -> dict[str, object]:
        """Key-value pairs."""
        return {
            'largest lag [s]': self.lag,
            'most samples that waited': self.waiting,
            'one leg measurement is used of': self.used,
        }


class LagRule:
    """Decides by how far a node is behind, with what it has decided before.

    Parameters
    ----------
    maximum_lag : s by stamps; 0: every estimate is given and no sample left out, however long it takes
    turn : samples that are processed at once; a node is not behind where no more wait, for then none soon will
    health : gets the events ``behind`` and ``legs_left_out``, if there is one

    Attributes
    ----------
    is_behind : whether it was more than ``maximum_lag`` behind at the last look
    """

    def __init__(self, maximum_lag: float, turn: int, health: HealthMonitor | None = None) -> None:
        self._maximum_lag, self._turn, self._health = round(1e9 * maximum_lag), turn, health
        self._used, self._place, self._since_change = 1, 0, 0
        self.is_behind = False
        self._largest, self._most = 0, 0

    def is_left_out(self) -> bool:
        """Whether the leg measurement that has just come is left out."""
        self._place = (self._place + 1) % self._used
        self._since_change += 1
        return self._place > 0

    def look(self, span: int, waiting: int, legs_waiting: int, stamp: int) -> bool:
        """See how far behind the node is; whether every second leg measurement that waits is to be left out.

        Parameters
        ----------
        span : ns, of the stamps of the samples that wait
        waiting, legs_waiting : samples, and leg measurements among them
        stamp : ns, of the first of them
        """
        self._largest, self._most = max(self._largest, span), max(self._most, waiting)
        most = self._maximum_lag
        if not most:
            return False
        is_much = waiting > self._turn
        was_behind, self.is_behind = self.is_behind, is_much and span > most
        told = f'{1e-9 * span:.2g} s behind by stamps, {waiting} samples wait'
        if self.is_behind and not was_behind:
            self._tell(stamp, 'behind', f'{told}: of each turn the latest estimate alone is published')
        # what was changed shows after the samples that came meanwhile
        is_far = is_much and span > _FAR * most
        if is_far and self._used < _SPARSEST and self._since_change >= legs_waiting:
            self._use_every(2 * self._used)
            detail = f'{told}: one measurement of the legs of {self._used} is used'
            self._tell(stamp, 'legs_left_out', detail)
            return True
        if self._used > 1 and span < _NEAR * most and self._since_change >= _BEFORE_MORE * self._used:
            self._use_every(self._used // 2)
        return False

    def _tell(self, stamp: int, name: str, detail: str) -> None:
        if self._health is not None:
            self._health.event(stamp, name, detail)

    def _use_every(self, used: int) -> None:
        self._used, self._place, self._since_change = used, 0, 0

    def report(self) -> Load:
        """Load since the last report."""
        load = Load(1e-9 * self._largest, self._most, self._used)
        self._largest, self._most = 0, 0
        return load
