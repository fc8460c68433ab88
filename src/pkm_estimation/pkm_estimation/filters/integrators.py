"""Explicit Runge-Kutta methods for states driven by an input that is known within the step.

Of these methods every stage needs the slope of the stage before it only. So two lists describe one: stage ``i`` lies
``nodes[i]`` steps behind the beginning, reached along the slope of stage ``i - 1``, and the step is the sum of all
slopes times ``weights``.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt


@dataclass(frozen=True)
class Integrator:
    """A method by its nodes and weights, both in parts of the step.

    Attributes
    ----------
    looks, mixture : where the input is looked at, and the parts of what is seen there in the input of each stage;
        empty: each stage looks at its own node
    """

    nodes: tuple[float, ...]
    weights: tuple[float, ...]
    looks: tuple[float, ...] = ()
    mixture: tuple[tuple[float, ...], ...] = ()


def _third_order() -> Integrator:
    """Heun's method of third order, with inputs whose first and second integral over the step are exact for cubics.

    At its own nodes it would lose the third power of a velocity's input, and the second of a position's. Radau's
    quadrature looks at the input; an input that is linear is the same at the nodes.
    """
    nodes, weights = (0.0, 1.0 / 3.0, 2.0 / 3.0), (0.25, 0.0, 0.75)
    looks = 0.0, 0.6 - 0.1 * sqrt(6.0), 0.6 + 0.1 * sqrt(6.0)
    parts = 1.0 / 9.0, (16.0 + sqrt(6.0)) / 36.0, (16.0 - sqrt(6.0)) / 36.0
    twice = [part * (1.0 - look) / (weights[2] * nodes[2]) for look, part in zip(looks, parts, strict=True)]
    once = [part / weights[2] for part in parts]
    once[0] -= weights[0] / weights[2]
    return Integrator(nodes, weights, looks, ((1.0, 0.0, 0.0), tuple(twice), tuple(once)))


INTEGRATORS: dict[str, Integrator] = {
    # first order, input of the start only: Miletovic et al. 2017, section 4
    'euler': Integrator((0.0,), (1.0,)),
    'heun': Integrator((0.0, 1.0), (0.5, 0.5)),
    'rk3': _third_order(),
    'rk4': Integrator((0.0, 0.5, 0.5, 1.0), (1.0 / 6.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 6.0)),
}
