"""How well the legs have fitted their predictions lately: running statistics of the innovations."""

from __future__ import annotations

from math import sqrt

from pkm_description.arrays import Array
from pkm_description.kernels.jit import kernel

#: places in the statistics (4 + A,): mean square of the normalised innovations, correlation of consecutive ones, factor
#: on the noise variances; size of the last normalised innovation (negative: none) and, from the next on, itself
SCALE, CORRELATION, NOISE_SCALE, LAST_SIZE, LAST_ERRORS = 0, 1, 2, 3, 4

#: weight of a new measurement in the running measure of how well the model fits
_FORGETTING = 0.05
#: the same for the correlation of consecutive residuals; below the second number they count as white noise
_CORRELATION_FORGETTING, WHITE = 0.1, 0.5
#: factor on the noise variances above which the cause is not noise
LOUDEST = 1e4
#: change of the noise factor per measurement, and its decay where the residuals are not white
_NOISE_RATE, _NOISE_FADE = 0.1, 0.8
#: median of a chi-square variable with one degree of freedom
_MEDIAN = 0.4549


@kernel
def median_of_squares(values: Array, count: int) -> float:
    """Median of the first squares, which are put in order."""
    for i in range(1, count):
        value, place = values[i], i
        while place > 0 and values[place - 1] > value:
            values[place] = values[place - 1]
            place -= 1
        values[place] = value
    middle = count // 2
    return values[middle] if count % 2 else 0.5 * (values[middle - 1] + values[middle])


@kernel
def accept(residual: Array, variance: Array, fit: Array, squares: Array) -> None:
    """Add the first A numbers of an innovation, NaN where a leg was not used; ``squares`` (A,) is memory."""
    count, total, product = 0, 0.0, 0.0
    for leg in range(len(squares)):
        error = residual[leg] / sqrt(variance[leg])
        if error == error:
            squares[count] = error * error
            total += squares[count]
            count += 1
        else:
            error = 0.0
        product += error * fit[LAST_ERRORS + leg]
        fit[LAST_ERRORS + leg] = error
    size, median = sqrt(total), median_of_squares(squares, count)
    fit[SCALE] += _FORGETTING * (min(median / _MEDIAN, 10.0 * max(1.0, fit[SCALE])) - fit[SCALE])
    if fit[NOISE_SCALE] > 1.0:
        change = 1.0 + _NOISE_RATE * (min(median / _MEDIAN, 10.0) - 1.0)
        fit[NOISE_SCALE] *= change if fit[CORRELATION] < WHITE else _NOISE_FADE
        fit[NOISE_SCALE] = min(fit[NOISE_SCALE], LOUDEST) if fit[NOISE_SCALE] > 1.5 else 1.0
    if fit[LAST_SIZE] >= 0.0:
        sizes = size * fit[LAST_SIZE]
        cosine = product / sizes if sizes > 0.0 else 0.0
        fit[CORRELATION] += _CORRELATION_FORGETTING * (cosine - fit[CORRELATION])
    fit[LAST_SIZE] = size
