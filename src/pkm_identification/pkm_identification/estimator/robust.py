"""Robust regression by iteratively re-weighted least squares: a few wrong rows no longer decide.

M-estimators after Huber (1981): rows whose residual is large against their leg's scale lose weight. The scale of a leg
is the median absolute residual, which outliers up to half of the rows do not move.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array

from pkm_identification.estimator.estimate import Estimate, SolverRecord
from pkm_identification.estimator.least_squares import conditions, noise_floor, relative_gradient, solve, weighted
from pkm_identification.estimator.residual_covariance import autocorrelation, honest_covariance

#: of normal residuals: standard deviation over median absolute deviation
MAD_TO_STD = 1.482602218505602

#: residuals, in standard deviations, from which rows lose weight (Huber) or count nothing (Tukey): 95 % efficiency for
#: normal residuals
TUNING = {'huber': 1.345, 'tukey': 4.685}


class Influence(NamedTuple):
    """Of standardised residuals: their weights, and the slopes of their scores."""

    weights: Array
    slopes: Array


def influence(standard: Array, loss: str, tuning: float) -> Influence:
    """Weights ``psi(r) / r`` and slopes ``psi'(r)`` of standardised residuals for ``huber`` or ``tukey``."""
    size = np.abs(standard)
    if loss == 'huber':
        inside = size <= tuning
        return Influence(np.where(inside, 1.0, tuning / np.maximum(size, 1e-300)), inside.astype(float))
    square = np.minimum((size / tuning) ** 2, 1.0)
    return Influence((1.0 - square) ** 2, (1.0 - square) * (1.0 - 5.0 * square))


def robust(
    observation: Array,
    force: Array,
    row_weights: Array | None = None,
    force_std: Array | None = None,
    loss: str = 'huber',
    tuning: float | None = None,
    iterations: int = 100,
    tolerance: float = 1e-10,
    correlation_lags: int = 0,
) -> Estimate:
    """M-estimate by iteratively re-weighted least squares.

    The covariance is that of the scores: ``H^-1 S H^-1`` with the mean slope of each leg's scores in H (Huber 1981,
    section 7.6) and S as of :func:`~pkm_identification.estimator.residual_covariance.honest_covariance`.

    Parameters
    ----------
    observation : (N, L, B)
    force : (N, L)
    row_weights : (N, L) factors in [0, 1] on rows; 0 drops a row
    force_std : (L,) known noise without outliers; ``None`` takes the median absolute residual of each leg
    loss : ``'huber'`` (convex, one solution) or ``'tukey'`` (outliers count nothing; starts from Huber's solution)
    tuning : see :data:`TUNING`
    iterations : at most
    tolerance : change of the parameters, in their standard deviations, at which iterations end
    correlation_lags : K
    """
    tuning = TUNING[loss] if tuning is None else tuning
    mask = np.ones(force.shape) if row_weights is None else np.asarray(row_weights, dtype=float)
    used = mask > 0.0
    start = weighted(observation, force, mask, force_std)
    parameters, steps = start.parameters, 0
    change = np.inf
    for stage in dict.fromkeys(('huber', loss)):
        limit = tuning if stage == loss else TUNING[stage]
        for _ in range(iterations):
            residuals = (force - observation @ parameters) * mask
            scale = _scales(residuals, used, force) if force_std is None else np.asarray(force_std, dtype=float)
            factors = np.sqrt(influence(residuals / scale, stage, limit).weights)
            weight = mask * factors / scale
            before = parameters
            parameters = solve((observation * weight[..., None]).reshape(-1, len(before)), (force * weight).ravel())
            steps += 1
            change = float(np.abs((parameters - before) / start.std).max())
            if change <= tolerance:
                break
    residuals = (force - observation @ parameters) * mask
    scale = _scales(residuals, used, force) if force_std is None else np.asarray(force_std, dtype=float)
    standard = residuals / scale
    found = influence(standard, loss, tuning)
    scores = found.weights * standard
    rows = observation * (mask / scale)[..., None]
    slopes = np.array([_mean(found.slopes[used[:, leg], leg]) for leg in range(force.shape[1])])
    return Estimate(
        parameters,
        honest_covariance(rows, scores, used, correlation_lags, slopes),
        scale,
        residuals,
        autocorrelation(scores, used, max(correlation_lags, 1)),
        *conditions((rows * np.sqrt(found.weights)[..., None]).reshape(-1, len(parameters))),
        SolverRecord(
            f'irls, {loss} loss with limit {tuning:g}, scale per leg by '
            f'{"median absolute residual" if force_std is None else "known noise"}',
            steps, change <= tolerance,
            {'gradient': relative_gradient(rows, scores, force * mask / scale), 'last change in sigmas': change},
            steps, 'change below tolerance' if change <= tolerance else f'{iterations} iterations',
        ),
        np.sqrt(found.weights) * used,
    )  # fmt: skip


def _mean(slopes: Array) -> float:
    """Mean slope of a leg's scores; that of rows which all are outliers is kept from zero."""
    return max(float(slopes.mean()), 0.05) if len(slopes) else 1.0


def _scales(residuals: Array, used: NDArray[np.bool_], force: Array) -> Array:
    """Scale (L,) of each leg's residuals by their median absolute value."""
    columns = [np.abs(residuals[used[:, leg], leg]) for leg in range(used.shape[1])]
    found = np.array([np.median(column) if len(column) else 1.0 for column in columns])
    return np.maximum(MAD_TO_STD * found, noise_floor(force))
