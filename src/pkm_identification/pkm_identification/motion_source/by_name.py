"""Motion sources by the name that stands in the settings."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from pkm_description.arrays import Array
from pkm_description.kinematics import drive_positions
from pkm_description.machine import Machine

from pkm_identification.configuration import MotionSettings
from pkm_identification.errors import RecordingError
from pkm_identification.motion_source.filters import derivatives, low_pass
from pkm_identification.motion_source.fourier_fit import fourier_fit
from pkm_identification.motion_source.interface import Curve, MotionSource
from pkm_identification.motion_source.local_polynomials import LocalRegression, SavitzkyGolay
from pkm_identification.motion_source.periods import PeriodMean
from pkm_identification.motion_source.poses import estimated_poses
from pkm_identification.recording.recording import Recording


def motion_source(settings: MotionSettings | None = None) -> MotionSource:
    """Motion source of the settings; default: the low-pass."""
    settings = settings or MotionSettings()
    return {
        'low_pass': LowPass,
        'fourier': lambda: Fourier(settings.base_frequency, settings.harmonics),
        'periods': lambda: PeriodMean(settings.base_frequency, settings.harmonics),
        'savitzky_golay': lambda: SavitzkyGolay(settings.degree, settings.window),
        'local_regression': lambda: LocalRegression(settings.degree, settings.window),
        'central_differences': CentralDifferences,
        'estimator': EstimatorPoses,
    }[settings.source]()


class LowPass(MotionSource):
    """Zero-phase low-pass and quintic splines: any motion, no phase lag, flat in the pass band."""

    name: ClassVar[str] = 'low_pass'
    title: ClassVar[str] = 'forward kinematics of the drive positions'

    def curve(self, time: Array, values: Array, cutoff_frequency: float) -> Curve:
        """See the base class; gain 0.5 at the cut-off frequency."""
        smooth = low_pass(values, _rate(time), cutoff_frequency)
        return Curve(smooth, *derivatives(time, smooth))


class Fourier(MotionSource):
    """Fit of a Fourier series: the least noise, for periodic motions of known frequency.

    Parameters
    ----------
    base_frequency : Hz
    harmonics : number of them; more than were commanded, friction adds some
    """

    name: ClassVar[str] = 'fourier'
    title: ClassVar[str] = 'a Fourier series of the drive positions'

    def __init__(self, base_frequency: float, harmonics: int) -> None:
        self.base_frequency, self.harmonics = base_frequency, harmonics

    def curve(self, time: Array, values: Array, cutoff_frequency: float) -> Curve:
        """See the base class; the cut-off frequency has no part in it."""
        unknowns = 2 * self.harmonics + 1
        if len(time) < unknowns:
            raise RecordingError(f'{len(time)} samples cannot determine {unknowns} coefficients of a Fourier series')
        return Curve(*fourier_fit(time, values, self.base_frequency, self.harmonics))


class CentralDifferences(MotionSource):
    """Plain central differences of what was measured, not filtered: the baseline of the papers."""

    name: ClassVar[str] = 'central_differences'
    title: ClassVar[str] = 'central differences of the measured positions'

    def curve(self, time: Array, values: Array, cutoff_frequency: float) -> Curve:
        """See the base class; one-sided at the ends."""
        step = 1.0 / _rate(time)
        second = np.empty_like(values)
        second[1:-1] = (values[2:] - 2.0 * values[1:-1] + values[:-2]) / step**2
        second[0], second[-1] = second[1], second[-2]
        return Curve(values, np.gradient(values, step, axis=0), second)


class EstimatorPoses(LowPass):
    """Poses that an estimator recorded beside the drives, low-passed."""

    name: ClassVar[str] = 'estimator'
    title: ClassVar[str] = "the estimator's poses"

    def poses(self, machine: Machine, recording: Recording) -> tuple[Array, Array]:
        """See the base class; the estimator's poses at the times of the drives' samples."""
        return estimated_poses(recording)

    def drives(self, machine: Machine, recording: Recording) -> Array:
        """See the base class; positions of the drives that belong to the poses."""
        return drive_positions(machine, *self.poses(machine, recording))


def _rate(time: Array) -> float:
    return float((len(time) - 1) / (time[-1] - time[0]))
