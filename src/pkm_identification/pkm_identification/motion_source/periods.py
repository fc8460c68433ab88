"""Motion source that averages over the periods of a periodic excitation, and fits a Fourier series to the mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from pkm_description.arrays import Array
from pkm_description.machine import Machine
from pkm_description.motion.coordinates import pose_coordinates
from scipy.stats import chi2

from pkm_identification.errors import RecordingError
from pkm_identification.motion_source.bands import Bands
from pkm_identification.motion_source.filters import derivatives, fourier_fit, low_pass
from pkm_identification.motion_source.interface import (
    Curve,
    MotionSource,
    RecordedMotion,
    motion_of_curve,
    smooths_drives,
)
from pkm_identification.motion_source.period_search import (
    find_period,
    refined_period,
    repeating_part,
    require_repetition,
)
from pkm_identification.motion_source.repeatability import Repeatability, repeatability
from pkm_identification.recording.recording import Recording

#: samples by which a period may be off a whole number, all periods together
WHOLE = 0.02
#: chance with which noise alone makes a harmonic count
CHANCE = 1e-6


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

    name: ClassVar[str] = 'periods'
    title: ClassVar[str] = 'a Fourier series of the mean over the periods'

    def __init__(self, base_frequency: float = 0.0, harmonics: int = 0) -> None:
        self.base_frequency, self.harmonics = base_frequency, harmonics

    def curve(self, time: Array, values: Array, cutoff_frequency: float) -> Curve:
        """See the base class; all samples must belong to the periodic part."""
        mean = self._averaged(Recording(time, values, np.zeros_like(values)))
        harmonics = self._count(mean, cutoff_frequency)
        period = 1.0 / mean.base_frequency
        return Curve(*fourier_fit(mean.time, mean.positions, 1.0 / period, harmonics, at=time - time[0]))

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
        constrained = smooths_drives(machine)

        def coordinates(part: Recording) -> Array:
            return part.drive_positions if constrained else pose_coordinates(*self.poses(machine, part), machine.home)

        one = Recording(mean.time, mean.positions, mean.efforts, recording.start_stamp, recording.source)
        time = recording.time
        smooth = Curve(
            *fourier_fit(mean.time, coordinates(one), mean.base_frequency, harmonics, at=time - time[0])
        )
        values = low_pass(coordinates(recording), recording.sample_rate, bands.sign_cutoff)
        lively = Curve(values, *derivatives(time, values))
        moved = [motion_of_curve(machine, time, curve, constrained) for curve in (smooth, lively)]
        return RecordedMotion(recording, moved[0], moved[1], mean)

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
        clear = np.flatnonzero(signal > chi2.isf(CHANCE, 2 * power.shape[1]))
        return int(clear[-1]) + 1 if len(clear) else 1


# A filter that keeps chosen lines of the spectrum of periodic samples, and nothing else, without a phase shift.
#
# Of a periodic motion only harmonics of its base frequency are of interest, and of these the lower ones: what lies
# between and above them is noise. Forces have more lines than the motion, from products and from signs. As with every
# parallel filter, forces and all columns of the regressor must go through it alike.
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
