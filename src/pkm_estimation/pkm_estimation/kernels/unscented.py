"""The scaled unscented filter with additive noise (section 3.2): draw points, predict, correct.

With deviations ``D_i`` from the transformed centre point and their weighted sum ``d``, the shift of the mean,
``sum Wc (Y - mean)(Y - mean)^T`` equals ``w sum D_i D_i^T + (beta - alpha^2) d d^T``: the large cancelling weights of
the centre are gone, and the sum is positive semi-definite as long as ``beta >= alpha^2``. Points are drawn anew before
the correction. A pair of opposite points gives the slope of a measurement along a column of the covariance's factor L,
and its bend:

    slope_j = (y_j+ - y_j-) / (2 r),   bend_j = (y_j+ + y_j-) / 2 - y_0,   r the points' distance, 2 w r^2 = 1

so that ``P_xy = L S^T`` and ``P_yy = S S^T + E``, where E is the noise R and the bends' part of the sums above. Divided
by the root of P_yy, the gain is P_xy itself.
"""

from __future__ import annotations

from math import nan, sqrt
from typing import NamedTuple

import numpy as np
from pkm_description.arrays import Array
from pkm_description.kernels.jit import kernel
from pkm_description.kernels.model import Integers

#: what the kernels return
DONE, STATE_INDEFINITE, INNOVATION_INDEFINITE = 0, -1, -2

#: causes of the process noise, at most
NOISES = 6


class FilterData(NamedTuple):
    """Estimate of n states and memory for its steps.

    Attributes
    ----------
    state, covariance : (n,), (n, n)
    scaling : (3,) distance r of the points in standard deviations, their weight w, ``beta - alpha^2``
    factor : (n, n) lower Cholesky factor L of the covariance
    points : (2 n + 1, n) as rows
    root : (n, 2 n + 6) the covariance is ``root root^T``; its last columns are a root of the process noise
    """

    state: Array
    covariance: Array
    scaling: Array
    factor: Array
    points: Array
    root: Array


class CorrectionData(NamedTuple):
    """A measurement of m numbers, and memory for the correction by those that are used.

    Attributes
    ----------
    values : (2 n + 1, m) predictions at the points
    measurement, noise : (m,), (m, m) covariance R
    used, used_count : (m,), (1,) the numbers to use: so many first entries of ``used``, in ascending order
    slopes, bends : (m, n) S, and what is seen of the curvature
    shift : (m,) of the mean of the predictions from that of the centre
    excess : (m, m) E, all but the linear part of the innovation covariance
    spread, root : (m, m) innovation covariance ``P_yy`` and its lower Cholesky factor
    white : (m,) residual divided by the root
    gain : (n, m)
    row : (m,)
    residual, variance : (m,) of the innovation; NaN where not used
    nis : (1,) normalised innovation squared
    """

    values: Array
    measurement: Array
    noise: Array
    used: Integers
    used_count: Integers
    slopes: Array
    bends: Array
    shift: Array
    excess: Array
    spread: Array
    root: Array
    white: Array
    gain: Array
    row: Array
    residual: Array
    variance: Array
    nis: Array


def filter_data(size: int, spread: float, weight: float, shift_weight: float) -> FilterData:
    """Memory for n states."""
    return FilterData(
        state=np.zeros(size), covariance=np.eye(size), scaling=np.array([sqrt(spread), weight, shift_weight]),
        factor=np.zeros((size, size)), points=np.zeros((2 * size + 1, size)), root=np.zeros((size, 2 * size + NOISES)),
    )  # fmt: skip


def correction_data(size: int, count: int) -> CorrectionData:
    """Memory for a measurement of m numbers of n states."""

    def zeros(*shape: int) -> Array:
        return np.zeros(shape)

    return CorrectionData(
        values=zeros(2 * size + 1, count), measurement=zeros(count), noise=zeros(count, count), used=np.arange(count),
        used_count=np.array([count]), slopes=zeros(count, size), bends=zeros(count, size), shift=zeros(count),
        excess=zeros(count, count), spread=zeros(count, count), root=zeros(count, count), gain=zeros(size, count),
        white=zeros(count), row=zeros(count), residual=zeros(count), variance=zeros(count), nis=zeros(1),
    )  # fmt: skip


@kernel
def product_of_rows(a: Array, i: int, b: Array, j: int, count: int) -> float:
    """Sum of the products of the first numbers of two rows."""
    total = 0.0
    for k in range(count):
        total += a[i, k] * b[j, k]
    return total


@kernel
def factorise(matrix: Array, size: int, factor: Array) -> bool:
    """Lower Cholesky factor of the first ``size`` rows and columns; whether the matrix is positive definite."""
    for i in range(size):
        for j in range(i):
            factor[i, j] = (matrix[i, j] - product_of_rows(factor, i, factor, j, j)) / factor[j, j]
        rest = matrix[i, i] - product_of_rows(factor, i, factor, i, i)
        if not rest > 0.0:  # NaN, too
            return False
        factor[i, i] = sqrt(rest)
    return True


@kernel
def draw_points(filter_: FilterData) -> int:
    """Sigma points: the mean, and the mean plus and less the scaled columns of the covariance's factor."""
    state, factor, points, size = filter_.state, filter_.factor, filter_.points, len(filter_.state)
    if not factorise(filter_.covariance, size, factor):
        return STATE_INDEFINITE
    distance = filter_.scaling[0]
    for i in range(size):
        for point in range(2 * size + 1):
            points[point, i] = state[i]
        for column in range(i + 1):
            points[1 + column, i] += distance * factor[i, column]
            points[1 + size + column, i] -= distance * factor[i, column]
    return DONE


@kernel
def predict_from_points(filter_: FilterData) -> None:
    """Mean and covariance of the moved points; the root of the process noise is in its place already."""
    state, covariance, points, root = filter_.state, filter_.covariance, filter_.points, filter_.root
    size, weight, root_of_weight = len(filter_.state), filter_.scaling[1], sqrt(filter_.scaling[1])
    for i in range(size):
        total = 0.0
        for point in range(2 * size):
            deviation = points[point + 1, i] - points[0, i]
            root[i, point] = root_of_weight * deviation
            total += deviation
        state[i] = weight * total
    for i in range(size):
        for j in range(i + 1):
            covariance[i, j] = product_of_rows(root, i, root, j, 2 * size + NOISES)
            covariance[i, j] += filter_.scaling[2] * state[i] * state[j]
            covariance[j, i] = covariance[i, j]
    for i in range(size):
        state[i] += points[0, i]


@kernel
def innovate(filter_: FilterData, correction: CorrectionData) -> None:
    """Residual and innovation covariance of the predictions at the points."""
    values, shift, used, count = correction.values, correction.shift, correction.used, correction.used_count[0]
    slopes, bends, excess, spread = correction.slopes, correction.bends, correction.excess, correction.spread
    size, half = len(filter_.state), 0.5 / filter_.scaling[0]
    twice_weight = 2.0 * filter_.scaling[1]
    for i in range(len(correction.residual)):
        correction.residual[i] = correction.variance[i] = nan
    for k in range(count):
        number, total = used[k], 0.0
        for j in range(size):
            above, below = values[1 + j, number], values[1 + size + j, number]
            slopes[k, j] = half * (above - below)
            bends[k, j] = 0.5 * (above + below) - values[0, number]
            total += bends[k, j]
        shift[k] = twice_weight * total
        correction.residual[number] = correction.measurement[number] - values[0, number] - shift[k]
    for i in range(count):
        for j in range(i + 1):
            excess[i, j] = twice_weight * product_of_rows(bends, i, bends, j, size)
            excess[i, j] += filter_.scaling[2] * shift[i] * shift[j] + correction.noise[used[i], used[j]]
            spread[i, j] = product_of_rows(slopes, i, slopes, j, size) + excess[i, j]
            excess[j, i], spread[j, i] = excess[i, j], spread[i, j]
        correction.variance[used[i]] = spread[i, i]


@kernel
def whiten(correction: CorrectionData) -> None:
    """Divide residual, slopes and excess by the root of ``P_yy``, so that ``P_yy`` becomes the identity."""
    root, slopes, excess, white = correction.root, correction.slopes, correction.excess, correction.white
    count = correction.used_count[0]
    for i in range(count):
        white[i] = correction.residual[correction.used[i]]
        for j in range(i):
            white[i] -= root[i, j] * white[j]
            for k in range(slopes.shape[1]):
                slopes[i, k] -= root[i, j] * slopes[j, k]
            for k in range(count):
                excess[i, k] -= root[i, j] * excess[j, k]
        white[i] /= root[i, i]
        for k in range(slopes.shape[1]):
            slopes[i, k] /= root[i, i]
        for k in range(count):
            excess[i, k] /= root[i, i]
    for k in range(count):  # the other side of the excess
        for i in range(count):
            for j in range(i):
                excess[k, i] -= root[i, j] * excess[k, j]
            excess[k, i] /= root[i, i]


@kernel
def correct_estimate(filter_: FilterData, correction: CorrectionData) -> None:
    """State and covariance, by the whitened measurement: its gain is ``K = P_xy = L S^T``.

    The covariance is ``(L - K S)(L - K S)^T + K E K^T``, positive semi-definite by construction.
    """
    state, covariance, factor, left = filter_.state, filter_.covariance, filter_.factor, filter_.root
    gain, slopes, excess, row = correction.gain, correction.slopes, correction.excess, correction.row
    size, count = len(state), correction.used_count[0]
    for i in range(size):
        for j in range(size):
            left[i, j] = factor[i, j] if j <= i else 0.0
        for k in range(count):
            gain[i, k] = product_of_rows(factor, i, slopes, k, i + 1)
            state[i] += gain[i, k] * correction.white[k]
            for j in range(size):
                left[i, j] -= gain[i, k] * slopes[k, j]
    for i in range(size):
        for k in range(count):
            row[k] = product_of_rows(gain, i, excess, k, count)
        for j in range(i + 1):
            total = product_of_rows(left, i, left, j, size)
            for k in range(count):
                total += row[k] * gain[j, k]
            covariance[i, j] = covariance[j, i] = total


@kernel
def correct(filter_: FilterData, correction: CorrectionData, limit: float) -> int:
    """Correct the drawn estimate by the predictions ``values``, if the NIS is within ``limit``."""
    innovate(filter_, correction)
    count, white = correction.used_count[0], correction.white
    if not factorise(correction.spread, count, correction.root):
        return INNOVATION_INDEFINITE
    whiten(correction)
    nis = 0.0
    for k in range(count):
        nis += white[k] * white[k]
    correction.nis[0] = nis
    if not nis > limit:
        correct_estimate(filter_, correction)
    return DONE
