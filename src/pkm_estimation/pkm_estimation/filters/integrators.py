"""Explicit Runge-Kutta methods for states driven by an input that is linear between two samples.

Of these methods every stage needs the slope of the stage before it only. So two lists describe one: stage ``i`` lies
``nodes[i]`` steps behind the beginning, reached along the slope of stage ``i - 1``, and the step is the sum of all
slopes times ``weights``.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Integrator:
    """A method by its nodes and weights, both in parts of the step."""

    nodes: tuple[float, ...]
    weights: tuple[float, ...]


INTEGRATORS: dict[str, Integrator] = {
    # first order, input of the start only: Miletovic et al. 2017, section 4
    'euler': Integrator((0.0,), (1.0,)),
    'heun': Integrator((0.0, 1.0), (0.5, 0.5)),
    # Heun's method of third order
    'rk3': Integrator((0.0, 1.0 / 3.0, 2.0 / 3.0), (0.25, 0.0, 0.75)),
    'rk4': Integrator((0.0, 0.5, 0.5, 1.0), (1.0 / 6.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 6.0)),
}
