"""Kalman filters and integrators, independent of machines."""

from pkm_description.lazy_names import exported

from pkm_estimation.filters.interface import (
    INTEGRATORS,
    FunctionModel,
    FunctionStep,
    Integrator,
    MeasurementModel,
    ProcessStep,
)
from pkm_estimation.filters.kalman import (
    CovarianceError,
    ExtendedKalmanFilter,
    Innovation,
    KalmanFilter,
    Reading,
)
from pkm_estimation.filters.unscented import ScaledUnscentedTransform, UnscentedKalmanFilter

__all__ = exported(globals())
