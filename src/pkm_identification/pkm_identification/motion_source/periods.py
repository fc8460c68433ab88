"""Periodic excitation: its period, the part that repeats, and the Fourier series of the mean over the periods."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from pkm_description.arrays import Array
from pkm_description.machine import Machine
from scipy.interpolate import CubicSpline
from scipy.optimize import minimize_scalar
from scipy.special import chdtri

from pkm_identification.blocks import runs_of
from pkm_identification.errors import RecordingError
from pkm_identification.motion_source.bands import Bands
from pkm_identification.motion_source.filters import fourier_basis, fourier_fit
from pkm_identification.motion_source.interface import Curve, MotionSource, RecordedMotion, Repeatability, repeatability
from pkm_identification.recording.recording import Recording

#: chance with which noise alone makes a harmonic count
CHANCE = 1e-6
#: rms difference of samples one period apart, of the motion's deviation, up to which a motion repeats; a servo repeats
#: to much less, another lag than the period to much more
REPEATS = 0.02
#: difference, of the motion's variance, that a lag must exceed once before it can count as a period
DECORRELATED = 0.5
#: a lag is a period if its difference is at most this many times that of the best lag
AS_GOOD = 2.0
#: a local minimum of the difference over whole samples is looked at more closely below this
CANDIDATE = 0.2
#: harmonics, and samples, that are enough to tell the frequency by; steps of Gauss-Newton
HARMONICS, FITTED, STEPS = 10, 20_000, 20
#: samples that are enough to compare two lags by
COMPARED = 3000


class PeriodMean(MotionSource):
    """Mean over the periods, then a Fourier series of the mean; efforts are averaged, too.

    The noise of the mean is that of a sample divided by the root of the number of periods. Efforts go into the rows of
    the least squares one by one all the same: with rows that repeat from period to period, the result is that of their
    mean, and its standard deviations are those of what was measured. Single samples get no weights of their own, for
    the variance of a few periods is rougher than what it could mend; drives do, from the residuals.

    Parameters
    ----------
    base_frequency : Hz; 0: found in the data
    harmonics : of the series; 0: up to the last one that stands out of the noise of the mean, below the motion's
        cut-off frequency
    """

    title: ClassVar[str] = 'a Fourier series of the mean over the periods'

    def __init__(self, base_frequency: float = 0.0, harmonics: int = 0) -> None:
        self.base_frequency, self.harmonics = base_frequency, harmonics

    def curve(self, time: Array, values: Array, cutoff_frequency: float) -> Curve:
        """See the base class; all samples must belong to the periodic part."""
        mean = self._averaged(Recording(time, values, np.zeros_like(values)))
        harmonics = self._count(mean, cutoff_frequency)
        return Curve(*fourier_fit(mean.time, mean.positions, mean.base_frequency, harmonics, at=time - time[0]))

    def motion(self, machine: Machine, recording: Recording, bands: Bands) -> RecordedMotion:
        """See the base class; the motion is that of the part of the recording that repeats.

        Raises
        ------
        RecordingError
            If the motion does not repeat, or less than two periods of it were recorded.
        """
        recording = self._periodic_part(recording)
        mean = self._averaged(recording)
        harmonics = self._count(mean, bands.motion_cutoff)
        one = Recording(mean.time, mean.positions, mean.efforts, recording.start_stamp, recording.source)
        series, at = self.coordinates(machine, one), recording.time - recording.time[0]
        smooth = Curve(*fourier_fit(mean.time, series, mean.base_frequency, harmonics, at))
        return self.moved(machine, recording, bands, self.coordinates(machine, recording), smooth, mean)

    def _periodic_part(self, recording: Recording) -> Recording:
        """Whole and begun periods of a recording, without what goes before and after."""
        values, rate, source = recording.drive_positions, recording.sample_rate, recording.source
        period = self._period(recording)
        part = repeating_part(values, period)
        if (part.stop - part.start) / period < 2.0:
            raise RecordingError(
                f'{source}: less than two periods of {rate / period:.6g} Hz repeat (the recording is '
                f'{len(values) / period:.2f} periods long); record more of them, check motion.base_frequency, or use '
                'another motion.source'
            )
        return Recording(
            recording.time[part], values[part], recording.forces[part],
            recording.start_stamp + round(1e9 * (recording.time[part.start] - recording.time[0])), source,
        )  # fmt: skip

    def _period(self, recording: Recording) -> float:
        """Period [samples], given or found."""
        if self.base_frequency > 0.0:
            return recording.sample_rate / self.base_frequency
        try:
            return find_period(recording.drive_positions)
        except RecordingError as error:
            raise RecordingError(f'{recording.source}: {error}') from None

    def _averaged(self, recording: Recording) -> Repeatability:
        """Mean and variance of a recording that is periodic throughout."""
        values, rate = recording.drive_positions, recording.sample_rate
        period = self._period(recording)
        if self.base_frequency <= 0.0:
            period = refined_period(values, period)
        # the last sample of a period is one before the first of the next; half a sample may be missing
        periods = int((len(values) + 0.5) / period)
        if periods < 2:
            raise RecordingError(
                f'{recording.source}: {len(values) / period:.2f} periods of {rate / period:.6g} Hz; averaging needs two'
            )
        try:
            require_repetition(values, period)
        except RecordingError as error:
            raise RecordingError(f'{recording.source}: {error}') from None
        return repeatability(recording, rate / period, periods, self.base_frequency <= 0.0)

    def _count(self, mean: Repeatability, cutoff_frequency: float) -> int:
        """Number of harmonics of the series."""
        most = (len(mean.time) - 1) // 2
        if self.harmonics > most:
            raise RecordingError(
                f'motion.harmonics = {self.harmonics}: a period has {len(mean.time)} samples, at most {most} harmonics'
            )
        if self.harmonics > 0:
            return self.harmonics
        most = min(most, int(cutoff_frequency / mean.base_frequency))
        # twice the coefficients of a real series have the variance 4 s^2 / (K P) in noise of variance s^2
        power = np.abs(2.0 * np.fft.rfft(mean.positions, axis=0) / len(mean.time)) ** 2
        noise = 4.0 * mean.position_noise**2 / (mean.periods * len(mean.time))
        floor = np.maximum(noise, 1e-20 * power[1:].max())
        signal = np.sum(2.0 * power / floor, axis=1)[1 : most + 1]
        clear = np.flatnonzero(signal > chdtri(2 * power.shape[1], CHANCE))
        return int(clear[-1]) + 1 if len(clear) else 1


def find_period(values: Array) -> float:
    """Shortest period [samples, not whole] after which the columns of uniform samples (N, M) repeat best.

    The difference function over all lags by FFT (as the YIN estimator of pitch, de Cheveigne and Kawahara 2002), its
    local minima then between samples.

    Raises
    ------
    RecordingError
        If all lags up to half of the recording are alike.
    """
    scaled = _scaled(values)
    difference = _differences(scaled)
    longest = len(scaled) // 2
    # slow motion hardly differs over a few samples: that is no period
    apart = np.flatnonzero(difference > DECORRELATED)
    begin = apart[0] if len(apart) else longest
    inner = np.arange(max(begin, 2), longest)
    if not len(inner):
        raise RecordingError(
            f'the motion does not repeat within half of its {len(scaled)} samples; record at least two periods, or '
            'use another motion.source'
        )
    lowest = (difference[inner] <= difference[inner - 1]) & (difference[inner] <= difference[inner + 1])
    places = inner[lowest & (difference[inner] < max(CANDIDATE, 1.5 * difference[inner].min()))]
    if not len(places):
        places = inner[[np.argmin(difference[inner])]]
    spline = CubicSpline(np.arange(len(scaled)), scaled)
    refined = [_refined(spline, float(place), 1.0) for place in places]
    best = min(found for _, found in refined)
    return next(period for period, off in refined if off <= AS_GOOD * best + 1e-9)


def require_repetition(values: Array, period: float) -> None:
    """Refuse samples (N, M) that differ too much from those one period [samples] before.

    Raises
    ------
    RecordingError
        Says by how much, and what is allowed.
    """
    scaled = _scaled(values)
    count = len(scaled)
    places = np.arange(max(int(count - period), 1))
    later = CubicSpline(np.arange(count), scaled)(np.minimum(places + period, count - 1))
    off = np.sqrt(0.5 * np.mean((later - scaled[places]) ** 2))
    if off > REPEATS:
        raise RecordingError(
            f'the motion does not repeat: samples {period:.1f} samples apart differ by {100 * off:.2g} % of its '
            f'deviation, more than {100 * REPEATS:g} %; check motion.base_frequency, or use another motion.source'
        )


def refined_period(values: Array, period: float) -> float:
    """Period [samples] of the best Fourier series of all whole periods, by Gauss-Newton from a period that is near.

    Lags between samples would not do: interpolation takes noise away, most of it half-way between two samples, so that
    such lags seem to repeat best.
    """
    frequency = 1.0 / period
    for _ in range(STEPS):
        count = int(len(values) * frequency) / frequency
        time = np.arange(0.0, np.floor(count + 1e-6), max(1.0, np.floor(count / FITTED)))
        scaled = _scaled(values[time.astype(int)])
        basis = fourier_basis(time, frequency, HARMONICS)
        coefficients, *_ = np.linalg.lstsq(basis, scaled, rcond=None)
        # a series depends on the frequency as its rate of change, times the time, divided by the frequency
        slopes = fourier_basis(time, frequency, HARMONICS, 1) @ coefficients * (time / frequency)[:, None]
        slopes -= basis @ np.linalg.lstsq(basis, slopes, rcond=None)[0]
        step = float(np.sum(slopes * (scaled - basis @ coefficients)) / np.sum(slopes**2))
        frequency += float(np.clip(step, -0.01 * frequency, 0.01 * frequency))
        if abs(step) * time[-1] < 1e-6:  # of a period, at the end
            break
    return 1.0 / frequency


def repeating_part(values: Array, period: float) -> slice:
    """Longest part of samples (N, M) in which the motion repeats: without run-in and run-out.

    Parameters
    ----------
    period : samples
    """
    count = len(values)
    if period >= count - 1:
        return slice(0, count)
    scaled = _scaled(values)
    places = np.arange(int(count - period))
    later = CubicSpline(np.arange(count), scaled)(places + period)
    # not of the noise, of what is smooth: an average over a twentieth of the period
    width = max(1, int(period / 20.0))
    off = np.sum((later - scaled[places]) ** 2, axis=1) / scaled.shape[1]
    off = np.convolve(off, np.full(width, 1.0 / width), mode='same')
    # three times as far off as the best quarter: that is how run-in begins to differ
    runs = runs_of(off <= min(2.0 * (3.0 * REPEATS) ** 2, 9.0 * float(np.quantile(off, 0.25)) + 1e-9))
    begin, end = max(runs, key=lambda run: run[1] - run[0], default=(0, 0))
    return slice(begin, min(count, int(end + period) + 1)) if end > begin else slice(0, 0)


def _scaled(values: Array) -> Array:
    """Columns with mean 0 and deviation 1; those that do not move are left out."""
    centred = values - values.mean(axis=0)
    deviation = centred.std(axis=0)
    moving = deviation > 1e-3 * deviation.max()
    if not deviation.max() > 0.0:
        raise RecordingError('the drives do not move, so there is no period')
    return centred[:, moving] / deviation[moving]


def _differences(scaled: Array) -> Array:
    """Mean squared difference (N,) of samples at each lag, of the variance of all columns together."""
    count, columns = scaled.shape
    size = 2 * count
    spectrum = np.fft.rfft(scaled, size, axis=0)
    correlation = np.fft.irfft(np.sum(np.abs(spectrum) ** 2, axis=1), size)[:count]
    energy = np.concatenate([[0.0], np.cumsum(np.sum(scaled**2, axis=1))])
    lags = np.arange(count)
    total = energy[count - lags] + (energy[count] - energy[lags])
    return np.asarray((total - 2.0 * correlation) / (count - lags) / columns)


def _refined(spline: CubicSpline, lag: float, reach: float) -> tuple[float, float]:
    """Lag between samples with the least mean squared difference, and that difference."""
    last = spline.x[-1]
    places = np.arange(0.0, last - lag - reach, max(1.0, np.floor((last - lag) / COMPARED)))
    here = spline(places)

    def off(other: float) -> float:
        return float(np.mean((spline(places + other) - here) ** 2))

    found = minimize_scalar(off, bounds=(lag - reach, lag + reach), method='bounded', options={'xatol': 1e-5})
    return float(found.x), float(found.fun)
