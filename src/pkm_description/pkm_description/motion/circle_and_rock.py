"""Motion profile 1 of Miletovic et al. (2017): a horizontal circle with simultaneous roll and pitch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.polynomial import Polynomial

from pkm_description.arrays import Array
from pkm_description.kinematics.rotation import rotation_exp
from pkm_description.machine import PlatformMotion, Pose
from pkm_description.motion.envelope import SMOOTH_STEP, Envelope, product, smooth_step

#: paper frame (z down) to base frame (z up): its own inverse
Z_DOWN_TO_Z_UP = np.diag([1.0, -1.0, -1.0])


@dataclass(frozen=True)
class CircleAndRock:
    """MP1: circle of 0.5 m in 5 s; body rates p = q = 10 deg/s in 2.5 s, r = 0 (section 4.1, Table 2).

    Defined in the paper's z-down frame and carried into the base frame by diag(1, -1, -1). As p = q and r =
    0, the platform turns about its fixed axis (1, 1, 0)/sqrt(2), and the attitude is the exponential of the
    integrated rate, which is closed-form even through the fade. The fade-in multiplies circle and *rate* (as
    in the paper's lead-in of 10 s), the fade-out circle and *angle*, so that the platform ends at home, at
    rest.

    Attributes
    ----------
    home : centre of the circle, attitude at rest
    duration : s, the end of the fade-out
    radius : m
    rate_amplitude : rad/s, of p and of q
    circle_period, rock_period, fade_in, fade_out : s
    """

    home: Pose
    duration: float = 100.0
    radius: float = 0.5
    rate_amplitude: float = float(np.radians(10.0))
    circle_period: float = 5.0
    rock_period: float = 2.5
    fade_in: float = 10.0
    fade_out: float = 10.0

    def __post_init__(self) -> None:
        Envelope(self.duration, self.fade_in, self.fade_out)  # checks the fades

    def evaluate(self, time: Array) -> PlatformMotion:
        """Motion at any times (N,) s; at rest at home before 0 and after ``duration``."""
        time = np.asarray(time, dtype=float)
        x, y = self._circle(time)
        zero = np.zeros_like(time)
        fall = (
            smooth_step(self.duration - time, self.fade_out)
            if self.fade_out > 0.0
            else (zero + 1.0, zero, zero)
        )
        fade_out = (fall[0], -fall[1], fall[2])
        x, y = product(fade_out, x), product(fade_out, y)
        angle = product(fade_out, self._rock_angle(time))

        displacement, velocity, acceleration = (
            np.stack([x[order], y[order], zero], axis=1) @ Z_DOWN_TO_Z_UP for order in range(3)
        )
        # the axis is fixed in the platform and in its attitude at home, so it is fixed in the base too
        axis = self.home.rotation_base_platform @ Z_DOWN_TO_Z_UP @ np.array([1.0, 1.0, 0.0])
        return PlatformMotion(
            time=time,
            position=self.home.position + displacement,
            rotation_base_platform=rotation_exp(angle[0][:, None] * axis) @ self.home.rotation_base_platform,
            linear_velocity=velocity,
            angular_velocity=angle[1][:, None] * axis,
            linear_acceleration=acceleration,
            angular_acceleration=angle[2][:, None] * axis,
        )

    def _circle(self, time: Array) -> tuple[tuple[Array, Array, Array], tuple[Array, Array, Array]]:
        """Coordinates x, y (z down) with two derivatives; the phase is -90 deg at the end of the fade-in."""
        frequency = 2.0 * np.pi / self.circle_period
        phase = frequency * (time - self.fade_in) - np.pi / 2
        cosine, sine = self.radius * np.cos(phase), self.radius * np.sin(phase)
        fade = smooth_step(time, self.fade_in)
        x = product(fade, (cosine, -frequency * sine, -(frequency**2) * cosine))
        y = product(fade, (sine, frequency * cosine, -(frequency**2) * sine))
        return x, y

    def _rock_angle(self, time: Array) -> tuple[Array, Array, Array]:
        """Angle per component, its rate s(t) A sin(w (t - fade_in)) and acceleration."""
        frequency = 2.0 * np.pi / self.rock_period
        sine = self.rate_amplitude * np.sin(frequency * (time - self.fade_in))
        cosine = self.rate_amplitude * np.cos(frequency * (time - self.fade_in))
        fade = smooth_step(time, self.fade_in)
        rate, acceleration = fade[0] * sine, fade[1] * sine + fade[0] * frequency * cosine
        after = np.maximum(time - self.fade_in, 0.0)
        angle = self._faded_angle(np.clip(time, 0.0, self.fade_in))
        angle = angle + self.rate_amplitude / frequency * (1.0 - np.cos(frequency * after))
        return angle, rate, acceleration

    def _faded_angle(self, time: Array) -> Array:
        """Integral of the faded rate from 0 to times within the fade: polynomial times sine, by parts."""
        if self.fade_in == 0.0:
            return np.zeros_like(time)
        frequency = 2.0 * np.pi / self.rock_period
        fade: Polynomial = SMOOTH_STEP(Polynomial([0.0, 1.0 / self.fade_in]))
        # antiderivative of s sin(u) = C(t) cos(u) + S(t) sin(u):  C = -s/w + s''/w^3 - ..., S = s'/w^2 -
        # s'''/w^4 + ...
        cosine_part, sine_part = Polynomial([0.0]), Polynomial([0.0])
        for order in range(0, fade.degree() + 1, 2):
            sign = (-1.0) ** (order // 2)
            cosine_part = cosine_part - sign * fade.deriv(order) / frequency ** (order + 1)
            sine_part = sine_part + sign * fade.deriv(order + 1) / frequency ** (order + 2)

        def antiderivative(at: Array) -> Array:
            phase = frequency * (at - self.fade_in)
            return cosine_part(at) * np.cos(phase) + sine_part(at) * np.sin(phase)

        return self.rate_amplitude * (antiderivative(time) - antiderivative(np.zeros(())))
