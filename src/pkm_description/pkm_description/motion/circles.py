"""Circles (Heimann & Abdellatif, Figs 4, 5) and motion profile 1 of Miletovic et al. (2017)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.polynomial import Polynomial

from pkm_description.arrays import Array
from pkm_description.errors import ArgumentError
from pkm_description.kinematics.rotation import rotation_exp
from pkm_description.machine import PlatformMotion, Pose
from pkm_description.motion.coordinates import SMOOTH_STEP, Envelope, product, smooth_step

#: paper frame (z down) to base frame (z up): its own inverse
Z_DOWN_TO_Z_UP = np.diag([1.0, -1.0, -1.0])


@dataclass(frozen=True)
class CirclePath:
    """Horizontal circle about home; the platform keeps its attitude.

    The platform moves from home to the circle, rests, runs up to the path speed along the circle, does so many turns in
    all, runs down, rests, and moves home. All fades are C3. By default the paper's circle: 0.3 m of diameter at 1 m/s,
    6.67 rad/s and 6.67 m/s^2 towards the centre.

    Attributes
    ----------
    home : centre and attitude
    diameter : m
    speed : m/s, along the path
    turns : whole turns or not, the run-up and run-down included
    run_up : s, of the run-up and of the run-down
    approach : s, from home to the circle, and back
    rest : s, before the run-up and after the run-down

    Raises
    ------
    ArgumentError
        Fewer turns than the run-up and the run-down take, or a number that must be above zero and is not.
    """

    home: Pose
    diameter: float = 0.3
    speed: float = 1.0
    turns: float = 3.0
    run_up: float = 0.4
    approach: float = 1.0
    rest: float = 0.2

    def __post_init__(self) -> None:
        for name in ('diameter', 'speed', 'turns', 'run_up', 'approach'):
            if not getattr(self, name) > 0.0:
                raise ArgumentError(f'{name} = {getattr(self, name)}, expected a number above zero')
        if self._run < self.run_up:
            raise ArgumentError(
                f'turns = {self.turns}: the run-up and the run-down of {self.run_up} s need '
                f'{self.run_up / self._run * self.turns:.2f} turns at least'
            )

    @property
    def angular_speed(self) -> float:
        """Path speed over radius, rad/s."""
        return self.speed / (0.5 * self.diameter)

    @property
    def _run(self) -> float:
        """From the begin of the run-up to the begin of the run-down, s."""
        return 2.0 * np.pi * self.turns / self.angular_speed

    @property
    def on_circle(self) -> tuple[float, float]:
        """Begin of the run-up and end of the run-down, s."""
        start = self.approach + self.rest
        return start, start + self._run + self.run_up

    @property
    def constant_speed(self) -> tuple[float, float]:
        """Interval at full path speed, s."""
        start, end = self.on_circle
        return start + self.run_up, end - self.run_up

    @property
    def duration(self) -> float:
        """Of the whole motion, s."""
        return self.on_circle[1] + self.rest + self.approach

    def sample(self, rate: float) -> PlatformMotion:
        """Motion at times 0, 1/rate, ... Hz up to the rest at home."""
        return self.evaluate(np.arange(int(np.ceil(self.duration * rate)) + 1) / rate)

    def evaluate(self, time: Array) -> PlatformMotion:
        """Motion at any times (N,) s; at rest at home before 0 and after :attr:`duration`."""
        time = np.asarray(time, dtype=float)
        radius = 0.5 * self.diameter
        away, back = smooth_step(time, self.approach), smooth_step(self.duration - time, self.approach)
        distance = radius * (away[0] + back[0] - 1.0)
        distance_rate = radius * (away[1] - back[1])
        distance_second = radius * (away[2] + back[2])
        start = self.on_circle[0]
        up, down = (smooth_step(time - begin, self.run_up) for begin in (start, start + self._run))
        way = _integrated_step(time - start, self.run_up) - _integrated_step(time - start - self._run, self.run_up)
        angle, angle_rate, angle_second = (
            self.angular_speed * values for values in (way, up[0] - down[0], up[1] - down[1])
        )
        cosine, sine, zero = np.cos(angle), np.sin(angle), np.zeros_like(time)
        outward, forward = np.stack([cosine, sine, zero], axis=1), np.stack([-sine, cosine, zero], axis=1)
        still = np.zeros((len(time), 3))
        return PlatformMotion(
            time,
            self.home.position + distance[:, None] * outward,
            np.broadcast_to(self.home.rotation_base_platform, (len(time), 3, 3)).copy(),
            distance_rate[:, None] * outward + (distance * angle_rate)[:, None] * forward,
            still,
            (distance_second - distance * angle_rate**2)[:, None] * outward
            + (distance * angle_second + 2.0 * distance_rate * angle_rate)[:, None] * forward,
            still.copy(),
        )


def _integrated_step(time: Array, duration: float) -> Array:
    """Integral of the smooth step from 0 to times (N,)."""
    phase = np.clip(time / duration, 0.0, 1.0)
    return np.asarray(duration * SMOOTH_STEP.integ()(phase) + np.maximum(time - duration, 0.0))


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
