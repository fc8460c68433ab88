"""A fit of physical parameters to forces that need not be linear in them: the problem, and what every search returns.

Mata et al. (2008, Eq. 29) and Rosyid & El-Khasawneh (2020, Eq. 34) fit physical parameters, not base parameters, with
friction laws whose parameters enter nonlinearly. Fits do not determine all of them: where a result is not better
determined than its start, the record of the search cannot say so, but :func:`weak_directions` does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.errors import ConfigurationError

from pkm_identification.estimator.estimate import SolverRecord
from pkm_identification.estimator.pseudo_inertia import is_inertial

#: final over start value, of an unbounded parameter, from which on it has run away
RUNAWAY = 100.0


@dataclass(frozen=True)
class ForceFit:
    """Minimise ``|residuals(x)|^2`` within bounds.

    Attributes
    ----------
    names : P parameters
    start : (P,) design values; must lie within the bounds
    lower, upper : (P,), may be infinite
    residuals : (P,) -> (M,), weighted force errors
    jacobian : (P,) -> (M, P)
    """

    names: tuple[str, ...]
    start: Array
    lower: Array
    upper: Array
    residuals: Callable[[Array], Array]
    jacobian: Callable[[Array], Array]

    def __post_init__(self) -> None:
        for name, low, value, high in zip(self.names, self.lower, self.start, self.upper, strict=True):
            if not low <= value <= high:
                raise ConfigurationError(f'{name}: start {value:.6g} is not within its bounds {low:.6g} .. {high:.6g}')

    def cost(self, values: Array) -> float:
        """Sum of squared residuals (Rosyid, Eq. 33)."""
        return float(np.sum(self.residuals(values) ** 2))

    @property
    def magnitudes(self) -> Array:
        """Size (P,) of each parameter: its start, or where that is zero the nearest finite bound, or one."""
        ends = np.where(np.isfinite(self.upper), np.abs(self.upper), np.abs(self.lower))
        fallback = np.where(np.isfinite(ends) & (ends > 0.0), ends, 1.0)
        return np.where(self.start != 0.0, np.abs(self.start), fallback)


@dataclass(frozen=True)
class FitResult:
    """Outcome of a search.

    Attributes
    ----------
    values : (P,)
    cost : sum of squared residuals
    solver : optimiser, iterations, evaluations, reason of the stop, final cost, seed
    at_bounds : names of parameters that stand at a bound
    runaways : names of parameters without a finite bound that have left their start by a factor of
        :data:`RUNAWAY`: the data do not hold them, give them a bound
    """

    values: Array
    cost: float
    solver: SolverRecord
    at_bounds: tuple[str, ...]
    runaways: tuple[str, ...]


def result_of(fit: ForceFit, values: Array, solver: SolverRecord) -> FitResult:
    """Name what stands at bounds and what has run away."""
    room = 1e-6 * fit.magnitudes
    at_bounds = (values <= fit.lower + room) | (values >= fit.upper - room)
    free_above = ~np.isfinite(fit.upper) & (values > RUNAWAY * fit.magnitudes)
    free_below = ~np.isfinite(fit.lower) & (values < -RUNAWAY * fit.magnitudes)
    return FitResult(
        values, fit.cost(values), solver, _chosen(fit.names, at_bounds), _chosen(fit.names, free_above | free_below)
    )


def weak_directions(fit: ForceFit, values: Array, tolerance: float = 1e-6) -> Array:
    """Changes of the parameters (K, P), in units of their magnitudes, that the residuals hardly show.

    ``tolerance``: singular value of the scaled Jacobian, relative to the largest.
    """
    _, sizes, directions = np.linalg.svd(fit.jacobian(values) * fit.magnitudes, full_matrices=True)
    small = np.ones(len(values), dtype=bool)
    small[: len(sizes)] = sizes <= tolerance * sizes[0]
    return np.asarray(directions[small], dtype=float)


def design_bounds(
    names: Sequence[str], design: Array, masses: tuple[float, float] = (1.0, 1.5),
    others: tuple[float, float] = (0.75, 1.5),
) -> tuple[Array, Array]:  # fmt: skip
    """Bounds (P,), (P,) from design values, as factors: those of Rosyid's Table 1; parameters that are zero get none.

    Friction, whose design values nobody knows, gets 0 and infinity.
    """
    low, high = np.full(len(names), -np.inf), np.full(len(names), np.inf)
    for index, (name, value) in enumerate(zip(names, design, strict=True)):
        if not is_inertial(name):
            low[index] = 0.0
        elif value != 0.0:
            factors = masses if name.endswith('.m') else others
            low[index], high[index] = sorted(factor * float(value) for factor in factors)
    return low, high


def _chosen(names: tuple[str, ...], which: NDArray[np.bool_]) -> tuple[str, ...]:
    return tuple(name for name, chosen in zip(names, which, strict=True) if chosen)
