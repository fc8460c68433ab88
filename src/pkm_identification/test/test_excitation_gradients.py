"""The design of an excitation: its observation matrix, and its gradients."""

from __future__ import annotations

import numpy as np
import pytest
from known_machines import known_machine
from pkm_description.arrays import Array
from pkm_identification.excitation.objective import OBJECTIVES, ExcitationSettings, Objective
from pkm_identification.excitation.problem import ExcitationProblem
from pkm_identification.excitation.search import largest_amplitude

#: machines of every kind, and objectives and limits of every kind
CASES = {
    'palida': {'objective': 'condition', 'frequency_ratio': 2.0, 'max_acceleration': 5.0, 'harmonics': 2},
    'valencia_3rps': {'objective': 'd_optimal', 'harmonics': 3},
    'khalifa_3prr': {
        'objective': 'combined', 'sigma_weight': 2.0, 'end_conditions': ('position', 'velocity'),
        'max_displacement': 0.1, 'max_rotation': 0.2,
    },
    'octopod_8ups': {'objective': 'scaled_condition', 'harmonics': 2, 'samples': 30},
    'tricept': {'objective': 'condition', 'friction': 'none', 'harmonics': 3},
}


def _difference(values: list[Array], step: float) -> Array:
    """First derivative at 0 from values at -2, -1, 1, 2 steps, of fourth order."""
    return np.asarray((values[0] - 8.0 * values[1] + 8.0 * values[2] - values[3]) / (12.0 * step))


@pytest.mark.parametrize('name', CASES)
def test_gradients_are_those_of_the_variables(name: str) -> None:
    """Cost and limits against finite differences of fourth order along random directions."""
    problem = ExcitationProblem(known_machine(name), ExcitationSettings(**CASES[name]))
    random = np.random.default_rng(3)
    point = 0.5 * largest_amplitude(problem, problem.random(random), problem.ceiling)
    found = problem.point(point, 40.0, gradients=True)
    step = 1e-4 * float(np.abs(point).max())
    for _ in range(2):
        direction = random.normal(size=problem.size)
        direction /= np.linalg.norm(direction)
        near = [problem.point(point + factor * step * direction, 40.0) for factor in (-2, -1, 1, 2)]
        cost = _difference([np.array(one.cost) for one in near], step)
        assert abs(found.cost_gradient @ direction - cost) < 3e-6 * np.linalg.norm(found.cost_gradient)
        uses = _difference([one.smooth_uses for one in near], step)
        error = np.abs(found.use_gradients @ direction - uses)
        assert (error / np.linalg.norm(found.use_gradients, axis=1)).max() < 1e-7


@pytest.mark.parametrize('name', OBJECTIVES)
def test_objectives_and_their_derivatives(name: str) -> None:
    random = np.random.default_rng(0)
    matrix, change = random.normal(size=(2, 70, 6)) * [1.0, 10.0, 0.1, 3.0, 1.0, 5.0]
    objective = Objective(name, 0.5, 2.0)
    scaled = matrix / np.linalg.norm(matrix, axis=0) if name == 'scaled_condition' else matrix
    expected = {
        'condition': np.linalg.cond(matrix),
        'scaled_condition': np.linalg.cond(scaled),
        'd_optimal': -np.linalg.slogdet(matrix.T @ matrix)[1],
        'combined': 0.5 * np.linalg.cond(matrix) + 2.0 / np.linalg.norm(matrix, -2),
    }[name]
    assert objective.value(matrix) == pytest.approx(expected, rel=1e-12)
    cost, slope = objective.cost(matrix)
    assert objective.figure_of_cost(cost) == pytest.approx(expected, rel=1e-12)
    step = 1e-4
    numeric = _difference([np.array(objective.cost(matrix + k * step * change)[0]) for k in (-2, -1, 1, 2)], step)
    assert np.sum((slope.left.T @ slope.right) * change) == pytest.approx(float(numeric), rel=1e-8)
