"""How legs move by themselves, without IMU and geometry: how lively, how noisy, and where each goes on."""

from __future__ import annotations

from math import exp
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.kernels.model import Integers
from scipy.special import log_softmax

from pkm_estimation.kernels.sample_noise import add_positions

#: factors on the density of the jerk that are weighed; logarithm of how much likelier a decade more is at the beginning
_FACTORS, _LIVELIER = 10.0 ** np.arange(-12.0, 2.5, 1.0), 2.0
#: s, after which positions count by a factor e less in how lively and noisy the legs are
_MEMORY = 0.5
#: positions that say how noisy the legs are, at least; fewer count as so many
_FEWEST = 1.0
#: measurements that say how lively the motion is
_RECENT = 40
#: m, m/s, m/s^2, standard deviations of a leg's motion before its first position, in those of its noise
_ANYWHERE = 1e6, 1e9, 1e12


class RecentPositions:
    """The last measurements of the legs; attributes are replaced, never written into.

    Attributes
    ----------
    stamps, positions : (K,) ns, (K, A) m or rad
    """

    def __init__(self) -> None:
        self.stamps, self.positions = np.zeros(0, dtype=np.int64), np.zeros((0, 0))

    def add(self, stamps: Integers, positions: Array) -> None:
        """Take measurements (N,) ns, (N, A)."""
        if len(self.stamps) and stamps[0] > self.stamps[-1]:
            stamps = np.concatenate([self.stamps, stamps[-_RECENT:]])
            positions = np.concatenate([self.positions, positions[-_RECENT:]])
        self.stamps, self.positions = stamps[-_RECENT:], positions[-_RECENT:]

    def move_zero(self, leg: int, by: float) -> None:
        """The zero of a leg has moved: count positions from the new one."""
        self.positions = self.positions.copy()
        self.positions[:, leg] += by


class OwnMotion(NamedTuple):
    """Where each leg is, against where it was going by itself: a witness that needs neither IMU nor geometry.

    Attributes
    ----------
    errors, variances : (A, F) m or rad and their squares, of positions and of where they were expected without noise,
        by each of F ratios of jerk and noise
    noise, logarithms : (F,) variances of the noise, and logarithms of the probabilities of the ratios
    """

    errors: Array
    variances: Array
    noise: Array
    logarithms: Array

    def against_noise(self, factor: float, legs: NDArray[np.intp]) -> float:
        """Logarithm, 0 at most, of how unlikely it is that the noise variances of ``legs`` are ``factor`` times theirs.

        With noise no leg goes on smoothly. How far motion takes it meanwhile is in what it is compared with, too.
        """
        least = factor * self.noise.min()
        return self._against(self.errors[legs], self.variances[legs] + np.maximum(self.noise, least), legs)

    def against_jumps(self, legs: NDArray[np.intp], jumps: Array, variances: Array) -> float:
        """The same of jumps (k,) of ``legs``, with such variances: one that goes on smoothly has not jumped."""
        spread = self.variances[legs] + self.noise + variances[:, None]
        return self._against(self.errors[legs] - jumps[:, None], spread, legs)

    def _against(self, errors: Array, variances: Array, legs: NDArray[np.intp]) -> float:
        """Logarithm of the density of errors (k, F), less that of those of smooth motion."""
        usual = self.errors[legs], self.variances[legs] + self.noise
        densities = [
            np.logaddexp.reduce(self.logarithms - 0.5 * (np.log(spread) + off**2 / spread).sum(axis=0))
            for off, spread in ((errors, variances), usual)
        ]
        return min(0.0, float(densities[0] - densities[1]))


class LegNoise:
    """How lively legs move and how noisy they are, by the likelihood of their positions.

    The motion of each leg is an integral of white jerk, its position has white noise. For each of some ratios of the
    two a Kalman filter predicts the positions; its innovations e with variances S, both in units of the noise, say how
    large the noise is, ``r = mean(e^2 / S)``, and how likely the ratio is, ``-sum(ln(r S) + e^2 / (r S)) / 2``
    (Bar-Shalom, Li, Kirubarajan 2001, sections 6.2.3 and 11.6). Noise is not below that of the sensors.

    Parameters
    ----------
    std : m or rad, standard deviation of the noise of the sensors
    density : (m or rad)^2/s^5, spectral density of the legs' jerk of a lively motion
    count : A legs

    Attributes are replaced, never written into: a shallow copy is a snapshot.

    Attributes
    ----------
    liveliness : factor on the density
    scale : factor on the variance of the noise, 1 or more
    """

    def __init__(self, std: float, density: float, count: int) -> None:
        self._std, self._ratios = std, density / std**2 * _FACTORS
        self._motion = np.zeros((count, len(_FACTORS), 3))
        self._covariance = np.tile(np.diag(np.square(_ANYWHERE)), (count, len(_FACTORS), 1, 1))
        # number of positions, sums of e^2 / S and of ln S, as if lively motion had been likelier before
        self._sums = np.zeros((3, len(_FACTORS)))
        self._sums[2] = 2.0 * _LIVELIER * np.log10(_FACTORS.max() / _FACTORS)
        self.liveliness, self.scale = 1.0, 1.0

    def add(self, duration: float, positions: Array, used: NDArray[np.intp]) -> None:
        """Take positions (A,) of the drives ``used``, ``duration`` s after those before."""
        self._follow(duration, positions, used)
        self._judge()

    def expected(self, duration: float, positions: Array) -> OwnMotion:
        """What legs do by their own motion, ``duration`` s after the last positions, when they are at ``positions``."""
        powers = np.array([1.0, duration, 0.5 * duration**2])
        logarithms, scales = self._weighed()
        errors = positions[:, None] / self._std - self._motion @ powers
        moved = scales * (self._covariance @ powers @ powers + self._ratios * duration**5 / 20.0)
        return OwnMotion(self._std * errors, self._std**2 * moved, self._std**2 * scales, logarithms)

    def add_all(self, durations: Array, positions: Array, is_used: NDArray[np.bool_]) -> None:
        """Take K positions (K, A) of the drives that are used (K, A), each (K,) s after those before."""
        for duration, row, used in zip(durations.tolist(), positions, is_used, strict=True):
            self._follow(duration, row, np.flatnonzero(used))
        if len(durations):
            self._judge()

    def _follow(self, duration: float, positions: Array, used: NDArray[np.intp]) -> None:
        measured = np.full(len(positions), np.nan)
        measured[used] = positions[used] / self._std
        self._motion, self._covariance = self._motion.copy(), self._covariance.copy()
        self._sums = exp(-duration / _MEMORY) * self._sums
        add_positions(self._motion, self._covariance, self._sums, self._ratios, duration, measured)

    def _weighed(self) -> tuple[Array, Array]:
        """Logarithm (F,) of the probability of each ratio, and by it the factor (F,) on the noise variances."""
        numbers, squares, logarithms = self._sums
        scales = np.maximum(1.0, squares / np.maximum(numbers, _FEWEST))
        return log_softmax(-0.5 * (numbers * np.log(scales) + squares / scales + logarithms)), scales

    def _judge(self) -> None:
        """Judge how lively and how noisy the legs are."""
        logarithms, scales = self._weighed()
        weights = np.exp(logarithms)
        self.scale = float(np.exp(weights @ np.log(scales)))
        self.liveliness = float(np.exp(weights @ np.log(scales * _FACTORS)))

    def move_zero(self, leg: int, by: float) -> None:
        """The zero of a leg has moved: its positions are so much larger [m or rad]."""
        self._motion = self._motion.copy()
        self._motion[leg, :, 0] += by / self._std
