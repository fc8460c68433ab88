"""Corrections for legs that also constrain the platform: first the constraints, then the drives."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array

from pkm_estimation.filters import Innovation, KalmanFilter
from pkm_estimation.models.leg_model import LegModel

#: corrects a filter with values (m,), their noise (m, m), which of them are used, and a limit of the NIS
Correct = Callable[[Array, Array, NDArray[np.intp] | None, float], Innovation]


def update_with_constraints(
    correct: Correct,
    legs: LegModel,
    values: Array,
    noise: Array,
    noise_of_constraints: Array,
    used: NDArray[np.intp] | None = None,
    limit: float = inf,
) -> tuple[Innovation, float]:
    """Correct with the drives' part of a measurement after its constraints.

    Parameters
    ----------
    correct, legs : corrects the filter, and the model of what the legs measure
    values : (m,) as the legs' model gives them: drives, then constraints
    noise, noise_of_constraints : (m, m) for either correction
    used : drives to correct with; default all
    limit : NIS beyond which the drives' part is left out

    Returns
    -------
    The innovation of the drives, and the NIS of the constraints

    Raises
    ------
    CovarianceError
        A covariance is not positive definite.
    """
    drives, nis = _onto_constraints(correct, legs, values, noise_of_constraints)
    used = np.arange(drives) if used is None else used
    innovation = correct(values, noise, used, limit)
    return Innovation(innovation.residual[:drives], innovation.variance[:drives], innovation.nis), nis


def predicted_with_constraints(
    ukf: KalmanFilter, correct: Correct, legs: LegModel, values: Array, noise: Array, noise_of_constraints: Array
) -> tuple[Array, Array]:
    """Innovation (A,) of the drives after the constraints, and its covariance (A, A); the state is not changed.

    Raises CovarianceError.
    """
    state, covariance, carried = ukf.state.copy(), ukf.covariance.copy(), ukf.carried.copy()
    drives, _ = _onto_constraints(correct, legs, values, noise_of_constraints)
    residual, spread = ukf.predicted_innovation(legs, values, noise)
    ukf.state[:], ukf.covariance[:], ukf.carried[:] = state, covariance, carried
    return residual[:drives], spread[:drives, :drives]


def _onto_constraints(correct: Correct, legs: LegModel, values: Array, noise: Array) -> tuple[int, float]:
    """Correct with the constraints, the last of ``values`` (m,); the number of values before them, and the NIS."""
    drives = len(values) - legs.constraint_count
    return drives, correct(values, noise, np.arange(drives, len(values)), inf).nis
