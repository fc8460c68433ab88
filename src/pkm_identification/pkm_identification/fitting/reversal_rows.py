"""How near to a reversal rows are used: as near as their residuals are no larger than elsewhere.

Near a reversal the jump of Coulomb friction is misplaced, contacts are deflected before they slide, and the filter
spreads that error over some tenths of its period. How far, depends on the drive, the sensors and the sample rate; so
the recording itself is asked. The model is fitted to rows that are far from all reversals, and predicts the nearer ones
(predictive test, Chow 1960), from the far ones inwards. They are used up to where the prediction fails.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from scipy.stats import f as f_distribution

from pkm_identification.estimator.least_squares import noise_floor
from pkm_identification.fitting.model_fit import ModelFit
from pkm_identification.prepared_data import PreparedData

#: steps inwards and the nearest distance, in periods of the force cut-off
STEP, NEAREST = 0.1, 0.2
#: probability below which residuals are larger than those of the far rows; standard deviations of their mean by the
#: direction in which the drive turned
CHANCE, SIGMAS = 1e-3, 3.0


def reach_by_residuals(data: PreparedData, fit: ModelFit) -> float:
    """Periods of the force cut-off around reversals in which rows do not fit the model; see the module.

    Parameters
    ----------
    data : a prepared recording
    fit : of the model to its rows, which are far from reversals

    Returns
    -------
    float
        At most the reach of the fit.
    """
    reach = data.bands.reversal_reach
    distance, moving = data.reversals.distance * data.bands.force_cutoff, data.moving_rows > 0.0
    test = _PredictiveTest(fit, data.row_weights > 0.0)
    for inner in np.arange(reach - STEP, NEAREST - 0.5 * STEP, -STEP):
        near = moving & (distance < reach) & (distance > inner)
        if not all(test(rows, data.reversals.direction) for rows in (near, near & (distance <= inner + STEP))):
            return float(inner + STEP)
    return min(NEAREST, reach)


class _PredictiveTest:
    """Whether a fit to some rows predicts others."""

    def __init__(self, fit: ModelFit, used: NDArray[np.bool_]) -> None:
        estimate = fit.estimate
        noise = np.maximum(estimate.force_std, noise_floor(fit.row_forces))
        self._errors = fit.errors / noise
        self._columns, self._covariance = fit.rows / noise[:, None], estimate.covariance
        self._freedom = max(int(used.sum()) - fit.fitted_columns.shape[-1], 1)

    def __call__(self, rows: NDArray[np.bool_], direction: Array) -> bool:
        """Test of rows (n, A), also of their mean by the direction (n, A) in which the drive turned."""
        if not rows.any():
            return True
        errors, columns, signs = self._errors[rows], self._columns[rows], direction[rows]
        variance = 1.0 + np.einsum('rb,bc,rc->r', columns, self._covariance, columns)
        larger = float(f_distribution.sf(np.mean(errors**2 / variance), len(errors), self._freedom))
        mean_column = signs @ columns
        spread = float(np.sqrt(signs @ signs + mean_column @ self._covariance @ mean_column))
        return larger > CHANCE and abs(float(signs @ errors)) <= SIGMAS * spread
