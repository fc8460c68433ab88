"""Backward elimination: what noise hides goes, what it does not hide stays, and the deviations are right."""

from __future__ import annotations

import numpy as np
import pytest
from pkm_description.dynamics.parameter_reduction.reduced_models import backward_elimination


def test_zero_parameters_go_and_large_ones_stay() -> None:
    random = np.random.default_rng(1)
    matrix = random.normal(size=(400, 8))
    truth = np.array([3.0, 0.0, -2.0, 0.0, 1.0, 0.0, 0.0, 5.0])
    result = backward_elimination(matrix, matrix @ truth + 0.1 * random.normal(size=400), range(1, 8))
    assert result.kept == (0, 2, 4, 7)
    assert sorted(result.dropped) == [1, 3, 5, 6]
    np.testing.assert_allclose(result.values, truth[list(result.kept)], atol=4 * 0.1 / np.sqrt(400))
    assert result.relative.max() < 0.15
    assert result.residual == pytest.approx(0.1, rel=0.1)


def test_parameters_that_are_no_candidates_stay() -> None:
    random = np.random.default_rng(2)
    matrix = random.normal(size=(100, 3))
    result = backward_elimination(matrix, matrix @ [1.0, 0.0, 0.0] + 0.01 * random.normal(size=100), [2])
    assert result.kept == (0, 1)


def test_standard_deviations_are_those_of_many_repetitions() -> None:
    random = np.random.default_rng(3)
    matrix = random.normal(size=(60, 3)) * [1.0, 10.0, 0.1]
    truth = np.array([1.0, 2.0, 30.0])
    results = [backward_elimination(matrix, matrix @ truth + 0.05 * random.normal(size=60), []) for _ in range(400)]
    spread = np.std([result.values for result in results], axis=0)
    stated = np.mean([result.standard_deviations for result in results], axis=0)
    np.testing.assert_allclose(stated, spread, rtol=0.12)


@pytest.mark.parametrize(
    ('matrix', 'message'),
    [
        (np.ones((2, 3)), 'do not determine'),
        (np.eye(5)[:, :3] * [1, 0, 1], 'column 1 is zero'),
        (np.ones((9, 2)), 'depend on each other'),
    ],
)
def test_bad_input_is_named(matrix: np.ndarray, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        backward_elimination(matrix, np.ones(len(matrix)), [0])
