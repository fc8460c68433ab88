"""Six coordinates of a platform pose relative to home, and the motion that they describe over time.

Coordinates: displacement of the platform origin from home [m] and rotation vector from home [rad], both in
base axes: ``R = exp(theta) @ R_home``. The rotation vector's rate is not the angular velocity; the left
Jacobian of the rotation group takes one to the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import factorial

import numpy as np
from numpy.polynomial import Polynomial

from pkm_description.arrays import Array
from pkm_description.kinematics.rotation import rotation_exp, rotation_log, skew
from pkm_description.machine import PlatformMotion, Pose

#: C3 step from 0 to 1 on [0, 1]: the first three derivatives vanish at both ends
SMOOTH_STEP = Polynomial([0.0, 0.0, 0.0, 0.0, 35.0, -84.0, 70.0, -20.0])
# power series in the squared angle: no branch at zero, and 16 terms are exact to rounding up to half a turn
_TERMS = range(16)
_COSINE_SERIES = np.array([(-1) ** k / factorial(2 * k + 2) for k in _TERMS])  # (1 - cos x) / x^2
_SINE_SERIES = np.array([(-1) ** k / factorial(2 * k + 3) for k in _TERMS])  # (x - sin x) / x^3


def left_jacobian(vector: Array) -> Array:
    """Matrix (..., 3, 3) from the rate of a rotation vector (..., 3) to the angular velocity in base axes."""
    squared = np.sum(vector * vector, axis=-1)
    cosine, sine = (
        np.polynomial.polynomial.polyval(squared, series) for series in (_COSINE_SERIES, _SINE_SERIES)
    )
    generator = skew(vector)
    return np.eye(3) + cosine[..., None, None] * generator + sine[..., None, None] * (generator @ generator)


def left_jacobian_rate(vector: Array, rate: Array) -> Array:
    """Time derivative (..., 3, 3) of :func:`left_jacobian` of a rotation vector with given rate (..., 3)."""
    squared, squared_rate = np.sum(vector * vector, axis=-1), 2.0 * np.sum(vector * rate, axis=-1)
    value = np.polynomial.polynomial.polyval
    slope = np.polynomial.polynomial.polyder
    cosine, sine = value(squared, _COSINE_SERIES), value(squared, _SINE_SERIES)
    cosine_rate = value(squared, slope(_COSINE_SERIES)) * squared_rate
    sine_rate = value(squared, slope(_SINE_SERIES)) * squared_rate
    generator, generator_rate = skew(vector), skew(rate)
    return (
        cosine_rate[..., None, None] * generator
        + cosine[..., None, None] * generator_rate
        + sine_rate[..., None, None] * (generator @ generator)
        + sine[..., None, None] * (generator_rate @ generator + generator @ generator_rate)
    )


def angular_motion(vector: Array, rate: Array, second: Array) -> tuple[Array, Array]:
    """Angular velocity and acceleration (..., 3), base axes, of a rotation vector and its derivatives."""
    jacobian = left_jacobian(vector)
    velocity = (jacobian @ rate[..., None])[..., 0]
    acceleration = (jacobian @ second[..., None] + left_jacobian_rate(vector, rate) @ rate[..., None])[..., 0]
    return velocity, acceleration


def motion_from_coordinates(
    time: Array, coordinates: Array, rates: Array, second: Array, home: Pose
) -> PlatformMotion:
    """Motion of coordinates (N, 6) with their first and second time derivatives (N, 6) at times (N,) s."""
    angular_velocity, angular_acceleration = angular_motion(coordinates[:, 3:], rates[:, 3:], second[:, 3:])
    return PlatformMotion(
        time=np.asarray(time, dtype=float),
        position=home.position + coordinates[:, :3],
        rotation_base_platform=rotation_exp(coordinates[:, 3:]) @ home.rotation_base_platform,
        linear_velocity=rates[:, :3],
        angular_velocity=angular_velocity,
        linear_acceleration=second[:, :3],
        angular_acceleration=angular_acceleration,
    )


def pose_coordinates(position: Array, rotation_base_platform: Array, home: Pose) -> Array:
    """Coordinates (N, 6) of poses (N, 3) m, (N, 3, 3): inverse of :func:`motion_from_coordinates`."""
    vector = rotation_log(rotation_base_platform @ home.rotation_base_platform.T)
    return np.concatenate([position - home.position, vector], axis=1)


def smooth_step(time: Array, duration: float) -> tuple[Array, Array, Array]:
    """Smooth step from 0 at t <= 0 to 1 at t >= duration, with its first and second time derivatives.

    A zero duration is a jump at t = 0.
    """
    time = np.asarray(time, dtype=float)
    if duration <= 0.0:
        return np.where(time >= 0.0, 1.0, 0.0), np.zeros_like(time), np.zeros_like(time)
    phase = np.clip(time / duration, 0.0, 1.0)
    first, second = SMOOTH_STEP.deriv(1), SMOOTH_STEP.deriv(2)
    return SMOOTH_STEP(phase), first(phase) / duration, second(phase) / duration**2


@dataclass(frozen=True)
class Envelope:
    """Factor that rises smoothly from 0 to 1, stays, and falls back to 0 at ``duration``.

    Attributes
    ----------
    duration, fade_in, fade_out : s
    """

    duration: float
    fade_in: float
    fade_out: float

    def __post_init__(self) -> None:
        if self.fade_in < 0.0 or self.fade_out < 0.0 or self.fade_in + self.fade_out > self.duration:
            raise ValueError(
                f'fades of {self.fade_in} s and {self.fade_out} s do not fit into {self.duration} s; '
                'give a longer duration or shorter fades'
            )

    def evaluate(self, time: Array) -> tuple[Array, Array, Array]:
        """Value, first and second time derivative (N,) at times (N,) s."""
        rise = smooth_step(time, self.fade_in)
        if self.fade_out == 0.0:
            return rise
        fall = smooth_step(self.duration - np.asarray(time, dtype=float), self.fade_out)
        return product(rise, (fall[0], -fall[1], fall[2]))


def product(
    left: tuple[Array, Array, Array], right: tuple[Array, Array, Array]
) -> tuple[Array, Array, Array]:
    """Value, first and second derivative of a product of two functions given in the same way."""
    return (
        left[0] * right[0],
        left[1] * right[0] + left[0] * right[1],
        left[2] * right[0] + 2.0 * left[1] * right[1] + left[0] * right[2],
    )
