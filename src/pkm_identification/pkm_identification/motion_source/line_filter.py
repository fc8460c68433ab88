"""A filter that keeps chosen lines of the spectrum of periodic samples, and nothing else, without a phase shift.

Of a periodic motion only harmonics of its base frequency are of interest, and of these the lower ones: what lies
between and above them is noise. Forces have more lines than the motion, from products and from signs. As with every
parallel filter, forces and all columns of the regressor must go through it alike.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pkm_description.arrays import Array

from pkm_identification.errors import RecordingError

#: samples by which a period may be off a whole number, all periods together
WHOLE = 0.02


def line_filter(values: Array, sample_rate: float, base_frequency: float, harmonics: Sequence[int]) -> Array:
    """Keep harmonics of periodic samples (N, ...) along the first axis; 0 is the mean.

    Parameters
    ----------
    values : whole periods
    sample_rate, base_frequency : Hz
    harmonics : numbers of the lines to keep, e.g. ``range(0, 12)``

    Raises
    ------
    RecordingError
        The samples are no whole periods, or a line lies above half the sample rate.
    """
    count = len(values)
    periods = count * base_frequency / sample_rate
    if abs(periods - round(periods)) * sample_rate / base_frequency > WHOLE or round(periods) < 1:
        raise RecordingError(
            f'{count} samples at {sample_rate:g} Hz are {periods:.6g} periods of {base_frequency:g} Hz; a filter of '
            'single lines needs whole periods: cut the recording, or choose another base frequency'
        )
    lines = np.asarray(harmonics, dtype=int) * round(periods)
    highest = count // 2
    if lines.size and (lines.min() < 0 or lines.max() > highest):
        raise RecordingError(
            f'harmonics up to {max(harmonics)} of {base_frequency:g} Hz: at {sample_rate:g} Hz there are lines 0 to '
            f'{highest // round(periods)} only'
        )
    spectrum = np.fft.rfft(values, axis=0)
    kept = np.zeros_like(spectrum)
    kept[lines] = spectrum[lines]
    return np.fft.irfft(kept, count, axis=0)
