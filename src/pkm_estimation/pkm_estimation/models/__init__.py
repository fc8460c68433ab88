"""Process and measurement models of a machine for the filters."""

from pkm_description.lazy_names import exported

from pkm_estimation.models.inertial_process import (
    ACCELEROMETER_BIAS,
    ATTITUDE,
    BIASES,
    GYROSCOPE_BIAS,
    POSE,
    POSITION,
    STATE_GROUPS,
    STATE_SIZE,
    VELOCITY,
    InertialProcess,
)
from pkm_estimation.models.leg_model import EstimatorGeometry, LegLengthModel

__all__ = exported(globals())
