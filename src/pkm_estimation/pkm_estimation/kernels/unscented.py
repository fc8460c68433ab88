"""The scaled unscented filter with additive noise (section 3.2): draw points, predict, correct.

With deviations ``D_i`` from the transformed centre point and their weighted sum ``d``, the shift of the mean,
``sum Wc (Y - mean)(Y - mean)^T`` equals ``w sum D_i D_i^T + (beta - alpha^2) d d^T``: the large cancelling weights of
the centre are gone, and the sum is positive semi-definite as long as ``beta >= alpha^2``. Points are drawn anew before
the correction. A pair of opposite points gives the slope of a measurement along a column of the covariance's factor L,
and its bend:

    slope_j = (y_j+ - y_j-) / (2 r),   bend_j = (y_j+ + y_j-) / 2 - y_0,   r the points' distance, 2 w r^2 = 1

so that ``P_xy = L S^T`` and ``P_yy = S S^T + E``, where E is the noise R and the bends' part of the sums above. Divided
by the root of P_yy, the gain is P_xy itself. Both steps end with a covariance that is a sum of squares.
"""

from __future__ import annotations

from math import nan, sqrt
from typing import NamedTuple

import numpy as np
from pkm_description.arrays import Array
from pkm_description.kernels.jit import kernel
from pkm_description.kernels.model import Integers

from pkm_estimation.kernels.carried import (
    add_changes,
    along_factor,
    correct_carried,
    rows_of_root,
    see_carried,
    slopes_of_state,
)

#: what the kernels return
DONE, STATE_INDEFINITE, INNOVATION_INDEFINITE = 0, -1, -2

#: causes of the process noise, at most
NOISES = 6
#: causes of noise that are carried along: of three samples
CARRIED_NOISES = 3 * NOISES
#: no zero changes
NO_CHANGES = np.zeros((0, 4), dtype=np.int64)
NO_DRIVES = np.zeros(0)
#: columns of a sum of squares that are computed together
BLOCK = 4


class FilterData(NamedTuple):
    """Estimate of n states and memory for its steps.

    Attributes
    ----------
    state, covariance : (n,), (n, n)
    scaling : (3,) distance r of the points in standard deviations, their weight w, ``beta - alpha^2``
    factor : (n, n) lower Cholesky factor L of the covariance
    points : (2 n + 1, n) as rows
    rows : (2 n + 6, n') deviations of the moved points and, in the last six, the root of independent process noise:
        the covariance is the sum of their squares; n' is n, rounded up to whole blocks of :func:`sum_of_squares`
    squares : (n', n')
    carried : (n, c) covariances of the state with causes of noise that act again, and behind them
        (``CARRIED_NOISES``) its sensitivity to constants of the machine, see :mod:`pkm_estimation.kernels.carried`
    carried_count : (1,) columns of it that are in use for noise
    along : (n, c) the same along the columns of the factor: ``L^-1 C``
    stamp_variance : (1,) s^2, by which stamps of measurements are wrong
    rates, along_rates : (n,) slope of the state in time, and the same along the columns of the factor
    rate_variances : (n,) of the errors of the slope, which count as independent
    claim, judge : (p, p) roots R, W of the covariance of the constants in what is claimed, and in how innovations are
        judged
    claim_rows, judge_rows : (p, 2) first row of each of their columns that is not zero, and the one behind the last
    scale : (1,) factor on the covariance in what is claimed
    found : (p,) constants g in what is claimed, in their units
    changes : (d, 4) of zeros, see :func:`~pkm_estimation.kernels.carried.add_changes`
    at_zero : (A,) what is measured where the drives are at zero
    elapsed : (1,) time since the start, see :data:`~pkm_estimation.kernels.carried.DRIFT_TIME`
    counted : (p,) 1 for constants that count in what innovations say, else 0
    score, information, scored : (p,), (p, p), (2,) of the innovations since they were read last, see
        :func:`~pkm_estimation.kernels.carried.add_score`
    block, block_begin : (A, p + 2), (1,) [ns] of the newest innovations, which are not in the score yet
    """

    state: Array
    covariance: Array
    scaling: Array
    factor: Array
    points: Array
    rows: Array
    squares: Array
    carried: Array
    carried_count: Integers
    along: Array
    stamp_variance: Array
    rates: Array
    along_rates: Array
    rate_variances: Array
    claim: Array
    judge: Array
    claim_rows: Integers
    judge_rows: Integers
    scale: Array
    found: Array
    changes: Integers
    at_zero: Array
    elapsed: Array
    counted: Array
    score: Array
    information: Array
    scored: Array
    block: Array
    block_begin: Integers


class CorrectionData(NamedTuple):
    """A measurement of m numbers, and memory for the correction by those that are used.

    Attributes
    ----------
    values : (2 n + 1, m) predictions at the points
    measurement, noise : (m,), (m, m) covariance R
    used, used_count : (m,), (1,) the numbers to use: so many first entries of ``used``, in ascending order
    slopes, bends : (m, n) S, and what is seen of the curvature
    shift : (m,) of the mean of the predictions from that of the centre
    speeds : (m,) slopes in time of the predictions
    excess : (m, m) E, all but the linear part of the innovation covariance
    spread, root : (m, m) innovation covariance ``P_yy`` and its lower Cholesky factor
    excess_root : (m, m) lower Cholesky factor C of E
    white : (m,) residual divided by the root
    gain : (m, n) transposed
    observation : (m, n) H, whitened
    seen : (m, c) covariances of the whitened measurement with the carried causes; D of the constants
    constants : (m, p) H_g, slopes of the measurement with respect to the constants, in their standard deviations
    considered, considered_root : (m, m) ``I + D W W^T D^T``, and its lower Cholesky factor
    cause : (m,) a column of ``D W``
    judged : (m,) ``white``, divided by that factor
    rows : (n + m, n') the corrected covariance is the sum of their squares, as in :class:`FilterData`
    residual, variance : (m,) of the innovation less ``D g``; NaN where not used; by ``S + D W W^T D^T``
    shared : (m,) part of the variance that constants of the machine have: an error that hardly changes with time
    nis : (1,) normalised innovation squared, by ``S + D W W^T D^T``, too
    """

    values: Array
    measurement: Array
    noise: Array
    used: Integers
    used_count: Integers
    slopes: Array
    bends: Array
    shift: Array
    speeds: Array
    excess: Array
    spread: Array
    root: Array
    excess_root: Array
    white: Array
    gain: Array
    observation: Array
    seen: Array
    constants: Array
    considered: Array
    considered_root: Array
    cause: Array
    judged: Array
    rows: Array
    residual: Array
    variance: Array
    shared: Array
    nis: Array


def filter_data(
    size: int, spread: float, weight: float, shift_weight: float, constants: int = 0, changes: Integers = NO_CHANGES,
    at_zero: Array = NO_DRIVES,
) -> FilterData:
    """Memory for n states, and so many columns for constants of the machine, some of which change zeros of drives."""
    columns = CARRIED_NOISES + constants
    return FilterData(
        state=np.zeros(size), covariance=np.eye(size), scaling=np.array([sqrt(spread), weight, shift_weight]),
        factor=np.zeros((size, size)), points=np.zeros((2 * size + 1, size)),
        rows=np.zeros((2 * size + NOISES, whole_blocks(size))), squares=np.zeros((whole_blocks(size),) * 2),
        carried=np.zeros((size, columns)), carried_count=np.zeros(1, dtype=np.int64),
        along=np.zeros((size, columns)), stamp_variance=np.zeros(1), rates=np.zeros(size),
        along_rates=np.zeros(size), rate_variances=np.zeros(size),
        claim=np.eye(constants), judge=np.eye(constants),
        claim_rows=rows_of_root(np.eye(constants)), judge_rows=rows_of_root(np.eye(constants)),
        scale=np.ones(1), found=np.zeros(constants), changes=changes, at_zero=at_zero, elapsed=np.zeros(1),
        counted=np.ones(constants), score=np.zeros(constants),
        information=np.zeros((constants, constants)), scored=np.zeros(2),
        block=np.zeros((max(1, len(at_zero)), constants + 2)), block_begin=np.zeros(1, dtype=np.int64),
    )  # fmt: skip


def correction_data(size: int, count: int, constants: int = 0) -> CorrectionData:
    """Memory for a measurement of m numbers of n states, and so many columns for constants of the machine."""

    def zeros(*shape: int) -> Array:
        return np.zeros(shape)

    return CorrectionData(
        values=zeros(2 * size + 1, count), measurement=zeros(count), noise=zeros(count, count), used=np.arange(count),
        used_count=np.array([count]), slopes=zeros(count, size), bends=zeros(count, size), shift=zeros(count),
        speeds=zeros(count), excess=zeros(count, count), spread=zeros(count, count), root=zeros(count, count),
        gain=zeros(count, size), observation=zeros(count, size), seen=zeros(count, CARRIED_NOISES + constants),
        constants=zeros(count, constants), considered=zeros(count, count), considered_root=zeros(count, count),
        cause=zeros(count), judged=zeros(count),
        excess_root=zeros(count, count), white=zeros(count), rows=zeros(size + count, whole_blocks(size)),
        residual=zeros(count), variance=zeros(count), shared=zeros(count), nis=zeros(1),
    )  # fmt: skip


def whole_blocks(size: int) -> int:
    """Size of the arrays of :func:`sum_of_squares` for n states."""
    return -(-size // BLOCK) * BLOCK


@kernel
def product_of_rows(a: Array, i: int, b: Array, j: int, count: int) -> float:
    """Sum of the products of the first numbers of two rows."""
    total = 0.0
    for k in range(count):
        total += a[i, k] * b[j, k]
    return total


@kernel
def sum_of_squares(rows: Array, count: int, squares: Array) -> None:
    """Lower triangle of ``sum_k r_k r_k^T`` over the first rows, whose number of columns is a multiple of four.

    Eight sums run side by side: each addition to one sum has to wait for the one before.
    """
    for i in range(0, len(squares), 2):
        for j in range(0, i + 2, 4):
            a0, a1, a2, a3 = 0.0, 0.0, 0.0, 0.0
            b0, b1, b2, b3 = 0.0, 0.0, 0.0, 0.0
            for k in range(count):
                a, b = rows[k, i], rows[k, i + 1]
                c0, c1, c2, c3 = rows[k, j], rows[k, j + 1], rows[k, j + 2], rows[k, j + 3]
                a0, a1, a2, a3 = a0 + a * c0, a1 + a * c1, a2 + a * c2, a3 + a * c3
                b0, b1, b2, b3 = b0 + b * c0, b1 + b * c1, b2 + b * c2, b3 + b * c3
            squares[i, j], squares[i, j + 1], squares[i, j + 2], squares[i, j + 3] = a0, a1, a2, a3
            squares[i + 1, j], squares[i + 1, j + 1], squares[i + 1, j + 2], squares[i + 1, j + 3] = b0, b1, b2, b3


@kernel
def factorise(matrix: Array, size: int, factor: Array) -> bool:
    """Lower Cholesky factor of the first ``size`` rows and columns; whether the matrix is positive definite."""
    for j in range(size):
        rest = matrix[j, j] - product_of_rows(factor, j, factor, j, j)
        if not rest > 0.0:  # NaN, too
            return False
        factor[j, j] = sqrt(rest)
        for i in range(j + 1, size):
            factor[i, j] = (matrix[i, j] - product_of_rows(factor, i, factor, j, j)) / factor[j, j]
    return True


@kernel
def draw_points(filter_: FilterData) -> int:
    """Sigma points: the mean, and the mean plus and less the scaled columns of the covariance's factor."""
    state, factor, points, size = filter_.state, filter_.factor, filter_.points, len(filter_.state)
    if not factorise(filter_.covariance, size, factor):
        return STATE_INDEFINITE
    distance = filter_.scaling[0]
    for i in range(size):
        points[0, i] = state[i]
    for column in range(size):
        for i in range(size):
            deviation = distance * factor[i, column] if i >= column else 0.0
            points[1 + column, i] = state[i] + deviation
            points[1 + size + column, i] = state[i] - deviation
    return DONE


@kernel
def predict_from_points(filter_: FilterData, noises: int) -> None:
    """Mean and covariance of the moved points, with as many rows of process noise, which are in their place already."""
    state, covariance, points, rows = filter_.state, filter_.covariance, filter_.points, filter_.rows
    size, weight, root_of_weight = len(filter_.state), filter_.scaling[1], sqrt(filter_.scaling[1])
    for i in range(size):
        state[i] = 0.0
    for point in range(2 * size):
        for i in range(size):
            deviation = points[point + 1, i] - points[0, i]
            rows[point, i] = root_of_weight * deviation
            state[i] += deviation
    sum_of_squares(rows, 2 * size + noises, filter_.squares)
    for i in range(size):
        state[i] *= weight
        for j in range(i + 1):
            covariance[i, j] = filter_.squares[i, j] + filter_.scaling[2] * state[i] * state[j]
            covariance[j, i] = covariance[i, j]
    for i in range(size):
        state[i] += points[0, i]


@kernel
def innovate(filter_: FilterData, correction: CorrectionData) -> None:
    """Residual and innovation covariance of the predictions at the points."""
    values, shift, used, count = correction.values, correction.shift, correction.used, correction.used_count[0]
    slopes, bends, excess, spread = correction.slopes, correction.bends, correction.excess, correction.spread
    size, half = len(filter_.state), 0.5 / filter_.scaling[0]
    twice_weight, late = 2.0 * filter_.scaling[1], filter_.stamp_variance[0]
    is_moving = late > 0.0 or len(filter_.changes) > 0
    if is_moving:
        along_factor(filter_.factor, filter_.rates, filter_.along_rates)
    for i in range(len(correction.residual)):
        correction.residual[i] = correction.variance[i] = nan
        correction.shared[i] = 0.0
    for k in range(count):
        number, total = used[k], 0.0
        for j in range(size):
            above, below = values[1 + j, number], values[1 + size + j, number]
            slopes[k, j] = half * (above - below)
            bends[k, j] = 0.5 * (above + below) - values[0, number]
            total += bends[k, j]
        shift[k], correction.speeds[k] = twice_weight * total, 0.0
        if is_moving:
            for j in range(size):
                correction.speeds[k] += slopes[k, j] * filter_.along_rates[j]
        correction.residual[number] = correction.measurement[number] - values[0, number] - shift[k]
    for i in range(count):
        for j in range(i + 1):
            excess[i, j] = twice_weight * product_of_rows(bends, i, bends, j, size)
            excess[i, j] += filter_.scaling[2] * shift[i] * shift[j] + correction.noise[used[i], used[j]]
            if late > 0.0:
                excess[i, j] += late * correction.speeds[i] * correction.speeds[j]
            spread[i, j] = product_of_rows(slopes, i, slopes, j, size) + excess[i, j]
            excess[j, i], spread[j, i] = excess[i, j], spread[i, j]
        correction.variance[used[i]] = spread[i, i]
    if late > 0.0:
        add_unknown_rates(filter_, correction, late)


@kernel
def add_unknown_rates(filter_: FilterData, correction: CorrectionData, late: float) -> None:
    """Wrong stamps times what is not known of the slope: the part of ``late E[x' x'^T]`` that the mean leaves out.

    Right after a start it is all of it: the speed is not known, and stamps say little about it.
    """
    used, count, size = correction.used, correction.used_count[0], len(filter_.state)
    along, speeds = filter_.along_rates, correction.judged  # memory here
    for row in range(size):
        variance = late * filter_.rate_variances[row]
        if variance == 0.0:
            continue
        for i in range(size):
            along[i] = 0.0
        along[row] = 1.0
        along_factor(filter_.factor, along, along)
        for k in range(count):
            speeds[k] = 0.0
            for j in range(row, size):
                speeds[k] += correction.slopes[k, j] * along[j]
        for i in range(count):
            for j in range(i + 1):
                part = variance * speeds[i] * speeds[j]
                correction.excess[i, j] += part
                correction.spread[i, j] += part
                correction.excess[j, i], correction.spread[j, i] = correction.excess[i, j], correction.spread[i, j]
            correction.variance[used[i]] = correction.spread[i, i]


@kernel
def whiten(correction: CorrectionData) -> None:
    """Divide residual, slopes and root of the excess by the root of ``P_yy``, which becomes the identity."""
    root, slopes, excess, white = correction.root, correction.slopes, correction.excess_root, correction.white
    count = correction.used_count[0]
    for i in range(count):
        white[i] = correction.residual[correction.used[i]]
        for k in range(i + 1, count):
            excess[i, k] = 0.0
        for j in range(i):
            white[i] -= root[i, j] * white[j]
            for k in range(slopes.shape[1]):
                slopes[i, k] -= root[i, j] * slopes[j, k]
            for k in range(j + 1):
                excess[i, k] -= root[i, j] * excess[j, k]
        white[i] /= root[i, i]
        for k in range(slopes.shape[1]):
            slopes[i, k] /= root[i, i]
        for k in range(i + 1):
            excess[i, k] /= root[i, i]


@kernel
def correct_estimate(filter_: FilterData, correction: CorrectionData) -> None:
    """State and covariance, by the whitened measurement: its gain is ``K = P_xy = L S^T``.

    The covariance is ``(L - K S)(L - K S)^T + (K C)(K C)^T``, positive semi-definite by construction.
    """
    state, covariance, factor, rows = filter_.state, filter_.covariance, filter_.factor, correction.rows
    gain, slopes, excess, white = correction.gain, correction.slopes, correction.excess_root, correction.white
    size, count = len(state), correction.used_count[0]
    for k in range(count):
        for i in range(size):
            gain[k, i] = product_of_rows(factor, i, slopes, k, i + 1)
            state[i] += gain[k, i] * white[k]
    for j in range(size):
        for i in range(size):
            rows[j, i] = factor[i, j] if j <= i else 0.0
        for k in range(count):
            slope = slopes[k, j]
            for i in range(size):
                rows[j, i] -= slope * gain[k, i]
    for j in range(count):
        for i in range(size):
            rows[size + j, i] = 0.0
        for k in range(j, count):
            part = excess[k, j]
            for i in range(size):
                rows[size + j, i] += part * gain[k, i]
    sum_of_squares(rows, size + count, filter_.squares)
    for i in range(size):
        for j in range(i + 1):
            covariance[i, j] = covariance[j, i] = filter_.squares[i, j]


@kernel
def consider(filter_: FilterData, correction: CorrectionData) -> int:
    """Judge the innovation less ``D g`` by ``S + D W W^T D^T``: what is seen of the constants is no error.

    ``D = H B + H_g``, with constants g that were found.
    """
    count, first, last = correction.used_count[0], CARRIED_NOISES, filter_.carried.shape[1]
    root, seen, total, judged = correction.root, correction.seen, correction.considered, correction.judged
    cause, rows, found = correction.cause, filter_.judge_rows, filter_.found
    for k in range(count):
        drive = correction.used[k]
        if drive < len(filter_.at_zero):
            position = correction.measurement[drive] - filter_.at_zero[drive]
            add_changes(
                filter_.changes, filter_.elapsed[0], position, correction.speeds[k], drive, correction.constants[drive]
            )
    see_carried(correction.observation, count, filter_.carried, first, last, seen)
    for c in range(last - first):
        for k in range(count):  # H_g, divided by the root
            judged[k] = correction.constants[correction.used[k], c]
            for j in range(k):
                judged[k] -= root[k, j] * judged[j]
            judged[k] /= root[k, k]
            seen[k, first + c] += judged[k]
    nis = 0.0
    for i in range(count):
        for j in range(i + 1):
            total[i, j] = 1.0 if i == j else 0.0
        correction.shared[correction.used[i]] = 0.0
    for c in range(last - first):
        if rows[c, 0] == rows[c, 1]:
            continue
        for i in range(count):
            cause[i] = 0.0
            for k in range(rows[c, 0], rows[c, 1]):
                cause[i] += seen[i, first + k] * filter_.judge[k, c]
        for i in range(count):
            raw = 0.0  # of R (D W W^T D^T) R^T, row by row
            for j in range(i + 1):
                total[i, j] += cause[i] * cause[j]
                raw += root[i, j] * cause[j]
            correction.shared[correction.used[i]] += raw * raw
    if not factorise(total, count, correction.considered_root):
        return INNOVATION_INDEFINITE
    for i in range(count):
        judged[i] = correction.white[i]
        for c in range(last - first):
            judged[i] -= seen[i, first + c] * found[c]
        for j in range(i):
            judged[i] -= correction.considered_root[i, j] * judged[j]
        judged[i] /= correction.considered_root[i, i]
        nis += judged[i] * judged[i]
    correction.nis[0] = nis
    for i in range(count):
        number = correction.used[i]
        for c in range(last - first):
            if found[c] != 0.0:
                for j in range(i + 1):
                    correction.residual[number] -= root[i, j] * seen[j, first + c] * found[c]
        correction.variance[number] += correction.shared[number]
        correction.shared[number] /= correction.variance[number]
    return DONE


@kernel
def correct(filter_: FilterData, correction: CorrectionData, limit: float) -> int:
    """Correct the drawn estimate by the predictions ``values``, if the NIS is within ``limit``."""
    innovate(filter_, correction)
    count, white, carried = correction.used_count[0], correction.white, filter_.carried
    if not factorise(correction.spread, count, correction.root):
        return INNOVATION_INDEFINITE
    if not factorise(correction.excess, count, correction.excess_root):
        return INNOVATION_INDEFINITE
    whiten(correction)
    nis, noises, columns = 0.0, filter_.carried_count[0], carried.shape[1]
    for k in range(count):
        correction.judged[k] = white[k]
        nis += white[k] * white[k]
    correction.nis[0] = nis
    if noises or columns > CARRIED_NOISES:
        slopes_of_state(filter_.factor, correction.slopes, count, correction.observation)
    if columns > CARRIED_NOISES and consider(filter_, correction) < 0:
        return INNOVATION_INDEFINITE
    if not correction.nis[0] > limit:
        correct_estimate(filter_, correction)
        see_carried(correction.observation, count, carried, 0, noises, correction.seen)
        correct_carried(correction.gain, count, carried, 0, noises, correction.seen)
        correct_carried(correction.gain, count, carried, CARRIED_NOISES, columns, correction.seen)
    return DONE
