"""Linear least squares with the covariance of correlated residuals.

All solutions go through an orthogonal factorisation of the column-scaled matrix; no normal equations, no
inverse of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from scipy.linalg import solve_triangular


@dataclass(frozen=True)
class Estimate:
    """Solution of ``force = matrix @ parameters + error``.

    Attributes
    ----------
    parameters, std : (B,)
    covariance : (B, B)
    force_std : (L,) residual standard deviation of each leg, at the rate of the rows
    residuals : (N, L), zero where the weight is zero
    autocorrelation : (K+1, L) of the residuals at lags 0..K
    condition : condition number of the weighted, column-scaled matrix
    force_condition : the same matrix' condition without column scaling (the kappa of Heimann & Abdellatif)
    """

    parameters: Array
    covariance: Array
    force_std: Array
    residuals: Array
    autocorrelation: Array
    condition: float
    force_condition: float

    @property
    def std(self) -> Array:
        """Square roots of the covariance's diagonal (B,)."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def correlation(self) -> Array:
        """Correlation matrix of the parameters (B, B)."""
        return self.covariance / np.outer(self.std, self.std)


def solve(matrix: Array, force: Array) -> Array:
    """Least-squares solution (B,) of ``matrix @ x = force`` by QR of the column-scaled matrix (M, B)."""
    scale = np.linalg.norm(matrix, axis=0)
    orthogonal, triangle = np.linalg.qr(matrix / scale)
    return solve_triangular(triangle, orthogonal.T @ force) / scale


def ordinary(observation: Array, force: Array) -> Estimate:
    """Least squares with the same weight for every leg; arguments as :func:`weighted`."""
    return weighted(observation, force, iterations=0)


def weighted(
    observation: Array,
    force: Array,
    row_weights: Array | None = None,
    force_std: Array | None = None,
    iterations: int = 2,
    correlation_lags: int = 0,
) -> Estimate:
    """Weighted (Gauss-Markov) least squares, one noise level per leg, with the covariance of correlated residuals.

    The covariance is ``P A' S A P`` with the estimator ``P`` and S the stationary covariance of the residuals over
    lags 0..K and all pairs of legs (Bartlett taper). With K = 0 it still knows that one disturbance reaches
    several legs. With K > 0 correlation in time only ever enlarges a standard deviation: a few hundred rows do not
    prove that it is smaller.

    Parameters
    ----------
    observation : (N, L, B)
    force : (N, L)
    row_weights : (N, L) factors in [0, 1] on rows; 0 drops a row
    force_std : (L,) known noise; ``None`` takes it from the residuals
    iterations : re-weightings by the legs' residuals; 0 is ordinary least squares
    correlation_lags : K
    """
    samples, legs, count = observation.shape
    mask = np.ones((samples, legs)) if row_weights is None else np.asarray(row_weights, dtype=float)
    noise = np.ones(legs) if force_std is None else np.asarray(force_std, dtype=float)
    used = mask > 0.0
    freedom = max(1.0 - count / max(int(used.sum()), 1), 1e-3)
    # without known noise: one pass with equal weights, then as many with those of the residuals
    passes = 1 if force_std is not None else 1 + iterations
    for step in range(passes):
        weight = mask / noise
        scaled = (observation * weight[..., None]).reshape(-1, count)
        parameters = solve(scaled, (force * weight).ravel())
        residuals = (force - observation @ parameters) * mask
        estimated = np.sqrt((residuals**2).sum(axis=0) / np.maximum(used.sum(axis=0), 1) / freedom)
        floor = 1e-12 * max(float(np.abs(force).max(initial=0.0)), 1e-300)
        if step < passes - 1:
            noise = np.maximum(estimated, floor)
    singular = np.linalg.svd(scaled, compute_uv=False)
    norms = np.linalg.norm(scaled, axis=0)
    condition = np.linalg.cond(scaled / norms)
    rows = observation * weight[..., None]
    covariance = _sandwich(rows, residuals / noise, used, 0) / freedom
    if correlation_lags > 0:
        correlated = _sandwich(rows, residuals / noise, used, correlation_lags) / freedom
        enlarge = np.sqrt(np.maximum(np.diag(correlated) / np.diag(covariance), 1.0))
        covariance = covariance * np.outer(enlarge, enlarge)
    return Estimate(
        parameters,
        covariance,
        estimated,
        residuals,
        autocorrelation(residuals, used, max(correlation_lags, 1)),
        float(condition),
        float(singular[0] / singular[-1]),
    )


def _sandwich(observation: Array, residuals: Array, used: NDArray[np.bool_], lags: int) -> Array:
    """Covariance (B, B) of the estimate from weighted observation (N, L, B) and residuals (N, L)."""
    samples, _, count = observation.shape
    flat = observation.reshape(-1, count)
    norms = np.linalg.norm(flat, axis=0)
    triangle = np.linalg.qr(flat / norms, mode='r')
    meat = np.zeros((count, count))
    for lag in range(lags + 1):
        early, late = slice(0, samples - lag), slice(lag, samples)
        pairs = used[early].astype(float).T @ used[late].astype(float)
        cross = residuals[early].T @ residuals[late] / np.maximum(pairs, 1.0)
        taper = 1.0 - lag / (lags + 1.0)
        # sum over samples of A_t^T C A_(t+lag)
        block = (cross.T @ observation[early]).reshape(-1, count).T @ observation[late].reshape(-1, count)
        meat += taper * (block if lag == 0 else block + block.T)
    half = solve_triangular(triangle, meat / np.outer(norms, norms), trans='T')
    core = solve_triangular(triangle, half.T, trans='T')
    left = solve_triangular(triangle, core)
    return solve_triangular(triangle, left.T) / np.outer(norms, norms)


def autocorrelation(residuals: Array, used: NDArray[np.bool_], lags: int) -> Array:
    """Autocorrelation (K+1, L) of residuals (N, L) over pairs of used rows."""
    result = np.ones((lags + 1, residuals.shape[1]))
    power = (residuals**2).sum(axis=0) / np.maximum(used.sum(axis=0), 1)
    for lag in range(1, lags + 1):
        pairs = (used[:-lag] & used[lag:]).sum(axis=0)
        product = (residuals[:-lag] * residuals[lag:]).sum(axis=0) / np.maximum(pairs, 1)
        result[lag] = product / np.where(power > 0.0, power, 1.0)
    return result


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
