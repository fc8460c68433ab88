"""Whose friction has changed since the begin, since when, and by how much? By the fits of the segments.

Each segment has its own estimate of all parameters, independent of those of the others: friction of two segments
differs where chance does not explain the difference. The filter's own random walk is no part of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
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


class FrictionWatch:
    """Follows the friction of all drives.

    Parameters
    ----------
    observation : of the identification

    Attributes
    ----------
    drifts : of drives whose friction has changed since the first segment, by their place
    """

    def __init__(self, observation: OnlineObservation) -> None:
        self._nominal, self._labels = observation.nominal, observation.machine.drive_labels
        own = np.where(observation.is_friction, observation.drive_of, -1)
        self._parts = [np.flatnonzero(own == place) for place in range(len(self._labels))]
        self.reset()

    def reset(self) -> None:
        """Begin anew: bodies may be others."""
        self._fits: list[tuple[int, Array, Array]] = []  # stamp, parameters, covariance
        self.drifts: dict[int, Drift] = {}

    def take(self, fit: SegmentFit, model_fits: bool) -> None:
        """Take a segment; where the model lacks a force, friction that seems to change is what it lacks."""
        self._fits.append((fit.segment.middle, self._nominal + fit.parameters, fit.covariance))
        if len(self._fits) > MEMORY:
            self._fits = [self._fits[0], *self._fits[2:-1:2], self._fits[-1]]
        if model_fits and len(self._fits) > 1:
            for place, part in enumerate(self._parts):
                if part.size:
                    self._judge(fit, place, part)

    def _judge(self, fit: SegmentFit, place: int, part: NDArray[np.intp]) -> None:
        """Compare the friction of one drive now with that of the first segment."""
        columns = fit.segment.matrix[fit.segment.used[:, place], place][:, part]
        squares = columns.T @ columns / max(len(columns), 1)
        before = self._fits[0][1][part]
        change, covariance, distance = self._change(-1, part)
        rms = float(np.sqrt(max(before @ squares @ before, 1e-300)))
        size = float(np.copysign(np.sqrt(max(change @ squares @ change, 0.0)), change @ squares @ before))
        known = self.drifts.get(place)
        is_new = known is None or abs(size / rms - known.part) > AGAIN
        if distance < chi2.isf(CHANCE, part.size) or abs(size) < LEAST * rms or not is_new:
            return
        as_before = [index for index in range(len(self._fits) - 1)
                     if index == 0 or self._change(index, part)[2] < AS_BEFORE**2 * part.size]  # fmt: skip
        self.drifts[place] = Drift(
            self._labels[place], known.since if known else self._fits[as_before[-1]][0], self._fits[-1][0], size,
            float(np.sqrt(np.trace(squares @ covariance))), size / rms,
        )  # fmt: skip

    def _change(self, index: int, part: NDArray[np.intp]) -> tuple[Array, Array, float]:
        """Friction of a segment less that of the first one, its covariance, and their squared distance."""
        (_, first, of_first), (_, now, of_now) = self._fits[0], self._fits[index]
        mean, covariance = (now - first)[part], (of_now + of_first)[np.ix_(part, part)]
        return mean, covariance, float(mean @ np.linalg.solve(covariance, mean))
