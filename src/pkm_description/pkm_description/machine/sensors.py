"""Sensors and servo of a machine as plain immutable data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pkm_description.arrays import Array


@dataclass(frozen=True)
class ImuSensor:
    """Inertial measurement unit on the platform.

    Attributes
    ----------
    frame : link name
    position : (3,) m in ``platform_link``
    rotation_platform_imu : (3, 3), maps IMU axes to platform axes
    rate : Hz
    accelerometer_noise, gyroscope_noise : (3,) standard deviation per sample, m/s^2 and rad/s, IMU axes
    accelerometer_bias, gyroscope_bias : (3,) m/s^2 and rad/s, IMU axes
    """

    frame: str
    position: Array
    rotation_platform_imu: Array
    rate: float
    accelerometer_noise: Array
    gyroscope_noise: Array
    accelerometer_bias: Array
    gyroscope_bias: Array


#: of open chains, which have no platform to mount one on
NO_IMU = ImuSensor('', np.zeros(3), np.eye(3), 0.0, np.zeros(3), np.zeros(3), np.zeros(3), np.zeros(3))


@dataclass(frozen=True)
class LegSensors:
    """Sensors of the actuated joints; noise is a standard deviation per sample, one per leg (L,).

    ``position_noise`` m, ``velocity_noise`` m/s, ``effort_noise`` N; ``rate`` Hz.
    """

    rate: float
    position_noise: Array
    velocity_noise: Array
    effort_noise: Array


@dataclass(frozen=True)
class ServoGains:
    """PD gains of the leg servo: ``stiffness`` N/m and ``damping`` N s/m per leg."""

    stiffness: float
    damping: float
