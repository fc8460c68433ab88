"""Simulated sensor signals along a motion: ideal, noisy and faulty."""

from pkm_estimation.sensors.conditions import SensorConditions
from pkm_estimation.sensors.euler_truth import EulerTruth, euler_truth
from pkm_estimation.sensors.imu import imu_truth
from pkm_estimation.sensors.imu_faults import ImuFault
from pkm_estimation.sensors.recording import SensorData, measure
from pkm_estimation.sensors.simulated import SimulatedData, simulate_sensors

__all__ = [
    'EulerTruth',
    'ImuFault',
    'SensorConditions',
    'SensorData',
    'SimulatedData',
    'euler_truth',
    'imu_truth',
    'measure',
    'simulate_sensors',
]
