"""Corrections for legs that also constrain the platform: first the constraints, then the drives."""

from __future__ import annotations

from math import inf

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array

from pkm_estimation.filters import Innovation, KalmanFilter
from pkm_estimation.models.leg_model import LegModel


def update_with_constraints(
    ukf: KalmanFilter,
    legs: LegModel,
    values: Array,
    noise: Array,
    noise_of_constraints: Array,
    used: NDArray[np.intp] | None = None,
    limit: float = inf,
) -> Innovation:
    """Correct with the drives' part of a measurement after its constraints; the innovation is that of the drives.

    Parameters
    ----------
    ukf, legs : the filter, and the model of what the legs measure
    values : (m,) as the legs' model gives them: drives, then constraints
    noise, noise_of_constraints : (m, m) for either correction
    used : drives to correct with; default all
    limit : NIS beyond which the drives' part is left out

    Raises
    ------
    CovarianceError
        A covariance is not positive definite.
    """
    drives = _onto_constraints(ukf, legs, values, noise_of_constraints)
    used = np.arange(drives) if used is None else used
    innovation = ukf.update_iterated(legs, values, noise, used, limit)
    return Innovation(innovation.residual[:drives], innovation.variance[:drives], innovation.nis)


def predicted_with_constraints(
    ukf: KalmanFilter, legs: LegModel, values: Array, noise: Array, noise_of_constraints: Array
) -> tuple[Array, Array]:
    """Innovation (A,) of the drives after the constraints, and its covariance (A, A); the state is not changed.

    Raises CovarianceError.
    """
    state, covariance = ukf.state.copy(), ukf.covariance.copy()
    drives = _onto_constraints(ukf, legs, values, noise_of_constraints)
    residual, spread = ukf.predicted_innovation(legs, values, noise)
    ukf.state[:], ukf.covariance[:] = state, covariance
    return residual[:drives], spread[:drives, :drives]


def _onto_constraints(ukf: KalmanFilter, legs: LegModel, values: Array, noise: Array) -> int:
    """Correct with the constraints, the last of ``values`` (m,); returns the number of values before them."""
    drives = len(values) - legs.constraint_count
    ukf.update_iterated(legs, values, noise, np.arange(drives, len(values)))
    return drives
