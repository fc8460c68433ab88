"""Joint states that wait for the identifier of a running node; where they are too many, some are left out."""

from __future__ import annotations

from typing import Generic

from pkm_estimation.stream.lag_rule import LagRule, Load
from pkm_estimation.stream.sample_queue import Sample, SampleQueue

#: s; longer steps of stamps are jumps
_JUMP = 1.0
#: samples of a turn
_TURN = 20
REMEDY = 'give the node a processor of its own (taskset, chrt -r 5), or lower the rate of the joint states'


class OnlineBacklog(Generic[Sample]):
    """Queue of a running node: what the middleware holds is not seen before it is taken.

    More than twice ``maximum_lag`` behind, every second sample is left out; if that does not help, every second of the
    others, and so on. The polynomial of the window takes what is left.

    Parameters
    ----------
    maximum_lag : s by stamps; 0: no sample is left out, however long it takes

    Attributes
    ----------
    left_out : samples so far
    """

    def __init__(self, maximum_lag: float) -> None:
        self.left_out = 0
        self._rule, self._queue = LagRule(maximum_lag, _TURN), SampleQueue[Sample](round(1e9 * _JUMP))

    def __len__(self) -> int:
        return len(self._queue)

    def add(self, sample: Sample) -> None:
        """Queue a sample, or leave it out."""
        if self._rule.is_left_out():
            self.left_out += 1
        else:
            self._queue.add(sample)

    def turn(self) -> list[Sample]:
        """Remove and return the first samples that wait."""
        queue = self._queue
        if not len(queue):
            return []
        if self._rule.look(queue.span, len(queue), len(queue), queue.first):
            self.left_out += queue.halve()
        return [queue.take() for _ in range(min(_TURN, len(queue)))]

    def clear(self) -> None:
        """Forget what waits."""
        self._queue.clear()

    def report(self) -> tuple[str, str, dict[str, object]]:
        """Level, sentence and figures of the load since the last report."""
        load: Load = self._rule.report()
        return *load.summary(REMEDY), load.values() | {'joint states left out': self.left_out}
