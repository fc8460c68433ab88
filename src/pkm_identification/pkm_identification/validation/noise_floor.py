"""Is the residual noise? Its size beside that of the sensors' noise, drive by drive and frequency by frequency.

White noise of the efforts reaches the residual as it is. White noise of the drive positions reaches it through the
smoothed motion: by the accelerations that it feigns, times the inertia that the drives feel, and by the speeds, times
viscous friction. What the residual has beyond both is force that the model misses: then no parameter is identified.

How large the noise is says the machine file, or the recording itself where it has more: white noise differs from sample
to sample as no machine moves. So a residual that is larger than the file's noise, and white, is noise; one that is
larger at low frequencies alone is not. Readings in steps of q have noise of q^2 / 12 (Widrow & Kollar 2008,
Quantization Noise, chapter 4).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from pkm_description.arrays import Array
from scipy.signal import welch

from pkm_identification.columns.observation import ObservationModel
from pkm_identification.configuration import IdentificationConfig
from pkm_identification.fitting.lack_of_fit import ACCURACY
from pkm_identification.fitting.prediction import predicted_efforts
from pkm_identification.motion_source.filters import low_pass
from pkm_identification.preparation import PreparedData, prepare
from pkm_identification.recording.recording import Recording

#: of normal noise: standard deviation over median absolute deviation
MAD_TO_STD = 1.4826
#: residual over noise floor up to which the residual counts as noise
NOISE = 1.5
#: runs with made noise, and their seed
RUNS, SEED = 2, 0
#: most samples of the runs with noise of the positions; samples of a segment of the spectra
LONGEST, SEGMENT = 8000, 512


@dataclass(frozen=True)
class NoiseFloor:
    """Residual of a recording beside what the sensors' noise alone leaves, below the force cut-off frequency.

    Attributes
    ----------
    labels, units : (A,) of the drives, and of their efforts
    frequency : (F,) Hz
    residual_density, noise_density : (F, A) N^2/Hz or (N m)^2/Hz
    residual, noise : (A,) root mean squares
    from_efforts, from_positions : (A,) parts of the noise
    """

    labels: tuple[str, ...]
    units: tuple[str, ...]
    frequency: Array
    residual_density: Array
    noise_density: Array
    residual: Array
    noise: Array
    from_efforts: Array
    from_positions: Array

    @property
    def ratio(self) -> Array:
        """Residual over noise of each drive (A,)."""
        return np.divide(self.residual, self.noise, out=np.full(len(self.noise), np.inf), where=self.noise > 0.0)

    @property
    def total(self) -> float:
        """The same of all drives together."""
        return float(np.sqrt(np.sum(self.residual**2) / max(float(np.sum(self.noise**2)), 1e-300)))

    @property
    def is_noise(self) -> bool:
        """Whether no drive has a residual above :data:`NOISE` times its noise."""
        return bool((self.ratio <= NOISE).all())

    @property
    def worst(self) -> tuple[int, float]:
        """Drive with the largest ratio, and the frequency, in Hz, at which it has most beyond its noise."""
        drive = int(np.argmax(self.ratio))
        beyond = self.residual_density[:, drive] - self.noise_density[:, drive]
        return drive, float(self.frequency[int(np.argmax(beyond))])

    def __str__(self) -> str:
        drive, frequency = self.worst
        sizes = (
            f'{self.residual[drive]:.3g} where sensors explain {self.noise[drive]:.3g} '
            f'(efforts {self.from_efforts[drive]:.3g}, positions {self.from_positions[drive]:.3g}) {self.units[drive]}'
        )
        if self.is_noise:
            return (
                f'the residual is noise: {self.total:.2f} times the noise floor, at most {self.ratio[drive]:.2f} '
                f'times, in {self.labels[drive]}: {sizes}'
            )
        return (
            f'the residual is not noise alone: {self.total:.2f} times the noise floor, mainly in {self.labels[drive]} '
            f'at {frequency:.2g} Hz ({self.ratio[drive]:.2f} times: {sizes})'
        )


def noise_floor(
    data: PreparedData, model: ObservationModel, parameters: Array, residuals: Array, config: IdentificationConfig
) -> NoiseFloor | None:
    """Compare the residual of a recording with the sensors' noise; ``None`` where the motion has another source.

    The noise is made, with the sizes of file and recording, and sent through the same smoothing, model and filter.

    Parameters
    ----------
    data : a prepared recording
    model, parameters : what was fitted
    residuals : (N, A) measured less predicted efforts of all samples
    config : settings of the identification
    """
    sensors, cutoff = model.machine.leg_sensors, data.bands.force_cutoff
    if config.motion.source == 'estimator':  # noise of the drives does not reach the motion
        return None
    random, measured = np.random.default_rng(SEED), data.recording
    stated = np.hypot(sensors.effort_noise, measured.effort_steps / np.sqrt(12.0))
    efforts = np.maximum(stated, _white_noise(measured.forces))
    noises = np.maximum(sensors.position_noise, _white_noise(measured.drive_positions))
    middle = data.inner.start + (data.inner.stop - data.inner.start) // 2
    # a motion that repeats itself is taken whole
    half = LONGEST // 2 if config.motion.source == 'low_pass' else len(residuals)
    part = slice(max(0, middle - half), middle + half)
    positions = data.samples.positions[part]
    runs, prepared = [], data
    for run in range(RUNS + 1):
        noise = noises * random.normal(size=positions.shape) if run else np.zeros(positions.shape)
        time = data.recording.time[part] - data.recording.time[part][0]
        made = Recording(time, positions + noise, data.recording.forces[part], source='noise floor')
        prepared = prepare(model, made, config, data.bands)
        runs.append(predicted_efforts(model, prepared, parameters))
    from_positions = _Filtered([one - runs[0] for one in runs[1:]], prepared)
    from_efforts = _Filtered([efforts * random.normal(size=residuals.shape) for _ in range(RUNS)], data)
    own = _Filtered([residuals], data)
    frequency = own.frequency
    below = (frequency > 0.0) & (frequency <= cutoff)
    accuracy = ACCURACY * np.sqrt(np.mean(data.recording.forces**2))
    noise_density = from_efforts.density_at(frequency) + from_positions.density_at(frequency)
    return NoiseFloor(
        model.machine.drive_labels, model.machine.effort_units,
        frequency[below], own.density[below], noise_density[below],
        np.sqrt(own.power), np.sqrt(from_efforts.power + from_positions.power + accuracy**2),
        np.sqrt(from_efforts.power), np.sqrt(from_positions.power),
    )  # fmt: skip


def _white_noise(values: Array) -> Array:
    """Standard deviations (A,) of the white noise of signals (N, A), by their fourth differences, whatever jumps."""
    return np.asarray(MAD_TO_STD * np.median(np.abs(np.diff(values, n=4, axis=0)), axis=0) / np.sqrt(70.0))


class _Filtered:
    """Power (A,) and density (F, A) of signals (N, A) below the cut-off; the power over the rows that were fitted.

    What happens while a drive sticks is left out, as of the rows.
    """

    def __init__(self, signals: list[Array], data: PreparedData) -> None:
        signals = [data.slides * one for one in signals]
        rate, cutoff, used = data.recording.sample_rate, data.bands.force_cutoff, data.row_weights > 0.0
        count = np.maximum(used.sum(axis=0), 1)
        self.power = np.mean([(used * data.row_filter(one) ** 2).sum(axis=0) / count for one in signals], axis=0)
        filtered = [low_pass(one, rate, cutoff)[data.inner] for one in signals]
        found = [welch(one, fs=rate, nperseg=min(len(one), SEGMENT), axis=0) for one in filtered]
        self.frequency, self.density = found[0][0], np.mean([one[1] for one in found], axis=0)

    def density_at(self, frequency: Array) -> Array:
        """Density (F, A) at other frequencies (F,)."""
        return np.stack([np.interp(frequency, self.frequency, column) for column in self.density.T], axis=1)
