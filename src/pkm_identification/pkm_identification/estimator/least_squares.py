"""Linear least squares with the covariance of correlated residuals.

All solutions go through an orthogonal factorisation of the column-scaled matrix; no normal equations, no
inverse of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

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

    Parameters
    ----------
    observation : (N, L, B)
    force : (N, L)
    row_weights : (N, L) factors in [0, 1] on rows; 0 drops a row
    force_std : (L,) known noise; ``None`` takes it from the residuals
    iterations : most re-weightings by the legs' residuals, which end when they agree; 0 is ordinary least squares
    correlation_lags : K
    """
    weights = all_or(row_weights, force)
    if force_std is not None:
        return with_noise(observation, force, weights, RowNoise(np.asarray(force_std)), correlation_lags, 'wls')
    noise, _, passes = _reweighed(observation, force, weights, iterations)
    name = 'wls' if iterations else 'ls'
    return with_noise(observation, force, weights, RowNoise(noise), correlation_lags, name, passes)


def with_noise(
    observation: Array,
    force: Array,
    row_weights: Array,
    noise: RowNoise,
    correlation_lags: int,
    method: str = 'gls',
    passes: int = 1,
    parameters: Array | None = None,
) -> Estimate:
    """Estimate with noise of known size and correlation: what all estimators by weighed rows end with.

    The covariance is that of :func:`~pkm_identification.estimator.residual_covariance.honest_covariance` of the weighed
    rows: what the noise has beyond the autoregression is in it.

    Parameters
    ----------
    observation, force, row_weights, correlation_lags : as of :func:`weighted`
    noise : of the rows
    method, passes : name of the estimator, and how often it has solved, for its record
    parameters : (B,) if the method has found them already; default: by QR of the column-scaled matrix
    """
    used, count = row_weights > 0.0, observation.shape[-1]
    rows, targets = noise.weighed(observation, row_weights), noise.weighed(force, row_weights)
    # has the inner products of all rows
    compact = np.asarray(np.linalg.qr(rows.reshape(-1, count), mode='r'))
    if parameters is None:
        method = f'{method}, QR of the column-scaled matrix'
        parameters = solve(rows.reshape(-1, count), targets.ravel())
    standard = targets - rows @ parameters
    return Estimate(
        parameters,
        honest_covariance(rows, standard, used, correlation_lags, compact=compact),
        noise.std * sizes(standard, used, count),
        (force - observation @ parameters) * row_weights,
        autocorrelation(standard, used, max(correlation_lags, 1)),
        *conditions(compact),
        SolverRecord(
            method, passes, True, {'gradient': relative_gradient(rows, standard, targets)}, passes, 'solved directly',
            float((standard**2).sum()),
        ),
        partial=noise.partial,
    )  # fmt: skip


def all_or(row_weights: Array | None, force: Array) -> Array:
    """Weights of rows (N, L); those that are not given are 1."""
    return np.ones(force.shape) if row_weights is None else np.asarray(row_weights, dtype=float)


def sizes(residuals: Array, used: NDArray[np.bool_], parameters: int) -> Array:
    """Standard deviations (L,) of the errors by the residuals (N, L) of a fit of so many parameters."""
    mean = (residuals**2).sum(axis=0) / np.maximum(used.sum(axis=0), 1)
    return np.asarray(np.sqrt(mean / degrees_of_freedom(used, parameters)))


def noise_of_legs(observation: Array, force: Array, row_weights: Array) -> Array:
    """Standard deviations (L,) of the legs' residuals, by which they are weighed; arguments as :func:`weighted`."""
    return _reweighed(observation, force, row_weights, REWEIGHTINGS)[1]


def _reweighed(observation: Array, force: Array, row_weights: Array, iterations: int) -> tuple[Array, Array, int]:
    """Noise (L,) by which legs are weighed so that it agrees with the residuals, that of these, and passes.

    It begins with legs of equal weight.
    """
    masked, targets, used = observation * row_weights[..., None], force * row_weights, row_weights > 0.0
    count, noise = masked.shape[-1], np.ones(force.shape[1])
    size = np.linalg.norm(masked.reshape(-1, count), axis=0)
    triangles = _triangle_of_each_leg(masked / size, targets)
    for step in range(1 + iterations):
        stacked = (triangles / noise[:, None, None]).reshape(-1, count + 1)
        parameters = solve(stacked[:, :-1], stacked[:, -1]) / size
        estimated = sizes(targets - masked @ parameters, used, count)
        before = np.maximum(estimated, noise_floor(targets))
        if step == iterations or (step > 0 and np.all(np.abs(before - noise) <= AGREED * noise)):
            break
        noise = before
    return noise, estimated, step + 1


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
