"""Samples that wait for the pipeline of a running node, and what is done where they are too many.

Time comes from stamps alone: how far a node is behind is the time that the stamps of its waiting samples span. So it is
the same with ``use_sim_time`` and without, and whatever the clock of the computer says. What the middleware holds is
not seen before it is taken; the executor takes all of it between two turns.

The rule, from doing all to doing least:

1. What waits is processed in stretches, as a recording is: the same bits at a fraction of the time.
2. More than ``maximum_lag`` behind: of each turn the latest estimate alone is given.
3. More than twice as far behind: every second leg measurement is left out; if that does not help, every second of the
   others, and so on. Samples of the IMU are never left out.

What is not given and what is left out is counted. Queues are bounded; what would fall out at last is counted, too.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from pkm_description.arrays import Array

from pkm_estimation.stream.live import LivePipeline
from pkm_estimation.stream.output import EstimatorOutput
from pkm_estimation.stream.stretch import Stretch

#: samples of a turn: fewest, if they had to be looked at one by one; most, if all is well
_FEWEST, _MOST = 20, 400
#: samples below which a stretch costs more than one by one
_FEW = 6
#: parts of ``maximum_lag``: above the first legs are left out, below the second they are used again
_FAR, _NEAR = 2.0, 0.5
#: one leg measurement of so many is used, at least
_SPARSEST = 64
#: samples of a topic that may wait; a minute of an IMU at 1 kHz
_LONGEST = 60_000
#: s from which on it is told how far behind the node was
_TOLD = 0.1
REMEDY = (
    'give the node a processor of its own (taskset, chrt -r 5), or lower view_rate, the number of its subscribers or '
    'the rate of the joint states'
)


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

    def summary(self) -> tuple[str, str]:
        """Level and sentence."""
        if self.lag < _TOLD:
            return 'ok', 'in time'
        left_out = f', one leg measurement of {self.used} is used' if self.used > 1 else ''
        return 'warn', (
            f'up to {self.lag:.2g} s behind by stamps, {self.waiting} samples waited{left_out}: {REMEDY}'
        )

    def values(self) -> dict[str, object]:
        """Key-value pairs."""
        return {
            'largest lag [s]': self.lag,
            'most samples that waited': self.waiting,
            'one leg measurement is used of': self.used,
        }


class _Queue:
    """Samples of one topic, and the time that their stamps span.

    Parameters
    ----------
    hand_over : gives a sample to the pipeline
    longest_step : ns; longer steps of the stamps are jumps, which count as no time
    """

    def __init__(self, hand_over: Callable[[Any], list[EstimatorOutput]], longest_step: int) -> None:
        self.hand_over, self._longest_step = hand_over, longest_step
        self._samples: deque[Any] = deque()
        self._steps: deque[int] = deque()
        self.span = 0

    def __len__(self) -> int:
        return len(self._samples)

    @property
    def first(self) -> int:
        """Stamp of the first [ns]."""
        stamp: int = self._samples[0].stamp
        return stamp

    def add(self, sample: Any) -> None:
        """Append a sample."""
        if self._samples:
            step = sample.stamp - self._samples[-1].stamp
            step = step if 0 < step <= self._longest_step else 0
            self._steps.append(step)
            self.span += step
        self._samples.append(sample)

    def take(self) -> Any:
        """Remove and return the first."""
        if self._steps:
            self.span -= self._steps.popleft()
        return self._samples.popleft()

    def halve(self) -> int:
        """Leave out every second sample, not the last; returns how many."""
        before = list(self._samples)
        self.clear()
        for sample in before[(len(before) + 1) % 2 :: 2]:
            self.add(sample)
        return len(before) - len(self)

    def clear(self) -> None:
        """Forget all."""
        self._samples.clear()
        self._steps.clear()
        self.span = 0


class Backlog:
    """Queues of a running node before its pipeline.

    Parameters
    ----------
    pipeline : takes the samples
    maximum_lag : s by stamps, see the rule; 0: every estimate is given and no sample left out, however long it takes

    Attributes
    ----------
    is_behind : whether it was more than ``maximum_lag`` behind at the last turn
    baseline_wanted : whether the baseline runs, too; not while the node is behind, then it starts anew
    """

    def __init__(self, pipeline: LivePipeline, maximum_lag: float) -> None:
        self._pipeline, self._maximum_lag = pipeline, round(1e9 * maximum_lag)
        self._longest_step = longest_step = round(1e9 * pipeline.config.clock_jump)
        self._imu = _Queue(
            lambda sample: pipeline.add_imu(sample.stamp, sample.specific_force, sample.angular_rate), longest_step
        )
        self._legs = _Queue(
            lambda sample: pipeline.add_joint_positions(
                sample.stamp, sample.names, sample.positions, sample.efforts
            ),
            longest_step,
        )
        self._turn = _FEWEST
        self._used, self._place, self._since_change = 1, 0, 0
        self.is_behind, self.baseline_wanted = False, pipeline.baseline_wanted
        self._largest, self._most = 0, 0

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
        self._place = (self._place + 1) % self._used
        self._since_change += 1
        if self._place:
            self._pipeline.health.count('legs_decimated')
            return
        self._make_room(self._legs, 'legs')
        self._legs.add(sample)

    def _make_room(self, queue: _Queue, topic: str) -> None:
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
        load = Load(1e-9 * self._largest, self._most, self._used)
        self._largest, self._most = 0, 0
        return load

    # -- turns ---------------------------------------------------------------------------------------------------------

    def work(self) -> list[EstimatorOutput]:
        """Process the first of the samples that wait, some hundred at most; returns the estimates to be given."""
        self._look()
        pipeline, batch = self._pipeline, self._first(self._turn)
        pipeline.latest_only = self.is_behind
        pipeline.baseline_wanted = self.baseline_wanted and not self.is_behind
        outputs = None
        if len(batch) >= _FEW:
            legs = [sample for queue, sample in batch if queue is self._legs]
            stretch = _stretch([sample for queue, sample in batch if queue is self._imu], legs)
            outputs = None if stretch is None else pipeline.add_live_stretch(stretch)
            is_fast = outputs is not None and 2 * pipeline.followed >= len(legs)
            self._turn = min(2 * self._turn, _MOST) if is_fast else _FEWEST
        if outputs is None:
            outputs = [output for queue, sample in batch for output in queue.hand_over(sample)]
        if self.is_behind and len(outputs) > 1:
            pipeline.count_not_given(len(outputs) - 1)
            del outputs[:-1]
        return outputs

    def _first(self, count: int) -> list[tuple[_Queue, Any]]:
        """Remove and return samples, within each topic in the order of arrival."""
        taken = []
        for _ in range(min(count, len(self))):
            queue = self._next()
            taken.append((queue, queue.take()))
        return taken

    def _next(self) -> _Queue:
        """The topic whose turn it is: that with the earlier stamp; of topics with unlike clocks the longer queue."""
        imu, legs = self._imu, self._legs
        if not (imu and legs):
            return imu if imu else legs
        ahead = imu.first - legs.first
        if abs(ahead) > self._longest_step:
            return imu if len(imu) >= len(legs) else legs
        return imu if ahead <= 0 else legs

    def _look(self) -> None:
        """See how far behind this is, and what follows from it."""
        span, waiting, most = self._span, len(self), self._maximum_lag
        self._largest, self._most = max(self._largest, span), max(self._most, waiting)
        if not most:
            return
        was_behind, self.is_behind = self.is_behind, span > most
        if self.is_behind and not was_behind:
            self._tell('behind', 'of each turn the latest estimate alone is published')
        # what was changed shows after the samples that came meanwhile
        if self._used < _SPARSEST and span > _FAR * most and self._since_change >= len(self._legs):
            self._use_every(2 * self._used)
            self._pipeline.health.count('legs_decimated', self._legs.halve())
            self._tell('legs_left_out', f'one measurement of the legs of {self._used} is used')
        elif self._used > 1 and span < _NEAR * most and self._since_change >= _FEWEST * self._used:
            self._use_every(self._used // 2)

    def _use_every(self, used: int) -> None:
        self._used, self._place, self._since_change = used, 0, 0

    def _tell(self, name: str, consequence: str) -> None:
        stamp = self._imu.first if self._imu else self._legs.first
        detail = f'{self.lag:.2g} s behind by stamps, {len(self)} samples wait: {consequence}'
        self._pipeline.health.event(stamp, name, detail)


def _stretch(imu: Sequence[ImuInput], legs: Sequence[LegInput]) -> Stretch | None:
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
    )
