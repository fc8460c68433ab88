"""Error of a position sensor that repeats with the pitch of its magnets or lines: compensation, and its fit.

Hall sensors in linear motors give the angle within one magnetic pitch. Offsets, unequal amplitudes and harmonics of
their two signals make an error that repeats with the pitch (Heimann and Abdellatif: Hall sensors of limited
information, positioning ten times as accurate by compensation).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from pkm_description.arrays import Array
from pkm_description.errors import ArgumentError

#: fixed-point steps of the inverse; each gains the factor of the error's largest slope, usually 0.01
_STEPS = 50


@dataclass(frozen=True, eq=False)
class PeriodicError:
    """Error ``e(r) = sum_k cosine_k cos(2 pi k r / pitch) + sine_k sin(2 pi k r / pitch)``, k = 1..K.

    Attributes
    ----------
    pitch : (A,) m or rad, after which the error repeats
    cosine, sine : (K, A) m or rad
    """

    pitch: Array
    cosine: Array
    sine: Array

    def error(self, reading: Array) -> Array:
        """Error (..., A) [m or rad] at sensor readings (..., A)."""
        phase = self._phases(reading)
        return (self.cosine * np.cos(phase) + self.sine * np.sin(phase)).sum(axis=-2)

    def slope(self, reading: Array) -> Array:
        """Derivative (..., A) of the error with respect to the reading."""
        phase = self._phases(reading)
        return (self._rates * (self.sine * np.cos(phase) - self.cosine * np.sin(phase))).sum(axis=-2)

    def reading(self, position: Array) -> Array:
        """Readings (..., A) whose compensated value is ``position``: solves ``r - e(r) = position``."""
        position = np.asarray(position, dtype=float)
        reading = position
        for _ in range(_STEPS):
            better = position + self.error(reading)
            if np.array_equal(better, reading):
                break
            reading = better
        return reading

    @property
    def steepest(self) -> Array:
        """Bound (A,) of the slope's magnitude; from 1 on, two positions would have the same reading."""
        return (self._rates * np.hypot(self.cosine, self.sine)).sum(axis=0)

    @cached_property
    def _rates(self) -> Array:
        """Phases (K, A) per m or rad."""
        return 2.0 * np.pi * np.arange(1.0, len(self.cosine) + 1.0)[:, None] / self.pitch

    def _phases(self, reading: Array) -> Array:
        """Phases (..., K, A)."""
        return np.asarray(reading, dtype=float)[..., None, :] * self._rates


@dataclass(frozen=True, eq=False)
class PeriodicErrorFit:
    """Compensation found from a recording.

    Attributes
    ----------
    error : the compensation
    offset : (A,) m or rad, constant to add to the compensated reading
    before, after : (A,) m or rad, root mean square of reading minus reference about its mean, and of what the
        compensation leaves of it
    """

    error: PeriodicError
    offset: Array
    before: Array
    after: Array

    @property
    def improvement(self) -> Array:
        """Factor (A,) by which the compensation makes the sensor more accurate on these data."""
        return self.before / self.after


def fit_periodic_error(reading: Array, reference: Array, pitch: ArrayLike, harmonics: int = 4) -> PeriodicErrorFit:
    """Fit the periodic error of sensors to readings and a reference, by linear least squares.

    Parameters
    ----------
    reading : (N, A) m or rad, what the sensors said: the driver's positions times scale and sign, without offset
    reference : (N, A) m or rad, where the drives were, e.g. by a laser, or by leg lengths of a measured pose
    pitch : m or rad, one for all drives or (A,)
    harmonics : K, how many multiples of the pitch's frequency the error has

    Raises
    ------
    ArgumentError
        Shapes differ, the pitch is not positive, or the data do not determine 2 K + 1 numbers: a drive's readings must
        cover a pitch.
    """
    reading, reference = np.atleast_2d(np.asarray(reading, float)), np.atleast_2d(np.asarray(reference, float))
    if reading.shape != reference.shape or not (np.isfinite(reading).all() and np.isfinite(reference).all()):
        raise ArgumentError(
            f'readings {reading.shape} and reference {reference.shape} must have the same shape and be finite'
        )
    count = reading.shape[1]
    pitches = np.broadcast_to(np.asarray(pitch, dtype=float), (count,))
    if not (pitches > 0.0).all() or harmonics < 1:
        raise ArgumentError(f'pitch {pitches.tolist()} must be greater than 0, and harmonics {harmonics} at least 1')
    cosine, sine = np.empty((harmonics, count)), np.empty((harmonics, count))
    offset, before, after = np.empty(count), np.empty(count), np.empty(count)
    for drive in range(count):  # every drive has its own readings, so its own equations
        phase = 2.0 * np.pi / pitches[drive] * np.outer(reading[:, drive], np.arange(1, harmonics + 1))
        columns = np.hstack([np.ones((len(phase), 1)), np.cos(phase), np.sin(phase)])
        deviation = reading[:, drive] - reference[:, drive]
        solution, _, rank, values = np.linalg.lstsq(columns, deviation, rcond=None)
        if rank < columns.shape[1] or values[-1] < 1e-3 * values[0]:
            covered = float(np.ptp(reading[:, drive]))
            raise ArgumentError(
                f'drive {drive + 1}: {len(columns)} samples over {covered:.4g} of a pitch of {pitches[drive]:.4g} do '
                f'not determine {harmonics} harmonics; move the drive slowly over more than a pitch, or ask for fewer'
            )
        offset[drive] = -solution[0]
        cosine[:, drive], sine[:, drive] = solution[1 : harmonics + 1], solution[harmonics + 1 :]
        before[drive] = np.std(deviation)
        after[drive] = np.sqrt(np.mean((deviation - columns @ solution) ** 2))
    return PeriodicErrorFit(PeriodicError(pitches.copy(), cosine, sine), offset, before, after)


@dataclass(frozen=True)
class HallSensor:
    """Two Hall elements a quarter of a pitch apart in the field of a row of magnets; the angle is the position.

    The signals are ``cos(phase)`` and ``sin(phase)`` with offsets, unequal amplitudes, an angle that is not quite a
    quarter of a pitch, and a third harmonic of the field; ``atan2`` of them then has an error that repeats with the
    pitch: once per pitch by offsets, twice by amplitudes and angle, four times by the field's third harmonic.

    Attributes
    ----------
    pitch : m (or rad), distance after which the field repeats
    offsets : of the two signals, parts of the amplitude
    amplitude_ratio : amplitude of the second signal by that of the first
    angle_error : rad, by which the second element is off its place
    third_harmonic : part of the field's amplitude
    resolution : m (or rad) of the converted signals; 0: without end
    """

    pitch: float
    offsets: tuple[float, float] = (0.0, 0.0)
    amplitude_ratio: float = 1.0
    angle_error: float = 0.0
    third_harmonic: float = 0.0
    resolution: float = 0.0

    def reading(self, position: Array) -> Array:
        """Reading (...,) m (or rad) at positions (...,)."""
        position = np.asarray(position, dtype=float)
        phase = 2.0 * np.pi * position / self.pitch
        quarter = phase + self.angle_error
        first = np.cos(phase) + self.third_harmonic * np.cos(3.0 * phase) + self.offsets[0]
        second = self.amplitude_ratio * (np.sin(quarter) + self.third_harmonic * np.sin(3.0 * quarter))
        angle = np.arctan2(second + self.offsets[1], first)
        # turns are counted by the electronics: the error is less than half a turn
        error = np.remainder(angle - phase + np.pi, 2.0 * np.pi) - np.pi
        return quantised(position + self.pitch / (2.0 * np.pi) * error, self.resolution)


def quantised(values: Array, resolution: float | Array) -> Array:
    """Values (...,) rounded to the nearest multiple of the resolution (where that is not zero)."""
    step = np.asarray(resolution, dtype=float)
    return np.where(step > 0.0, np.round(values / np.where(step > 0.0, step, 1.0)) * step, values)
