"""Kalman filters and integrators, independent of machines."""

from pkm_estimation.filters.extended import ExtendedKalmanFilter
from pkm_estimation.filters.integrators import INTEGRATORS, Integrator
from pkm_estimation.filters.interface import FunctionModel, FunctionStep, MeasurementModel, ProcessStep
from pkm_estimation.filters.iterated import IteratedUnscentedFilter
from pkm_estimation.filters.kalman import CovarianceError, Innovation, KalmanFilter
from pkm_estimation.filters.unscented import UnscentedKalmanFilter
from pkm_estimation.filters.unscented_transform import ScaledUnscentedTransform

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
