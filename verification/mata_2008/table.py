"""Table 1 of Mata et al. (2008): the 25 rigid-body base parameters of the 3-RPS, printed and in closed form."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from pkm_description.arrays import Array

from verification.mata_2008.regressor import parameter_names

#: rows as printed: factor and parameter; the first parameter names the combination here
PRINTED: tuple[tuple[tuple[float, str], ...], ...] = (
    ((1.0, 'mx1'),),
    ((1.0, 'my1'),),
    ((1.0, 'Izz1'), (1.0, 'Iyy2')),
    ((1.0, 'mx2'),),
    ((1.0, 'mz2'),),
    ((1.0, 'Ixx3'), (-0.3952, 'my3')),
    ((1.0, 'Ixy3'), (0.2282, 'my3')),
    ((1.0, 'Ixz3'),),
    ((1.0, 'Iyy3'), (0.3952, 'my3'), (-0.2082, 'm3'), (-0.2082, 'm2')),
    ((1.0, 'Iyz3'),),
    ((1.0, 'Izz3'), (-0.2082, 'm3'), (-0.2082, 'm2')),
    ((1.0, 'mx3'), (0.5774, 'my3'), (-0.4563, 'm3'), (-0.4563, 'm2')),
    ((1.0, 'mz3'),),
    ((1.0, 'mx4'),),
    ((1.0, 'my4'),),
    ((1.0, 'Izz4'), (1.0, 'Iyy5')),
    ((1.0, 'm5'), (-2.531, 'my3'), (1.0, 'm3'), (1.0, 'm2')),
    ((1.0, 'mx5'),),
    ((1.0, 'mz5'),),
    ((1.0, 'mx6'),),
    ((1.0, 'my6'),),
    ((1.0, 'Izz6'), (1.0, 'Iyy7')),
    ((1.0, 'm7'), (2.531, 'my3')),
    ((1.0, 'mx7'),),
    ((1.0, 'mz7'),),
)

#: parameters that the table regroups into others
ELIMINATED = ('m2', 'm3', 'my3', 'Iyy2', 'Iyy5', 'Iyy7')

#: rows (numbered from 1) that models 2 to 4 leave out or keep, and the sums of rows that model 3 makes of alike limbs
REMOVED_BY_MODEL_2 = (1, 4, 7, 8, 10, 13, 14, 18, 20, 24)
SUMS_OF_MODEL_3 = ((2, 15, 21), (3, 16, 22), (5, 19, 25))
KEPT_BY_MODEL_4 = (12, 17, 23)

#: values of these rows that Table 8 prints for the CAD model: kg m, kg, kg
PRINTED_CAD = {12: -2.47, 17: 10.83, 23: 5.42}


def heads() -> list[str]:
    """Names (25,) of the combinations."""
    return [row[0][1] for row in PRINTED]


def table_matrix(side: float | None) -> Array:
    """Matrix (25, 70) of the table: exact for a triangle of S joints with this side [m], as printed for None."""
    names = parameter_names()
    exact = {} if side is None else _closed_form(side)
    matrix = np.zeros((len(PRINTED), len(names)))
    for row, entries in enumerate(PRINTED):
        for factor, name in entries:
            matrix[row, names.index(name)] = np.sign(factor) * exact.get(abs(factor), abs(factor))
    return matrix


def rounding() -> Array:
    """Half a unit of the last printed digit of every factor, (25, 70)."""
    printed = table_matrix(None)
    result = np.zeros_like(printed)
    for place in np.argwhere((printed != 0.0) & (np.abs(printed) != 1.0)):
        digits = Fraction(str(printed[tuple(place)])).limit_denominator(10**6)
        result[tuple(place)] = 0.5 / (1000 if digits * 1000 % 1 == 0 else 10000)
    return result


def model_columns(base_columns: Array, model: int) -> Array:
    """Columns (..., 25, 15, 9 or 3) that rigid-body model 1, 2, 3 or 4 keeps of the base regressor (..., 25)."""
    if model == 1:
        return base_columns
    if model == 4:
        return base_columns[..., [row - 1 for row in KEPT_BY_MODEL_4]]
    kept = [row for row in range(1, 26) if row not in REMOVED_BY_MODEL_2]
    if model == 2:
        return base_columns[..., [row - 1 for row in kept]]
    summed = {row for group in SUMS_OF_MODEL_3 for row in group}
    alone = [base_columns[..., row - 1] for row in kept if row not in summed]
    together = [base_columns[..., [row - 1 for row in group]].sum(axis=-1) for group in SUMS_OF_MODEL_3]
    return np.stack([*alone, *together], axis=-1)


def _closed_form(side: float) -> dict[float, float]:
    """Exact value of every printed factor."""
    height = side * np.sqrt(3.0) / 2.0
    return {
        0.4563: side, 0.2082: side**2, 0.3952: height, 0.2282: side / 2.0, 0.5774: 1.0 / np.sqrt(3.0),
        2.531: 1.0 / height,
    }  # fmt: skip
