"""Estimators of parameters that take one sample at a time; pure mathematics, for any regressor or model.

All have ``update(regressor_or_model, forces, noise_variances)``, ``parameters``, ``covariance``, ``std``, ``samples``
and ``normalised_innovations``; :class:`HealthMonitor` watches any of them.
"""

from pkm_identification.estimator.recursive import RecursiveLeastSquares
from pkm_identification.online.estimators.health import EstimatorHealth, HealthMonitor
from pkm_identification.online.estimators.square_root import (
    ExtendedKalmanFilter,
    FeasibleBodies,
    FixedNoise,
    RandomWalk,
    RobbinsMonro,
    UnscentedKalmanFilter,
)

__all__ = [
    'EstimatorHealth', 'ExtendedKalmanFilter', 'FeasibleBodies', 'FixedNoise', 'HealthMonitor', 'RandomWalk',
    'RecursiveLeastSquares', 'RobbinsMonro', 'UnscentedKalmanFilter',
]  # fmt: skip
