"""Estimators of parameters that take one sample at a time; pure mathematics, for any regressor or model.

All have ``update(regressor_or_model, forces, noise_variances)``, ``parameters``, ``covariance``, ``std``, ``samples``
and ``normalised_innovations``; :func:`unobserved_directions` names what their samples leave open.
"""

from pkm_identification.estimator.recursive import RecursiveLeastSquares
from pkm_identification.online.estimators.square_root import (
    ExtendedParameterFilter,
    FixedNoise,
    RandomWalk,
    RobbinsMonro,
    UnscentedParameterFilter,
    unobserved_directions,
)

__all__ = [
    'ExtendedParameterFilter', 'FixedNoise', 'RandomWalk', 'RecursiveLeastSquares', 'RobbinsMonro',
    'UnscentedParameterFilter', 'unobserved_directions',
]  # fmt: skip
