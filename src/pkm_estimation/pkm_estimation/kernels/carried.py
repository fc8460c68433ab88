"""Covariances C (n, c) of n states with causes of noise that act in several steps; c is a multiple of six.

The causes are considered, not estimated (Schmidt 1966): a step takes C to F C, a correction to C - K H C.
Six sums run side by side, as in :func:`~pkm_estimation.kernels.unscented.sum_of_squares`.
"""

from __future__ import annotations

from pkm_description.arrays import Array
from pkm_description.kernels.jit import kernel

#: columns that are computed together
TOGETHER = 6


@kernel
def carry(
    factor: Array, points: Array, half: float, moving: int, first: int, carried: Array, along: Array, slopes: Array
) -> None:
    """C after a step, ``F C = (F L) (L^-1 C)``.

    Parameters
    ----------
    factor : (n, n) lower Cholesky factor L of the covariance before the step
    points, half : (2 n + 1, n) sigma points after it, and one over twice their distance in standard deviations
    moving : the first states change, all others are constant
    first : columns before are zero
    along, slopes : (n, c), (n, n) or larger: memory
    """
    size = len(factor)
    for c in range(first, carried.shape[1], TOGETHER):
        for i in range(size):
            a, b, d = carried[i, c], carried[i, c + 1], carried[i, c + 2]
            e, f, g = carried[i, c + 3], carried[i, c + 4], carried[i, c + 5]
            for k in range(i):
                part = factor[i, k]
                a, b, d = a - part * along[k, c], b - part * along[k, c + 1], d - part * along[k, c + 2]
                e, f, g = e - part * along[k, c + 3], f - part * along[k, c + 4], g - part * along[k, c + 5]
            part = 1.0 / factor[i, i]
            along[i, c], along[i, c + 1], along[i, c + 2] = part * a, part * b, part * d
            along[i, c + 3], along[i, c + 4], along[i, c + 5] = part * e, part * f, part * g
    for k in range(size):
        for i in range(moving):
            slopes[i, k] = half * (points[1 + k, i] - points[1 + size + k, i])
    for i in range(moving):
        for c in range(first, carried.shape[1], TOGETHER):
            a, b, d, e, f, g = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
            for k in range(size):
                part = slopes[i, k]
                a, b, d = a + part * along[k, c], b + part * along[k, c + 1], d + part * along[k, c + 2]
                e, f, g = e + part * along[k, c + 3], f + part * along[k, c + 4], g + part * along[k, c + 5]
            carried[i, c], carried[i, c + 1], carried[i, c + 2] = a, b, d
            carried[i, c + 3], carried[i, c + 4], carried[i, c + 5] = e, f, g


@kernel
def correct_carried(
    factor: Array, slopes: Array, gain: Array, count: int, carried: Array, columns: int, seen: Array
) -> None:
    """C after a correction by ``count`` whitened numbers.

    Parameters
    ----------
    factor : (n, n) L before the correction
    slopes : (m, n) S; in its place comes ``H = S L^-1``
    gain : (m, n) K, transposed
    columns : number of columns in use
    seen : (m, c) memory: ``H C``
    """
    size = len(factor)
    for k in range(count):
        for j in range(size - 1, -1, -1):
            slope = slopes[k, j] / factor[j, j]
            slopes[k, j] = slope
            for i in range(j):
                slopes[k, i] -= slope * factor[j, i]
        for c in range(0, columns, TOGETHER):
            a, b, d, e, f, g = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
            for j in range(size):
                part = slopes[k, j]
                a, b, d = a + part * carried[j, c], b + part * carried[j, c + 1], d + part * carried[j, c + 2]
                e, f, g = e + part * carried[j, c + 3], f + part * carried[j, c + 4], g + part * carried[j, c + 5]
            seen[k, c], seen[k, c + 1], seen[k, c + 2] = a, b, d
            seen[k, c + 3], seen[k, c + 4], seen[k, c + 5] = e, f, g
    for i in range(size):
        for c in range(0, columns, TOGETHER):
            a, b, d = carried[i, c], carried[i, c + 1], carried[i, c + 2]
            e, f, g = carried[i, c + 3], carried[i, c + 4], carried[i, c + 5]
            for k in range(count):
                part = gain[k, i]
                a, b, d = a - part * seen[k, c], b - part * seen[k, c + 1], d - part * seen[k, c + 2]
                e, f, g = e - part * seen[k, c + 3], f - part * seen[k, c + 4], g - part * seen[k, c + 5]
            carried[i, c], carried[i, c + 1], carried[i, c + 2] = a, b, d
            carried[i, c + 3], carried[i, c + 4], carried[i, c + 5] = e, f, g
