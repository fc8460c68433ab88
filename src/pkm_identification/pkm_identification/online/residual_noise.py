"""Noise of residuals while they come: size, and how many samples count as one."""

from __future__ import annotations

import copy
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array

from pkm_identification.online.segment import OWN, BlockEnd, ResidualBlock, sample_values

#: s, length of the longest blocks, and how long they are remembered
BLOCK, MEMORY = 1.0, 20.0
#: blocks of a second that must be known for residuals to be called too large, and blocks of doubt
KNOWN, DOUBT = 3, 3.0
#: steps towards variances that agree with the weights they give the blocks
STEPS = 30


class ResidualNoise:
    """Variances of single residuals, such that samples may be used as if they were independent.

    Smoothed samples are alike over a window, noise of accelerations cancels within it, and ripple or a force that the
    model lacks lasts longer: the variance of means over the window and over a second says by how much. Each is a mean
    over the blocks of the last 20 s, and the larger one counts. Residuals of a prediction are noise and errors of the
    parameters together, so a block counts by what is known of the latter: the variance of a squared residual is
    proportional to the square of both together.

    Parameters
    ----------
    begin : (A,) N^2, (N m)^2 variances before there are residuals
    window : s, over which samples are smoothed

    Attributes
    ----------
    levels : blocks as long as the window, and of a second
    """

    def __init__(self, begin: Array, window: float) -> None:
        self.levels = [NoiseLevel(begin, min(window, BLOCK)), NoiseLevel(begin, BLOCK)]

    @property
    def variance(self) -> Array:
        """Variance (A,) of one residual."""
        return self.levels[-1].single

    @property
    def blocks(self) -> NDArray[np.int_]:
        """How many blocks of a second have ended (A,)."""
        return self.levels[-1].blocks

    @property
    def is_known(self) -> NDArray[np.bool_]:
        """Drives (A,) whose residuals are known."""
        return np.asarray(self.levels[-1].effective >= KNOWN)

    def copy(self) -> ResidualNoise:
        """Copy that goes on by itself, with new blocks."""
        result = copy.copy(self)
        result.levels = [level.copy() for level in self.levels]
        return result

    @property
    def weight_variance(self) -> Array:
        """Variance (A,) that a sample is weighted by."""
        return np.maximum(*(level.doubted for level in self.levels))

    def add(
        self, stamp: int, target: Array, predicted: Array, matrix: Array, used: NDArray[np.bool_],
        covariance: Callable[[], Array],
    ) -> list[BlockEnd | None]:  # fmt: skip
        """Take forces (A,) and their prediction by rows (A, B); what has ended with them, level by level.

        Parameters
        ----------
        used : (A,) drives that are not are left out
        covariance : of the parameters (B, B), asked for at the begin of a block
        """
        values = sample_values(target, predicted, matrix, used)
        return [level.add(stamp, values, covariance) for level in self.levels]


class NoiseLevel:
    """Variances by blocks of one length.

    Parameters
    ----------
    begin : see :class:`ResidualNoise`
    length : s

    Attributes
    ----------
    single : (A,) variance of one residual
    mean : (A,) variance of one of independent residuals whose means over the blocks would scatter as they do
    doubted : (A,) the same; one or two blocks may have a small mean by chance: it is taken for less than it may be
    effective : (A,) blocks that count
    blocks : (A,) blocks that have ended
    """

    def __init__(self, begin: Array, length: float) -> None:
        drives, self._length = len(begin), length
        self.single, self.mean, self.doubted = begin, begin, (1.0 + DOUBT) * begin
        self.effective, self.blocks = np.zeros(drives), np.zeros(drives, dtype=int)
        # of each block both variances, what errors of the parameters make of them, and for how many blocks it stands;
        # the first one is what was known before, which counts least
        count = 1 + round(MEMORY / length)
        self._squares, self._spread = np.full((2, count, 2, drives), np.nan)
        self._squares[0] = self._spread[0] = begin
        self._times = np.ones((count, 2, drives))
        self._now: ResidualBlock | None = None

    def copy(self) -> NoiseLevel:
        """Copy that goes on by itself, with a new block."""
        result = copy.copy(self)
        result.blocks, result._times = self.blocks.copy(), self._times.copy()
        result._squares, result._spread, result._now = self._squares.copy(), self._spread.copy(), None
        return result

    def know(self, single: Array, mean: Array, blocks: Array) -> None:
        """Take both variances (A,) as known from so many blocks (A,)."""
        self._squares[0], self._spread[0], self._times[0] = [single, mean], 0.0, blocks
        self._judge()

    def add(self, stamp: int, values: Array, covariance: Callable[[], Array]) -> BlockEnd | None:
        """Take a sample, see :meth:`ResidualNoise.add`."""
        if self._now is None:
            drives, columns = values.shape
            self._now = ResidualBlock(self._length, drives, columns - len(OWN))
        ended = self._now.add(stamp, values, covariance)
        if ended is not None:
            place = 1 + self.blocks[ended.drives] % (len(self._squares) - 1)
            self._squares[place, :, ended.drives] = ended.squares
            self._spread[place, :, ended.drives] = ended.spread
            self.blocks[ended.drives] += 1
            self._judge()
        return ended

    def _judge(self) -> None:
        (self.single, self.mean), (_, self.effective) = _noise(self._squares, self._spread, self._times)
        self.doubted = self.mean * (1.0 + DOUBT / np.maximum(self.effective, 1.0))


def _noise(squares: Array, spread: Array, times: Array) -> tuple[Array, Array]:
    """Variances (...) of the noise by squares (n, ...) that contain errors of variances ``spread`` (n, ...).

    NaN counts for nothing. Also returned: how many squares are as good as the best one. Where two sizes of noise agree
    with the weights that they give, the larger one is found.
    """
    there = np.isfinite(squares)
    squares, spread = np.where(there, squares, 0.0), np.where(there, spread, np.inf)
    variance = squares.max(axis=0)
    for _ in range(STEPS):
        weights = times / (variance + spread) ** 2
        variance = (weights * squares).sum(axis=0) / weights.sum(axis=0)
    return variance, weights.sum(axis=0) / (weights / times).max(axis=0)
