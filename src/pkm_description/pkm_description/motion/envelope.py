"""Smooth fade-in and fade-out of a motion."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.polynomial import Polynomial

from pkm_description.arrays import Array

#: C3 step from 0 to 1 on [0, 1]: the first three derivatives vanish at both ends
SMOOTH_STEP = Polynomial([0.0, 0.0, 0.0, 0.0, 35.0, -84.0, 70.0, -20.0])


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
