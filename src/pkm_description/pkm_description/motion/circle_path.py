"""A circle at constant path speed: the test motion of Heimann & Abdellatif (Figs 4 and 5)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pkm_description.arrays import Array
from pkm_description.errors import ArgumentError
from pkm_description.machine import PlatformMotion, Pose
from pkm_description.motion.envelope import SMOOTH_STEP, smooth_step


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
