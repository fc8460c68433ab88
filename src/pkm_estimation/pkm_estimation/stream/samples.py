"""Stamped samples: checks of a stream's stamps, and the IMU input between two instants."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from enum import Enum
from itertools import pairwise, takewhile
from math import ceil
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array

NANOSECOND = 1e-9


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


def seconds(start: Instant, end: Instant) -> float:
    """Time from ``start`` to ``end`` by their stamps [s]."""
    return (end.stamp - start.stamp) * NANOSECOND


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

    def is_continued_by(self, stamps: NDArray[np.int64]) -> bool:
        """Whether stamps (N,) ns follow the last one, and each other, without jumps."""
        if self.last is None:
            return False
        steps = np.diff(stamps, prepend=self.last)
        return bool(((steps > 0) & (steps <= self._jump)).all())

    def go_on(self, stamp: int) -> None:
        """Take the last of stamps that continue this stream."""
        self.last, self._suspect = stamp, None

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


class ImuSample(NamedTuple):
    """Specific force and angular rate (6,), platform axes."""

    instant: Instant
    value: Array


class Segment(NamedTuple):
    """Input that is linear from ``start`` to ``end``.

    Attributes
    ----------
    duration : s, of the segment
    imu_interval : s, between the IMU samples around it
    """

    start: ImuSample
    end: ImuSample
    duration: float
    imu_interval: float

    @classmethod
    def between(cls, start: ImuSample, end: ImuSample, imu_interval: float) -> Segment:
        """Segment whose duration is that of its stamps."""
        return cls(start, end, seconds(start.instant, end.instant), imu_interval)

    @property
    def is_empty(self) -> bool:
        """Whether no time passes."""
        return self.end.instant <= self.start.instant

    def steps(self, longest: float) -> Iterable[tuple[Array, Array, float]]:
        """Input (6,) at both ends and duration [s] of equal steps that are no longer than ``longest`` seconds."""
        first, last, duration = self.start.value, self.end.value, self.duration
        if duration <= longest:
            return ((first, last, duration),)
        count = ceil(duration / longest - 1e-9)
        inputs = first + np.linspace(0.0, 1.0, count + 1)[:, None] * (last - first)
        return ((start, end, duration / count) for start, end in pairwise(inputs))


class InputPath(NamedTuple):
    """IMU input from the last processed instant to ``end``; no segments if nothing was processed yet."""

    segments: list[Segment]
    end: ImuSample

    def gap_after(self, now: Instant, maximum_leg_gap: float, maximum_imu_gap: float) -> str | None:
        """Why a filter whose state is that of ``now`` must restart, gaps in s; ``None`` if it can follow this input."""
        if self.end.instant.epoch != now.epoch:
            return 'clock_reset'
        if seconds(now, self.end.instant) > maximum_leg_gap:
            return 'leg_gap'
        if any(max(part.duration, part.imu_interval) > maximum_imu_gap for part in self.segments):
            return 'imu_gap'
        return None


def take_input(queue: deque[ImuSample], now: ImuSample | None, instant: Instant, maximum_gap: float) -> InputPath | str:
    """Input from ``now`` to ``instant``, both ends interpolated if needed; or the reason why there is none.

    Drops samples before the last one at or before ``instant``; ``queue`` must hold a sample at ``instant`` or later.
    """
    segments: list[Segment] = []
    while len(queue) > 1 and queue[1].instant <= instant:
        before = queue.popleft()
        if now is not None and queue[0].instant > now.instant:
            segments.append(Segment.between(now, queue[0], seconds(before.instant, queue[0].instant)))
            now = queue[0]
    before = queue[0]
    if before.instant > instant or before.instant.epoch != instant.epoch:
        return 'no_imu_before'
    if before.instant == instant:
        return InputPath(segments, before)
    after = queue[1]
    interval = seconds(before.instant, after.instant)
    if after.instant.epoch != instant.epoch or interval > maximum_gap:
        return 'in_imu_gap'
    weight = seconds(before.instant, instant) / interval
    end = ImuSample(instant, before.value + weight * (after.value - before.value))
    if now is not None:
        segments.append(Segment.between(now, end, interval))
    return InputPath(segments, end)


def samples_until(queue: deque[ImuSample], instant: Instant) -> tuple[NDArray[np.int64], Array] | None:
    """Stamps (N,) ns and values (N, 6) up to the first at ``instant`` or later, which must be there.

    ``None`` where a clock was restarted among them.
    """
    needed = list(takewhile(lambda sample: sample.instant < instant, queue))
    needed.append(queue[len(needed)])
    if any(sample.instant.epoch != instant.epoch for sample in needed):
        return None
    return np.array([sample.instant.stamp for sample in needed]), np.array([sample.value for sample in needed])
