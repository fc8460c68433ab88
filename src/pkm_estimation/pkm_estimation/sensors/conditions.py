"""Sensor errors as data: each effect can be switched separately; off by default except for noise and bias."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from pkm_estimation.sensors.imu_faults import ImuFault

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
