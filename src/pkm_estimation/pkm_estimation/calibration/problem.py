"""One estimate of all constants: maximum a posteriori over every kind of measurement, by Gauss-Newton.

Each measurement says what it knows of the constants as score ``s = sum J^T r`` and information ``I = sum J^T J`` at
values g, with its own unknowns eliminated. With a prior around zero of precision P the step solves
``(I + P) dg = s - P g``; it is done when no direction moves by more than a part of its own standard deviation, or the
sum of the squares is as small as it gets.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from pkm_description.arrays import Array
from pkm_description.errors import KinematicsError

from pkm_estimation.calibration.constants import Constants
from pkm_estimation.filtering.constant_columns import ConstantScore

#: largest step of any direction that counts as none, in its standard deviations
CONVERGED = 0.02
_MOST, _HALVED = 20, 6
#: part by which a sum of squares may grow by rounding, and by how much that tells nothing
_SAME, _NOTHING = 1e-6, 1.0
#: part of the prior above which a direction is not determined
NOT_DETERMINED = 0.5
#: components of such a direction that are told
_TOLD = 4


class Measurement(Protocol):
    """Something that was measured."""

    def score(self, values: Array) -> ConstantScore:
        """What it says of the constants, counted from (p,) values."""

    def part(self) -> Measurement:
        """Most of it, as if nothing had been looked at; the rest is held out."""

    def leaves_out(self) -> bool:
        """Leave out outliers from now on; returns whether that changes anything."""

    def told(self) -> list[str]:
        """What was found of it besides the constants, in lines."""


@dataclass(frozen=True)
class Solution:
    """Constants that were found.

    Attributes
    ----------
    constants, values : what they are, (p,) in standard deviations of their prior
    covariance : (p, p), the same units; of residuals that are larger than the noise, with the noise that they show
    iterations : until no direction moved by more than :data:`CONVERGED`
    has_converged : whether that happened
    squares, count : of all measurements with these constants; their ratio is 1 where the noise is as stated
    """

    constants: Constants
    values: Array
    covariance: Array
    iterations: int
    has_converged: bool
    squares: float
    count: float

    @property
    def std(self) -> Array:
        """Standard deviations (p,), SI."""
        return np.sqrt(self.covariance.diagonal()) * self.constants.std

    @property
    def determined(self) -> int:
        """How many directions are known to better than a part of their prior."""
        return int(np.count_nonzero(self._directions[0] < NOT_DETERMINED**2))

    @property
    def _directions(self) -> tuple[Array, Array]:
        variances, vectors = np.linalg.eigh(self.covariance)
        return variances, vectors

    def not_determined(self) -> list[str]:
        """Directions that measurements do not tell, by their largest components, the least known first."""
        told = []
        names = self.constants.names
        variances, vectors = self._directions
        for variance, vector in zip(variances[::-1].tolist(), vectors.T[::-1], strict=True):
            if variance < NOT_DETERMINED**2:
                break
            largest = np.argsort(-np.abs(vector))[:_TOLD]
            parts = ' '.join(f'{vector[place]:+.2f} ({names[place]})' for place in largest.tolist())
            told.append(f'{100.0 * variance**0.5:.0f} % of the prior: {parts} ...')
        return told

    def significant(self) -> list[int]:
        """Places of constants that are off by more than two of their standard deviations, the clearest first."""
        sigmas = np.abs(self.values) / np.sqrt(self.covariance.diagonal())
        return [int(place) for place in np.argsort(-sigmas) if sigmas[place] > 2.0]


def solve(
    constants: Constants,
    measurements: Sequence[Measurement],
    start: Array | None = None,
    progress: Callable[[str], None] = lambda line: None,
) -> Solution:
    """Find the constants that measurements and prior make likeliest.

    Steps are halved where the sum of squares would grow, or the machine cannot be assembled with them; one after which
    it is the same but for a part that tells nothing is not made: nothing is lower there.

    Parameters
    ----------
    start : (p,) values to begin with; default: what the machine file says
    progress : called with a line per step

    Raises
    ------
    KinematicsError
        The machine that the file describes does not get to the measured poses.
    """
    values = np.zeros(len(constants)) if start is None else start.copy()
    seen = _score(measurements, values)
    has_converged = False
    for iteration in range(1, _MOST + 1):
        whole = seen.information + constants.precision
        step = _likeliest(whole, seen, values, constants)[0] - values
        size = float(np.sqrt(step @ whole @ step / max(1, len(step))))
        progress(f'step {iteration}: {size:.3g} standard deviations')
        cost, grown = _cost(seen, values, constants), np.inf
        for _ in range(_HALVED):
            try:
                after = _score(measurements, values + step)
                grown = _cost(after, values + step, constants) - cost
            except KinematicsError:
                pass
            if size < CONVERGED or grown < _NOTHING:
                break
            step = 0.5 * step
        has_converged = size < CONVERGED or _SAME * cost < grown < _NOTHING
        if size < CONVERGED or grown < _SAME * cost:
            values, seen = values + step, after
        elif not has_converged:
            break
        if has_converged:
            changes = [one.leaves_out() for one in measurements]
            if not any(changes):
                break
            seen = _score(measurements, values)
    squares, count = _squares(seen, np.where(constants.applied, 0.0, values)), float(seen.squares[1])
    noise = max(1.0, squares / max(1.0, count))
    covariance = _likeliest(seen.information / noise + constants.precision, seen, values, constants)[1]
    return Solution(constants, values, covariance, iteration, has_converged, squares, count)


def _likeliest(whole: Array, seen: ConstantScore, values: Array, constants: Constants) -> tuple[Array, Array]:
    """Likeliest values (p,) by what is seen at others, with a covariance (p, p).

    Constants that cannot be negative are zero where they would be: with them, noise of the samples would pass for
    something that sharpens them.
    """
    rest = seen.score + seen.information @ np.where(constants.applied, values, 0.0)
    found, covariance = np.linalg.solve(whole, rest), np.linalg.inv(whole)
    held = constants.positive & (found < 0.0)
    if held.any():
        free = np.ix_(~held, ~held)
        found, covariance = np.zeros(len(rest)), np.diag(1.0 / whole.diagonal())
        found[~held], covariance[free] = np.linalg.solve(whole[free], rest[~held]), np.linalg.inv(whole[free])
    return np.asarray(found, dtype=float), np.asarray(covariance, dtype=float)


def mean_square(constants: Constants, measurement: Measurement, values: Array) -> tuple[float, float]:
    """Mean of the squares of the residuals of a measurement, and of how many numbers it is.

    With the constants that fit best, a linear step from (p,) values.
    """
    seen = measurement.score(values)
    found = _likeliest(seen.information + constants.precision, seen, values, constants)[0]
    step, count = found - np.where(constants.applied, values, 0.0), max(1.0, float(seen.squares[1]))
    return _squares(seen, step) / count, count


def held_out(
    constants: Constants, measurements: Sequence[Measurement], start: Array | None = None,
    progress: Callable[[str], None] = lambda line: None,
) -> tuple[Array, float, float]:  # fmt: skip
    """Constants by a part of the data, and the mean squares of the residuals of the rest, before and after.

    What the rest adds to the sum of the squares, with frames, targets and poses that fit best in both cases.
    ``start`` and ``progress`` are those of :func:`solve`.
    """
    values = solve(constants, [one.part() for one in measurements], start, progress).values
    means = []
    for tried in (np.zeros(len(constants)), values):
        whole, part = (_score(some, tried) for some in (measurements, [one.part() for one in measurements]))
        count = max(1.0, float(whole.squares[1] - part.squares[1]))
        means.append((_cost(whole, tried, constants) - _cost(part, tried, constants)) / count)
    return values, means[0], means[1]


def _cost(seen: ConstantScore, values: Array, constants: Constants) -> float:
    """Sum of the squares of all residuals, of prior and measurements."""
    return _squares(seen, np.where(constants.applied, 0.0, values)) + float(values @ constants.precision @ values)


def _squares(seen: ConstantScore, step: Array) -> float:
    """Sum of the squares of the residuals of measurements, a linear step (p,) from where they were scored."""
    return float(seen.squares[0] - 2.0 * seen.score @ step + step @ seen.information @ step)


def _score(measurements: Sequence[Measurement], values: Array) -> ConstantScore:
    total = ConstantScore.nothing(len(values))
    for one in measurements:
        total = total.aged(1.0, one.score(values))
    return total
