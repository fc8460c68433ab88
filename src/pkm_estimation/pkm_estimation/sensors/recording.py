"""Sensor signals of a machine along a motion, with the noise and biases of its file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.machine import Machine, PlatformMotion

from pkm_estimation.models.leg_model import measured_at_zero, measured_positions
from pkm_estimation.sensors.conditions import imu_truth


@dataclass(frozen=True)
class SensorData:
    """Synchronous samples.

    Attributes
    ----------
    stamps : (N,) ns
    drive_positions : (N, L) m or rad, as in ``joint_states``, legs in the machine's order
    specific_force, angular_rate : (N, 3) m/s^2, rad/s, IMU axes
    """

    stamps: NDArray[np.int64]
    drive_positions: Array
    specific_force: Array
    angular_rate: Array


def measure(
    machine: Machine, motion: PlatformMotion, seed: int | Sequence[int] | None = 0, start_stamp: int = 1_000_000_000
) -> SensorData:
    """Measure a motion with the machine's IMU and the sensors of its drives.

    Parameters
    ----------
    machine : with the noise, biases and mounting of its sensors
    motion : N samples of the platform's motion
    seed : of the white noise; ``None``: biases, but no noise
    start_stamp : ns, of the motion's first sample

    Returns
    -------
    N samples of both sensors, at the same stamps
    """
    legs = measured_positions(machine, motion.position, motion.rotation_base_platform)
    imu = machine.imu
    force, rate = imu_truth(motion, machine.gravity, imu.position, imu.rotation_platform_imu)
    force, rate = force + imu.accelerometer_bias, rate + imu.gyroscope_bias
    if seed is not None:
        random = np.random.default_rng(seed)
        force = force + imu.accelerometer_noise * random.normal(size=force.shape)
        rate = rate + imu.gyroscope_noise * random.normal(size=rate.shape)
        legs = legs + machine.leg_sensors.position_noise * random.normal(size=legs.shape)
    stamps = start_stamp + np.rint((motion.time - motion.time[0]) * 1e9).astype(np.int64)
    return SensorData(stamps, legs - measured_at_zero(machine), force, rate)
