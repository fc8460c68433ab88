"""One step of an explicit integrator for states driven by an input that is linear between two samples.

All have the signature ``(rate, states, start, end, duration, scratch)`` and change ``states`` (n, N) in place.
A *stage* is what ``rate`` needs: its first n rows are states, the others belong to the model and hold the input.
``start`` comes with the states and the input of the beginning, ``end`` with the input of the end; its states are filled
in here. ``rate(stage)`` returns an array that its next call overwrites; ``scratch`` (>= 2, n, N) is free memory.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Rate = Callable[[Array], Array]
Integrator = Callable[[Rate, Array, Array, Array, float, Array], None]


def euler(rate: Rate, states: Array, start: Array, end: Array, duration: float, scratch: Array) -> None:
    """First order, input of the start only: what Miletovic et al. print (3.5)."""
    slope = rate(start)
    slope *= duration
    states += slope


def heun(rate: Rate, states: Array, start: Array, end: Array, duration: float, scratch: Array) -> None:
    """Second order with the inputs of the start and of the end."""
    step, trial = scratch[0], end[: len(states)]
    np.multiply(rate(start), duration, out=step)
    np.add(states, step, out=trial)
    slope = rate(end)
    slope *= duration
    step += slope
    step *= 0.5
    states += step


def runge_kutta_4(rate: Rate, states: Array, start: Array, end: Array, duration: float, scratch: Array) -> None:
    """Fourth order; the input in the middle is the mean of both ends."""
    size = len(states)
    middle = 0.5 * (start + end)
    total, step = scratch[0], scratch[1]
    np.multiply(rate(start), duration, out=step)
    np.multiply(step, 1.0 / 6.0, out=total)
    for stage, previous_weight, weight in ((middle, 0.5, 1.0 / 3.0), (middle, 0.5, 1.0 / 3.0), (end, 1.0, 1.0 / 6.0)):
        np.multiply(step, previous_weight, out=stage[:size])
        stage[:size] += states
        np.multiply(rate(stage), duration, out=step)
        total += weight * step
    states += total


INTEGRATORS: dict[str, Integrator] = {'euler': euler, 'heun': heun, 'rk4': runge_kutta_4}
