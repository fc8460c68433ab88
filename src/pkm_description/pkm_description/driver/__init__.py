"""What a foreign driver publishes and takes, turned into the suite's convention and back; without ROS."""

from pkm_description.driver.driver import COMMAND_TOPIC, IMU_TOPIC, JOINT_TOPIC, STANDARD_DRIVER, Driver
from pkm_description.driver.effort import Channel, CommandConversion, EffortConversion
from pkm_description.driver.hall_sensor import HallSensor
from pkm_description.driver.imu import STANDARD_IMU, ImuConversion
from pkm_description.driver.linear import LinearConversion
from pkm_description.driver.periodic_error import PeriodicError, PeriodicErrorFit, fit_periodic_error
from pkm_description.driver.position import PositionConversion

__all__ = [
    'COMMAND_TOPIC',
    'IMU_TOPIC',
    'JOINT_TOPIC',
    'STANDARD_DRIVER',
    'STANDARD_IMU',
    'Channel',
    'CommandConversion',
    'Driver',
    'EffortConversion',
    'HallSensor',
    'ImuConversion',
    'LinearConversion',
    'PeriodicError',
    'PeriodicErrorFit',
    'PositionConversion',
    'fit_periodic_error',
]
