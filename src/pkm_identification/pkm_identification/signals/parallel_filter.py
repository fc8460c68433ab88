"""Parallel filtering: the same linear filter on forces and on every column of the regressor.

Whatever the filter removes, it removes from both sides, so the equation ``force = regressor @ parameters`` stays exact.
It takes away the band in which the smoothed motion no longer follows the machine, and decimation to the
filter's bandwidth leaves rows whose white noise is close to independent.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array

from pkm_identification.signals.low_pass import low_pass, settling_samples


def decimation_factor(sample_rate: float, cutoff_frequency: float) -> int:
    """Largest factor that keeps 2.5 samples per period of the cut-off frequency; 1 without a filter."""
    return max(1, int(sample_rate / (2.5 * cutoff_frequency)))


def parallel_filter(values: Array, sample_rate: float, cutoff_frequency: float) -> Array:
    """Filter samples (N, ...) and keep every d-th, d from :func:`decimation_factor`."""
    return low_pass(values, sample_rate, cutoff_frequency)[:: decimation_factor(sample_rate, cutoff_frequency)]


def kept_rows(excluded: NDArray[np.bool_], sample_rate: float, cutoff_frequency: float, reach: float) -> Array:
    """Row weights (n, L) in {0, 1} after decimation from excluded samples (N, L).

    A decimated row is dropped when an excluded sample lies within ``reach`` periods of the cut-off frequency,
    which is where
    the filter's pulse response is large.
    """
    step = decimation_factor(sample_rate, cutoff_frequency)
    half = int(np.ceil(reach * sample_rate / cutoff_frequency)) if cutoff_frequency < 0.45 * sample_rate else 0
    count = np.cumsum(np.concatenate([np.zeros((1, excluded.shape[1])), excluded]), axis=0)
    places = np.arange(0, len(excluded), step)
    upper = np.minimum(places + half + 1, len(excluded))
    lower = np.maximum(places - half, 0)
    return (count[upper] - count[lower] == 0).astype(float)


def edge_samples(sample_rate: float, *cutoff_frequencies: float) -> int:
    """Samples to leave out at either end after filters in a row, so that none of their starts is in the data."""
    return sum(settling_samples(sample_rate, cutoff) for cutoff in cutoff_frequencies)
