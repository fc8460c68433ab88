"""Whose friction has changed since the begin, since when, and by how much? Segment by segment.

Bodies are constants that all segments share; friction and offsets are each segment's own. Both are estimated together,
in square-root form: the difference of two segments' friction has the covariance of the least squares of all rows. The
filter's own random walk is no part of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from scipy.linalg import solve_triangular
from scipy.stats import chi2

from pkm_identification.fitting.lack_of_fit import CHANCE
from pkm_identification.online.observation import OnlineObservation
from pkm_identification.online.segment import SegmentFit

#: part of a drive's friction by which it must have changed, and further changed to be said again
LEAST, AGAIN = 0.05, 0.05
#: standard deviations within which friction is as it was
AS_BEFORE = 2.0
#: segments that are remembered; of more every second one is forgotten
MEMORY = 128


@dataclass(frozen=True)
class Drift:
    """Friction of a drive that has changed.

    Attributes
    ----------
    drive : name
    since, until : ns; at ``since`` it was as before, at ``until`` it has changed
    change, std : N, N m: rms of the friction at the present speeds, now less before, and its standard deviation
    part : of the friction before
    """

    drive: str
    since: int
    until: int
    change: float
    std: float
    part: float

    def __str__(self) -> str:
        return (
            f'friction of {self.drive} has changed by {100.0 * self.part:+.2g} % ({self.change:+.3g} +- {self.std:.2g} '
            f'at its present speeds) since {self.since / 1e9:.0f} s'
        )


@dataclass(frozen=True)
class _Window:
    """What a segment says: ``own @ friction + shared @ bodies = right``, each row with noise of 1.

    Attributes
    ----------
    squares : (A, F, F) mean of a drive's friction columns with each other, where it moves
    """

    stamp: int
    own: Array
    shared: Array
    right: Array
    squares: Array


class FrictionWatch:
    """Follows the friction of all drives.

    Parameters
    ----------
    observation : of the identification
    prior : (B,) standard deviations of the parameters before anything is known

    Attributes
    ----------
    drifts : of drives whose friction has changed since the first segment, by their place
    order : (B,) in which a segment's fit must have its parameters: friction and offsets, then bodies
    """

    def __init__(self, observation: OnlineObservation, prior: Array) -> None:
        own = observation.drive_of >= 0
        self.order: NDArray[np.intp] = np.concatenate([np.flatnonzero(own), np.flatnonzero(~own)])
        self._count = int(own.sum())
        self._labels: Sequence[str] = observation.machine.drive_labels
        self._nominal = observation.nominal[self.order[: self._count]]
        is_friction = observation.is_friction[self.order[: self._count]]
        drive = observation.drive_of[self.order[: self._count]]
        self._parts = [np.flatnonzero(is_friction & (drive == place)) for place in range(len(self._labels))]
        self._prior = np.diag(1.0 / prior[self.order[self._count :]])
        self.reset()

    def reset(self) -> None:
        """Begin anew: bodies may be others."""
        self._bodies = np.concatenate([self._prior, np.zeros((len(self._prior), 1))], axis=1)
        self._windows: list[_Window] = []
        self.drifts: dict[int, Drift] = {}

    def take(self, fit: SegmentFit, model_fits: bool) -> None:
        """Take a segment; where the model lacks a force, friction that seems to change is what it lacks."""
        count, triangle = self._count, fit.triangle
        of_bodies = np.concatenate([self._bodies, triangle[count:-1, count:]])
        self._bodies = np.asarray(np.linalg.qr(of_bodies, mode='r'))[: len(self._prior)]
        columns = fit.segment.matrix[..., self.order[:count]] * fit.segment.used[..., None]
        taken = np.maximum(fit.segment.used.sum(axis=0), 1)
        squares = np.einsum('nai,naj->aij', columns, columns) / taken[:, None, None]
        self._windows.append(_Window(
            fit.segment.middle, triangle[:count, :count], triangle[:count, count:-1], triangle[:count, -1], squares
        ))  # fmt: skip
        if len(self._windows) > MEMORY:
            self._windows = [self._windows[0], *self._windows[2:-1:2], self._windows[-1]]
        if model_fits:
            self._judge()

    def _judge(self) -> None:
        bodies = solve_triangular(self._bodies[:, :-1], self._bodies[:, -1])
        spread = solve_triangular(self._bodies[:, :-1], np.eye(len(bodies)))
        first, now = self._windows[0], self._windows[-1]
        if first is now:
            return
        before, of_first = _friction(first, bodies)
        for place, part in enumerate(self._parts):
            if not part.size:
                continue
            squares = now.squares[place][np.ix_(part, part)]
            rms = np.sqrt(max(float((self._nominal + before)[part] @ squares @ (self._nominal + before)[part]), 1e-300))
            found = self._change(now, before, of_first, bodies, spread, part)
            known = self.drifts.get(place)
            limit = float(chi2.isf(CHANCE, part.size))
            size = _size(found.mean, squares, self._nominal[part] + before[part])
            if found.square < limit or abs(size) < LEAST * rms:
                continue
            since = next(
                (
                    window.stamp for window in reversed(self._windows[:-1])
                    if window is first
                    or self._change(window, before, of_first, bodies, spread, part).square < AS_BEFORE**2 * part.size
                ),
                first.stamp,
            )  # fmt: skip
            if known is None or abs(size / rms - known.part) > AGAIN:
                std = float(np.sqrt(np.trace(squares @ found.covariance)))
                self.drifts[place] = Drift(
                    self._labels[place], since if known is None else known.since, now.stamp, size, std, size / rms
                )

    def _change(
        self, window: _Window, before: Array, of_first: _Friction, bodies: Array, spread: Array, part: NDArray[np.intp]
    ) -> _Change:
        """Friction of one drive in a window, less that in the first one."""
        value, own = _friction(window, bodies)
        shared = (own.by_bodies - of_first.by_bodies)[part] @ spread
        covariance = own.covariance[np.ix_(part, part)] + of_first.covariance[np.ix_(part, part)] + shared @ shared.T
        mean = (value - before)[part]
        return _Change(mean, covariance, float(mean @ np.linalg.solve(covariance, mean)))


@dataclass(frozen=True)
class _Friction:
    covariance: Array
    by_bodies: Array


@dataclass(frozen=True)
class _Change:
    mean: Array
    covariance: Array
    square: float


def _friction(window: _Window, bodies: Array) -> tuple[Array, _Friction]:
    """Friction (F,) of a window, its covariance for known bodies, and its slope (F, N) by these."""
    inverse = solve_triangular(window.own, np.eye(len(window.own)))
    by_bodies = -inverse @ window.shared
    return inverse @ window.right + by_bodies @ bodies, _Friction(inverse @ inverse.T, by_bodies)


def _size(change: Array, squares: Array, before: Array) -> float:
    """Rms of a change of friction at the speeds of ``squares``; negative where friction has become less."""
    size = np.sqrt(max(float(change @ squares @ change), 0.0))
    return float(np.copysign(size, change @ squares @ before))
