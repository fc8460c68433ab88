"""Series with autoregressive noise, from each sample of which the samples before it are taken out.

Samples may be missing. The state of the Kalman filter is the last p samples (Jones 1980), so that what lies before a
gap is used behind it. Gains do not depend on the data: every column goes through the same filter.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.kernels.jit import kernel


@kernel
def set_autoregression(partial: Array, factors: Array, covariances: Array, work: Array) -> float:
    """Factors (p,) of the last samples and covariances (p + 1,) of a series with variance 1 (Levinson, Durbin).

    Returns the variance of a sample, given all before it.

    Parameters
    ----------
    partial : (p,) partial autocorrelations, each between -1 and 1
    work : (p,)
    """
    variance = 1.0
    covariances[0] = 1.0
    for order in range(len(partial)):
        total = partial[order] * variance
        for k in range(order):
            total += factors[k] * covariances[order - k]
            work[k] = factors[k] - partial[order] * factors[order - 1 - k]
        for k in range(order):
            factors[k] = work[k]
        factors[order] = partial[order]
        covariances[order + 1] = total
        variance *= 1.0 - partial[order] * partial[order]
    return variance


@kernel
def whiten(
    factors: Array, covariances: Array, variance: float, used: NDArray[np.bool_], columns: Array, whitened: Array,
    deviations: Array, means: Array, spread: Array, gains: Array,
) -> None:  # fmt: skip
    """Innovations of the columns (n, A, C) of A series with the same autoregression, in standard deviations.

    Parameters
    ----------
    factors, covariances, variance : of :func:`set_autoregression`
    used : (n, A) whether a sample is there
    whitened : (n, A, C) result; 0 where a sample is missing
    deviations : (n, A) result: standard deviation of the noise, given the samples before; 1 where a sample is missing
    means, spread, gains : (p, C), (p, p), (p,) for the work
    """
    order, count = means.shape
    samples, series = used.shape
    for one in range(series):
        for i in range(order):
            for k in range(count):
                means[i, k] = 0.0
            for j in range(order):
                spread[i, j] = covariances[abs(i - j)]
        run = 0  # of samples without a gap until now
        for sample in range(samples):
            if run >= order:
                # the last p samples are all there is to know, and are known exactly
                if used[sample, one]:
                    deviation = sqrt(variance)
                    deviations[sample, one] = deviation
                    for k in range(count):
                        whitened[sample, one, k] = columns[sample, one, k]
                    for i in range(order):
                        for k in range(count):
                            whitened[sample, one, k] -= factors[i] * columns[sample - 1 - i, one, k]
                    for k in range(count):
                        whitened[sample, one, k] /= deviation
                    continue
                for i in range(order):
                    for k in range(count):
                        means[i, k] = columns[sample - 1 - i, one, k]
                    for j in range(order):
                        spread[i, j] = 0.0
            # the next sample joins the last ones
            expected = variance
            for i in range(order):
                gains[i] = 0.0
                for j in range(order):
                    gains[i] += spread[i, j] * factors[j]
            for i in range(order):
                expected += factors[i] * gains[i]
            for k in range(count):
                mean = 0.0
                for i in range(order):
                    mean += factors[i] * means[i, k]
                for i in range(order - 1, 0, -1):
                    means[i, k] = means[i - 1, k]
                means[0, k] = mean
            for i in range(order - 1, 0, -1):
                for j in range(order - 1, 0, -1):
                    spread[i, j] = spread[i - 1, j - 1]
            spread[0, 0] = expected
            for i in range(order - 1, 0, -1):
                spread[0, i] = gains[i - 1]
                spread[i, 0] = gains[i - 1]
            deviations[sample, one] = 1.0
            if not used[sample, one]:
                run = 0
                for k in range(count):
                    whitened[sample, one, k] = 0.0
                continue
            # it is known, and says something of those that are missing
            run += 1
            deviation = sqrt(expected)
            deviations[sample, one] = deviation
            for i in range(order):
                gains[i] = spread[i, 0] / expected
            for k in range(count):
                innovation = columns[sample, one, k] - means[0, k]
                whitened[sample, one, k] = innovation / deviation
                for i in range(order):
                    means[i, k] += gains[i] * innovation
            for i in range(order):
                for j in range(order):
                    spread[i, j] -= gains[i] * gains[j] * expected
            for i in range(order):  # exactly, lest rounding add up
                spread[0, i] = 0.0
                spread[i, 0] = 0.0
