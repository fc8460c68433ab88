"""What a foreign driver publishes and takes, turned into the suite's convention and back; without ROS."""

from pkm_description.driver.driver import (
    COMMAND_TOPIC,
    IMU_TOPIC,
    JOINT_TOPIC,
    STANDARD_DRIVER,
    STANDARD_IMU,
    Channel,
    CommandConversion,
    Driver,
    EffortConversion,
    ImuConversion,
    ImuReading,
    LinearConversion,
    PositionConversion,
)
from pkm_description.driver.periodic_error import HallSensor, PeriodicError, PeriodicErrorFit, fit_periodic_error
from pkm_description.lazy_names import exported

__all__ = exported(globals())
