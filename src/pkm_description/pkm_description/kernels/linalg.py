"""Small dense linear algebra in place: Householder's QR and triangular solves, for matrices of a few rows."""

from __future__ import annotations

import math

from pkm_description.arrays import Array
from pkm_description.kernels.jit import kernel

#: cosine below which columns count as perpendicular: singular values are then good to its square, or to itself where
#: two are alike
PERPENDICULAR = 1e-9

MOST_SWEEPS = 30


@kernel
def reflect_columns(matrix: Array, factors: Array, rows: int, first: int, last: int, width: int) -> float:
    """Householder's QR of columns ``first`` .. ``last - 1`` of a matrix (rows, width), in place.

    Column j is eliminated below row j, and the reflection is applied to all columns behind it, right-hand sides
    included. R stands on and above the diagonal; the reflections stay below it, their factors in ``factors``, for
    :func:`reflect`. A column needs a row of its own: ``last <= rows``.

    Returns
    -------
    The smallest ratio of a diagonal entry to the length of its column before the elimination: 0 where columns depend on
    each other, 1 where they are perpendicular.
    """
    smallest = 1.0
    for j in range(first, last):
        above = 0.0
        for i in range(j):
            above += matrix[i, j] * matrix[i, j]
        below = 0.0
        for i in range(j, rows):
            below += matrix[i, j] * matrix[i, j]
        length = math.sqrt(below)
        whole = math.sqrt(above + below)
        ratio = length / whole if whole > 0.0 else 0.0
        if not ratio >= smallest:
            smallest = ratio
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
    return smallest


@kernel
def reflect(matrix: Array, factors: Array, rows: int, columns: int, right: Array) -> None:
    """Apply the stored reflections of the first columns to a right-hand side (rows,), in place."""
    for j in range(columns):
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
        total = right[j]
        for i in range(j + 1, rows):
            total += matrix[i, j] * right[i]
        total *= factors[j]
        right[j] -= total
        for i in range(j + 1, rows):
            right[i] -= total * matrix[i, j]


@kernel
def solve_square(matrix: Array, factors: Array, size: int, right: Array) -> bool:
    """Solve ``matrix x = right`` in place by QR, which overwrites the matrix; False where it is singular or NaN."""
    regular = reflect_columns(matrix, factors, size, 0, size, size)
    if not regular > 1e-15:
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
def extreme_eigenvalues(matrix: Array, size: int, diagonal: Array, beside: Array) -> tuple[float, float]:
    """Smallest and largest eigenvalue of a symmetric positive definite matrix, which is overwritten.

    Householder's tridiagonal form (Golub & Van Loan 2013, section 8.3.1), then Laguerre's iterations on its
    characteristic polynomial from below and above, which approach the first root monotonically (Parlett 1964).

    Parameters
    ----------
    diagonal, beside : memory (size,) for the tridiagonal form
    """
    total = 0.0
    for k in range(size):
        total += matrix[k, k]
    if not total > 0.0:
        return total, total
    for k in range(size - 1):
        diagonal[k] = matrix[k, k] / total
        squares = 0.0
        for i in range(k + 1, size):
            squares += matrix[i, k] * matrix[i, k]
        beside[k] = squares / (total * total)
        length = math.sqrt(squares)
        if k == size - 2 or length == 0.0:
            continue
        # v = column + sign(head) length e_1, H = 1 - v v^T / half, half = v^T v / 2; A <- H A H = A - v w^T - w v^T
        head = matrix[k + 1, k]
        matrix[k + 1, k] = head + math.copysign(length, head)
        half = squares + abs(head) * length
        along = 0.0
        for i in range(k + 1, size):
            product = 0.0
            for j in range(k + 1, size):
                product += matrix[i, j] * matrix[j, k]
            matrix[k, i] = product / half
            along += matrix[k, i] * matrix[i, k]
        for i in range(k + 1, size):
            matrix[k, i] -= 0.5 * along / half * matrix[i, k]
        for i in range(k + 1, size):
            for j in range(k + 1, size):
                matrix[i, j] -= matrix[i, k] * matrix[k, j] + matrix[k, i] * matrix[j, k]
    diagonal[size - 1] = matrix[size - 1, size - 1] / total
    smallest = _laguerre(diagonal, beside, size, 0.0, 1.0)
    largest = _laguerre(diagonal, beside, size, 1.0, -1.0)
    return total * smallest, total * largest


@kernel
def _laguerre(diagonal: Array, beside: Array, size: int, start: float, side: float) -> float:
    """Eigenvalue of a tridiagonal matrix (``beside``: squares of its side entries), the first one from ``start`` on."""
    x = start
    for _ in range(MOST_SWEEPS):
        # characteristic polynomial with its first two derivatives, by the leading minors
        p_before, p, slope_before, slope, bend_before, bend = 0.0, 1.0, 0.0, 0.0, 0.0, 0.0
        for k in range(size):
            factor, coupling = diagonal[k] - x, beside[k - 1] if k > 0 else 0.0
            p_next = factor * p - coupling * p_before
            slope_next = factor * slope - p - coupling * slope_before
            bend_next = factor * bend - 2.0 * slope - coupling * bend_before
            p_before, p, slope_before, slope, bend_before, bend = p, p_next, slope, slope_next, bend, bend_next
        if p == 0.0 or not side * slope / p < 0.0:
            return x  # there, or past it by rounding
        first = -slope / p
        second = first * first - bend / p
        root = math.sqrt(max((size - 1) * (size * second - first * first), 0.0))
        step = size / (first + side * root)
        x += step
        if not abs(step) > 1e-13 * abs(x):
            return x
    return x
