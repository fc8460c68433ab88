"""Mean and white noise of channels at rest, with confidence intervals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from pkm_description.arrays import Array
from scipy.stats import chi2, t

#: s, slower changes are not noise but drift
BLOCK = 1.0
#: noise above so many steps of a sensor blurs them: its mean errs by less than a hundredth of a step
_BLURRED = 0.5
#: lags whose autocorrelations are looked at
_LAGS = 20


@dataclass(frozen=True)
class ChannelNoise:
    """C channels.

    Attributes
    ----------
    mean : (C,)
    mean_std : (C,) standard deviation of the mean; slow drift makes it larger than white noise alone would
    mean_interval : (C, 2) 95 % confidence interval of the mean
    noise : (C,) standard deviation of one sample around its block of a second; exactly zero where all samples are equal
    noise_std : (C,) standard deviation of that
    noise_interval : (C, 2) its 95 % confidence interval
    autocorrelation : (C,) of neighbouring samples; white noise has zero
    excess_kurtosis : (C,) zero for Gaussian noise, more for bursts and heavy tails
    coarse_step : (C,) between readings, where noise is too small to blur it; infinite if there is only one reading, NaN
        where noise blurs it
    """

    mean: Array
    mean_std: Array
    mean_interval: Array
    noise: Array
    noise_std: Array
    noise_interval: Array
    autocorrelation: Array
    excess_kurtosis: Array
    coarse_step: Array


def channel_noise(values: Array, interval: float) -> ChannelNoise:
    """Estimate mean and noise of (N, C) samples, ``interval`` s apart.

    The noise is pooled from deviations within blocks of a second, so that drift does not count. Its uncertainty is that
    of a variance with ``N - blocks`` degrees of freedom, fewer for heavy tails and coloured noise. The mean's
    uncertainty is the larger one of white noise and the scatter of the blocks' means. A sensor whose noise does not
    blur its steps errs by a constant, too, when at rest, of a step / sqrt(12), and no sample of it is better than that.
    """
    length = max(2, round(BLOCK / interval))
    count = len(values) // length
    if count < 5:
        raise ValueError(f'{len(values)} samples are fewer than five blocks of {length}')
    first = values[0]
    values = values - first  # equal readings become zero without rounding
    blocks = values[: count * length].reshape(count, length, -1)
    means = blocks.mean(axis=1)
    residual = (blocks - means[:, None]).reshape(count * length, -1)
    # each block has lost one degree of freedom to its mean
    dof = np.full(values.shape[1], float(count * (length - 1)))
    squares = np.sum(residual**2, axis=0)
    variance = squares / dof
    safe = np.where(variance > 0.0, variance, 1.0)
    kurtosis = np.mean(residual**4, axis=0) / safe**2 - 3.0
    correlations = np.stack(
        [np.sum(residual[lag:] * residual[:-lag], axis=0) / (safe * len(residual)) for lag in range(1, _LAGS + 1)]
    )
    # residuals of a block sum to zero, so those of white noise correlate by -1 / length, in pairs of one block
    pairs = np.maximum(0, length - np.arange(1, _LAGS + 1)) / length
    correlations = correlations + pairs[:, None] / length
    dof = dof / ((1.0 + 0.5 * np.maximum(kurtosis, 0.0)) * (1.0 + 2.0 * np.sum(correlations**2, axis=0)))
    noise = np.sqrt(variance)
    white, scatter = noise / np.sqrt(len(values)), means.std(axis=0, ddof=1) / np.sqrt(count)
    mean, mean_std = first + values.mean(axis=0), np.maximum(white, scatter)
    steps = np.array([_smallest_step(column) for column in values.T])
    coarse = noise < _BLURRED * steps
    rounding = np.where(coarse & np.isfinite(steps), steps, 0.0) / np.sqrt(12.0)
    noise, mean_std = np.maximum(noise, rounding), np.hypot(mean_std, rounding)
    reach = t.ppf(0.975, count - 1) * mean_std
    return ChannelNoise(
        mean=mean,
        mean_std=mean_std,
        mean_interval=np.stack([mean - reach, mean + reach], axis=1),
        noise=noise,
        noise_std=noise / np.sqrt(2.0 * dof),
        noise_interval=noise[:, None]
        * np.sqrt(dof[:, None] / np.stack([chi2.ppf(0.975, dof), chi2.ppf(0.025, dof)], axis=1)),
        autocorrelation=correlations[0],
        excess_kurtosis=kurtosis,
        coarse_step=np.where(coarse, steps, np.nan),
    )


def _smallest_step(readings: Array) -> float:
    """Smallest difference between two different readings (N,), infinite if there is one only."""
    different = np.unique(readings)
    steps = np.diff(different)
    # steps of floating-point rounding are none
    steps = steps[steps > 1e-9 * np.ptp(different)]
    return float(steps.min()) if len(steps) else np.inf
