"""Covariance of linear estimates whose residuals are correlated, in time and between legs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from scipy.linalg import solve_triangular


def honest_covariance(
    rows: Array,
    residuals: Array,
    used: NDArray[np.bool_],
    lags: int,
    slopes: Array | None = None,
    instruments: Array | None = None,
    compact: Array | None = None,
) -> Array:
    """Covariance ``P S P'`` (B, B) of an estimate, with S the stationary covariance of its residuals.

    S covers lags 0..K and all pairs of legs (Bartlett taper). With K = 0 it still knows that one disturbance reaches
    several legs. With K > 0 correlation in time only ever enlarges a standard deviation: a few hundred rows do not
    prove that it is smaller.

    Parameters
    ----------
    rows : (N, L, B) observation matrix, weighted by 1 / noise
    residuals : (N, L) in units of the noise; of a robust estimator: its scores
    used : (N, L)
    lags : K
    slopes : (L,) mean slope of a robust estimator's scores; default 1, least squares
    instruments : (N, L, B) of an estimate by ``instruments' (force - rows x) = 0``; default ``rows``
    compact : (M, B), fewer rows with the same inner products, if they are at hand
    """
    freedom = degrees_of_freedom(used, rows.shape[-1])
    estimator = _LinearEstimator(rows, slopes, instruments, compact)
    covariance = estimator.covariance(residuals, used, 0) / freedom
    if lags > 0:
        correlated = estimator.covariance(residuals, used, lags) / freedom
        enlarge = np.sqrt(np.maximum(np.diag(correlated) / np.diag(covariance), 1.0))
        covariance = covariance * np.outer(enlarge, enlarge)
    return covariance


def degrees_of_freedom(used: NDArray[np.bool_], parameters: int) -> float:
    """Part of the used rows that ``parameters`` unknowns leave to the residuals."""
    return max(1.0 - parameters / max(int(used.sum()), 1), 1e-3)


class _LinearEstimator:
    """The matrix P of ``x = P force``, in factors; columns are scaled, so that no unit matters."""

    def __init__(self, rows: Array, slopes: Array | None, instruments: Array | None, compact: Array | None) -> None:
        count = rows.shape[-1]
        self._meat_rows = rows if instruments is None else instruments
        bread = rows if compact is None else compact
        if slopes is not None:
            bread = bread * np.sqrt(slopes)[:, None]
        self._scale = np.linalg.norm(bread.reshape(-1, count), axis=0)
        flat = (bread / self._scale).reshape(-1, count)
        if instruments is None:
            self._own_scale = self._scale
            self._triangle = np.linalg.qr(flat, mode='r')
            self._matrix = None
        else:
            self._own_scale = np.linalg.norm(instruments.reshape(-1, count), axis=0)
            self._matrix = (instruments / self._own_scale).reshape(-1, count).T @ flat

    def covariance(self, residuals: Array, used: NDArray[np.bool_], lags: int) -> Array:
        """Covariance (B, B) by the residuals' covariance up to these lags."""
        meat = _covariance_of_scores(self._meat_rows, residuals, used, lags)
        meat = meat / np.outer(self._own_scale, self._own_scale)
        if self._matrix is None:
            half = solve_triangular(self._triangle, meat, trans='T')
            core = solve_triangular(self._triangle, half.T, trans='T')
            left = solve_triangular(self._triangle, core)
            result = solve_triangular(self._triangle, left.T)
        else:
            left = np.linalg.solve(self._matrix, meat)
            result = np.linalg.solve(self._matrix, left.T)
        return np.asarray(result / np.outer(self._scale, self._scale), dtype=float)


def _covariance_of_scores(rows: Array, residuals: Array, used: NDArray[np.bool_], lags: int) -> Array:
    """Covariance (B, B) of ``sum of A_t' e_t`` over samples, from rows (N, L, B) and residuals (N, L)."""
    samples, _, count = rows.shape
    meat = np.zeros((count, count))
    for lag in range(lags + 1):
        early, late = slice(0, samples - lag), slice(lag, samples)
        pairs = used[early].astype(float).T @ used[late].astype(float)
        cross = residuals[early].T @ residuals[late] / np.maximum(pairs, 1.0)
        taper = 1.0 - lag / (lags + 1.0)
        # sum over samples of A_t^T C A_(t+lag)
        block = (cross.T @ rows[early]).reshape(-1, count).T @ rows[late].reshape(-1, count)
        meat += taper * (block if lag == 0 else block + block.T)
    return meat


def definite(correlation: Array) -> Array:
    """Correlation matrix with eigenvalues of zero or below made definite; variance is added, never taken away.

    The covariance of correlated residuals is estimated pair by pair of legs, so that it can be indefinite after a short
    motion that hardly excites some parameters.
    """
    missing = 1e-12 - float(np.linalg.eigvalsh(correlation)[0])
    return correlation if missing <= 0.0 else correlation + missing * np.eye(len(correlation))


def autocorrelation(residuals: Array, used: NDArray[np.bool_], lags: int) -> Array:
    """Autocorrelation (K+1, L) of residuals (N, L) over pairs of used rows."""
    result = np.ones((lags + 1, residuals.shape[1]))
    power = (residuals**2).sum(axis=0) / np.maximum(used.sum(axis=0), 1)
    for lag in range(1, lags + 1):
        pairs = (used[:-lag] & used[lag:]).sum(axis=0)
        product = (residuals[:-lag] * residuals[lag:]).sum(axis=0) / np.maximum(pairs, 1)
        result[lag] = product / np.where(power > 0.0, power, 1.0)
    return result
