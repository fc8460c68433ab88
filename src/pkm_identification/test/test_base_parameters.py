"""Numeric reduction to base parameters."""

from __future__ import annotations

import numpy as np
import pytest
from pkm_identification.base_parameters import reduce_parameters


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


def test_bad_input_is_refused() -> None:
    """NaN and wrong shapes say what is wrong."""
    matrix, names = example()
    with pytest.raises(ValueError, match='expected'):
        reduce_parameters(matrix, names[:-1])
    matrix[3, 2] = np.nan
    with pytest.raises(ValueError, match='NaN'):
        reduce_parameters(matrix, names)
