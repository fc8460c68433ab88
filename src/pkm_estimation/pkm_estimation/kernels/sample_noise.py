"""How much the samples of the IMU, and the positions of the legs, scatter, by themselves.

A motion is smooth over some samples; noise is not, and neither is what the path between samples does not follow: dry
friction that changes its sign, a shaking frame, steps of the encoder of an analogue sensor. So differences of seven
samples in a row say how large the error of the path is, whatever a data sheet says: a sixth difference,
``(1 - z)^6``, and ``(1 - z)^4 (1 + z)^2``, which looks at half the frequency. White noise of variance ``s^2`` gives
them the variances ``924 s^2`` and ``28 s^2``. What is larger in one of them alone is a vibration, which the motion
hardly feels, or a quick motion: the smaller one counts.

The variances of a sample are at least these; they are never less than stated, as a filter in the sensor makes samples
smoother without that they are better.
"""

from __future__ import annotations

from math import isnan, log

from pkm_description.arrays import Array
from pkm_description.kernels.jit import kernel

from pkm_estimation.kernels.input_noise import NOW, SCATTER
from pkm_estimation.kernels.input_path import INPUTS
from pkm_estimation.kernels.process import ProcessData

#: samples of a difference, in the first rows behind ``SCATTER``, the newest first; rows of the two mean squares
SAMPLES, SIXTH, FOURTH = 7, SCATTER + 7, SCATTER + 8
#: places in ``scatter_stamps``: newest sample and the one before [ns], samples at regular intervals up to now, and
#: differences so far
NEWEST, BEFORE, COUNT, KNOWN, PLACES = 0, 1, 2, 3, 4
#: variances of the two differences of white noise of variance 1
_OF_SIXTH, _OF_FOURTH = 924.0, 28.0
#: s, after which squares count by a factor e less; squares that the stated noise counts for at the start
_MEMORY, _STATED = 1.0, 8.0
#: largest ratio of two intervals in a row that are regular
_IRREGULAR = 1.5
#: means beyond which a square does not count: a single shock must not decide
_LARGEST = 25.0
_NANOSECOND = 1e-9


@kernel
def set_noise(process: ProcessData) -> None:
    """Set the noise of a sample by how samples scatter, up to the one at the end of the present interval."""
    if process.is_measured[0] == 0:
        return
    take_difference(process)
    for k in range(INPUTS):
        measured = min(process.slopes[SIXTH, k], process.slopes[FOURTH, k])
        process.noise[k, k] = max(process.stated[k, k], measured)


@kernel
def take_difference(process: ProcessData) -> None:
    """Take the sample at the end of the present interval, once."""
    stamps, rows, newest = process.scatter_stamps, process.slopes, process.stamps[0]
    if newest == stamps[NEWEST]:
        return
    interval, earlier = newest - process.stamps[1], stamps[NEWEST] - stamps[BEFORE]
    follows = process.stamps[1] == stamps[NEWEST]
    is_regular = follows and interval < _IRREGULAR * earlier and earlier < _IRREGULAR * interval
    stamps[COUNT] = min(SAMPLES, stamps[COUNT] + 1) if is_regular else 1
    stamps[BEFORE], stamps[NEWEST] = process.stamps[1], newest
    part = min(1.0, max(interval * _NANOSECOND / _MEMORY, 1.0 / (_STATED + stamps[KNOWN])))
    if stamps[COUNT] == SAMPLES:
        stamps[KNOWN] += 1
    for k in range(INPUTS):
        for row in range(SCATTER + SAMPLES - 1, SCATTER, -1):
            rows[row, k] = rows[row - 1, k]
        rows[SCATTER, k] = process.samples[0, k]
        if stamps[COUNT] < SAMPLES:
            continue
        ends, second = rows[SCATTER, k] + rows[SCATTER + 6, k], rows[SCATTER + 1, k] + rows[SCATTER + 5, k]
        third, middle = rows[SCATTER + 2, k] + rows[SCATTER + 4, k], rows[SCATTER + 3, k]
        sixth = ends - 6.0 * second + 15.0 * third - 20.0 * middle
        fourth = ends - 2.0 * second - third + 4.0 * middle
        stated, jitter = process.stated[k, k], rows[NOW, k] * rows[NOW, k]  # what counts as jitter of stamps already
        add_square(rows, SIXTH, k, sixth * sixth / _OF_SIXTH - jitter, stated, part)
        add_square(rows, FOURTH, k, fourth * fourth / _OF_FOURTH - jitter, stated, part)


@kernel
def add_square(rows: Array, row: int, k: int, square: float, stated: float, part: float) -> None:
    """Add a square to a mean, which begins at what is stated."""
    mean = rows[row, k]
    if mean == 0.0:
        mean = stated
    rows[row, k] = mean + part * (min(square, _LARGEST * max(mean, stated)) - mean)


@kernel
def add_positions(
    motion: Array, covariance: Array, sums: Array, ratios: Array, duration: float, positions: Array
) -> None:
    """Move A legs on by ``duration`` s, each by F Kalman filters of white jerk, and correct them.

    Parameters
    ----------
    motion, covariance : (A, F, 3), (A, F, 3, 3) of position, velocity and acceleration, in units of the noise
    sums : (3, F) of each kind of filter: number of positions, squares of their innovations over their variances S,
        and logarithms of S
    ratios : (F,) spectral densities of the jerk
    positions : (A,) in units of their noise; NaN where there is none
    """
    t, t2, t3 = duration, duration**2, duration**3
    for leg in range(len(motion)):
        for k in range(len(ratios)):
            x, p, density = motion[leg, k], covariance[leg, k], ratios[k]
            x[0] += t * x[1] + 0.5 * t2 * x[2]
            x[1] += t * x[2]
            by_position = (
                p[0, 0] + 2.0 * t * p[0, 1] + t2 * (p[0, 2] + p[1, 1]) + t3 * p[1, 2] + 0.25 * t2 * t2 * p[2, 2]
                + density * t3 * t2 / 20.0,
                p[0, 1] + t * (p[0, 2] + p[1, 1]) + 1.5 * t2 * p[1, 2] + 0.5 * t3 * p[2, 2] + density * t2 * t2 / 8.0,
                p[0, 2] + t * p[1, 2] + 0.5 * t2 * p[2, 2] + density * t3 / 6.0,
            )  # fmt: skip
            p[1, 1] += 2.0 * t * p[1, 2] + t2 * p[2, 2] + density * t3 / 3.0
            p[1, 2] += t * p[2, 2] + density * t2 / 2.0
            p[2, 2] += density * t
            variance, error = by_position[0] + 1.0, positions[leg] - x[0]
            is_known = not isnan(error)
            if is_known:
                sums[0, k] += 1.0
                sums[1, k] += error * error / variance
                sums[2, k] += log(variance)
            for i in range(3):
                gain = by_position[i] / variance if is_known else 0.0
                x[i] += gain * error if is_known else 0.0
                for j in range(i, 3):
                    before = by_position[j] if i == 0 else p[i, j]
                    p[i, j] = before - gain * by_position[j]
