"""Nonlinear parameters of a fit: their search, and the estimate of linear and nonlinear ones together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from operator import add

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.dynamics.parameter_reduction.reduction import Indices
from scipy.linalg import solve_triangular
from scipy.optimize import least_squares

from pkm_identification.blocks import blocks
from pkm_identification.estimator.interface import estimator_after
from pkm_identification.estimator.least_squares import Estimate
from pkm_identification.estimator.residual_covariance import RowNoise
from pkm_identification.judgement.score import Explained, Products

#: lags of the residuals' correlation in the covariance: rows are 0.4 periods of the cut-off apart, so this is
#: 4 periods
CORRELATION_LAGS = 10
#: most evaluations of the rows
EVALUATIONS = 200


def minimised(
    reduced: Callable[[Array], tuple[Array, Array]], start: Array, known: Indices, limits: Array,
    is_late: Callable[[], bool] = lambda: False,
) -> Array | None:  # fmt: skip
    """Nonlinear parameters of the least squares, linear ones solved for at each (Kaufman 1975).

    Parameters
    ----------
    reduced : (Q,) -> residuals (M,) of the linear solution, and what is left of the rows' derivatives (M, Q) by the
        nonlinear parameters when the linear ones follow
    start : (Q,)
    known : places of those that are searched for
    limits : (Q, 2)
    is_late : whether the time is over: then the search ends where it is

    Returns
    -------
    (Q,) or ``None``
        ``None``: the search does not settle.
    """
    # positive ones by their logarithm: they are velocities, periods, exponents
    logs = limits[known, 0] > 0.0
    scale = np.where(logs, 1.0, np.ptp(limits[known], axis=1))

    def shaped(unknown: Array) -> Array:
        full = start.copy()
        full[known] = np.where(logs, np.exp(np.where(logs, unknown, 0.0)), unknown * scale)
        return full

    def coordinates(values: Array) -> Array:
        return np.asarray(np.where(logs, np.log(np.where(logs, values, 1.0)), values / scale))

    last: list[Array] = []

    def residual(unknown: Array) -> Array:
        # what stays the same is no progress, so that the search ends where it is
        if not (last and is_late()):
            last[:] = [reduced(shaped(unknown))[0]]
        return last[0]

    def jacobian(unknown: Array) -> Array:
        full = shaped(unknown)
        return -reduced(full)[1][:, known] * np.where(logs, full[known], scale)

    low, high = coordinates(limits[known, 0]), coordinates(limits[known, 1])
    inside = np.clip(coordinates(start[known]), low + 1e-9, high - 1e-9)
    found = least_squares(residual, inside, jacobian, bounds=(low, high), xtol=1e-6, ftol=1e-8, max_nfev=EVALUATIONS)
    return shaped(found.x) if found.success else None


def joint_estimate(
    rows: Array, slopes: Array, known: Indices, limits: Array, forces: Array, weights: Array, noise: RowNoise,
    method: str,
) -> tuple[Estimate, Array, Array]:  # fmt: skip
    """Estimate with the covariance of linear and nonlinear parameters together.

    Nonlinear parameters that the data do not determine may be anywhere within their limits, and the fitted parameters
    with them: a friction coefficient times a load of which only the product is seen is not known better than the load.

    Parameters
    ----------
    rows : (n, A, B) of the linear parameters
    slopes : (n, A, Q) derivatives by the nonlinear ones
    known : places of the nonlinear parameters that the data determine
    limits : (Q, 2) of the nonlinear parameters
    forces, weights : (n, A), (n, A) of the rows
    noise : of the rows, by an earlier fit
    method : name of the estimator

    Returns
    -------
    estimate : of the linear parameters (B,)
    std : (Q,) of the nonlinear ones, infinite where the data do not determine them
    columns : (n, A, B + Q') that were fitted
    """
    count = rows.shape[-1]
    columns = np.concatenate([rows, slopes[..., known]], axis=-1)
    joint = estimator_after(method, noise, CORRELATION_LAGS)(columns, forces, weights)
    std = np.full(len(limits), np.inf)
    std[known] = joint.std[count:]
    others = np.setdiff1d(np.arange(len(limits)), known)
    covariance = joint.covariance[:count, :count]
    if len(others):
        fit = WeighedFit(columns, forces, weights, noise)
        moved = fit.moved_by(slopes[..., others])[:count] * (0.5 * np.ptp(limits[others], axis=1))
        covariance = covariance + moved @ moved.T
    return replace(joint, parameters=joint.parameters[:count], covariance=covariance), std, columns


class WeighedFit:
    """Fitted columns (n, A, B), weighed by a noise, and the residuals of their least squares.

    Parameters
    ----------
    columns, errors : (n, A, B), (n, A) fitted columns, and forces less any combination of them
    row_weights : (n, A)
    noise : of the rows
    prior : (B,) standard deviations of the changes from that combination before; default: nothing is known

    Attributes
    ----------
    residuals : (n, A) of the weighed rows
    freedom : rows beyond the columns
    """

    def __init__(
        self, columns: Array, errors: Array, row_weights: Array, noise: RowNoise, prior: Array | None = None
    ) -> None:
        self.noise, self._weights = noise, row_weights
        count = columns.shape[-1]
        flat, residuals = _flat(noise.weighed(columns, row_weights)), noise.weighed(errors, row_weights).ravel()
        if prior is not None:
            flat, residuals = np.concatenate([flat, np.diag(1.0 / prior)]), np.append(residuals, np.zeros(count))
        self._scale = np.linalg.norm(flat, axis=0)
        basis, self._triangle = np.linalg.qr(flat / self._scale)
        self._inside = basis.T @ residuals
        self._basis = basis[: errors.size]
        self.residuals = (residuals - basis @ self._inside)[: errors.size].reshape(errors.shape)
        self.freedom = int(np.count_nonzero(row_weights)) - count

    @property
    def parameters(self) -> Array:
        """Changes (B,) from the combination that the errors are of."""
        return self._by_basis(self._inside[:, None])[:, 0]

    @property
    def covariance(self) -> Array:
        """Covariance (B, B) of them by the noise and the prior."""
        inverse = self._by_basis(np.eye(len(self._scale)))
        return np.asarray(inverse @ inverse.T)

    @property
    def used(self) -> NDArray[np.bool_]:
        """Rows (n, A) that count."""
        return self._weights > 0.0

    def products(self, rows: Array) -> Products:
        """Products of columns (n, A, C), in blocks: rows of own legs are large."""
        weighed = self.noise.weighed(rows, self._weights)
        basis = self._basis.reshape(*self.residuals.shape, -1)
        residuals = self.residuals[..., None] * np.eye(len(self.noise.std))
        parts = (
            Products.of(_flat(weighed[part]), _flat(basis[part]), _flat(residuals[part])) for part in blocks(len(rows))
        )
        return reduce(add, parts)

    def beyond(self, rows: Array) -> Array:
        """Weighed rows (n, A, ...) of further forces, without what the fitted columns have of them."""
        weighed = self.noise.weighed(rows, self._weights)
        flat = weighed.reshape(len(self._basis), -1)
        return np.asarray(flat - self._basis @ (self._basis.T @ flat)).reshape(weighed.shape)

    def moved_by(self, rows: Array) -> Array:
        """Changes (B, K) of the fitted parameters per unit of each of further forces (n, A, K), which are left out."""
        return self._by_basis(self._basis.T @ _flat(self.noise.weighed(rows, self._weights)))

    def changes(self, products: Products, explained: Explained) -> Array:
        """Changes (B,) of the fitted parameters with offered columns, beyond what noise makes of them.

        Parameters
        ----------
        products, explained : of the columns
        """
        return explained.changes(self._by_basis(products.inside @ explained.directions))

    def _by_basis(self, inside: Array) -> Array:
        """Parameters (B, K) of products (B, K) with the basis."""
        return np.asarray(solve_triangular(self._triangle, inside) / self._scale[:, None])


def _flat(rows: Array) -> Array:
    """Rows (n, A, C) as (n * A, C)."""
    return rows.reshape(-1, rows.shape[-1])
