"""Iterated update for measurements that say far more than the prediction: posterior linearisation.

One unscented update linearises over the prior. Where the prior is a metre wide and the sensor is good to ten
micrometres, its answer is centimetres off and claims micrometres. So the measurement is linearised again over each
answer, with the prior unchanged, until the answer stays (Garcia-Fernandez, Svensson, Sarkka 2015).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from pkm_description.arrays import Array

from pkm_estimation.filters.unscented import CovarianceError, Indices, Innovation, UnscentedKalmanFilter

MAX_ITERATIONS = 30

#: the iteration ends when no state changes by more than this part of its standard deviation
_SETTLED = 1e-3


def iterated_update(
    ukf: UnscentedKalmanFilter,
    observe: Callable[[Array], Array],
    measurement: Array,
    noise_covariance: Array,
    longest_step: Array,
    used: Indices | None = None,
    begin: Array | None = None,
) -> Innovation:
    """Correct ``ukf`` with a measurement (m,), linearised around the result.

    Parameters
    ----------
    ukf, observe, measurement, noise_covariance, used : as in :meth:`UnscentedKalmanFilter.update`
    longest_step : (n,) largest change of each state in one iteration
    begin : (n,) where to linearise first; default: the prior mean

    Returns
    -------
    Innovation of the last linearisation: small where the measurement could be explained at all

    Raises
    ------
    CovarianceError
        A covariance is not positive definite, or the iteration does not settle.
    """
    rows = np.arange(len(measurement)) if used is None else used
    noise = noise_covariance[np.ix_(rows, rows)]
    prior, prior_covariance = ukf.state.copy(), ukf.covariance.copy()
    identity = np.eye(len(prior))
    if begin is not None:
        ukf.state[:] = begin
    for _ in range(MAX_ITERATIONS):
        slope, predicted, excess = _linearise(ukf, observe, rows)
        spread = slope @ prior_covariance @ slope.T + noise + excess
        gain = np.linalg.solve(spread, slope @ prior_covariance).T
        residual = measurement[rows] - predicted - slope @ (prior - ukf.state)
        step = prior + gain @ residual - ukf.state
        excess_step = float(np.abs(step / longest_step).max())
        ukf.state += step / max(1.0, excess_step)
        if excess_step <= 1.0:
            kept = identity - gain @ slope
            covariance = kept @ prior_covariance @ kept.T + gain @ (noise + excess) @ gain.T
            ukf.covariance[:] = 0.5 * (covariance + covariance.T)
            if np.abs(step / np.sqrt(covariance.diagonal())).max() < _SETTLED:
                return _innovation(residual, spread, rows, len(measurement))
    raise CovarianceError(f'the iterated update did not settle within {MAX_ITERATIONS} iterations')


def _linearise(
    ukf: UnscentedKalmanFilter, observe: Callable[[Array], Array], rows: Indices
) -> tuple[Array, Array, Array]:
    """Statistical linear regression over the filter's present distribution: slope, mean, covariance of the rest."""
    points = ukf.draw_points()
    deviations = points[:, 1:] - points[:, :1]
    values = observe(points)[rows]
    weight = ukf.transform.weight
    changes = values[:, 1:] - values[:, :1]
    shift = weight * changes.sum(axis=1)
    cross = weight * changes @ deviations.T
    slope = np.linalg.solve(ukf.covariance, cross.T).T
    spread = weight * changes @ changes.T + ukf.transform.shift_weight * np.outer(shift, shift)
    rest = spread - slope @ ukf.covariance @ slope.T
    # rounding can make the rest slightly indefinite where the model is linear
    values_, vectors = np.linalg.eigh(0.5 * (rest + rest.T))
    return slope, values[:, 0] + shift, (vectors * np.maximum(values_, 0.0)) @ vectors.T


def _innovation(residual: Array, spread: Array, rows: Indices, size: int) -> Innovation:
    full_residual, variance = np.full(size, np.nan), np.full(size, np.nan)
    full_residual[rows], variance[rows] = residual, spread.diagonal()
    return Innovation(full_residual, variance, float(residual @ np.linalg.solve(spread, residual)))
