"""Simulated sensor signals along a motion: ideal, noisy and faulty."""

from pkm_estimation.sensors.conditions import ImuFault, SensorConditions, imu_truth
from pkm_estimation.sensors.simulated import (
    EulerTruth,
    SensorData,
    SimulatedData,
    euler_truth,
    measure,
    simulate_sensors,
)

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
