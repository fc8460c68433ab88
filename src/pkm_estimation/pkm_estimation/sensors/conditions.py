"""Sensor errors as data: each effect can be switched separately; off by default except for noise and bias."""

from __future__ import annotations

from dataclasses import dataclass, fields
from math import inf, pi

import numpy as np
from pkm_description.arrays import Array
from pkm_description.kinematics.rotation import cross
from pkm_description.machine import PlatformMotion

#: what can be wrong with all samples of an interval
IMU_FAULTS = ('frozen', 'zeros', 'clipped', 'swapped_axes', 'upside_down', 'in_g', 'in_deg_per_s', 'gravity_removed')
_STANDARD_GRAVITY = 9.80665
Interval = tuple[float, float]


@dataclass(frozen=True)
class SensorConditions:
    """Faults of a simulated IMU and of simulated leg sensors (Miletovic et al. 2017, sections 4.2 and 5.2 to 5.4).

    Attributes
    ----------
    noise, bias : white noise and constant biases as in the machine file
    heavy_tails : noise of the same standard deviations with Student's t distribution of four degrees of freedom
    averaging : each IMU sample is the mean over its interval up to the stamp, not the value at the stamp
    imu_delay : s, how old a sample is at its stamp; one number, or six: specific force x, y, z, angular rate x, y, z
    imu_delay_fluctuation : s, standard deviation of a slow wandering of the delay, each axis by itself
    imu_delay_fluctuation_time : s, how slow
    imu_misalignment : rad, rotation vector from the IMU's nominal axes to its true ones
    gyroscope_drift : rad/s per s, of the biases
    leg_offsets : m, one number or one per leg
    burst_std : m, additional noise of all lengths at the same times
    burst_period, burst_duration : s, a burst at the end of each period
    accelerometer_step, gyroscope_step, length_step : quantisation, 0: none
    imu_loss, leg_loss : part of the samples that get lost at random
    imu_gaps, leg_gaps : intervals (begin, end) s after the first sample without samples
    imu_faults : failures of the IMU, one after the other
    """

    noise: bool = True
    bias: bool = True
    heavy_tails: bool = False
    averaging: bool = False
    imu_delay: float | tuple[float, ...] = 0.0
    imu_delay_fluctuation: float = 0.0
    imu_delay_fluctuation_time: float = 5.0
    imu_misalignment: tuple[float, float, float] = (0.0, 0.0, 0.0)
    gyroscope_drift: tuple[float, float, float] = (0.0, 0.0, 0.0)
    leg_offsets: float | tuple[float, ...] = 0.0
    burst_std: float = 0.0
    burst_period: float = 15.0
    burst_duration: float = 5.0
    accelerometer_step: float = 0.0
    gyroscope_step: float = 0.0
    length_step: float = 0.0
    imu_loss: float = 0.0
    leg_loss: float = 0.0
    imu_gaps: tuple[Interval, ...] = ()
    leg_gaps: tuple[Interval, ...] = ()
    imu_faults: tuple[ImuFault, ...] = ()

    def __post_init__(self) -> None:
        for entry in fields(self):
            value = getattr(self, entry.name)
            if entry.name == 'imu_faults':
                continue
            if not np.isfinite(np.asarray(value, dtype=float)).all():
                raise ValueError(f'{entry.name} = {value!r}: must be finite')
        for name in ('imu_delay_fluctuation', 'burst_std', 'accelerometer_step', 'gyroscope_step', 'length_step'):
            if getattr(self, name) < 0.0:
                raise ValueError(f'{name} = {getattr(self, name)!r}: must not be negative')
        for name in ('imu_loss', 'leg_loss'):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise ValueError(f'{name} = {getattr(self, name)!r}: must be a part, from 0 to 1')
        if np.size(self.imu_delay) not in (1, 6):
            raise ValueError(f'imu_delay = {self.imu_delay!r}: needs one number or six')
        if not (self.imu_delay_fluctuation_time > 0.0 and self.burst_period >= self.burst_duration >= 0.0):
            raise ValueError('imu_delay_fluctuation_time must be positive, burst_duration at most burst_period')


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


@dataclass(frozen=True)
class ImuFault:
    """A failure of the IMU.

    Attributes
    ----------
    kind : one of :data:`IMU_FAULTS`: the sample before is repeated; zeros; clipped at the ranges; axes exchanged in a
        circle; turned half about x; specific force in g; angular rate in deg/s; acceleration instead of specific force
    begin, end : s after the first sample
    ranges : m/s^2, rad/s, at which samples are clipped
    """

    kind: str
    begin: float = 0.0
    end: float = inf
    ranges: tuple[float, float] = (inf, inf)

    def __post_init__(self) -> None:
        if self.kind not in IMU_FAULTS:
            raise ValueError(f'kind = {self.kind!r}: must be one of {", ".join(IMU_FAULTS)}')
        if not self.begin < self.end:
            raise ValueError(f'begin = {self.begin}, end = {self.end}: must begin before it ends')
        if not min(self.ranges) > 0.0:
            raise ValueError(f'ranges = {self.ranges!r}: must be positive')

    def apply(self, signals: Array, elapsed: Array, gravity: Array) -> Array:
        """Signals with this failure.

        Parameters
        ----------
        signals : (N, 6) specific force and angular rate, IMU axes
        elapsed : (N,) s after the first sample
        gravity : (N, 3) m/s^2, IMU axes
        """
        rows = (elapsed >= self.begin) & (elapsed < self.end)
        result = signals.copy()
        if not rows.any():
            return result
        force, rate = signals[rows, :3], signals[rows, 3:]
        if self.kind == 'frozen':
            result[rows] = signals[rows][0]
        elif self.kind == 'zeros':
            result[rows] = 0.0
        elif self.kind == 'clipped':
            limits = np.repeat(self.ranges, 3)
            result[rows] = np.clip(signals[rows], -limits, limits)
        elif self.kind == 'swapped_axes':
            result[rows] = signals[rows][:, [1, 2, 0, 4, 5, 3]]
        elif self.kind == 'upside_down':
            result[rows] = signals[rows] * np.tile([1.0, -1.0, -1.0], 2)
        elif self.kind == 'in_g':
            result[rows, :3] = force / _STANDARD_GRAVITY
        elif self.kind == 'in_deg_per_s':
            result[rows, 3:] = rate * 180.0 / pi
        else:
            result[rows, :3] = force + gravity[rows]
        return result
