"""Covariances C (n, c) of n states with causes that are considered, not estimated (Schmidt 1966); c: a multiple of six.

The first columns are those of noise that acts in several steps: a step takes C to F C, a correction to C - K H C.

The others are the sensitivity of the estimate to the constants g of the machine's geometry, in their standard
deviations, ``B = d(x - x_estimated)/dg``: a step takes B to F B, a correction to B - K D, ``D = H B + H_g``, with the
slopes H_g of the measurement with respect to g. They change neither estimate nor P: ``P + B W W^T B^T`` is what is
claimed with the geometry, and innovations are judged by ``S + D W W^T D^T``, with a root W of the covariance of the
constants: as the machine file states their tolerances, zero where it says that they are exact. Constants that
innovations have told are known together, beside those.

Innovations are white where the constants are as the file says. Else they are ``D g`` more, so that the sums
``s = sum D^T S^-1 y`` and ``I = sum D^T S^-1 D``, score and information, tell what g is (Rao 1948). With what they
tell, ``x + B g`` is the estimate of a filter that has g among its states (Friedland 1969).

Six sums run side by side, as in :func:`~pkm_estimation.kernels.unscented.sum_of_squares`.
"""

from __future__ import annotations

import numpy as np
from pkm_description.arrays import Array
from pkm_description.kernels.jit import kernel
from pkm_description.kernels.model import Integers

_NANOSECOND = 1e-9
#: places in ``scatter``: mean square jitter [s^2], number of second differences, usual interval [s], number of
#: intervals, setting [s] (negative: as the stamps say), part of the mean square that counts as the jitter's [s^2]
SQUARE, COUNT, USUAL, INTERVALS, SETTING, VARIANCE = 0, 1, 2, 3, 4, 5
NUMBERS = 6
#: largest number of samples of which a mean remembers, and how many more a mean of few is taken to be short of
MEMORY, DOUBT = 500.0, 4.0
#: an interval above so many usual ones has lost samples
LOST = 1.75
#: s^2, rounding of stamps to whole microseconds and less does not count
NO_JITTER = 2e-6**2
#: s^2, assumed before stamps tell: that of a driver on an ordinary computer
USUAL_JITTER = 3e-4**2
#: second differences after which stamps alone say how large jitter is, and after which they may say that there is none
ENOUGH, CLEAR = 20.0, 3.0
#: s, in which a unit of drift makes a unit of a zero
DRIFT_TIME = 10.0
#: what a zero changes by: time (a drift), position (a scale: a unit of it makes a unit of the zero at 1 m or rad),
#: speed (positions that are late: a unit of the zero at 1 m/s or rad/s), and the direction of motion (half a backlash)
BY_TIME, BY_POSITION, BY_SPEED, BY_DIRECTION = 0, 1, 2, 3
#: m/s or rad/s, speed at which a drive has half taken up its backlash
_SLOW = 1e-3
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
def slopes_of_state(factor: Array, slopes: Array, count: int, observation: Array) -> None:
    """``H = S L^-1`` of ``count`` whitened numbers, with slopes S (m, n) along the factor L (n, n) of the prior."""
    for k in range(count):
        for j in range(len(factor)):
            observation[k, j] = slopes[k, j]
        for j in range(len(factor) - 1, -1, -1):
            slope = observation[k, j] / factor[j, j]
            observation[k, j] = slope
            for i in range(j):
                observation[k, i] -= slope * factor[j, i]


@kernel
def see_carried(observation: Array, count: int, carried: Array, first: int, last: int, seen: Array) -> None:
    """``H C`` of the columns from ``first`` to before ``last`` into ``seen`` (m, c)."""
    for k in range(count):
        for c in range(first, last, TOGETHER):
            a, b, d, e, f, g = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
            for j in range(len(carried)):
                part = observation[k, j]
                a, b, d = a + part * carried[j, c], b + part * carried[j, c + 1], d + part * carried[j, c + 2]
                e, f, g = e + part * carried[j, c + 3], f + part * carried[j, c + 4], g + part * carried[j, c + 5]
            seen[k, c], seen[k, c + 1], seen[k, c + 2] = a, b, d
            seen[k, c + 3], seen[k, c + 4], seen[k, c + 5] = e, f, g


@kernel
def correct_carried(gain: Array, count: int, carried: Array, first: int, last: int, seen: Array) -> None:
    """``C - K seen`` of the columns from ``first`` to before ``last``; ``gain`` (m, n) is K, transposed."""
    for i in range(len(carried)):
        for c in range(first, last, TOGETHER):
            a, b, d = carried[i, c], carried[i, c + 1], carried[i, c + 2]
            e, f, g = carried[i, c + 3], carried[i, c + 4], carried[i, c + 5]
            for k in range(count):
                part = gain[k, i]
                a, b, d = a - part * seen[k, c], b - part * seen[k, c + 1], d - part * seen[k, c + 2]
                e, f, g = e - part * seen[k, c + 3], f - part * seen[k, c + 4], g - part * seen[k, c + 5]
            carried[i, c], carried[i, c + 1], carried[i, c + 2] = a, b, d
            carried[i, c + 3], carried[i, c + 4], carried[i, c + 5] = e, f, g


@kernel
def add_changes(changes: Integers, elapsed: float, position: float, speed: float, drive: int, slopes: Array) -> None:
    """Slopes (p,) of a drive with respect to what changes its zero: those of the zero times what changes it.

    Parameters
    ----------
    changes : (d, 4) column, column of the zero, drive, and what changes it
    elapsed : since the start, in ``DRIFT_TIME``
    position, speed : of the drive, m or rad
    """
    for k in range(len(changes)):
        if changes[k, 2] == drive:
            kind = changes[k, 3]
            factor = elapsed if kind == BY_TIME else position if kind == BY_POSITION else speed
            if kind == BY_DIRECTION:
                factor = speed / (_SLOW + abs(speed))
            slopes[changes[k, 0]] = factor * slopes[changes[k, 1]]


def rows_of_root(root: Array) -> Integers:
    """First row (p, 2) of each column of a root (p, p) that is not zero, and the one behind the last; alike: none."""
    is_used = root != 0.0
    last = len(root) - np.argmax(is_used[::-1], axis=0) if len(root) else np.zeros(0, dtype=int)
    first = np.argmax(is_used, axis=0) if len(root) else last
    return np.stack([first, np.where(is_used.any(axis=0), last, first)], axis=1).astype(np.int64)


@kernel
def add_claim(
    carried: Array, first: int, root: Array, rows: Integers, scale: float, covariance: Array
) -> None:
    """Make of a covariance P (n, n) what is claimed: ``scale P + B R R^T B^T``, B the columns from ``first`` on.

    ``rows`` (p, 2) of the root R (p, p), see :func:`rows_of_root`: most of it is zero.
    """
    size, along = len(carried), np.empty(len(carried))
    for i in range(size):
        for j in range(i + 1):
            covariance[i, j] *= scale
    for c in range(len(root)):
        if rows[c, 0] == rows[c, 1]:
            continue
        along[:] = 0.0
        for k in range(rows[c, 0], rows[c, 1]):
            for i in range(size):
                along[i] += root[k, c] * carried[i, first + k]
        for i in range(size):
            for j in range(i + 1):
                covariance[i, j] += along[i] * along[j]
    for i in range(size):
        for j in range(i):
            covariance[j, i] = covariance[i, j]


@kernel
def add_found(carried: Array, first: int, found: Array, state: Array) -> None:
    """Add ``B g`` with constants g (p,) to a state (n,); B are the columns from ``first`` on."""
    for c in range(len(found)):
        if found[c] != 0.0:
            for i in range(len(state)):
                state[i] += found[c] * carried[i, first + c]


@kernel
def add_to_block(
    block: Array, seen: Array, white: Array, used: Integers, count: int, first: int, counted: Array
) -> None:
    """Add a whitened innovation (m,), and what is seen of the constants in it, to those of the present block.

    Parameters
    ----------
    block : (A, p + 2) sums for each number that is measured: D, the innovation, and how many of them there are
    seen : (m, c) has D in its columns from ``first`` on, of which those count that have a 1 in ``counted`` (p,)
    used : (m,) which numbers are measured
    """
    constants = len(counted)
    for k in range(count):
        sums = block[used[k] % len(block)]
        for i in range(constants):
            sums[i] += counted[i] * seen[k, first + i]
        sums[constants] += white[k]
        sums[constants + 1] += 1.0


@kernel
def add_score(block: Array, score: Array, information: Array, squares: Array) -> None:
    """Add a block, which is empty then, to score (p,) and information (p, p), of which the lower triangle is used.

    A column that is made of samples of the IMU has their noise in it. It is gone from the sums of a block; what
    constants do to innovations is not: it changes no faster than the platform. ``squares`` (2,) are the sum of the
    squares of the sums, each over its variance, and how many there are.
    """
    constants = len(score)
    for k in range(len(block)):
        sums = block[k]
        count = sums[constants + 1]
        if count > 0.0:
            squares[0] += sums[constants] * sums[constants] / count
            squares[1] += 1.0
            for i in range(constants):
                part = sums[i] / count
                if part != 0.0:
                    score[i] += part * sums[constants]
                    for j in range(i + 1):
                        information[i, j] += part * sums[j]
    block[:] = 0.0


# Jitter of stamps: how large it is, by the stamps themselves, and what it does to measurements.
#
# A sensor that samples regularly, with stamps ``t_k = k T + e_k`` whose errors e are independent of each other and of
# standard deviation s, has second differences ``t_k - 2 t_(k-1) + t_(k-2)`` of variance ``6 s^2``. (Whether samples
# are irregular, or only their stamps, cannot be seen in stamps: irregular ones count as jitter.) A sample that was
# taken at another time than its stamp says is wrong by ``e`` times its slope.
#
# Few stamps say little: until there are :data:`ENOUGH` second differences, jitter of a usual size is assumed in part,
# and wholly before the first. Otherwise the first samples after a start, which determine speed and biases, would be
# trusted beyond what they are worth, and nothing later takes that back. Stamps without any scatter end this after a
# few samples.
@kernel
def observe_stamp(scatter: Array, last: Integers, stamp: int) -> None:
    """Take the next stamp [ns] of a sensor; one that was taken before changes nothing.

    Parameters
    ----------
    scatter : (6,) statistics, changed in place
    last : (3,) the last two stamps [ns], and how many there are, changed in place
    """
    if last[2] > 0 and stamp <= last[0]:
        return
    if last[2] > 0:
        interval, usual = (stamp - last[0]) * _NANOSECOND, scatter[USUAL]
        is_regular = scatter[INTERVALS] > 0.0 and interval < LOST * usual
        if last[2] > 1 and is_regular and (last[0] - last[1]) * _NANOSECOND < LOST * usual:
            bend = interval - (last[0] - last[1]) * _NANOSECOND
            scatter[COUNT] = min(MEMORY, scatter[COUNT] + 1.0)
            scatter[SQUARE] += (bend * bend / 6.0 - scatter[SQUARE]) / scatter[COUNT]
        scatter[INTERVALS] = min(MEMORY, scatter[INTERVALS] + 1.0)
        scatter[USUAL] += (interval - usual) / scatter[INTERVALS]
    last[1], last[0], last[2] = last[0], stamp, min(2, last[2] + 1)
    if scatter[SETTING] < 0.0:
        scatter[VARIANCE] = jitter_variance(scatter[SQUARE], scatter[COUNT])


@kernel
def jitter_variance(square: float, count: float) -> float:
    """Variance [s^2] of stamps by the mean square that ``count`` second differences showed."""
    if count >= CLEAR and square <= NO_JITTER:
        return 0.0
    if count == 0.0:
        return USUAL_JITTER
    assumed = max(0.0, 1.0 - count / ENOUGH)
    return assumed * USUAL_JITTER + (1.0 - assumed) * square * (1.0 + DOUBT / count)


@kernel
def along_factor(factor: Array, rates: Array, along: Array) -> None:
    """``L^-1 x'`` of a lower triangular L (n, n) and x' (n,)."""
    for i in range(len(rates)):
        rest = rates[i]
        for k in range(i):
            rest -= factor[i, k] * along[k]
        along[i] = rest / factor[i, i]
