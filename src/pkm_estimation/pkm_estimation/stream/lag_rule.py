"""What is done where a running node is behind, by stamps: the latest estimate alone, then fewer leg measurements.

Time comes from stamps alone: how far a node is behind is the time that the stamps of its waiting samples span. So it is
the same with ``use_sim_time`` and without, and whatever the clock of the computer says.
"""

from __future__ import annotations

from typing import NamedTuple

from pkm_estimation.stream.health import HealthMonitor

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
