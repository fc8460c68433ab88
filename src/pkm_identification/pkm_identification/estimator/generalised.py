"""Generalised least squares: the noise of the rows is correlated in time, and estimated with the parameters.

Noise of positions that was differentiated twice and filtered is small where the motion is, at low frequencies, and
large above. Weights that know this make better values than those by the size of the noise alone, and deviations that
are true (``./pkm verify identification --set sections=coverage``).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.dynamics.parameter_reduction.reduction import Indices
from scipy.optimize import minimize

from pkm_identification.estimator.least_squares import (
    Estimate,
    all_or,
    noise_floor,
    noise_of_legs,
    sizes,
    solve,
    with_noise,
)
from pkm_identification.estimator.residual_covariance import RowNoise

#: partial autocorrelations of the noise, and rows beyond the parameters that each of them asks for
ORDER, ROWS_EACH = 6, 30
#: largest partial autocorrelation
LARGEST = 0.98
#: change of the partial autocorrelations, in their standard deviations, that does not matter
SETTLED = 0.1
#: samples that are enough to estimate them, and from how many stretches of a longer recording these are taken
ENOUGH, STRETCHES = 600, 6


def generalised(
    observation: Array,
    force: Array,
    row_weights: Array | None = None,
    force_std: Array | None = None,
    correlation_lags: int = 0,
    begin: RowNoise | None = None,
) -> Estimate:
    """Generalised (Aitken) least squares with autoregressive noise, which is estimated.

    Parameters
    ----------
    observation, force, row_weights, correlation_lags : as of
        :func:`~pkm_identification.estimator.least_squares.weighted`
    force_std : (L,) size of the noise from which its estimate begins; ``None``: that of the residuals
    begin : size and correlation from which the estimate begins
    """
    weights = all_or(row_weights, force)
    if begin is None:
        size = noise_of_legs(observation, force, weights) if force_std is None else np.asarray(force_std, dtype=float)
        begin = RowNoise(np.maximum(size, noise_floor(force)))
    return with_noise(observation, force, weights, fitted_noise(observation, force, weights, begin), correlation_lags)


def fitted_noise(observation: Array, force: Array, row_weights: Array, noise: RowNoise) -> RowNoise:
    """Noise with the partial autocorrelations of the largest restricted likelihood (Patterson & Thompson 1971).

    That of the residuals themselves would be too small where the motion is: there the fit has absorbed the noise.

    Parameters
    ----------
    observation, force, row_weights : as of :func:`generalised`
    noise : sizes from the residuals; the correlation is where the search begins
    """
    used, count = row_weights > 0.0, observation.shape[-1]
    places = _stretches(len(observation))
    partial = _correlation(observation[places], force[places], used[places], noise)
    correlated = RowNoise(noise.std, partial)
    rows, targets = correlated.weighed(observation, row_weights), correlated.weighed(force, row_weights)
    standard = targets - rows @ solve(rows.reshape(-1, count), targets.ravel())
    return RowNoise(np.maximum(noise.std * sizes(standard, used, count), noise_floor(force)), partial)


def _stretches(samples: int) -> Indices:
    """Places of the samples that are looked at: all, or so many in stretches over the whole recording."""
    if samples <= ENOUGH:
        return np.arange(samples)
    starts = np.linspace(0, samples - ENOUGH // STRETCHES, STRETCHES).astype(int)
    return np.concatenate([np.arange(start, start + ENOUGH // STRETCHES) for start in starts])


def _correlation(observation: Array, force: Array, used: NDArray[np.bool_], noise: RowNoise) -> Array:
    """Partial autocorrelations (p,) with the largest restricted likelihood, none where rows are too few."""
    count = observation.shape[-1]
    freedom = int(used.sum()) - count
    order = min(ORDER, freedom // ROWS_EACH)
    if order < 1 or (noise.std <= noise_floor(force)).all():
        return np.zeros(0)
    scale = np.maximum(np.linalg.norm((observation * used[..., None]).reshape(-1, count), axis=0), 1e-300)
    both = np.concatenate([observation / scale, force[..., None]], axis=-1)
    begin = np.zeros(order)
    begin[: len(noise.partial)] = np.arctanh(noise.partial[:order])

    def cost(angles: Array) -> float:
        """Negative restricted log-likelihood by row: its second derivatives are near to 1 (Fisher's z)."""
        now = RowNoise(noise.std, np.tanh(angles))
        found, deviations = now.innovations(both, used)
        weighed = (found / noise.std[:, None]).reshape(-1, count + 1)
        triangle = np.linalg.qr(weighed, mode='r')
        size = np.log(np.maximum(np.abs(np.diag(triangle)), 1e-300))
        return float((np.log(deviations).sum() + size[:-1].sum() + freedom * size[-1]) / freedom)

    limit = float(np.arctanh(LARGEST))
    found = minimize(
        cost, begin, method='L-BFGS-B', bounds=[(-limit, limit)] * order,
        options={'gtol': SETTLED / np.sqrt(freedom), 'ftol': SETTLED**2 / freedom},
    )  # fmt: skip
    return np.tanh(found.x)
