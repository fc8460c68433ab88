"""Correlated residuals: noise of the rows of a fit, and the covariance of its estimates."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from scipy.linalg import solve_triangular
from scipy.special import ndtr, stdtrit

from pkm_identification.kernels.whitening import set_autoregression, whiten

#: corrections of the residuals' covariance for what the fit absorbed, each of which leaves a smaller error
CORRECTIONS = 2
#: rows for each parameter, from which on what the fit absorbs is too little to be corrected by lag
MANY_ROWS = 200
#: part of a decrease of a variance by correlation in time that is believed
BELIEVED = 0.5
#: deviations that are to be exceeded as rarely as those of a normal distribution
RARE = 3.0


def honest_covariance(
    rows: Array, residuals: Array, used: NDArray[np.bool_], lags: int, compact: Array | None = None
) -> Array:
    """Covariance ``P S P'`` (B, B) of an estimate, with S the stationary covariance of its residuals.

    S covers lags 0..K and all pairs of legs (Bartlett taper). With K = 0 it still knows that one disturbance reaches
    several legs. With K > 0 a model error that lasts makes deviations larger, and noise of positions that was
    differentiated, whose neighbours have opposite signs, makes them smaller. A smaller variance is believed by half: a
    few hundred rows say little of how quiet the slow part of the noise is. Correlations between the values are those of
    K = 0: of all lags there would be directions in which nothing seems to err.

    Residuals are smaller than the noise, most where the motion is: S is corrected for what the fit absorbed, where that
    makes deviations larger. S itself is known from a limited number of rows, so errors have Student's distribution,
    with ``3/4 M/K`` degrees of freedom for M rows (the equivalent number of a Bartlett taper: Priestley 1981, table
    6.2). Deviations are those of which three are exceeded as rarely as three of a normal distribution. Intervals of
    95 % are a little wider than they need to be, then: with 44 degrees of freedom they have 95.7 %.

    Parameters
    ----------
    rows : (N, L, B) observation matrix, weighted by 1 / noise
    residuals : (N, L) in units of the noise
    used : (N, L)
    lags : K
    compact : (M, B), fewer rows with the same inner products, if they are at hand
    """
    count, parameters = int(used.sum()), rows.shape[-1]
    compact = rows.reshape(-1, parameters) if compact is None else compact
    scale = np.linalg.norm(compact, axis=0)
    covariance_by = partial(_sandwich, rows, np.asarray(np.linalg.qr(compact / scale, mode='r')), scale)
    measured = _stationary_covariance(residuals, used, lags)
    covariance = covariance_by(measured[:1]) / degrees_of_freedom(used, parameters)
    variances = np.diag(covariance_by(measured)) / degrees_of_freedom(used, parameters)
    if count < MANY_ROWS * parameters:
        corrected = covariance_by(_without_absorption(measured, rows, used))
        variances = np.maximum(variances, np.diag(corrected))
    variances = np.maximum(variances, BELIEVED * variances + (1.0 - BELIEVED) * np.diag(covariance))
    freedom = 0.75 * count / lags if lags > 0 else count - parameters
    std = np.sqrt(variances) * stdtrit(max(freedom, 2.0), ndtr(RARE)) / RARE
    before = np.sqrt(np.diag(covariance))
    scale = std / np.where(before > 0.0, before, 1.0)  # forces without any noise have no error
    return np.asarray(covariance * np.outer(scale, scale), dtype=float)


def degrees_of_freedom(used: NDArray[np.bool_], parameters: int) -> float:
    """Part of the used rows that ``parameters`` unknowns leave to the residuals."""
    return max(1.0 - parameters / max(int(used.sum()), 1), 1e-3)


def _sandwich(rows: Array, triangle: Array, scale: Array, of_residuals: Array) -> Array:
    """Covariance (B, B) of ``x = P force`` by the residuals' covariance (K+1, L, L).

    P is that of least squares of rows (N, L, B) with the triangle (B, B) of their columns, each divided by its scale
    (B,), so that no unit matters.
    """
    by_leg, count = _by_leg(rows), rows.shape[-1]
    scores = by_leg.reshape(-1, count).T @ _times(of_residuals, by_leg, count).reshape(-1, count)  # of all rows' A' e
    core = scores / np.outer(scale, scale)
    for trans in ('T', 'N'):
        core = solve_triangular(triangle, solve_triangular(triangle, core, trans=trans).T, trans=trans)
    return np.asarray(core / np.outer(scale, scale), dtype=float)


def _stationary_covariance(residuals: Array, used: NDArray[np.bool_], lags: int) -> Array:
    """Covariance (K+1, L, L) of residuals (N, L), those of a lag later in the columns."""
    result = np.empty((lags + 1, residuals.shape[1], residuals.shape[1]))
    for lag in range(lags + 1):
        early, late = _apart(len(residuals), lag)
        result[lag] = residuals[early].T @ residuals[late] / _pairs(used, lag)
    return result


def _apart(samples: int, lag: int) -> tuple[slice, slice]:
    """Samples that have one a lag later, and these."""
    return slice(0, samples - lag), slice(lag, samples)


def _pairs(used: NDArray[np.bool_], lag: int) -> Array:
    """Numbers (L, L) of pairs of used rows a lag apart, at least 1."""
    early, late = _apart(len(used), lag)
    return np.maximum(used[early].astype(float).T @ used[late].astype(float), 1.0)


def _by_leg(rows: Array) -> Array:
    """Rows (N, L, B) as (L, N B): a product with a matrix of the legs is one for all samples, whatever the lag."""
    return np.ascontiguousarray(np.moveaxis(rows, 1, 0)).reshape(rows.shape[1], -1)


def _without_absorption(measured: Array, rows: Array, used: NDArray[np.bool_]) -> Array:
    """Covariance (K+1, L, L) of the errors whose residuals have the covariance ``measured``.

    The residuals of errors e are ``M e`` with ``M = I - Q Q'``, Q an orthonormal basis of the rows. Their covariance by
    ``C`` is ``M C M``; C is enlarged by what is missing there, again and again.
    """
    flat = rows.reshape(-1, rows.shape[-1])
    size = np.linalg.norm(flat, axis=0)
    basis = np.linalg.qr(flat / np.where(size > 0.0, size, 1.0))[0].reshape(*rows.shape[:2], -1)
    by_leg, result = _by_leg(basis), measured
    for _ in range(CORRECTIONS):
        result = result + measured - _covariance_after_fit(result, by_leg, used)
    return result


def _covariance_after_fit(of_errors: Array, basis: Array, used: NDArray[np.bool_]) -> Array:
    """Covariance (K+1, L, L) of residuals by that of the errors: the mean of the diagonals of ``M C M``.

    The basis (L, N B) of the rows is that of :func:`_by_leg`.
    """
    count = basis.shape[1] // len(used)
    product = _times(of_errors, basis, count)
    inner = basis.reshape(-1, count).T @ product.reshape(-1, count)
    # C - Q W' - W Q' + Q (Q' W) Q' with W = C Q
    lost = product - 0.5 * (basis.reshape(-1, count) @ inner).reshape(basis.shape)
    result = np.empty_like(of_errors)
    for lag in range(len(of_errors)):
        early, late = _apart(basis.shape[1], lag * count)
        absorbed = basis[:, early] @ lost[:, late].T + lost[:, early] @ basis[:, late].T
        result[lag] = of_errors[lag] - absorbed / _pairs(used, lag)
    return result


def _times(of_errors: Array, rows: Array, count: int) -> Array:
    """Product (L, N B) of the tapered covariance (K+1, L, L) of all errors with rows (L, N B) of B = ``count``.

    With Bartlett's weights, which fall with the lag, an estimated covariance stays positive.
    """
    result = of_errors[0] @ rows
    for lag in range(1, len(of_errors)):
        taper = 1.0 - lag / len(of_errors)
        early, late = _apart(rows.shape[1], lag * count)
        result[:, early] += taper * of_errors[lag] @ rows[:, late]
        result[:, late] += taper * of_errors[lag].T @ rows[:, early]
    return result


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


@dataclass(frozen=True)
class RowNoise:
    """Noise of A drives, autoregressive in time: of their own size each, correlated alike.

    Attributes
    ----------
    std : (A,) standard deviations, above 0
    partial : (p,) partial autocorrelations; none for noise that is white
    """

    std: Array
    partial: Array = field(default_factory=lambda: np.zeros(0))

    def weighed(self, values: Array, row_weights: Array) -> Array:
        """Rows (n, A, ...) with independent noise of size 1: what the rows before say of it is taken out.

        Parameters
        ----------
        row_weights : (n, A) in [0, 1]; rows with 0 are missing, and are 0 in the result
        """
        white = self.innovations(values, row_weights > 0.0)[0] if len(self.partial) else values
        factors = row_weights / self.std
        return np.asarray(white * factors.reshape(*factors.shape, *[1] * (values.ndim - 2)))

    def innovations(self, values: Array, used: NDArray[np.bool_]) -> tuple[Array, Array]:
        """What is new in rows (n, A, ...), and the standard deviations (n, A) of what is new in the noise.

        Both are in units of the drives' ``std``; rows that are not used are 0, and 1.
        """
        columns = np.ascontiguousarray(values.reshape(*used.shape, -1), dtype=float)
        order = len(self.partial)
        factors, covariances = np.zeros(order), np.zeros(order + 1)
        variance = set_autoregression(self.partial, factors, covariances, np.zeros(order))
        means, spread, gains = np.zeros((order, columns.shape[-1])), np.zeros((order, order)), np.zeros(order)
        found, deviations = np.empty(columns.shape), np.empty(used.shape)
        whiten(
            factors, covariances, variance, np.ascontiguousarray(used), columns, found, deviations, means, spread, gains
        )
        return found.reshape(values.shape), deviations
