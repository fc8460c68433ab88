"""Filters and integrators; they know nothing about machines."""

from pkm_estimation.filters.extended import ExtendedKalmanFilter
from pkm_estimation.filters.integrators import INTEGRATORS, euler, heun, runge_kutta_4
from pkm_estimation.filters.unscented import CovarianceError, Innovation, UnscentedKalmanFilter
from pkm_estimation.filters.unscented_transform import ScaledUnscentedTransform

__all__ = [
    'INTEGRATORS',
    'CovarianceError',
    'ExtendedKalmanFilter',
    'Innovation',
    'ScaledUnscentedTransform',
    'UnscentedKalmanFilter',
    'euler',
    'heun',
    'runge_kutta_4',
]
