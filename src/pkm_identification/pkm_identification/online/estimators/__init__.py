"""Estimators of parameters that take one sample at a time; pure mathematics, for any regressor or model.

All have ``update(regressor_or_model, forces, noise_variances)``, ``parameters``, ``covariance``, ``std``, ``samples``
and ``normalised_innovations``; :class:`ParameterMonitor` watches any of them.
"""

from pkm_identification.estimator.recursive import RecursiveLeastSquares
from pkm_identification.online.estimators.health import EstimatorHealth, ParameterMonitor
from pkm_identification.online.estimators.square_root import (
    ExtendedParameterFilter,
    FeasibleBodies,
    FixedNoise,
    RandomWalk,
    RobbinsMonro,
    UnscentedParameterFilter,
)

__all__ = [
    'EstimatorHealth', 'ExtendedParameterFilter', 'FeasibleBodies', 'FixedNoise', 'ParameterMonitor', 'RandomWalk',
    'RecursiveLeastSquares', 'RobbinsMonro', 'UnscentedParameterFilter',
]  # fmt: skip
