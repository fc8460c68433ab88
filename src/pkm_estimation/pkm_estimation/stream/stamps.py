"""Checks of a stream's stamps: duplicates, wrong order, jumps and a restarted clock."""

from __future__ import annotations

from collections import deque
from enum import Enum
from typing import NamedTuple


class StampVerdict(Enum):
    """Result of the check of a stamp; the value is the reason shown to users."""

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
    """Checks the stamps of one stream, by stamps alone.

    A jump back or forth by more than ``jump`` seconds is rejected once. If the next stamp continues from there, the
    jump is accepted: a gap (forwards) or a restarted clock (backwards), which begins a new epoch. A single wrong stamp
    has no effect.

    Parameters
    ----------
    jump : s
    history : s by which stamps may be late; 0: they must come in order. If it is longer than ``jump``, only steps back
        by more than ``history`` are jumps
    """

    def __init__(self, jump: float, history: float = 0.0) -> None:
        self._jump, self._history = round(jump * 1e9), round(history * 1e9)
        self._recent: deque[int] = deque()
        self._known: set[int] = set()
        self.epoch = 0
        self.last: int | None = None
        self._suspect: int | None = None

    def judge(self, stamp: int) -> StampVerdict:
        """Check ``stamp`` [ns]; a good one becomes the last."""
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
        """Take over the later epoch of another stream if both are near ``stamp`` [ns]; True if so.

        Streams that show the same time have one time base, even if only one of them has jumped there and back.
        """
        if other.epoch <= self.epoch or not other.is_near(stamp) or not (self.last is None or self.is_near(stamp)):
            return False
        self.epoch = other.epoch
        return True

    def follow(self, other: StampGate, stamp: int) -> bool:
        """Take over the epoch of another stream if that one is near ``stamp`` [ns]; True if it is.

        For streams that are too slow to confirm their own jumps.
        """
        if not other.is_near(stamp):
            return False
        if other.epoch != self.epoch or not self.is_near(stamp):
            self.epoch, self.last, self._suspect = other.epoch, None, None
        return True

    def is_near(self, stamp: int) -> bool:
        """Whether ``stamp`` [ns] is less than a jump away from the last one."""
        return self.last is not None and abs(stamp - self.last) <= self._jump
