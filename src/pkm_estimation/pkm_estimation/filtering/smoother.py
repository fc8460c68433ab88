"""Smooths what a filter's record holds, block by block from the last to the first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from pkm_estimation.filtering.backward_pass import Gaussian, Passage, corrected, predicted, smoothed_before
from pkm_estimation.filtering.step_record import Estimated, Left, Started

Entry = Passage | Estimated | Started | Left


class _Link(NamedTuple):
    """A passage as the own estimator went it."""

    estimate: Gaussian
    passage: Passage
    prediction: Gaussian


class _Estimator:
    """Estimates forward, along a record, with the errors of the samples corrected, too; ``size`` states."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._filter: Gaussian | None = None
        self.estimate: Gaussian | None = None

    def go(self, entry: Entry) -> _Link | tuple[Estimated, Gaussian] | Left | None:
        """One entry on; what it came to, ``None`` at a start."""
        if isinstance(entry, Started | Left):
            self._filter = self.estimate = None
            return entry if isinstance(entry, Left) else None
        if isinstance(entry, Passage):
            return _Link(self.correct(entry.begin), entry, self.predict(entry))
        return entry, self.correct(entry.estimate)

    def correct(self, now: Gaussian) -> Gaussian:
        """Take over what brought the filter to its estimate of now; returns the own one."""
        if self.estimate is None or self._filter is None:
            self.estimate = now
        elif self.estimate is self._filter and len(now.mean) == self._size:
            self.estimate = now  # no errors of samples: the filter is as good as can be
        elif not _equal(now, self._filter, self._size):
            self.estimate = corrected(self.estimate, self._filter, now, self._size)
        self._filter = now
        return self.estimate

    def predict(self, passage: Passage) -> Gaussian:
        """Predict to the end of a passage; returns the own prediction."""
        assert self.estimate is not None
        same = self.estimate is passage.begin
        self.estimate = passage.end if same else predicted(passage, self.estimate)
        self._filter = passage.end
        return self.estimate


class Smoother:
    """Smooths blocks of entries of a record, the last block first.

    Parameters
    ----------
    size : number of states n

    Attributes
    ----------
    after : smoothed estimate with which the last block began; ``None``: nothing reached so far
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self.after: Gaussian | None = None

    def smooth(
        self, entries: Sequence[Entry], is_usable: Callable[[int], bool], before: Sequence[Entry] = ()
    ) -> list[tuple[Estimated | None, Gaussian | None]]:
        """Estimates of a block, each with the smoothed one, in order.

        Parameters
        ----------
        entries : of the block
        is_usable : whether the block's estimate of this number may be the last of its stretch; those after the last
            usable one cannot be smoothed: ``None``
        before : entries before the block, after which it matters no more how they began

        Raises
        ------
        numpy.linalg.LinAlgError
            A covariance of the filter is not positive definite.
        """
        forward = _Estimator(self._size)
        for entry in before:
            forward.go(entry)
        links = [forward.go(entry) for entry in entries]
        number = sum(isinstance(entry, Estimated | Left) for entry in entries)
        result: list[tuple[Estimated | None, Gaussian | None]] = []
        for link in reversed(links):
            if link is None:
                self.after = None
            elif isinstance(link, Left):
                number -= 1
                self.after = None
                result.append((None, None))
            elif isinstance(link, _Link):
                if self.after is not None:
                    self.after = smoothed_before(link.estimate, link.passage.slope, link.prediction, self.after)
            else:
                number -= 1
                if self.after is None and is_usable(number):
                    self.after = link[1]
                result.append((link[0], self.after))
        return result[::-1]


def _equal(one: Gaussian, other: Gaussian, size: int) -> bool:
    means = np.array_equal(one.mean[:size], other.mean[:size])
    return means and np.array_equal(one.covariance[:size, :size], other.covariance[:size, :size])
