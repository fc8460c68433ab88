"""Mean and variance over the periods of a periodic recording (Heimann & Abdellatif; Swevers et al. 1996)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from pkm_description.arrays import Array
from scipy.interpolate import CubicSpline

from pkm_identification.recording.recording import Recording

#: samples by which periods may be longer or shorter than a whole number, all together, before they are interpolated
WHOLE = 0.02


@dataclass(frozen=True)
class Repeatability:
    """What a motion and its efforts are on the average of K periods, and how far single periods are off.

    The standard deviations are those of single samples (divisor K - 1): noise of the sensors, and everything that does
    not repeat. They come from no model, so they tell noise from what a model lacks. Of few periods that of one sample
    is rough, its relative error is ``1 / sqrt(2 (K - 1))``; the figures by drive are over the whole period.

    Attributes
    ----------
    base_frequency : Hz
    found : whether it was found in the data, not given
    periods : K
    time : (P,) s from the beginning of a period
    positions, position_std : (P, A) m or rad
    efforts, effort_std : (P, A) N or N m
    """

    base_frequency: float
    found: bool
    periods: int
    time: Array
    positions: Array
    position_std: Array
    efforts: Array
    effort_std: Array

    @property
    def position_noise(self) -> Array:
        """Standard deviation (A,) of a sample of each drive's position."""
        return np.sqrt(np.mean(self.position_std**2, axis=0))

    @property
    def effort_noise(self) -> Array:
        """Standard deviation (A,) of a sample of each drive's effort."""
        return np.sqrt(np.mean(self.effort_std**2, axis=0))

    @property
    def summary(self) -> str:
        """One line for logs."""
        how = 'found' if self.found else 'given'
        return (
            f'{self.periods} periods of {self.base_frequency:.6g} Hz ({how}); single samples are off their mean by '
            f'{self.position_noise.max():.2g} m or rad and {self.effort_noise.max():.3g} N or N m (worst drive)'
        )


def repeatability(recording: Recording, base_frequency: float, periods: int, found: bool) -> Repeatability:
    """Average a recording that begins with whole periods.

    Parameters
    ----------
    base_frequency : Hz
    periods : K, how many there are
    found : kept with the result
    """
    period = recording.sample_rate / base_frequency
    count = round(period)
    both = np.concatenate([recording.drive_positions, recording.forces], axis=1)
    if abs(period - count) * periods > WHOLE or periods * count > len(both):
        # between samples: the grid of each period begins where the period does
        step = 1.0 / (base_frequency * count)
        grid = np.minimum(np.arange(periods * count) * step, recording.duration)
        both = CubicSpline(recording.time - recording.time[0], both, axis=0)(grid)
    folded = both[: periods * count].reshape(periods, count, -1)
    mean, std = folded.mean(axis=0), folded.std(axis=0, ddof=1)
    drives = recording.drive_positions.shape[1]
    return Repeatability(
        base_frequency, found, periods, np.arange(count) / (base_frequency * count),
        mean[:, :drives], std[:, :drives], mean[:, drives:], std[:, drives:],
    )  # fmt: skip
