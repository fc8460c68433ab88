"""Least squares in information form: the triangle of ``R x = z``, to which rows are appended.

Reflections (Householder) run along rows, so that every inner loop is over numbers that stand side by side.
"""

from __future__ import annotations

from math import sqrt

from pkm_description.arrays import Array
from pkm_description.kernels.jit import kernel
from pkm_description.kernels.linalg import singular_columns


@kernel
def append_rows(matrix: Array, size: int, whole: bool, work: Array) -> None:
    """Make the first ``size`` columns of a matrix (rows, width) triangular, in place.

    Parameters
    ----------
    matrix : its first ``size`` rows are R and z, new rows stand below and are used up
    whole : R is no longer a triangle; otherwise nothing below its diagonal is read
    work : (width,) memory
    """
    rows, width = matrix.shape
    for j in range(size):
        first = j + 1 if whole else size
        squares = 0.0
        for i in range(first, rows):
            squares += matrix[i, j] * matrix[i, j]
        if squares == 0.0:
            continue
        head = matrix[j, j]
        diagonal = -sqrt(head * head + squares) if head > 0.0 else sqrt(head * head + squares)
        factor, scale = (diagonal - head) / diagonal, 1.0 / (head - diagonal)
        for k in range(j + 1, width):
            work[k] = matrix[j, k]
        for i in range(first, rows):
            matrix[i, j] *= scale
            entry = matrix[i, j]
            for k in range(j + 1, width):
                work[k] += entry * matrix[i, k]
        for k in range(j + 1, width):
            work[k] *= factor
            matrix[j, k] -= work[k]
        for i in range(first, rows):
            entry = matrix[i, j]
            for k in range(j + 1, width):
                matrix[i, k] -= entry * work[k]
            matrix[i, j] = 0.0
        matrix[j, j] = diagonal


@kernel
def substitute(matrix: Array, size: int, solution: Array) -> None:
    """Solve ``R x = z``; zeros where the diagonal of R is zero."""
    for i in range(size - 1, -1, -1):
        total = matrix[i, size]
        for k in range(i + 1, size):
            total -= matrix[i, k] * solution[k]
        solution[i] = total / matrix[i, i] if matrix[i, i] != 0.0 else 0.0


@kernel
def invert_triangle(matrix: Array, size: int, inverse: Array) -> bool:
    """Inverse of R; False where a diagonal entry is zero."""
    for i in range(size):
        if matrix[i, i] == 0.0:
            return False
    for i in range(size - 1, -1, -1):
        for k in range(size):
            inverse[i, k] = 0.0
        inverse[i, i] = 1.0
        for j in range(i + 1, size):
            entry = matrix[i, j]
            for k in range(j, size):
                inverse[i, k] -= entry * inverse[j, k]
        for k in range(i, size):
            inverse[i, k] /= matrix[i, i]
    return True


@kernel
def forget_all(matrix: Array, size: int, root: float) -> None:
    """Multiply R and z by the root of a factor."""
    for i in range(size):
        for k in range(i, matrix.shape[1]):
            matrix[i, k] *= root


@kernel
def forget_along(matrix: Array, size: int, share: float, directions: Array, work: Array) -> None:
    """Forget in the directions of the new rows only, and there no more than they bring.

    With ``W = R^-T A^T`` of the new rows A, the information becomes ``R^T (1 + W W^T) R``: the rows add ``s^2`` along
    each left singular vector u of W. Before they do, ``min(share, s^2)`` of what was known along u is taken away. So
    no direction ever knows less than before: the covariance cannot wind up, however long a direction is at rest.

    Parameters
    ----------
    matrix : (size + m, width) R and z, and the new rows below
    share : ``1 - forgetting``
    directions : (size, m) memory
    work : (width,) memory
    """
    count, width = len(matrix) - size, matrix.shape[1]
    for row in range(count):
        for i in range(size):
            directions[i, row] = matrix[size + row, i]
        for i in range(size):
            # a direction of which nothing is known has nothing to forget
            value = directions[i, row] / matrix[i, i] if matrix[i, i] != 0.0 else 0.0
            directions[i, row] = value
            for k in range(i + 1, size):
                directions[k, row] -= matrix[i, k] * value
    for i in range(size):
        for k in range(i):
            matrix[i, k] = 0.0
    singular_columns(directions, size, count)
    for row in range(count):
        squares = 0.0
        for i in range(size):
            squares += directions[i, row] * directions[i, row]
        if squares == 0.0:
            continue
        less = (1.0 - sqrt(1.0 - min(share, squares))) / squares
        for k in range(width):
            work[k] = 0.0
        for i in range(size):
            for k in range(width):
                work[k] += directions[i, row] * matrix[i, k]
        for i in range(size):
            amount = less * directions[i, row]
            for k in range(width):
                matrix[i, k] -= amount * work[k]


@kernel
def whitened_innovations(matrix: Array, size: int, directions: Array, root: Array, normalised: Array) -> None:
    """Innovations of the new rows below R and z, divided by the root of their covariance ``1 + A P A^T``.

    NaN where the rows so far do not determine the prediction.

    Parameters
    ----------
    matrix : (size + m, size + 1)
    directions, root : (size, m), (m, m) memory
    normalised : (m,) the result
    """
    for row in range(len(normalised)):
        normalised[row] = matrix[size + row, size]
        for i in range(size):
            directions[i, row] = matrix[size + row, i]
        for i in range(size):
            if matrix[i, i] == 0.0:
                if directions[i, row] != 0.0:
                    normalised[row] = float('nan')
                continue
            value = directions[i, row] / matrix[i, i]
            directions[i, row] = value
            normalised[row] -= value * matrix[i, size]
            for k in range(i + 1, size):
                directions[k, row] -= matrix[i, k] * value
        for before in range(row + 1):
            total = 1.0 if before == row else 0.0
            for i in range(size):
                total += directions[i, row] * directions[i, before]
            for k in range(before):
                total -= root[row, k] * root[before, k]
            root[row, before] = sqrt(total) if before == row else total / root[before, before]
        for before in range(row):
            if normalised[before] == normalised[before]:
                normalised[row] -= root[row, before] * normalised[before]
        normalised[row] /= root[row, row]
