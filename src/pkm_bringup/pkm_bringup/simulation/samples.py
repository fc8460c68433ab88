"""Output of the simulator at one instant."""

from __future__ import annotations

from dataclasses import dataclass

from pkm_description.arrays import Array


@dataclass(frozen=True)
class ImuSample:
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
class TruthSample:
    """Noise-free platform motion of one instant; vectors (3,) in base axes, SI units."""

    position: Array
    rotation_base_platform: Array
    linear_velocity: Array
    angular_velocity: Array
    linear_acceleration: Array
    angular_acceleration: Array
    closure_error: float


@dataclass(frozen=True)
class Sample:
    """Everything of one instant; a sensor that has no sample then is None."""

    stamp_ns: int
    truth: TruthSample
    imu: ImuSample | None
    joints: JointSample | None
