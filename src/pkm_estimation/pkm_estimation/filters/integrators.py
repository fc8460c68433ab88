"""One step of an explicit integrator for states driven by an input that is linear between two samples.

All have the signature ``(rate, states, work, duration)`` and change ``states`` (n, N) in place. The model provides
``rate(stage)``, which returns an array of the stage (n, N), and stages whose ``states`` and ``input`` it reads:
``work.start`` comes filled with the states and the input of the beginning, ``work.end`` with the input of the end.
``duration`` is an array of zero dimensions: ufuncs take it faster than a float.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Stage(Protocol):
    """What a rate is evaluated at: states (n, N) and input (m, N)."""

    states: Array
    input: Array


class Workspace(Protocol):
    """Stages of one step; ``total`` (n, N) is scratch memory."""

    start: Any
    middle: Any
    end: Any
    total: Array


Rate = Callable[[Any], Array]
Integrator = Callable[[Rate, Array, Any, Array], None]

_HALF: Array = np.array(0.5)


def euler(rate: Rate, states: Array, work: Workspace, duration: Array) -> None:
    """First order, input of the start only: what Miletovic et al. print (3.5)."""
    slope = rate(work.start)
    slope *= duration
    states += slope


def heun(rate: Rate, states: Array, work: Workspace, duration: Array) -> None:
    """Second order with the inputs of the start and of the end."""
    step, end = rate(work.start), work.end
    step *= duration
    np.add(states, step, end.states)
    slope = rate(end)
    slope *= duration
    step += slope
    step *= _HALF
    states += step


def runge_kutta_4(rate: Rate, states: Array, work: Workspace, duration: Array) -> None:
    """Fourth order; the input in the middle is the mean of both ends."""
    np.add(work.start.input, work.end.input, out=work.middle.input)
    work.middle.input *= 0.5
    total = work.total
    slope = rate(work.start)
    np.copyto(total, slope)
    for stage, reach, weight in ((work.middle, 0.5, 2.0), (work.middle, 0.5, 2.0), (work.end, 1.0, 1.0)):
        np.multiply(slope, reach * duration, out=stage.states)
        stage.states += states
        slope = rate(stage)
        total += weight * slope
    total *= duration / 6.0
    states += total


INTEGRATORS: dict[str, Integrator] = {'euler': euler, 'heun': heun, 'rk4': runge_kutta_4}
