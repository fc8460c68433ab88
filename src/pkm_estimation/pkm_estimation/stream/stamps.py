"""Which stamps of a stream can be believed: duplicates, disorder, jumps and a restarted clock."""

from __future__ import annotations

from collections import deque
from enum import Enum
from typing import NamedTuple


class StampVerdict(Enum):
    """What a stamp is; the value is the reason shown to users."""

    GOOD = 'good'
    ZERO = 'zero_stamp'
    DUPLICATE = 'duplicate_stamp'
    OUT_OF_ORDER = 'out_of_order_stamp'
    LATE = 'late'
    TOO_LATE = 'too_late'
    JUMP = 'stamp_jump'


class Instant(NamedTuple):
    """A stamp in the order of arrival of its stream: later epochs follow a restart of the clock."""

    epoch: int
    stamp: int


class StampGate:
    """Judges the stamps of one stream, by stamps alone.

    A jump back or forth by more than ``jump`` seconds is rejected once. If the next stamp continues from there, it is
    the truth: a gap (forwards) or a restarted clock (backwards), which begins a new epoch. One wild stamp does no harm.

    Parameters
    ----------
    jump : s
    history : s by which stamps may be late; 0: they must come in order. Where it is longer than ``jump``, it takes a
        longer way back to be a jump
    """

    def __init__(self, jump: float, history: float = 0.0) -> None:
        self._jump, self._history = round(jump * 1e9), round(history * 1e9)
        self._recent: deque[int] = deque()
        self._known: set[int] = set()
        self.epoch = 0
        self.last: int | None = None
        self._suspect: int | None = None

    def judge(self, stamp: int) -> StampVerdict:
        """Say what ``stamp`` [ns] is; a good one becomes the last."""
        verdict = self._judge(stamp)
        if self._history and verdict in (StampVerdict.GOOD, StampVerdict.LATE):
            self._remember(stamp)
        return verdict

    def _remember(self, stamp: int) -> None:
        assert self.last is not None
        self._recent.append(stamp)
        self._known.add(stamp)
        while not 0 <= self.last - self._recent[0] <= self._history:
            self._known.discard(self._recent.popleft())

    def _judge(self, stamp: int) -> StampVerdict:
        if stamp <= 0:
            return StampVerdict.ZERO
        if self.last is None:
            self.last = stamp
            return StampVerdict.GOOD
        if stamp == self.last:
            return StampVerdict.DUPLICATE
        step = stamp - self.last
        if step > self._jump or -step > max(self._jump, self._history):
            if self._suspect is None or not 0 < stamp - self._suspect <= self._jump:
                self._suspect = stamp
                return StampVerdict.JUMP
            if step < 0:
                self.epoch += 1
        elif step < 0:
            if not self._history:
                return StampVerdict.OUT_OF_ORDER
            if stamp in self._known:
                return StampVerdict.DUPLICATE
            return StampVerdict.LATE if -step <= self._history else StampVerdict.TOO_LATE
        self._suspect = None
        self.last = stamp
        return StampVerdict.GOOD

    def join(self, other: StampGate, stamp: int) -> bool:
        """Take over a later epoch of another stream that is near ``stamp`` [ns], as this one is; True if so.

        What shows the same time is one time base, whatever jumps there and back only one of the streams has seen.
        """
        if other.epoch <= self.epoch or not other.is_near(stamp) or not (self.last is None or self.is_near(stamp)):
            return False
        self.epoch = other.epoch
        return True

    def follow(self, other: StampGate, stamp: int) -> bool:
        """Take over the epoch of another stream if that one is near ``stamp`` [ns]; True if it is.

        So the stamps of a stream that is too slow to confirm its own jumps are believed.
        """
        if not other.is_near(stamp):
            return False
        if other.epoch != self.epoch or not self.is_near(stamp):
            self.epoch, self.last, self._suspect = other.epoch, None, None
        return True

    def is_near(self, stamp: int) -> bool:
        """Whether ``stamp`` [ns] is no jump away from the last one."""
        return self.last is not None and abs(stamp - self.last) <= self._jump
