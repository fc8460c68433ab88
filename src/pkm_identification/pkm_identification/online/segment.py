"""A stretch of motion with its rows while the machine runs, and its least squares with the noise of the residuals."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array

from pkm_identification.columns.term import JointSamples
from pkm_identification.estimator.residual_covariance import RowNoise, autocorrelation, degrees_of_freedom
from pkm_identification.fitting.shape_search import WeighedFit
from pkm_identification.online.observation import SampleRows
from pkm_identification.online.sliding_polynomial import SlidingPolynomial, WindowSample

#: weightings by the residuals of the one before
PASSES = 3
#: samples over which residuals may be alike, and that a drive must have moved in for its noise to be known
LAGS, FEWEST = 20, 30
#: weight in a mean of samples that a drive does not use, beside others that it does
BESIDE = 1e-9
#: samples of a whole segment, after how many more it is tested while it grows, and time between two of them as a part
#: of the window: nearer ones are alike
SAMPLES, GROWTH, SPACING = 400, 100, 0.25


@dataclass(frozen=True)
class MotionSegment:
    """Means of samples that are alike: n rows of A drives.

    Attributes
    ----------
    stamps : (n,) ns
    matrix : (n, A, B) by the base parameters
    targets : (n, A) N, N m, measured efforts less those of the machine as its file has it
    file_forces : (n, A) N, N m of the machine as its file has it
    used : (n, A) False where a drive rests, crawls or reverses
    samples : motion of the drives, and the rates of their efforts, as columns of forces take them
    acceleration_std : (n, A) of the smoothed noise
    white_noise : (n, A) variance that white noise of the efforts leaves in a sample
    every : samples of the stream for one of these
    response : frequencies in rad/s, and the part that smoothing leaves of a wave
    is_whole : False: it grows further
    """

    stamps: NDArray[np.int64]
    matrix: Array
    targets: Array
    file_forces: Array
    used: NDArray[np.bool_]
    samples: JointSamples
    acceleration_std: Array
    white_noise: Array
    every: float
    response: tuple[Array, Array]
    is_whole: bool

    @property
    def middle(self) -> int:
        """Stamp [ns] in the middle."""
        return (int(self.stamps[0]) + int(self.stamps[-1])) // 2

    def smoothed(self, period: float) -> Array:
        """Part (n, A) that smoothing leaves of a wave over the position with a period in m or rad."""
        return np.interp(2.0 * np.pi / period * np.abs(self.samples.velocities), *self.response, right=0.0)

    def fitted(self, noise: Array, prior: Array) -> WeighedFit:
        """Fit of the parameters by deviations (A,) of the rows, and (B,) of the parameters before."""
        return WeighedFit(self.matrix, self.targets, self.used.astype(float), RowNoise(noise), prior)


class SegmentCollector:
    """Takes means of samples that are alike: segments that grow until they are whole.

    Parameters
    ----------
    drives, parameters : numbers A and B
    """

    def __init__(self, drives: int, parameters: int) -> None:
        self._stamps = np.zeros(SAMPLES, dtype=np.int64)
        self._rows = np.zeros((SAMPLES, drives, parameters + 9))
        self._used = np.zeros((SAMPLES, drives), dtype=bool)
        self._weights = np.zeros(drives)
        self.clear()

    def clear(self) -> None:
        """Begin anew."""
        self._count = self._passed = self._alike = 0

    def add(
        self,
        sample: WindowSample,
        rows: SampleRows,
        used: NDArray[np.bool_],
        slow: Array,
        polynomial: SlidingPolynomial,
    ) -> MotionSegment | None:
        """Take a sample, if it tells anything; the segment so far, where it has grown enough for a look.

        Parameters
        ----------
        used : (A,) see :class:`MotionSegment`
        slow : (A,) rad/s or m/s, speed below which a sample is not used; the last one counts for the whole segment:
            what seemed fast when a motion began may be slow
        polynomial : that smoothed the sample
        """
        if not used.any():
            return None
        grown = None
        if self._alike and sample.stamp - self._stamps[self._count] >= SPACING * polynomial.window * 1e9:
            grown = self._end(slow, polynomial)
        place = self._count
        if self._alike == 0:
            self._stamps[place], self._used[place], self._weights = sample.stamp, False, np.zeros(len(used))
            self._rows[place] = 0.0
        weights = np.where(used, 1.0, BESIDE)
        self._alike += 1
        self._passed += 1
        self._weights += weights
        self._used[place] |= used
        self._rows[place] += weights[:, None] * np.column_stack((
            rows.matrix, sample.efforts - rows.forces, rows.forces, sample.positions, sample.velocities,
            sample.accelerations, sample.effort_rates, sample.acceleration_std,
            sample.effort_scatter * sample.noise_share, sample.slowest,
        ))  # fmt: skip
        return grown

    def _end(self, slow: Array, polynomial: SlidingPolynomial) -> MotionSegment | None:
        """End a mean; the segment, where it has grown enough."""
        self._rows[self._count] /= self._weights[:, None]
        self._count += 1
        self._alike, count = 0, self._count
        if count % GROWTH:
            return None
        every, self._count = self._passed / count, count % SAMPLES
        self._passed *= self._count > 0
        matrix, values = np.split(self._rows[:count].copy(), [-9], axis=-1)
        targets, forces, positions, velocities, accelerations, rates, spread, white, slowest = np.moveaxis(
            values, -1, 0
        )
        samples = JointSamples(
            positions, velocities, accelerations, velocities, np.ones_like(velocities), effort_rates=rates
        )
        moves = self._used[:count] & (slowest > slow)
        frequencies, response = polynomial.response
        response = response * np.sinc(0.5 / np.pi * frequencies * SPACING * polynomial.window)  # of the means
        return MotionSegment(
            self._stamps[:count].copy(), matrix, targets, forces, moves & (moves.sum(axis=0) >= FEWEST), samples,
            spread, white, every, (frequencies, response), is_whole=count == SAMPLES,
        )  # fmt: skip


class SegmentFit(NamedTuple):
    """Fit of the parameters of a segment, which are less certain before than its rows make them.

    Attributes
    ----------
    segment : which
    fit : with weights of 1 over ``noise``, no less than a floor
    scatter : (A,) N, N m, of the residuals
    noise : (A,) N, N m, the deviation that counts residuals as independent
    """

    segment: MotionSegment
    fit: WeighedFit
    scatter: Array
    noise: Array


def fit_segment(segment: MotionSegment, prior: Array, floor: Array) -> Generator[None, None, SegmentFit]:
    """Fit; a generator that returns the fit, and yields between its steps.

    Parameters
    ----------
    prior : (B,) standard deviations of the parameters, which are 0 in the mean
    floor : (A,) N, N m, least scatter of residuals that are more than rounding and smoothing
    """
    used = segment.used
    freedom, taken = degrees_of_freedom(used, len(prior)), np.maximum(used.sum(axis=0), 1)
    noise = np.maximum(np.sqrt((segment.targets**2 * used).sum(axis=0) / taken), floor)
    for _ in range(PASSES):
        residuals = segment.fitted(noise, prior).residuals * noise
        scatter = np.sqrt((residuals**2).sum(axis=0) / taken / freedom)
        noise = np.maximum(scatter, floor)
        yield
    longer = _inflation(autocorrelation(residuals, used, LAGS))
    return SegmentFit(segment, segment.fitted(noise * longer, prior), scatter, scatter * longer)


def _inflation(correlation: Array) -> Array:
    """How much more (A,) means of residuals vary than of independent ones: of as many lags as make it largest.

    Variances of means (Bartlett), of single residuals up to all lags: what a fit leaves of few samples says nothing of
    sums that are as long as they are, nor whether noise cancels.
    """
    lags = np.arange(len(correlation))
    taper = np.maximum(1.0 - lags / (1.0 + lags[:, None]), 0.0)
    return np.sqrt(np.max(2.0 * taper @ np.nan_to_num(correlation) - 1.0, axis=0))
