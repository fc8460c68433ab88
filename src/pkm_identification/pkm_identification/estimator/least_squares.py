"""Linear least squares with the covariance of correlated residuals.

All solutions go through an orthogonal factorisation of the column-scaled matrix; no normal equations, no
inverse of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from scipy.linalg import solve_triangular

from pkm_identification.estimator.residual_covariance import (
    RowNoise,
    autocorrelation,
    degrees_of_freedom,
    honest_covariance,
)

#: relative change of the legs' noise from one weighting to the next, at which they agree
AGREED = 1e-3
#: most re-weightings until then
REWEIGHTINGS = 30


def solve(matrix: Array, force: Array) -> Array:
    """Least-squares solution (B,) of ``matrix @ x = force`` by QR of the column-scaled matrix (M, B)."""
    scale = np.linalg.norm(matrix, axis=0)
    orthogonal, triangle = np.linalg.qr(matrix / scale)
    return solve_triangular(triangle, orthogonal.T @ force) / scale


def white_covariance(matrix: Array) -> Array:
    """Covariance (B, B) of the solution for rows (M, B) in units of their independent noise."""
    scale = np.linalg.norm(matrix, axis=0)
    inverse = solve_triangular(np.linalg.qr(matrix / scale, mode='r'), np.eye(matrix.shape[1]))
    return np.asarray(inverse @ inverse.T / np.outer(scale, scale))


def ordinary(
    observation: Array,
    force: Array,
    row_weights: Array | None = None,
    force_std: Array | None = None,
    correlation_lags: int = 0,
) -> Estimate:
    """Least squares with the same weight for every leg, whatever their noise; arguments as :func:`weighted`."""
    del force_std
    return weighted(observation, force, row_weights, iterations=0, correlation_lags=correlation_lags)


def weighted(
    observation: Array,
    force: Array,
    row_weights: Array | None = None,
    force_std: Array | None = None,
    iterations: int = REWEIGHTINGS,
    correlation_lags: int = 0,
) -> Estimate:
    """Weighted (Gauss-Markov) least squares, one noise level per leg, with the covariance of correlated residuals.

    The covariance is that of :func:`~pkm_identification.estimator.residual_covariance.honest_covariance`.

    Parameters
    ----------
    observation : (N, L, B)
    force : (N, L)
    row_weights : (N, L) factors in [0, 1] on rows; 0 drops a row
    force_std : (L,) known noise; ``None`` takes it from the residuals
    iterations : most re-weightings by the legs' residuals, which end when they agree; 0 is ordinary least squares
    correlation_lags : K
    """
    samples, legs = force.shape
    mask = np.ones((samples, legs)) if row_weights is None else np.asarray(row_weights, dtype=float)
    noise = np.ones(legs) if force_std is None else np.asarray(force_std, dtype=float)
    masked, targets, used = observation * mask[..., None], force * mask, mask > 0.0
    # without known noise: one pass with equal weights, then as many with those of the residuals
    passes = 1 if force_std is not None else 1 + iterations
    found = _reweighed(masked, targets, used, noise, passes)
    name = 'ls' if force_std is None and iterations == 0 else 'wls'
    standard, rows = found.residuals / found.noise, masked / found.noise[:, None]
    compact = found.compact
    return Estimate(
        found.parameters,
        honest_covariance(rows, standard, used, correlation_lags, compact=compact),
        found.estimated,
        found.residuals,
        autocorrelation(found.residuals, used, max(correlation_lags, 1)),
        *conditions(compact),
        SolverRecord(
            f'{name}, QR of the column-scaled matrix', found.passes, True,
            {'gradient': relative_gradient(rows, standard, targets / found.noise)}, found.passes, 'solved directly',
            float((standard**2).sum()),
        ),
    )  # fmt: skip


def noise_of_legs(observation: Array, force: Array, row_weights: Array) -> Array:
    """Standard deviations (L,) of the legs' residuals, by which they are weighed; arguments as :func:`weighted`."""
    masked, targets = observation * row_weights[..., None], force * row_weights
    return _reweighed(masked, targets, row_weights > 0.0, np.ones(force.shape[1]), 1 + REWEIGHTINGS).estimated


class _Reweighed(NamedTuple):
    """Solution by weights that agree with its residuals.

    Attributes
    ----------
    parameters, residuals : (B,), (N, L)
    noise, estimated : (L,) by which the legs were weighed, and of the residuals
    compact : (M, B) rows with the inner products of all
    passes : how often it was solved
    """

    parameters: Array
    residuals: Array
    noise: Array
    estimated: Array
    compact: Array
    passes: int


def _reweighed(masked: Array, targets: Array, used: NDArray[np.bool_], noise: Array, passes: int) -> _Reweighed:
    """Solve with rows (N, L, B) and forces (N, L), the legs weighed by ``noise`` (L,), then by their residuals."""
    count = masked.shape[-1]
    freedom = degrees_of_freedom(used, count)
    size = np.linalg.norm(masked.reshape(-1, count), axis=0)
    triangles = _triangle_of_each_leg(masked / size, targets)
    for step in range(passes):
        stacked = (triangles / noise[:, None, None]).reshape(-1, count + 1)
        parameters = solve(stacked[:, :-1], stacked[:, -1]) / size
        residuals = targets - masked @ parameters
        estimated = np.sqrt((residuals**2).sum(axis=0) / np.maximum(used.sum(axis=0), 1) / freedom)
        if step == passes - 1:
            break
        before, noise = noise, np.maximum(estimated, noise_floor(targets))
        if step > 0 and np.all(np.abs(noise - before) <= AGREED * before):
            noise = before  # the residuals are those of these weights
            break
    return _Reweighed(parameters, residuals, noise, estimated, stacked[:, :-1] * size, step + 1)


def _triangle_of_each_leg(rows: Array, force: Array) -> Array:
    """Triangles (L, B + 1, B + 1) with the inner products of each leg's rows (N, L, B) and forces (N, L).

    What weights of the legs do to the rows they do to these, so that a long recording is factorised once.
    """
    legs, count = rows.shape[1:]
    result = np.zeros((legs, count + 1, count + 1))
    for leg in range(legs):
        triangle = np.linalg.qr(np.concatenate([rows[:, leg], force[:, leg, None]], axis=1), mode='r')
        result[leg, : len(triangle)] = triangle
    return result


def noise_floor(force: Array) -> float:
    """Noise below which a leg's residuals are rounding."""
    return 1e-12 * max(float(np.abs(force).max(initial=0.0)), 1e-300)


def conditions(rows: Array) -> tuple[float, float]:
    """Condition numbers of rows (M, B): with columns of norm one, and as they are."""
    triangle = np.asarray(np.linalg.qr(rows, mode='r'))  # has the same singular values, in fewer rows
    singular = np.linalg.svd(triangle, compute_uv=False)
    return float(np.linalg.cond(triangle / np.linalg.norm(triangle, axis=0))), float(singular[0] / singular[-1])


def relative_gradient(rows: Array, residuals: Array, force: Array) -> float:
    """Largest product of a column and the residuals over those of their lengths, forces in place of the residuals.

    0 where least squares are at their optimum; the forces keep it small where residuals are but rounding.
    """
    flat = rows.reshape(-1, rows.shape[-1])
    size = np.linalg.norm(flat, axis=0) * max(float(np.linalg.norm(force)), 1e-300)
    return float(np.abs(flat.T @ residuals.ravel() / size).max())


def error_bound(estimate: Estimate, observation: Array, force: Array) -> float:
    """Bound on ``|p - p_hat| / |p|`` (Heimann & Abdellatif, Eq. 8, with |Psi p| in place of |Gamma|).

    Uses the residual for the unknown error, enlarged for the part that the fit absorbed.
    Equation (8) belongs to ordinary least squares; ``estimate`` must come from :func:`ordinary`.
    """
    count = observation.shape[-1]
    absorbed = np.sqrt(force.size / max(force.size - count, 1))
    return float(
        estimate.force_condition
        * absorbed
        * np.linalg.norm(estimate.residuals)
        / np.linalg.norm(observation @ estimate.parameters)
    )


@dataclass(frozen=True)
class SolverRecord:
    """How a solution came about, for the result and its report.

    Attributes
    ----------
    method : of the estimator and of its solver, e.g. ``wls, QR``
    iterations : of the outermost loop
    converged : whether the solver reached its own tolerances; a result that did not is never called converged
    optimality : the solver's own figures, by name: 0 at an exact optimum
    evaluations : of the cost
    stop : reason of the stop, in the solver's words
    cost : final value, in the solver's units
    seed : of the random numbers, where there are any
    """

    method: str
    iterations: int
    converged: bool
    optimality: Mapping[str, float] = field(default_factory=dict)
    evaluations: int = 0
    stop: str = ''
    cost: float = np.nan
    seed: int | None = None


#: of an estimate that was built by hand
UNKNOWN_SOLVER = SolverRecord('not recorded', 0, False)


@dataclass(frozen=True)
class Estimate:
    """Solution of ``force = matrix @ parameters + error``.

    Attributes
    ----------
    parameters, std : (B,)
    covariance : (B, B)
    force_std : (L,) residual standard deviation of each leg, at the rate of the rows
    residuals : (N, L), zero where the weight is zero
    autocorrelation : (K+1, L) of the residuals at lags 0..K, less what the noise's own correlation explains
    condition : condition number of the weighted, column-scaled matrix
    force_condition : the same matrix' condition without column scaling (the kappa of Heimann & Abdellatif)
    solver : how it was found
    partial : (p,) partial autocorrelations of the noise; none where it is taken to be white
    """

    parameters: Array
    covariance: Array
    force_std: Array
    residuals: Array
    autocorrelation: Array
    condition: float
    force_condition: float
    solver: SolverRecord = UNKNOWN_SOLVER
    partial: Array = field(default_factory=lambda: np.zeros(0))

    def noise(self, least: float) -> RowNoise:
        """Size and correlation of the noise, not smaller than ``least``."""
        return RowNoise(np.maximum(self.force_std, least), self.partial)

    @property
    def std(self) -> Array:
        """Square roots of the covariance's diagonal (B,)."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def correlation(self) -> Array:
        """Correlation matrix of the parameters (B, B)."""
        return self.covariance / np.outer(self.std, self.std)
