"""Samples of one topic that wait, and the time that their stamps span."""

from __future__ import annotations

from collections import deque
from typing import Generic, Protocol, TypeVar


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
