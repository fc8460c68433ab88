"""Filters and integrators; they know nothing about machines."""

from pkm_estimation.filters.extended import ExtendedKalmanFilter
from pkm_estimation.filters.integrators import INTEGRATORS, Integrator
from pkm_estimation.filters.unscented import CovarianceError, Innovation, UnscentedKalmanFilter
from pkm_estimation.filters.unscented_transform import ScaledUnscentedTransform

__all__ = [
    'INTEGRATORS',
    'CovarianceError',
    'ExtendedKalmanFilter',
    'Innovation',
    'Integrator',
    'ScaledUnscentedTransform',
    'UnscentedKalmanFilter',
]
