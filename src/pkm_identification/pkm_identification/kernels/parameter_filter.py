"""Kalman filters of parameters that do not move but for a random walk, in square-root form.

What is kept is the triangular factor of ``P = L L^T``, one column of L after the other as rows. Behind each column
stand the slopes of the m measured numbers along it: a measurement transforms the columns, and so, with the same
numbers, the slopes of those that follow (Carlson 1973). No covariance is ever formed, so that standard deviations may
differ by sixteen orders of magnitude and not by eight.
"""

from __future__ import annotations

from math import sqrt

from pkm_description.arrays import Array
from pkm_description.kernels.jit import kernel
from pkm_estimation.kernels.unscented import CorrectionData, FilterData, factorise, innovate


@kernel
def add_noise(columns: Array, size: int, variances: Array, work: Array) -> None:
    """Add variances (n,) of a random walk to the covariance, by rotations (Givens)."""
    for i in range(size):
        if variances[i] == 0.0:
            continue
        for k in range(i, size):
            work[k] = 0.0
        work[i] = sqrt(variances[i])
        for j in range(i, size):
            length = sqrt(columns[j, j] * columns[j, j] + work[j] * work[j])
            if length == 0.0:
                continue
            cosine, sine = columns[j, j] / length, work[j] / length
            for k in range(j, size):
                a, b = columns[j, k], work[k]
                columns[j, k] = cosine * a + sine * b
                work[k] = cosine * b - sine * a


@kernel
def set_slopes(columns: Array, size: int, jacobian: Array) -> None:
    """Slopes of the measured numbers along the columns, from their derivatives (m, n) by the parameters."""
    for j in range(size):
        for row in range(len(jacobian)):
            total = 0.0
            for i in range(j, size):
                total += jacobian[row, i] * columns[j, i]
            columns[j, size + row] = total


@kernel
def draw_parameter_points(columns: Array, state: Array, distance: float, points: Array) -> None:
    """Sigma points (2 n + 1, n): the state, and the state plus and less the scaled columns."""
    size = len(state)
    for i in range(size):
        points[0, i] = state[i]
    for j in range(size):
        for i in range(size):
            deviation = distance * columns[j, i] if i >= j else 0.0
            points[1 + j, i] = state[i] + deviation
            points[1 + size + j, i] = state[i] - deviation


@kernel
def take_measurement(
    columns: Array, state: Array, residual: Array, variances: Array, limit: float, work: Array, normalised: Array
) -> None:
    """Correct state and factor by measured numbers of independent noise, one after the other.

    Parameters
    ----------
    columns : (n, n + m) the factor and the slopes
    state : (n,)
    residual : (m,) measured minus predicted; used up
    variances : (m,) of the noise; infinite: the number is not used
    limit : in standard deviations of the innovation: a number beyond it is not used
    work : (n + m,) memory
    normalised : (m,) innovations divided by their standard deviations, as they come; NaN where not used
    """
    size, width = len(state), columns.shape[1]
    for row in range(width - size):
        normalised[row] = float('nan')
        if not variances[row] < float('inf'):
            continue
        total = variances[row]
        for j in range(size):
            total += columns[j, size + row] * columns[j, size + row]
        normalised[row] = residual[row] / sqrt(total)
        if abs(normalised[row]) > limit:
            continue
        for k in range(width):
            work[k] = 0.0
        before = variances[row]
        for j in range(size - 1, -1, -1):
            slope = columns[j, size + row]
            if slope == 0.0:
                continue
            after = before + slope * slope
            keep, less = sqrt(before / after), slope / sqrt(before * after)
            for k in range(j, width):
                old = columns[j, k]
                columns[j, k] = keep * old - less * work[k]
                work[k] += slope * old
            before = after
        innovation = residual[row] / before
        for i in range(size):
            state[i] += innovation * work[i]
        for later in range(row + 1, width - size):
            residual[later] -= innovation * work[size + later]


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
