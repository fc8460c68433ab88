"""Motion sources by their names in the settings: low-pass, Fourier series, polynomials, differences, estimator."""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_left
from collections.abc import Callable
from typing import ClassVar

import numpy as np
from pkm_description.arrays import Array
from pkm_description.kinematics import drive_positions
from pkm_description.machine import Machine
from scipy.interpolate import CubicSpline
from scipy.signal import savgol_coeffs, savgol_filter
from scipy.spatial.transform import Rotation, RotationSpline

from pkm_identification.configuration import MotionSettings
from pkm_identification.errors import RecordingError
from pkm_identification.motion_source.filters import derivatives, fourier_fit, low_pass
from pkm_identification.motion_source.interface import Curve, MotionSource
from pkm_identification.motion_source.periods import PeriodMean
from pkm_identification.recording.recording import Recording

#: bytes of the local matrices that are held at once
BLOCK_BYTES = 50_000_000


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

    title: ClassVar[str] = 'a Fourier series of the drive positions'

    def __init__(self, base_frequency: float, harmonics: int) -> None:
        self.base_frequency, self.harmonics = base_frequency, harmonics

    def curve(self, time: Array, values: Array, cutoff_frequency: float) -> Curve:
        """See the base class; the cut-off frequency has no part in it."""
        return Curve(*fourier_fit(time, values, self.base_frequency, self.harmonics))


class CentralDifferences(MotionSource):
    """Plain central differences of what was measured, not filtered: the baseline of the papers."""

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

    title: ClassVar[str] = "the estimator's poses"

    def poses(self, machine: Machine, recording: Recording) -> tuple[Array, Array]:
        """See the base class; the estimator's poses at the times of the drives' samples.

        Raises
        ------
        RecordingError
            If there are none, or they do not cover the recording.
        """
        poses = recording.poses
        if poses is None or len(poses.time) < 4:
            raise RecordingError(
                f'{recording.source}: no platform poses were recorded; start the estimator or use '
                "motion.source = 'low_pass'"
            )
        if poses.time[0] > recording.time[0] + 0.05 or poses.time[-1] < recording.time[-1] - 0.05:
            raise RecordingError(
                f'{recording.source}: platform poses cover {poses.time[0]:.2f} to {poses.time[-1]:.2f} s, joint states '
                f'{recording.time[0]:.2f} to {recording.time[-1]:.2f} s; record both over the whole motion'
            )
        time = recording.time.clip(poses.time[0], poses.time[-1])
        position = CubicSpline(poses.time, poses.position)(time)
        rotation = RotationSpline(poses.time, Rotation.from_matrix(poses.rotation_base_platform))(time)
        return position, rotation.as_matrix()

    def drives(self, machine: Machine, recording: Recording) -> Array:
        """See the base class; positions of the drives that belong to the poses."""
        return drive_positions(machine, *self.poses(machine, recording))


def _rate(time: Array) -> float:
    return float((len(time) - 1) / (time[-1] - time[0]))


class LocalPolynomials(MotionSource):
    """A polynomial around every sample; its derivatives there are those of the motion.

    Parameters
    ----------
    degree : of the polynomials, at least 2
    window : s, length of the window; 0: such that the gain is 0.5 at the cut-off frequency, as of the low-pass
    """

    def __init__(self, degree: int = 5, window: float = 0.0) -> None:
        self.degree, self.window = degree, window

    @abstractmethod
    def kernel(self, half: int) -> Array:
        """Weights (2 half + 1,) of the samples in the smoothed value in the middle."""

    def half_width(self, sample_rate: float, cutoff_frequency: float) -> int:
        """Samples of the window to either side."""
        least = self.degree // 2 + 1  # one sample more than the polynomial has coefficients
        if self.window > 0.0:
            half = round(0.5 * self.window * sample_rate)
            if half < least:
                raise RecordingError(
                    f'motion.window = {self.window:g} s has {2 * half + 1} samples; a polynomial of degree '
                    f'{self.degree} needs {(2 * least + 1) / sample_rate:.3g} s or more'
                )
            return half
        return _half_width(self.kernel, least, cutoff_frequency / sample_rate)

    def _width(self, time: Array, cutoff_frequency: float) -> tuple[int, float]:
        """Samples of the window, and the sample interval [s]."""
        step = float((time[-1] - time[0]) / (len(time) - 1))
        width = 2 * self.half_width(1.0 / step, cutoff_frequency) + 1
        if len(time) < width:
            raise RecordingError(f'{len(time)} samples are too few for local polynomials over {width} samples')
        return width, step


class SavitzkyGolay(LocalPolynomials):
    """Polynomials by least squares over a window (Savitzky and Golay 1964), by SciPy."""

    title: ClassVar[str] = 'Savitzky-Golay filters on the drive positions'

    def kernel(self, half: int) -> Array:
        """See the base class."""
        return np.asarray(savgol_coeffs(2 * half + 1, self.degree))

    def curve(self, time: Array, values: Array, cutoff_frequency: float) -> Curve:
        """See the base class."""
        width, step = self._width(time, cutoff_frequency)
        return Curve(*(savgol_filter(values, width, self.degree, order, step, axis=0) for order in range(3)))


class LocalRegression(LocalPolynomials):
    """Polynomials by least squares with tricube weights, fitted at every sample's own time (Cleveland 1979).

    Weights that fall to zero suppress noise beyond the pass band better than a window that ends at once. At the ends
    the window is one-sided.
    """

    title: ClassVar[str] = 'local regression on the drive positions'

    def kernel(self, half: int) -> Array:
        """See the base class."""
        return self._fits(np.arange(2.0 * half + 1.0)[None], np.array([float(half)]))[0, 0]

    def curve(self, time: Array, values: Array, cutoff_frequency: float) -> Curve:
        """See the base class."""
        width, _ = self._width(time, cutoff_frequency)
        count = len(time)
        found = np.empty((3, *values.shape))
        size = max(1, BLOCK_BYTES // (8 * width * (self.degree + 1)))
        for start in range(0, count, size):
            places = np.arange(start, min(start + size, count))
            first = np.clip(places - width // 2, 0, count - width)
            window = first[:, None] + np.arange(width)
            weights = self._fits(time[window], time[places])
            found[:, places] = np.einsum('nkw,nwm->knm', weights, values[window])
        return Curve(*found)

    def _fits(self, time: Array, at: Array) -> Array:
        """Weights (n, 3, W) of samples at times (n, W) in value, first and second derivative at times (n,)."""
        distance = time - at[:, None]
        # a little more than the farthest sample, which would have no weight at all
        reach = np.abs(distance).max(axis=1, keepdims=True) * (1.0 + 1.0 / time.shape[1])
        scaled = distance / reach
        root = np.sqrt((1.0 - np.abs(scaled) ** 3) ** 3)
        basis = scaled[..., None] ** np.arange(self.degree + 1) * root[..., None]
        inverse = np.linalg.pinv(basis)[:, :3] * root[:, None]
        factors = np.stack([np.ones(len(at)), 1.0 / reach[:, 0], 2.0 / reach[:, 0] ** 2], axis=1)
        return np.asarray(inverse * factors[..., None])


def _half_width(kernel: Callable[[int], Array], least: int, frequency: float) -> int:
    """Half width [samples] of the kernel whose gain is nearest to 0.5 at a frequency [1/sample]."""

    def gain(half: int) -> float:
        wave = np.cos(2.0 * np.pi * frequency * np.arange(-half, half + 1))
        return float(kernel(half) @ wave)

    widest = least
    while gain(widest) > 0.5:
        widest *= 2
    # the gain falls with the width
    half = least + bisect_left(range(least, widest), -0.5, key=lambda one: -gain(one))
    return min(range(max(half - 1, least), half + 1), key=lambda one: abs(gain(one) - 0.5))
