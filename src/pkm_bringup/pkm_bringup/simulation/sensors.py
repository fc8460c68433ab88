"""Samples of the simulated sensors, with one reproducible stream of normal numbers per sensor."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np
from pkm_description.arrays import Array
from pkm_description.machine import ImuSensor, LegSensors, PlatformMotion

#: a fixed number per stream, so that a new sensor never changes the noise of the others
_STREAMS = {
    'accelerometer': 1, 'gyroscope': 2, 'joint_position': 3, 'joint_velocity': 4, 'joint_effort': 5,
    'encoder_position': 6, 'encoder_velocity': 7,
}  # fmt: skip


class NoiseStream:
    """White normal noise whose n-th row depends on seed, stream name and n only.

    Parameters
    ----------
    seed : of the run
    stream : a key of the table above
    std : (M,) standard deviation
    """

    def __init__(self, seed: int, stream: str, std: Array) -> None:
        self._generator = np.random.default_rng([seed, _STREAMS[stream]])
        self._std = np.asarray(std, dtype=float)

    def next(self) -> Array:
        """Noise of the next sample, (M,)."""
        return self._std * self._generator.standard_normal(len(self._std))


class ImuModel:
    """Adds bias and white noise of the machine file to true specific force and angular rate (IMU axes)."""

    def __init__(self, sensor: ImuSensor, seed: int, noise: bool) -> None:
        scale = 1.0 if noise else 0.0
        self._errors = [
            (scale * bias, NoiseStream(seed, name, scale * std))
            for name, bias, std in (
                ('accelerometer', sensor.accelerometer_bias, sensor.accelerometer_noise),
                ('gyroscope', sensor.gyroscope_bias, sensor.gyroscope_noise),
            )
        ]

    def measure(self, specific_force: Array, angular_rate: Array) -> SimulatedImuSample:
        """Measure true values (3,) m/s^2 and (3,) rad/s."""
        true = specific_force, angular_rate
        return SimulatedImuSample(
            *(value + bias + noise.next() for value, (bias, noise) in zip(true, self._errors, strict=True))
        )


class JointSensorModel:
    """Adds the machine file's white noise to true joint positions, velocities and drive forces.

    Forces have passed a filter of first order, and come late by whole samples, where the file says so.
    """

    def __init__(self, sensors: LegSensors, seed: int, noise: bool) -> None:
        scale = 1.0 if noise else 0.0
        self._noise = [
            NoiseStream(seed, f'joint_{name}', scale * getattr(sensors, f'{name}_noise'))
            for name in ('position', 'velocity', 'effort')
        ]
        self._past: deque[Array] = deque(maxlen=1 + max(0, round(sensors.effort_delay * sensors.rate)))
        self._lag = 2.0 * sensors.effort_lag * sensors.rate  # in half samples
        self._last = np.zeros(0)

    def measure(self, positions: Array, velocities: Array, efforts: Array) -> JointSample:
        """Measure true values (A,) m, m/s, N."""
        now = np.array(efforts)
        if self._lag and self._past:  # trapezoidal rule
            before = self._past[-1]
            self._past.append(before + (self._last + now - 2.0 * before) / (1.0 + self._lag))
        else:
            self._past.append(now)
        self._last = now
        true = positions, velocities, self._past[0]
        return JointSample(*(value + noise.next() for value, noise in zip(true, self._noise, strict=True)))


class Encoder:
    """What a drive's controller sees at every control period: white noise as in the machine file, then quantisation.

    Parameters
    ----------
    sensors : noise of positions and velocities
    seed : of the noise, whose streams are other ones than those of the published joint states
    resolution : m or rad, step of the measured positions; 0: none (PaLiDA: about 20 um, Heimann & Abdellatif)
    """

    def __init__(self, sensors: LegSensors, seed: int, resolution: float = 0.0) -> None:
        self._position = NoiseStream(seed, 'encoder_position', sensors.position_noise)
        self._velocity = NoiseStream(seed, 'encoder_velocity', sensors.velocity_noise)
        self._resolution = resolution

    def measure(self, positions: Array, velocities: Array) -> tuple[Array, Array]:
        """Measure true values (A,) m and m/s, or rad and rad/s."""
        positions = positions + self._position.next()
        if self._resolution:
            positions = self._resolution * np.round(positions / self._resolution)
        return positions, velocities + self._velocity.next()


@dataclass(frozen=True)
class SimulatedImuSample:
    """Measured ``specific_force`` (3,) m/s^2 (+g at rest) and ``angular_rate`` (3,) rad/s, IMU axes."""

    specific_force: Array
    angular_rate: Array


@dataclass(frozen=True)
class JointSample:
    """Measured ``positions`` m, ``velocities`` m/s and ``efforts`` N of the actuated joints, (A,) each."""

    positions: Array
    velocities: Array
    efforts: Array


@dataclass(frozen=True)
class Sample:
    """Everything of one instant; a sensor that has no sample then is None.

    Attributes
    ----------
    truth : noise-free motion of the platform, of this one instant
    closure_error : m, largest gap of a closed loop
    """

    stamp_ns: int
    truth: PlatformMotion
    closure_error: float
    imu: SimulatedImuSample | None
    joints: JointSample | None
