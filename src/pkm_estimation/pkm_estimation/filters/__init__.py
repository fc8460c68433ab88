"""Kalman filters and integrators, independent of machines."""

from pkm_estimation.filters.interface import (
    INTEGRATORS,
    FunctionModel,
    FunctionStep,
    Integrator,
    MeasurementModel,
    ProcessStep,
)
from pkm_estimation.filters.iterated import ExtendedKalmanFilter, IteratedUnscentedFilter
from pkm_estimation.filters.kalman import CovarianceError, Innovation, KalmanFilter
from pkm_estimation.filters.unscented import ScaledUnscentedTransform, UnscentedKalmanFilter

__all__ = [
    'INTEGRATORS',
    'CovarianceError',
    'ExtendedKalmanFilter',
    'FunctionModel',
    'FunctionStep',
    'Innovation',
    'Integrator',
    'IteratedUnscentedFilter',
    'KalmanFilter',
    'MeasurementModel',
    'ProcessStep',
    'ScaledUnscentedTransform',
    'UnscentedKalmanFilter',
]
