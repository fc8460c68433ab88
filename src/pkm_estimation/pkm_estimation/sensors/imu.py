"""Specific force and angular rate at the IMU's place on the platform."""

from __future__ import annotations

import numpy as np
from pkm_description.arrays import Array
from pkm_description.kinematics.rotation import cross
from pkm_description.machine import PlatformMotion


def imu_truth(
    motion: PlatformMotion, gravity: Array, imu_position: Array, rotation_platform_imu: Array
) -> tuple[Array, Array]:
    """Ideal IMU signals of a motion (Miletovic et al. 2017, Eq. 24: lever arm with angular acceleration).

    Parameters
    ----------
    motion : N samples
    gravity : (3,) m/s^2, base axes
    imu_position : (3,) m, platform axes
    rotation_platform_imu : (3, 3), maps IMU axes to platform axes

    Returns
    -------
    specific_force : (N, 3) m/s^2, IMU axes; +g upwards at rest
    angular_rate : (N, 3) rad/s, IMU axes
    """
    lever = motion.rotation_base_platform @ imu_position
    omega, alpha = motion.angular_velocity, motion.angular_acceleration
    acceleration = motion.linear_acceleration + cross(alpha, lever) + cross(omega, cross(omega, lever))
    rotation_base_imu = motion.rotation_base_platform @ rotation_platform_imu
    specific_force = np.squeeze((acceleration - gravity)[:, None] @ rotation_base_imu, axis=1)
    angular_rate = np.squeeze(omega[:, None] @ rotation_base_imu, axis=1)
    return specific_force, angular_rate
