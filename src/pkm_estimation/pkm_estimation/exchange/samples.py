"""Stamped samples: checks of a stream's stamps, and the IMU input between two instants."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from itertools import takewhile
from math import ceil
from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array

from pkm_estimation.kernels.input_path import SAMPLES

NANOSECOND = 1e-9
#: samples before an interval that its input goes through
EARLIER = SAMPLES - 2
#: of the six numbers of a sample
IMU_UNITS = ('m/s^2',) * 3 + ('rad/s',) * 3


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
    """Specific force and angular rate (6,), platform axes; ``raw`` as the driver has them, if they are a message's."""

    instant: Instant
    value: Array
    raw: Array | None = None


#: IMU input at an instant within the interval of the first two samples, by them and up to two before, newest first
Interpolate = Callable[[Sequence['ImuSample'], Instant], Array]


class Segment(NamedTuple):
    """Input from ``start`` to ``end`` within the interval between two samples.

    Attributes
    ----------
    samples : newest first: the two samples of the interval, and up to two before
    """

    start: ImuSample
    end: ImuSample
    samples: Sequence[ImuSample]

    @property
    def duration(self) -> float:
        """Of the segment [s]."""
        return seconds(self.start.instant, self.end.instant)

    @property
    def imu_interval(self) -> float:
        """Between the IMU samples around it [s]."""
        return seconds(self.samples[1].instant, self.samples[0].instant)

    @property
    def is_empty(self) -> bool:
        """Whether no time passes."""
        return self.end.instant <= self.start.instant

    def steps(self, longest: float) -> Iterable[tuple[float, float]]:
        """Begin [s] in the interval, and duration [s], of equal steps that are no longer than ``longest`` seconds."""
        begin, duration = seconds(self.samples[1].instant, self.start.instant), self.duration
        count = ceil(duration / longest - 1e-9)
        return ((begin + k * duration / count, duration / count) for k in range(count))


class InputPath(NamedTuple):
    """IMU input from the last processed instant to ``end``; no segments if nothing was processed yet.

    Attributes
    ----------
    in_gap : there is none: the time touches a gap of the samples
    gap_ends : but there are samples at ``end`` again
    """

    segments: list[Segment]
    end: ImuSample
    in_gap: bool = False
    gap_ends: bool = False

    def gap_after(self, now: Instant, maximum_leg_gap: float, maximum_imu_gap: float) -> str | None:
        """Why a filter whose state is that of ``now`` must restart, gaps in s; ``None`` if it can follow this input."""
        if self.end.instant.epoch != now.epoch:
            return 'clock_reset'
        if seconds(now, self.end.instant) > maximum_leg_gap:
            return 'leg_gap'
        if any(max(part.duration, part.imu_interval) > maximum_imu_gap for part in self.segments):
            return 'imu_gap'
        return None


def take_input(
    queue: deque[ImuSample],
    now: ImuSample | None,
    since: Instant | None,
    instant: Instant,
    maximum_gap: float,
    interpolate: Interpolate,
) -> InputPath | str:
    """Input from ``now`` to ``instant``; or the reason why there is none.

    Between samples it goes through earlier ones, too, but none before ``since``, the filter's start: what comes out
    after a start does not depend on what was there before.

    Where ``queue`` holds no sample at ``instant`` or later, that counts as a gap. Samples that are no longer needed are
    dropped: all but two before the last one at or before ``instant``.
    """
    samples: list[ImuSample] = list(takewhile(lambda sample: sample.instant <= instant, queue))
    last = len(samples) - 1
    if len(queue) > len(samples):
        samples.append(queue[len(samples)])
    for _ in range(last - EARLIER):
        queue.popleft()
    if last < 0 or samples[last].instant.epoch != instant.epoch:
        return 'no_imu_before'
    segments: list[Segment] = []
    for index in range(last if now is not None else 0):
        if now is not None and samples[index + 1].instant > now.instant:
            segments.append(Segment(now, samples[index + 1], _around(samples, index, since)))
            now = samples[index + 1]
    before = samples[last]
    if before.instant == instant:
        return InputPath(segments, before)
    if last + 1 == len(samples):  # nobody waits for the next one any more
        return 'in_imu_gap'
    around = _around(samples, last, since)
    if around[0].instant.epoch != instant.epoch or seconds(before.instant, around[0].instant) > maximum_gap:
        return 'in_imu_gap'
    end = ImuSample(instant, interpolate(around, instant))
    if now is not None:
        segments.append(Segment(now, end, around))
    return InputPath(segments, end)


def _around(samples: Sequence[ImuSample], index: int, since: Instant | None) -> list[ImuSample]:
    """Samples around the interval that begins with one, newest first, without earlier ones before ``since``."""
    earlier = samples[max(0, index - EARLIER) : index]
    usable = [sample for sample in reversed(earlier) if since is not None and sample.instant >= since]
    return [samples[index + 1], samples[index], *usable]


def samples_until(queue: deque[ImuSample], instant: Instant) -> tuple[NDArray[np.int64], Array] | None:
    """Stamps (N,) ns and values (N, 6) up to the first at ``instant`` or later, which must be there.

    ``None`` where a clock was restarted among them.
    """
    needed = list(takewhile(lambda sample: sample.instant < instant, queue))
    needed.append(queue[len(needed)])
    if any(sample.instant.epoch != instant.epoch for sample in needed):
        return None
    return np.array([sample.instant.stamp for sample in needed]), np.array([sample.value for sample in needed])


class Stamped(Protocol):
    """What waits."""

    @property
    def stamp(self) -> int:
        """Stamp [ns]."""


Sample = TypeVar('Sample', bound=Stamped)


class SampleQueue(Generic[Sample]):
    """Samples of one topic in the order of their arrival, and the time that their stamps span.

    Parameters
    ----------
    longest_step : ns; longer steps of the stamps, forward and back, are jumps, which count as no time

    Attributes
    ----------
    span : ns, from the first to the last sample
    """

    def __init__(self, longest_step: int) -> None:
        self._longest_step = longest_step
        self._samples: deque[Sample] = deque()
        self._steps: deque[int] = deque()
        self.span, self._latest = 0, 0

    def __len__(self) -> int:
        return len(self._samples)

    @property
    def first(self) -> int:
        """Stamp of the first [ns]."""
        return self._samples[0].stamp

    def add(self, sample: Sample) -> None:
        """Append a sample."""
        step = sample.stamp - self._latest
        if self._samples:
            # beyond the latest stamp: of samples that come late the time counts once
            counted = step if 0 < step <= self._longest_step else 0
            self._steps.append(counted)
            self.span += counted
        if not self._samples or step > 0 or step < -self._longest_step:
            self._latest = sample.stamp
        self._samples.append(sample)

    def take(self) -> Sample:
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
