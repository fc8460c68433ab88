"""Sensors and servo of a machine as plain immutable data."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from math import inf
from typing import NoReturn, cast

import numpy as np

from pkm_description.arrays import Array
from pkm_description.errors import ConfigurationError

#: random walks of the biases of a usual MEMS IMU, m/s^2 and rad/s per sqrt(s): those of a machine file that gives none
MEMS_ACCELEROMETER_WALK, MEMS_GYROSCOPE_WALK = 3e-4, 2e-5


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
    accelerometer_bias_walk, gyroscope_bias_walk : (3,) random walk of the biases, m/s^2 and rad/s per sqrt(s), IMU axes
    accelerometer_resolution, gyroscope_resolution : (3,) step of the digits, m/s^2 and rad/s; 0: not known to matter
    accelerometer_range, gyroscope_range : m/s^2 and rad/s, greatest number of an axis; infinite where it is not known
    accelerometer_matrix, gyroscope_matrix : (3, 3) what samples are multiplied by: scales, and axes that are not at
        right angles, as a calibration has found them
    """

    frame: str
    position: Array
    rotation_platform_imu: Array
    rate: float
    accelerometer_noise: Array
    gyroscope_noise: Array
    accelerometer_bias: Array
    gyroscope_bias: Array
    accelerometer_bias_walk: Array = field(default_factory=lambda: np.full(3, MEMS_ACCELEROMETER_WALK))
    gyroscope_bias_walk: Array = field(default_factory=lambda: np.full(3, MEMS_GYROSCOPE_WALK))
    accelerometer_resolution: Array = field(default_factory=lambda: np.zeros(3))
    gyroscope_resolution: Array = field(default_factory=lambda: np.zeros(3))
    accelerometer_range: float = inf
    gyroscope_range: float = inf
    accelerometer_matrix: Array = field(default_factory=lambda: np.eye(3))
    gyroscope_matrix: Array = field(default_factory=lambda: np.eye(3))

    @property
    def matrix(self) -> Array:
        """What pairs of vectors (6,) of samples are multiplied by (6, 6)."""
        zero = np.zeros((3, 3))
        return np.block([[self.accelerometer_matrix, zero], [zero, self.gyroscope_matrix]])

    def corrected_matrix(self, sensor: str, missing: Array) -> Array:
        """Matrix (3, 3) of a sensor whose samples lack so much of themselves (3, 3), platform axes."""
        turn = self.rotation_platform_imu
        matrix: Array = turn.T @ (np.eye(3) + missing) @ turn @ getattr(self, f'{sensor}_matrix')
        return matrix

    def readings(self, specific_force: Array, angular_rate: Array) -> tuple[Array, Array]:
        """Samples (..., 3) of what an IMU without bias feels (..., 3)."""
        force, rate = self._inverses
        return specific_force @ force.T, angular_rate @ rate.T

    @cached_property
    def _inverses(self) -> tuple[Array, Array]:
        force, rate = (np.linalg.inv(one).astype(float) for one in (self.accelerometer_matrix, self.gyroscope_matrix))
        return force, rate


@dataclass(frozen=True)
class LegSensors:
    """Sensors of the actuated joints; noise is a standard deviation per sample, one per leg (L,).

    ``position_noise`` m, ``velocity_noise`` m/s, ``effort_noise`` N; ``rate`` Hz; ``position_resolution`` m, step of
    the digits, 0: not known to matter; ``effort_delay`` s, by which efforts are late against positions of their stamp,
    and ``effort_lag`` s, time constant of a filter of first order that they have passed before.
    """

    rate: float
    position_noise: Array
    velocity_noise: Array
    effort_noise: Array
    position_resolution: Array | float = 0.0
    effort_delay: float = 0.0
    effort_lag: float = 0.0

    @property
    def lateness(self) -> tuple[float, float]:
        """``effort_delay`` and ``effort_lag``, s."""
        return self.effort_delay, self.effort_lag


@dataclass(frozen=True)
class ServoGains:
    """PD gains of the leg servo: ``stiffness`` N/m and ``damping`` N s/m per leg."""

    stiffness: float
    damping: float


class MissingSection:
    """In place of sensors or servo that a machine file does not have: whoever asks it for a number gets an error.

    Parameters
    ----------
    section : dotted key of the section
    example : how it could look in the machine file
    """

    def __init__(self, section: str, example: str) -> None:
        self.section, self.example = section, example

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith('_'):  # what copy and pickle ask for
            raise AttributeError(name)
        raise ConfigurationError(
            f'the machine file has no section {self.section}, whose {name} is needed here; add it to the file or in an '
            f'overlay, with the numbers of your machine, such as {self.example}'
        )


#: also of open chains, which have no platform to mount one on
NO_IMU = cast(
    ImuSensor,
    MissingSection(
        'sensors.imu',
        'sensors: {imu: {link: imu_link, xyz: [0.0, 0.0, 0.0], rpy: [0.0, 0.0, 0.0], rate: 100.0, '
        'accelerometer: {noise: [1.0e-2, 1.0e-2, 1.0e-2], bias: [0.0, 0.0, 0.0]}, '
        'gyroscope: {noise: [1.0e-3, 1.0e-3, 1.0e-3], bias: [0.0, 0.0, 0.0]}}}',
    ),
)

NO_LEG_SENSORS = cast(
    LegSensors,
    MissingSection(
        'sensors.legs',
        'sensors: {legs: {rate: 100.0, position_noise: 1.0e-5, velocity_noise: 1.0e-3, effort_noise: 1.0}}',
    ),
)

NO_SERVO = cast(ServoGains, MissingSection('servo', 'servo: {stiffness: 1.0e+5, damping: 1.0e+3}'))
