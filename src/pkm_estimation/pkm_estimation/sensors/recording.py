"""Sensor signals of a machine along a motion, with the noise and biases of its file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.kinematics.rotation import cross, quaternion_from_matrix, skew
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


@dataclass(frozen=True)
class EulerTruth:
    """States and inputs that satisfy ``x[k+1] = x[k] + dt f(x[k], u[k])`` exactly.

    Attributes
    ----------
    position : (N, 3) m, of the IMU's point, base axes; the motion's own
    velocity : (N, 3) m/s, platform axes: difference quotient, half a step late
    attitude : (N, 3) vector part of the quaternion; the motion's own
    specific_force, angular_rate : (N, 3) m/s^2, rad/s, platform axes, without bias and noise
    """

    position: Array
    velocity: Array
    attitude: Array
    specific_force: Array
    angular_rate: Array


def euler_truth(motion: PlatformMotion, gravity: Array, imu_position: Array) -> EulerTruth:
    """Build the truth from the poses of a motion at equidistant times; the last two samples are used up.

    Parameters
    ----------
    motion : N + 2 samples, attitudes within half a turn of the base frame
    gravity : (3,) m/s^2, base axes
    imu_position : (3,) m, platform axes
    """
    interval = motion.time[1] - motion.time[0]
    rotation = motion.rotation_base_platform
    position = motion.position + rotation @ imu_position
    quaternion = quaternion_from_matrix(rotation)
    attitude = quaternion[:, :3]
    velocity = _to_platform(rotation[:-1], np.diff(position, axis=0) / interval)
    # Q(q) = (e0 I + [q]x) / 2, Eq. 18
    rate_matrix = 0.5 * (quaternion[:-1, 3, None, None] * np.eye(3) + skew(attitude[:-1]))
    rate = np.linalg.solve(rate_matrix, np.diff(attitude, axis=0)[..., None] / interval)[..., 0]
    force = np.diff(velocity, axis=0) / interval + cross(rate[:-1], velocity[:-1])
    force -= _to_platform(rotation[:-2], np.broadcast_to(gravity, force.shape))
    return EulerTruth(position[:-2], velocity[:-1], attitude[:-2], force, rate[:-1])


def _to_platform(rotation_base_platform: Array, vectors: Array) -> Array:
    turned: Array = np.squeeze(vectors[:, None] @ rotation_base_platform, axis=1)
    return turned
