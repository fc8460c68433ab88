"""Simulated sensor signals along a motion: ideal, noisy and faulty."""

from pkm_description.lazy_names import exported

from pkm_estimation.sensors.conditions import ImuFault, SensorConditions, imu_truth
from pkm_estimation.sensors.simulated import SensorData, SimulatedData, measure, simulate_sensors

__all__ = exported(globals())
