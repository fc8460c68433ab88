"""Small dense linear algebra in place: Householder's QR and triangular solves, for matrices of a few rows."""

from __future__ import annotations

import math

from pkm_description.arrays import Array
from pkm_description.kernels.jit import kernel

Vector = tuple[float, float, float]
#: cosine below which columns count as perpendicular: singular values are then good to its square, or to itself where
#: two are alike
PERPENDICULAR = 1e-9

MOST_SWEEPS = 30


@kernel
def reflect_columns(matrix: Array, factors: Array, rows: int, first: int, last: int, width: int) -> None:
    """Householder's QR of columns ``first`` .. ``last - 1`` of a matrix (rows, width), in place.

    Column j is eliminated below row j, and the reflection is applied to all columns behind it, right-hand sides
    included. R stands on and above the diagonal; the reflections stay below it, their factors in ``factors``, for
    :func:`reflect`. A column needs a row of its own: ``last <= rows``.
    """
    for j in range(first, last):
        squares = 0.0
        for i in range(j, rows):
            squares += matrix[i, j] * matrix[i, j]
        length = math.sqrt(squares)
        factors[j] = 0.0
        if length == 0.0:
            continue
        head = matrix[j, j]
        diagonal = -length if head > 0.0 else length
        # v = (1, column below the diagonal / (head - diagonal)), H = 1 - factor v v^T
        factors[j] = (diagonal - head) / diagonal
        scale = 1.0 / (head - diagonal)
        matrix[j, j] = diagonal
        for i in range(j + 1, rows):
            matrix[i, j] *= scale
        for k in range(j + 1, width):
            total = matrix[j, k]
            for i in range(j + 1, rows):
                total += matrix[i, j] * matrix[i, k]
            total *= factors[j]
            matrix[j, k] -= total
            for i in range(j + 1, rows):
                matrix[i, k] -= total * matrix[i, j]


@kernel
def independence(matrix: Array, columns: int) -> float:
    """How far columns are from dependent, by their QR: 0 where one depends on others, 1 where all are perpendicular.

    The smallest ratio of a diagonal entry of R to the length of its column.
    """
    smallest = 1.0
    for j in range(columns):
        squares = 0.0
        for i in range(j + 1):
            squares += matrix[i, j] * matrix[i, j]
        ratio = matrix[j, j] * matrix[j, j] / squares if squares != 0.0 else 0.0
        if not ratio >= smallest:
            smallest = ratio
    return math.sqrt(smallest)


@kernel
def eliminate_columns(matrix: Array, rows: int, columns: int, width: int) -> None:
    """Gauss's elimination of the first columns of a matrix (rows, width), in place, with partial pivoting.

    What is left below holds equations without these unknowns. As steps of an iteration take them where there are as
    many equations as unknowns: a third of the work of :func:`reflect_columns`, which least squares need.
    """
    for j in range(columns):
        pivot = j
        for i in range(j + 1, rows):
            if abs(matrix[i, j]) > abs(matrix[pivot, j]):
                pivot = i
        if matrix[pivot, j] == 0.0:
            continue
        if pivot != j:
            for k in range(j, width):
                matrix[j, k], matrix[pivot, k] = matrix[pivot, k], matrix[j, k]
        inverse = 1.0 / matrix[j, j]
        for i in range(j + 1, rows):
            factor = inverse * matrix[i, j]
            for k in range(j + 1, width):
                matrix[i, k] -= factor * matrix[j, k]


@kernel
def reflect(matrix: Array, factors: Array, rows: int, columns: int, right: Array) -> None:
    """Apply the stored reflections of the first columns to a right-hand side (rows,), in place."""
    for j in range(columns):
        _reflect_at(matrix, factors, rows, j, right)


@kernel
def _reflect_at(matrix: Array, factors: Array, rows: int, j: int, right: Array) -> None:
    """Apply one of the reflections."""
    total = right[j]
    for i in range(j + 1, rows):
        total += matrix[i, j] * right[i]
    total *= factors[j]
    right[j] -= total
    for i in range(j + 1, rows):
        right[i] -= total * matrix[i, j]


@kernel
def substitute_back(matrix: Array, size: int, right: Array) -> None:
    """Solve ``R x = right`` in place with the upper triangle of the first ``size`` columns."""
    for i in range(size - 1, -1, -1):
        total = right[i]
        for k in range(i + 1, size):
            total -= matrix[i, k] * right[k]
        right[i] = total / matrix[i, i]


@kernel
def leave_out(matrix: Array, size: int) -> None:
    """Make unknowns that no equation determines zero in the substitution that follows."""
    for i in range(size):
        if matrix[i, i] == 0.0:
            matrix[i, i] = math.inf


@kernel
def substitute_back_columns(matrix: Array, size: int, first: int, last: int) -> None:
    """Solve ``R X = columns`` in place for the columns ``first`` .. ``last - 1`` that stand in the same matrix."""
    for i in range(size - 1, -1, -1):
        diagonal = matrix[i, i]
        for k in range(first, last):
            total = matrix[i, k]
            for j in range(i + 1, size):
                total -= matrix[i, j] * matrix[j, k]
            matrix[i, k] = total / diagonal


@kernel
def substitute_transposed(matrix: Array, size: int, right: Array) -> None:
    """Solve ``R^T x = right`` in place with the upper triangle of the first ``size`` columns."""
    for i in range(size):
        total = right[i]
        for k in range(i):
            total -= matrix[k, i] * right[k]
        right[i] = total / matrix[i, i]


@kernel
def reflect_back(matrix: Array, factors: Array, rows: int, columns: int, right: Array) -> None:
    """Apply the inverse of :func:`reflect` to (rows,), in place: the reflections in reverse order."""
    for j in range(columns - 1, -1, -1):
        _reflect_at(matrix, factors, rows, j, right)


@kernel
def solve_square(matrix: Array, factors: Array, size: int, right: Array) -> bool:
    """Solve ``matrix x = right`` in place by QR, which overwrites the matrix; False where it is singular or NaN."""
    reflect_columns(matrix, factors, size, 0, size, size)
    if not independence(matrix, size) > 1e-15:
        return False
    reflect(matrix, factors, size, size, right)
    substitute_back(matrix, size, right)
    return True


@kernel
def singular_columns(matrix: Array, rows: int, columns: int) -> None:
    """Rotate the columns of a matrix, in place, until they are perpendicular: one-sided Jacobi (Hestenes 1958).

    Their lengths are then the singular values, small ones too to their last digits (Demmel & Veselic 1992), and their
    directions the left singular vectors.
    """
    for _ in range(MOST_SWEEPS):
        turned = False
        for p in range(columns - 1):
            for q in range(p + 1, columns):
                turned = _rotate_pair(matrix, rows, p, q) or turned
        if not turned:
            return


@kernel
def _rotate_pair(matrix: Array, rows: int, p: int, q: int) -> bool:
    """Make two columns perpendicular by a rotation; False if they are so already."""
    a, b, c = 0.0, 0.0, 0.0
    for i in range(rows):
        a += matrix[i, p] * matrix[i, p]
        b += matrix[i, q] * matrix[i, q]
        c += matrix[i, p] * matrix[i, q]
    if not c * c > PERPENDICULAR * PERPENDICULAR * a * b:
        return False
    apart = b - a
    tangent = 2.0 * c / (apart + math.copysign(math.sqrt(apart * apart + 4.0 * c * c), apart))
    cosine = 1.0 / math.sqrt(1.0 + tangent * tangent)
    sine = cosine * tangent
    for i in range(rows):
        x, y = matrix[i, p], matrix[i, q]
        matrix[i, p] = cosine * x - sine * y
        matrix[i, q] = sine * x + cosine * y
    return True


@kernel
def inverse_squares(matrix: Array, size: int, memory: Array) -> float:
    """Sum of the squares of the inverse of an upper triangle: its Frobenius norm squared; infinite where singular."""
    total = 0.0
    for k in range(size):
        for i in range(k, -1, -1):
            entry = 1.0 if i == k else 0.0
            for j in range(i + 1, k + 1):
                entry -= matrix[i, j] * memory[j]
            memory[i] = entry / matrix[i, i]
            total += memory[i] * memory[i]
    return total


@kernel
def vector(rows: Array, index: int) -> Vector:
    """Row of an array (N, 3)."""
    return rows[index, 0], rows[index, 1], rows[index, 2]


@kernel
def store(rows: Array, index: int, value: Vector) -> None:
    """Write a row of an array (N, 3)."""
    rows[index, 0] = value[0]
    rows[index, 1] = value[1]
    rows[index, 2] = value[2]


@kernel
def plus(a: Vector, b: Vector) -> Vector:
    """Sum ``a + b``."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@kernel
def minus(a: Vector, b: Vector) -> Vector:
    """Difference ``a - b``."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@kernel
def times(factor: float, a: Vector) -> Vector:
    """Multiple ``factor a``."""
    return factor * a[0], factor * a[1], factor * a[2]


@kernel
def dot(a: Vector, b: Vector) -> float:
    """Scalar product ``a . b``."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@kernel
def cross(a: Vector, b: Vector) -> Vector:
    """Vector product ``a x b``."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@kernel
def turned(rotations: Array, index: int, a: Vector) -> Vector:
    """Vector in base axes of one in body axes: ``R a``; rotations (N, 3, 3)."""
    return (
        rotations[index, 0, 0] * a[0] + rotations[index, 0, 1] * a[1] + rotations[index, 0, 2] * a[2],
        rotations[index, 1, 0] * a[0] + rotations[index, 1, 1] * a[1] + rotations[index, 1, 2] * a[2],
        rotations[index, 2, 0] * a[0] + rotations[index, 2, 1] * a[1] + rotations[index, 2, 2] * a[2],
    )


@kernel
def turned_back(rotations: Array, index: int, a: Vector) -> Vector:
    """Vector in body axes of one in base axes: ``R^T a``; rotations (N, 3, 3)."""
    return (
        rotations[index, 0, 0] * a[0] + rotations[index, 1, 0] * a[1] + rotations[index, 2, 0] * a[2],
        rotations[index, 0, 1] * a[0] + rotations[index, 1, 1] * a[1] + rotations[index, 2, 1] * a[2],
        rotations[index, 0, 2] * a[0] + rotations[index, 1, 2] * a[1] + rotations[index, 2, 2] * a[2],
    )
