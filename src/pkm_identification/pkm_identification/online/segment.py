"""A stretch of motion with its rows, collected while the machine runs, for tests that need more than one sample."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array

from pkm_identification.columns.joint_samples import JointSamples
from pkm_identification.online.observation import Rows
from pkm_identification.online.sliding_polynomial import SlidingPolynomial, WindowSample

#: samples of a segment, and time between two of them as a part of the window: nearer ones are alike
SAMPLES, SPACING = 400, 0.25


@dataclass(frozen=True)
class Segment:
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
    """Takes samples that are far enough apart, until a segment is full.

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
        self, sample: WindowSample, rows: Rows, used: NDArray[np.bool_], slow: Array, polynomial: SlidingPolynomial
    ) -> Segment | None:
        """Take a sample that is due, if it tells anything; the segment that it completes.

        Parameters
        ----------
        used : (A,) see :class:`Segment`
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
        self._count += 1
        if self._count < SAMPLES:
            return None
        self._count = 0
        targets, forces, positions, velocities, accelerations, rates, spread, slowest = self._values.copy()
        still_used = self._used & (slowest > slow)
        stamps, matrix = self._stamps.copy(), self._matrix.copy()
        return Segment(
            stamps, matrix, targets, forces, still_used, positions, velocities, accelerations, rates, spread,
            polynomial.response,
        )  # fmt: skip
