"""A stretch of motion with its rows while the machine runs, residuals of short times, and its least squares."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from scipy.linalg import solve_triangular

from pkm_identification.columns.term import JointSamples
from pkm_identification.estimator.residual_covariance import autocorrelation, degrees_of_freedom
from pkm_identification.judgement.score import Explained, Products, inflation
from pkm_identification.online.observation import SampleRows
from pkm_identification.online.sliding_polynomial import SlidingPolynomial, WindowSample

#: weightings by the residuals of the one before
PASSES = 3
#: samples over which residuals may be alike
LAGS = 10
#: part of the samples of a block that must be a drive's own
FULL = 0.5
#: samples between two looks at what errors of the parameters make of a residual
LOOK = 20

#: columns of a sample before its rows
OWN = ('number', 'force', 'residual', 'squared residual')
#: samples of a whole segment, after how many more it is tested while it grows, and time between two of them as a part
#: of the window: nearer ones are alike
SAMPLES, GROWTH, SPACING = 400, 100, 0.25


@dataclass(frozen=True)
class MotionSegment:
    """Rows of n samples of A drives.

    Attributes
    ----------
    stamps : (n,) ns
    matrix : (n, A, B) by the base parameters
    targets : (n, A) N, N m, measured efforts less those of the machine as its file has it
    file_forces : (n, A) N, N m of the machine as its file has it
    used : (n, A) False where a drive rests, crawls or reverses
    positions, velocities, accelerations, effort_rates : (n, A)
    acceleration_std : (n, A) of the smoothed noise
    response : frequencies in rad/s, and the part that smoothing leaves of a wave
    is_whole : False: it grows further
    """

    stamps: NDArray[np.int64]
    matrix: Array
    targets: Array
    file_forces: Array
    used: NDArray[np.bool_]
    positions: Array
    velocities: Array
    accelerations: Array
    effort_rates: Array
    acceleration_std: Array
    response: tuple[Array, Array]
    is_whole: bool

    @property
    def middle(self) -> int:
        """Stamp [ns] in the middle."""
        return (int(self.stamps[0]) + int(self.stamps[-1])) // 2

    def smoothed(self, period: float) -> Array:
        """Part (n, A) that smoothing leaves of a wave over the position with a period in m or rad."""
        return np.interp(2.0 * np.pi / period * np.abs(self.velocities), *self.response, right=0.0)

    def joint_samples(self, efforts: Array) -> JointSamples:
        """Motion of the drives as columns of forces take it, with ``efforts`` (n, A) that a model predicts."""
        return JointSamples(
            self.positions, self.velocities, self.accelerations, self.velocities, np.ones_like(self.velocities),
            efforts, self.effort_rates,
        )  # fmt: skip


class SegmentCollector:
    """Takes samples that are far enough apart: segments that grow until they are whole.

    Parameters
    ----------
    drives, parameters : numbers A and B
    """

    def __init__(self, drives: int, parameters: int) -> None:
        self._stamps = np.zeros(SAMPLES, dtype=np.int64)
        self._matrix = np.zeros((SAMPLES, drives, parameters))
        self._values = np.zeros((8, SAMPLES, drives))
        self._used = np.zeros((SAMPLES, drives), dtype=bool)
        self._count, self._next = 0, -(1 << 62)

    def clear(self) -> None:
        """Begin anew."""
        self._count, self._next = 0, -(1 << 62)

    def is_due(self, stamp: int) -> bool:
        """Whether a sample at ``stamp`` [ns] is far enough from the last one."""
        return stamp >= self._next

    def add(
        self,
        sample: WindowSample,
        rows: SampleRows,
        used: NDArray[np.bool_],
        slow: Array,
        polynomial: SlidingPolynomial,
    ) -> MotionSegment | None:
        """Take a sample that is due, if it tells anything; the segment so far, where it has grown enough for a look.

        Parameters
        ----------
        used : (A,) see :class:`MotionSegment`
        slow : (A,) rad/s or m/s, speed below which a sample is not used; the last one counts for the whole segment:
            what seemed fast when a motion began may be slow
        polynomial : that smoothed the sample
        """
        self._next = sample.stamp + round(SPACING * polynomial.window * 1e9)
        if not used.any():
            return None
        place = self._count
        self._stamps[place], self._matrix[place], self._used[place] = sample.stamp, rows.matrix, used
        self._values[:, place] = (
            sample.efforts - rows.forces, rows.forces, sample.positions, sample.velocities, sample.accelerations,
            sample.effort_rates, sample.acceleration_std, sample.slowest,
        )  # fmt: skip
        count = self._count = place + 1
        if count % GROWTH:
            return None
        self._count %= SAMPLES
        values = self._values[:, :count].copy()
        targets, forces, positions, velocities, accelerations, rates, spread, slowest = values
        return MotionSegment(
            self._stamps[:count].copy(), self._matrix[:count].copy(), targets, forces,
            self._used[:count] & (slowest > slow), positions, velocities, accelerations, rates, spread,
            polynomial.response, is_whole=count == SAMPLES,
        )  # fmt: skip


class BlockEnd(NamedTuple):
    """What a block says of the n drives for which it has ended.

    Attributes
    ----------
    drives : (n,)
    squares : (n, 2) mean square of the residuals, and squared mean times the number of samples: what the variance would
        be if they were independent
    spread : (n, 2) what errors of the parameters make of these on average
    samples : (n,)
    rows : (n, B) mean rows
    targets : (n,) mean forces
    """

    drives: NDArray[np.intp]
    squares: Array
    spread: Array
    samples: Array
    rows: Array
    targets: Array


class ResidualBlock:
    """Sums over a time; a drive that has few samples in it goes on: near to each other, they may be alike by chance.

    Parameters
    ----------
    length : s
    drives, parameters : numbers A and B
    """

    def __init__(self, length: float, drives: int, parameters: int) -> None:
        self._length, self._since, self._samples = round(length * 1e9), 0, 0
        self._covariance = np.zeros((parameters, parameters))
        self._sums = np.zeros((drives, len(OWN) + parameters))
        # how many looks, and what errors of the parameters make of a squared residual
        self._looks = np.zeros((2, drives))

    def add(self, stamp: int, values: Array, covariance: Callable[[], Array]) -> BlockEnd | None:
        """Take a sample, see :func:`sample_values`; ``covariance`` of the parameters is asked for at the begin."""
        if self._samples == 0:
            self._since, self._covariance = stamp, covariance()
        self._sums += values
        if self._samples % LOOK == 0:
            rows = values[:, len(OWN) :]
            self._looks += [values[:, 0], np.einsum('ab,bc,ac->a', rows, self._covariance, rows)]
        self._samples += 1
        return None if stamp - self._since < self._length else self._end()

    def _end(self) -> BlockEnd | None:
        drives = np.flatnonzero((self._sums[:, 0] >= FULL * self._samples) & (self._looks[0] > 0.0))
        self._samples = 0
        if len(drives) == 0:
            return None
        count, targets, residuals, squares = self._sums[drives, : len(OWN)].T
        looks, spread = self._looks[:, drives]
        rows = self._sums[drives, len(OWN) :] / count[:, None]
        slow = count * np.einsum('ab,bc,ac->a', rows, self._covariance, rows)
        self._sums[drives], self._looks[:, drives] = 0.0, 0.0
        return BlockEnd(
            drives, np.stack([squares / count, residuals**2 / count], axis=1), np.stack([spread / looks, slow], axis=1),
            count, rows, targets / count,
        )  # fmt: skip


def sample_values(target: Array, predicted: Array, matrix: Array, used: NDArray[np.bool_]) -> Array:
    """What is summed of a sample (A, 4 + B): :data:`OWN`, and rows (A, B); zero for drives that are not ``used``."""
    residual = target - predicted
    values = np.empty((len(target), len(OWN) + matrix.shape[1]))
    values[:, 0], values[:, 1], values[:, 2], values[:, 3], values[:, 4:] = 1.0, target, residual, residual**2, matrix
    values[~used] = 0.0
    return values


@dataclass(frozen=True)
class SegmentFit:
    """Fit of the parameters of a segment, which are less certain before than its rows make them.

    Attributes
    ----------
    segment : which
    order : (B,) places of the parameters in the triangle
    triangle : (B + 1, B + 1) of rows and targets, weighted, columns in that order; a weak prior is part of it
    weights : (n, A) of the rows: 1 over the deviation that counts residuals as independent; 0: not used
    parameters : (B,)
    residuals : (n, A) weighted
    basis : (n * A, B) orthonormal, of the weighted rows
    freedom : degrees of freedom of the residuals
    """

    segment: MotionSegment
    order: NDArray[np.intp]
    triangle: Array
    weights: Array
    parameters: Array
    residuals: Array
    basis: Array
    freedom: int

    def products(self, columns: Array) -> Products:
        """Products of force columns (n, A, K) with the fit."""
        count = columns.shape[-1]
        offered = (columns * self.weights[..., None]).reshape(-1, count)
        residuals = self.residuals.reshape(-1, 1)
        return Products.of(offered, self.basis, np.concatenate([residuals, residuals], axis=1))

    def changes(self, products: Products, explained: Explained) -> Array:
        """Changes (B,) of the parameters with offered columns, beyond what noise makes of them."""
        count = len(self.order)
        moved = np.empty((count, explained.directions.shape[1]))
        moved[self.order] = solve_triangular(self.triangle[:count, :count], products.inside @ explained.directions)
        return explained.changes(moved)


def fit_segment(
    segment: MotionSegment, order: NDArray[np.intp], prior: Array, floor: Array
) -> Generator[None, None, SegmentFit]:
    """Fit; a generator that returns the fit, and yields between its steps.

    Parameters
    ----------
    order : (B,) of the parameters in the triangle
    prior : (B,) standard deviations of the parameters, which are 0 in the mean
    floor : (A,) N, N m, least scatter of residuals that are more than rounding and smoothing
    """
    count, used = len(order), segment.used
    matrix, targets = segment.matrix[..., order] * used[..., None], segment.targets * used
    freedom = degrees_of_freedom(used, count)
    taken = np.maximum(used.sum(axis=0), 1)
    noise = np.maximum(np.sqrt((targets**2).sum(axis=0) / taken), floor)
    for _ in range(PASSES):
        rows, right = _stacked(matrix, targets, noise, prior[order])
        triangle = _triangle(rows, right)
        parameters = solve_triangular(triangle[:count, :count], triangle[:count, count])
        residuals = targets - matrix @ parameters
        scatter = np.sqrt((residuals**2).sum(axis=0) / taken / freedom)
        noise = np.maximum(scatter, floor)
        yield
    noise = noise * inflation(autocorrelation(residuals, used, LAGS))
    rows, right = _stacked(matrix, targets, noise, prior[order])
    size = np.linalg.norm(rows, axis=0)
    basis, scaled = np.linalg.qr(rows / size)
    yield
    inside = basis.T @ right
    rest = right - basis @ inside
    triangle = np.zeros((count + 1, count + 1))
    triangle[:count, :count], triangle[:count, count] = scaled * size, inside
    triangle[count, count] = np.linalg.norm(rest)
    found = np.empty(count)
    found[order] = solve_triangular(triangle[:count, :count], inside)
    own, freedom_left = rest[: used.size].reshape(used.shape), int(np.count_nonzero(used)) - count
    return SegmentFit(
        segment, order, triangle, used / noise, found, own, basis[: used.size], freedom_left
    )


def _stacked(matrix: Array, targets: Array, noise: Array, prior: Array) -> tuple[Array, Array]:
    """Weighted rows and targets, those of the prior below."""
    count = matrix.shape[-1]
    rows = np.concatenate([(matrix / noise[:, None]).reshape(-1, count), np.diag(1.0 / prior)])
    return rows, np.concatenate([(targets / noise).ravel(), np.zeros(count)])


def _triangle(rows: Array, right: Array) -> Array:
    size = np.linalg.norm(rows, axis=0)
    triangle = np.asarray(np.linalg.qr(np.concatenate([rows / size, right[:, None]], axis=1), mode='r'))
    triangle[:, :-1] *= size
    return triangle
