"""Model of the Hall-type position sensors of linear direct drives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pkm_description.arrays import Array


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
    result: Array = np.where(step > 0.0, np.round(values / np.where(step > 0.0, step, 1.0)) * step, values)
    return result
