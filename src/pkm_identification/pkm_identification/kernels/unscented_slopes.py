"""Slopes along the columns of a covariance's factor from sigma points, for the square-root filter of parameters."""

from __future__ import annotations

from pkm_description.arrays import Array
from pkm_description.kernels.jit import kernel
from pkm_estimation.kernels.unscented import CorrectionData, FilterData, factorise, innovate


@kernel
def independent_slopes(filter_: FilterData, correction: CorrectionData, columns: Array, residual: Array) -> bool:
    """Put the slopes behind the columns, divided, as the residual (m,) is, by the root of the noise E.

    E is the noise of the forces and what the model's curvature adds (see :mod:`pkm_estimation.kernels.unscented`). In
    the result the noise of each number is of size 1 and independent. Numbers that are not used get zeros.

    Returns
    -------
    whether E is positive definite
    """
    innovate(filter_, correction)
    size, count = len(columns), correction.used_count[0]
    root, slopes = correction.excess_root, correction.slopes
    if not factorise(correction.excess, count, root):
        return False
    for row in range(len(residual)):
        residual[row] = 0.0
        for j in range(size):
            columns[j, size + row] = 0.0
    for row in range(count):
        number, value = correction.used[row], correction.residual[correction.used[row]]
        for before in range(row):
            value -= root[row, before] * residual[correction.used[before]]
            for j in range(size):
                slopes[row, j] -= root[row, before] * slopes[before, j]
        residual[number] = value / root[row, row]
        for j in range(size):
            slopes[row, j] /= root[row, row]
            columns[j, size + number] = slopes[row, j]
    return True
