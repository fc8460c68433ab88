"""What ideal and real sensors measure along a motion."""

from pkm_estimation.sensors.imu import imu_truth
from pkm_estimation.sensors.recording import SensorData, measure

__all__ = ['SensorData', 'imu_truth', 'measure']
