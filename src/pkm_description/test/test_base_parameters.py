"""Numeric reduction to base parameters: ranks, choices, readable combinations."""

from __future__ import annotations

import numpy as np
import pytest
from pkm_description.dynamics.parameter_reduction.reduction import reduce_parameters


def example(seed: int = 0) -> tuple[np.ndarray, list[str]]:
    """Columns a, b, c, 2a + 3b, zero."""
    free = np.random.default_rng(seed).normal(size=(200, 3)) * [1.0, 1e4, 1e-3]
    a, b, c = free.T
    return np.column_stack([a, b, c, 2.0 * a + 3e-4 * b, 0.0 * a]), ['a', 'b', 'c', 'd', 'e']


def test_rank_and_readable_combinations() -> None:
    """Dependent columns are regrouped with their true factors, absent ones are named."""
    base = reduce_parameters(*example())
    assert base.names == ('a + 2 d', 'b + 0.0003 d', 'c')
    assert list(base.absent) == [4]


def test_forces_are_the_same() -> None:
    """Base columns times base values give the forces of all full parameters, for other data than the reduction's."""
    base = reduce_parameters(*example())
    other, _ = example(5)
    full = np.array([1.0, -2.0, 3.0, 4.0, 5.0])
    assert base.columns(other) @ base.values(full) == pytest.approx(other @ full, rel=1e-12, abs=1e-9)


def test_order_decides_ties_not_rounding() -> None:
    """Equal columns: the first name heads, whatever tiny error the columns carry."""
    a = np.random.default_rng(1).normal(size=100)
    for noise in (-1e-13, 0.0, 1e-13):
        base = reduce_parameters(np.column_stack([a, a * (1.0 + noise), -a]), ['x', 'y', 'z'])
        assert base.names == ('x + y - z',)


def test_tolerance_is_relative() -> None:
    """Units of parameters and forces do not change the rank."""
    matrix, names = example()
    for factor in (1e-9, 1e9):
        assert len(reduce_parameters(matrix * factor, names)) == 3
        assert len(reduce_parameters(matrix * [factor, 1.0, 1.0, 1.0, 1.0], names)) == 3


def test_rounding_of_zero_is_no_parameter() -> None:
    """Noise far below all columns would else be scaled up to a column of its own."""
    matrix, names = example()
    matrix[:, 4] = 1e-11 * np.random.default_rng(6).normal(size=len(matrix))  # the largest column has 1e4
    assert list(reduce_parameters(matrix, names).absent) == [4]
    assert len(reduce_parameters(matrix, names, absence=1e-17)) == 4
    assert list(reduce_parameters(matrix * [1.0, 1.0, 1.0, 1.0, 1e3], names, absence=1e-11).absent) == [4]


def test_bad_input_is_refused() -> None:
    """NaN and wrong shapes say what is wrong."""
    matrix, names = example()
    with pytest.raises(ValueError, match='expected'):
        reduce_parameters(matrix, names[:-1])
    matrix[3, 2] = np.nan
    with pytest.raises(ValueError, match='NaN'):
        reduce_parameters(matrix, names)


def test_preferred_parameters_head_and_eliminated_ones_are_regrouped() -> None:
    """The choice of the user comes before the order of names; forces stay the same."""
    matrix, names = example()
    base = reduce_parameters(matrix, names, preferred=['d', 'b'])
    assert base.names == ('b - 0.00015 a', 'c', 'd + 0.5 a')
    assert reduce_parameters(matrix, names, eliminated=['[ac]']).names == ('b - 0.00015 a', 'c', 'd + 0.5 a')
    # c was not regrouped: nothing else produces its forces
    assert reduce_parameters(matrix, names, eliminated=['c', 'b']).names == ('a - 6667 b', 'c', 'd + 3333 b')
    other, full = example(9)[0], np.array([1.0, -2.0, 3.0, 4.0, 5.0])
    assert base.columns(other) @ base.values(full) == pytest.approx(other @ full, rel=1e-12, abs=1e-9)
    with pytest.raises(ValueError, match="eliminated: 'q' matches none"):
        reduce_parameters(matrix, names, eliminated=['q'])
    with pytest.raises(ValueError, match='a is both preferred and eliminated'):
        reduce_parameters(matrix, names, eliminated=['a'], preferred=['?'])


def test_null_directions_change_no_force() -> None:
    """Unidentifiable combinations: as many as parameters are lost, and none of them moves a force."""
    matrix, names = example()
    base = reduce_parameters(matrix, names)
    assert base.null_texts() == ('e', 'd - 2 a - 0.0003 b')
    assert np.linalg.matrix_rank(base.null_directions) == len(names) - len(base) == 2
    scale = np.abs(matrix).max()
    assert np.abs(example(3)[0] @ base.null_directions.T).max() < 1e-12 * scale


def test_gap_tells_how_certain_the_rank_is() -> None:
    """Columns that agree to 1e-6 leave a gap of that order; exact ones a gap down to rounding."""
    matrix, names = example()
    assert reduce_parameters(matrix, names).gap > 1e12
    assert reduce_parameters(matrix[:, :3], names[:3]).gap == np.inf
    matrix[:, 3] *= 1.0 + 1e-6 * np.random.default_rng(2).normal(size=len(matrix))
    assert len(reduce_parameters(matrix, names)) == 4
    loose = reduce_parameters(matrix, names, tolerance=1e-4)
    assert len(loose) == 3
    assert 1e5 < loose.gap < 1e7
    # the singular values are those of the column-normalised matrix
    expected = np.linalg.svd(matrix[:, :4] / np.linalg.norm(matrix[:, :4], axis=0), compute_uv=False)
    assert loose.singular_values == pytest.approx(expected, rel=1e-6, abs=1e-12)


def test_digits_of_readable_combinations() -> None:
    a, b = np.random.default_rng(4).normal(size=(2, 50))
    base = reduce_parameters(np.column_stack([a, b, a / 3.0 - 2.0 * b]), ['a', 'b', 'c'])
    assert base.texts(2) == ('a + 0.33 c', 'b - 2 c')
    assert base.texts(6) == ('a + 0.333333 c', 'b - 2 c')
