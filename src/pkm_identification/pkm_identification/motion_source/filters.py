"""Zero-phase low-pass filtering and derivatives, the choice of the band, and parallel filtering.

Parallel filtering is the same linear filter on forces and on every column of the regressor. Whatever the filter
removes, it removes from both sides, so the equation ``force = regressor @ parameters`` stays exact. It takes away the
band in which the smoothed motion no longer follows the machine, and decimation to the filter's bandwidth leaves rows
whose white noise is close to independent.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from scipy.interpolate import make_interp_spline
from scipy.signal import butter, periodogram, sosfiltfilt

from pkm_identification.blocks import BLOCK, OfPart, blocks
from pkm_identification.errors import RecordingError

#: most rows that begin in a block of samples
ROWS = 128
#: forward-backward Butterworth order; the pass band is flat to 2e-5 at half the cut-off frequency
ORDER = 8

#: cut-off frequency by sample rate from which on nothing is filtered
UNFILTERED = 0.45


def low_pass(values: Array, sample_rate: float, cutoff_frequency: float) -> Array:
    """Zero-phase Butterworth low-pass (forward and backward) of samples (N, ...) along the first axis.

    ``cutoff_frequency`` [Hz]: gain 0.5 there. From :data:`UNFILTERED` of the sample rate on nothing is filtered.
    """
    if cutoff_frequency >= UNFILTERED * sample_rate:
        return np.asarray(values, dtype=float)
    sections = _sections(sample_rate, cutoff_frequency)
    padding = settling_samples(sample_rate, cutoff_frequency)
    if len(values) <= padding:
        raise RecordingError(
            f'{len(values)} samples are too few for a low-pass of {cutoff_frequency:g} Hz, '
            f'which settles in {padding} samples'
        )
    return sosfiltfilt(sections, values, axis=0, padtype='odd', padlen=padding)


@lru_cache(maxsize=64)
def _sections(sample_rate: float, cutoff_frequency: float) -> Array:
    return butter(ORDER, cutoff_frequency, fs=sample_rate, output='sos')


def settling_samples(sample_rate: float, cutoff_frequency: float) -> int:
    """Samples at either end that the filter's start still disturbs."""
    return int(np.ceil(2.0 * sample_rate / cutoff_frequency))


@lru_cache(maxsize=64)
def answer_samples(sample_rate: float, cutoff_frequency: float, size: float = 1e-13) -> int:
    """Samples on either side after which the low-pass's answer to an impulse has faded to about ``size``."""
    poles = butter(ORDER, cutoff_frequency, fs=sample_rate, output='zpk')[1]
    return int(np.ceil(np.log(size) / np.log(np.abs(poles).max())))


def derivatives(time: Array, values: Array) -> tuple[Array, Array]:
    """First and second derivative (N, ...) of smooth samples by an interpolating quintic spline.

    For a sine of frequency f at rate r the relative error stays below (2 pi f / r)^4; central differences have
    (2 pi f / r)^2 / 6, which at 2 Hz and 100 Hz already is 0.3 %.
    """
    spline = make_interp_spline(time, values, k=5, axis=0)
    return spline(time, nu=1), spline(time, nu=2)


def excitation_band(values: Array, sample_rate: float, power: float = 0.95) -> float:
    """Frequency [Hz] below which lies the share ``power`` of the acceleration's energy, over the columns of (N, M).

    The second derivative decides, for forces follow accelerations. It lifts the samples' white noise with f^4, so only
    lines that stand out of the noise count: 25 times its mean density, which chance exceeds once in 10^11 lines.
    """
    centred = values - values.mean(axis=0)
    frequency, density = periodogram(centred, fs=sample_rate, window='hann', axis=0, detrend='linear')
    noise = np.mean(density[frequency > 0.7 * frequency[-1]], axis=0)
    # leakage of slow, large motion looks like noise that falls with frequency: ask for a visible line at any rate
    floor = np.maximum(25.0 * noise, 1e-12 * density.max(axis=0))
    energy = np.cumsum((np.where(density > floor, density, 0.0) * frequency[:, None] ** 4).sum(axis=1))
    if energy[-1] <= 0.0:
        raise RecordingError('the drive positions show no motion above their noise')
    return float(frequency[np.searchsorted(energy, power * energy[-1])])


def decimation_factor(sample_rate: float, cutoff_frequency: float) -> int:
    """Largest factor that keeps 2.5 samples per period of the cut-off frequency; 1 without a filter."""
    return max(1, int(sample_rate / (2.5 * cutoff_frequency)))


def parallel_filter(values: Array, sample_rate: float, cutoff_frequency: float) -> Array:
    """Filter samples (N, ...) and keep every d-th, d from :func:`decimation_factor`."""
    return low_pass(values, sample_rate, cutoff_frequency)[:: decimation_factor(sample_rate, cutoff_frequency)]


def kept_rows(excluded: NDArray[np.bool_], sample_rate: float, cutoff_frequency: float, reach: float) -> Array:
    """Row weights (n, L) in {0, 1} after decimation from excluded samples (N, L).

    A decimated row is dropped when an excluded sample lies within ``reach`` periods of the cut-off frequency,
    which is where the filter's pulse response is large.
    """
    step = decimation_factor(sample_rate, cutoff_frequency)
    half = int(np.ceil(reach * sample_rate / cutoff_frequency)) if cutoff_frequency < UNFILTERED * sample_rate else 0
    count = np.cumsum(np.concatenate([np.zeros((1, excluded.shape[1])), excluded]), axis=0)
    places = np.arange(0, len(excluded), step)
    upper = np.minimum(places + half + 1, len(excluded))
    lower = np.maximum(places - half, 0)
    return (count[upper] - count[lower] == 0).astype(float)


def edge_samples(sample_rate: float, *cutoff_frequencies: float) -> int:
    """Samples to leave out at either end after filters in a row, so that none of their starts is in the data.

    Where a recording ends in motion, the accelerations of its last samples are wrong by about their size; after two
    periods of a cut-off 9 % of that are left, after three 3 %.
    """
    return 3 * sum(settling_samples(sample_rate, cutoff) for cutoff in cutoff_frequencies) // 2


# The filter that makes rows of samples, the same for forces and regressor (parallel filtering).
#
# A row is a weighted mean of the samples around it. So columns of a regressor that are far larger than their rows need
# not be there all at once: each block of samples adds what it has to the rows within the filter's reach. Beyond its
# ends a recording goes on as :func:`low_pass` continues it: mirrored in its last sample, and then constant.
class RowFilter(NamedTuple):
    """Turns samples (N, ...) of a whole recording into rows (n, ...), as those of the forces and the regressor."""

    sample_rate: float
    cutoff: float
    kept: NDArray[np.bool_]

    def __call__(self, values: Array) -> Array:
        """Filter, decimate and leave out the ends."""
        return self.in_blocks(lambda part: values[part], len(values))

    def in_blocks(self, values: OfPart, count: int) -> Array:
        """Rows of ``count`` samples whose values are only computed part by part."""
        if self.cutoff >= UNFILTERED * self.sample_rate:
            return np.concatenate([values(part) for part in blocks(count)])[self.kept]
        step, reach = self.step, self.reach
        size = max(1, min(BLOCK // step, ROWS)) * step
        weights = _weights(self.sample_rate, self.cutoff, size, reach)
        rows = np.zeros((0, 0))
        for start, own in self._pieces(values, count, size):
            rows = rows if rows.size else np.zeros((len(self.kept), *own.shape[1:]))
            begin = (start - reach) // step
            low, high = max(begin, 0), min(begin + len(weights), len(rows))
            if low < high:
                means = weights[low - begin : high - begin, : len(own)] @ own.reshape(len(own), -1)
                rows[low:high] += means.reshape(high - low, *own.shape[1:])
        return rows[self.kept]

    def _pieces(self, values: OfPart, count: int, size: int) -> Iterator[tuple[int, Array]]:
        """Samples with what lies beyond both ends, in pieces of ``size``, each with the place of its first one."""
        yield from ((part.start, values(part)) for part in blocks(count, size))
        mirrored = min(settling_samples(self.sample_rate, self.cutoff), count - 1)

        def beyond(inside: Array) -> Array:
            """What goes on beyond the first of some samples, outwards."""
            mirror = 2.0 * inside[0] - inside[1:]
            return np.concatenate([mirror, np.repeat(mirror[-1:], max(self.reach - mirrored, 0), axis=0)])[: self.reach]

        before = beyond(values(slice(0, mirrored + 1)))[::-1]
        after = beyond(values(slice(count - mirrored - 1, count))[::-1])
        late = count % self.step  # pieces begin where a row is
        after = np.concatenate([np.zeros((late, *after.shape[1:])), after])
        for start, own in ((-self.reach, before), (count - late, after)):
            yield from ((start + part.start, own[part]) for part in blocks(len(own), size))

    @property
    def step(self) -> int:
        """Samples from row to row."""
        return decimation_factor(self.sample_rate, self.cutoff)

    @property
    def reach(self) -> int:
        """Samples, whole rows, beyond which the filter's answer to an impulse is lost in rounding."""
        return -(-answer_samples(self.sample_rate, self.cutoff) // self.step) * self.step


@lru_cache(maxsize=4)
def _weights(sample_rate: float, cutoff: float, size: int, reach: int) -> Array:
    """Weights (r, size) of a block's samples in the rows within ``reach`` of it, the same for all blocks."""
    step = decimation_factor(sample_rate, cutoff)
    impulse = np.zeros(4 * reach + 1)
    impulse[2 * reach] = 1.0
    answer = low_pass(impulse, sample_rate, cutoff)[reach : 3 * reach + 1]
    distance = np.arange(-reach, size + reach, step)[:, None] - np.arange(size)
    return np.where(np.abs(distance) <= reach, answer[np.clip(distance, -reach, reach) + reach], 0.0)


def fourier_basis(time: Array, base_frequency: float, harmonics: int, derivative: int = 0) -> Array:
    """Basis (N, 1 + 2 n): constant, then sine and cosine of each harmonic, or a derivative of all of them.

    ``base_frequency`` in Hz.
    """
    omega = 2.0 * np.pi * base_frequency * np.arange(1, harmonics + 1)
    # each derivative advances the phase by a quarter turn and multiplies by the frequency
    phase = time[:, None] * omega + 0.5 * np.pi * derivative
    waves = np.stack([np.sin(phase), np.cos(phase)], axis=-1) * (omega**derivative)[:, None]
    constant = np.full((len(time), 1), 1.0 if derivative == 0 else 0.0)
    return np.concatenate([constant, waves.reshape(len(time), -1)], axis=1)


def fourier_fit(
    time: Array, values: Array, base_frequency: float, harmonics: int, at: Array | None = None
) -> tuple[Array, Array, Array]:
    """Fit periodic samples (N, M) and return the fitted values and their first two derivatives, each (N, M).

    Parameters
    ----------
    time : (N,) s; whole periods give the best-conditioned fit
    base_frequency : Hz, of the excitation
    harmonics : number of harmonics; take more than were commanded, friction adds some
    at : (T,) s, times of the result; default: ``time``
    """
    basis = fourier_basis(time, base_frequency, harmonics)
    if len(time) < basis.shape[1]:
        raise RecordingError(f'{len(time)} samples cannot determine {basis.shape[1]} coefficients of a Fourier series')
    coefficients = np.linalg.lstsq(basis, values, rcond=None)[0]
    first, second = (
        fourier_basis(time if at is None else at, base_frequency, harmonics, order) @ coefficients for order in (1, 2)
    )
    return (basis if at is None else fourier_basis(at, base_frequency, harmonics)) @ coefficients, first, second
