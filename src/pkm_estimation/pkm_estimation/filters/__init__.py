"""Kalman filters and integrators, independent of machines."""

from pkm_estimation.filters.extended import ExtendedKalmanFilter
from pkm_estimation.filters.interface import (
    INTEGRATORS,
    FunctionModel,
    FunctionStep,
    Integrator,
    MeasurementModel,
    ProcessStep,
)
from pkm_estimation.filters.kalman import CovarianceError, Innovation, KalmanFilter, Reading
from pkm_estimation.filters.unscented import ScaledUnscentedTransform, UnscentedKalmanFilter

__all__ = [
    'INTEGRATORS',
    'CovarianceError',
    'ExtendedKalmanFilter',
    'FunctionModel',
    'FunctionStep',
    'Innovation',
    'Integrator',
    'KalmanFilter',
    'MeasurementModel',
    'ProcessStep',
    'Reading',
    'ScaledUnscentedTransform',
    'UnscentedKalmanFilter',
]
