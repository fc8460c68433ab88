"""Noise of residuals while they come: size, and how many samples count as one."""

from __future__ import annotations

import copy
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array

from pkm_identification.online.block import Block, BlockEnd

#: blocks that are remembered, and that must be known for residuals to be called too large
MEMORY, KNOWN = 20, 3
#: blocks of doubt
DOUBT = 3.0
#: steps towards variances that agree with the weights they give the blocks
STEPS = 30


class ResidualNoise:
    """Variances of single residuals, such that samples may be used as if they were independent.

    Smoothed samples are alike over a window, and ripple or a force that the model lacks lasts longer than that: the
    variance of the means of blocks says by how much. Both are means over the last 20 blocks. Residuals of a prediction
    are noise and errors of the parameters together, so a block counts by what is known of the latter: the variance of a
    squared residual is proportional to the square of both together.

    Parameters
    ----------
    begin : (A,) N^2, (N m)^2 variances before there are residuals

    Attributes
    ----------
    variance : (A,) of one residual
    blocks : (A,) how many have ended
    """

    def __init__(self, begin: Array) -> None:
        drives = len(begin)
        self.blocks = np.zeros(drives, dtype=int)
        # of each block: variance of the residuals, that of samples as if independent by their mean, and for both what
        # errors of the parameters make of it, and how many blocks it stands for; the first one is what was known before
        self._squares, self._spread = np.full((2, MEMORY + 1, 2, drives), np.nan)
        self._squares[0] = self._spread[0] = begin
        self._times = np.ones((MEMORY + 1, 2, drives))
        self.variance, self._block_variance, self._effective = begin.copy(), begin.copy(), np.zeros(drives)
        self._now: Block | None = None

    def know(self, variance: Array, block_variance: Array, blocks: Array) -> None:
        """Take what is known of single residuals and means of blocks (A,) from so many blocks (A,)."""
        self._squares[0], self._spread[0], self._times[0] = [variance, block_variance], 0.0, blocks
        self._judge()

    def _judge(self) -> None:
        (self.variance, self._block_variance), (_, self._effective) = _noise(self._squares, self._spread, self._times)

    @property
    def is_known(self) -> NDArray[np.bool_]:
        """Drives (A,) whose residuals are known."""
        return np.asarray(self._effective >= KNOWN)

    def copy(self) -> ResidualNoise:
        """Copy that goes on by itself, with a new block."""
        now, self._now = self._now, None
        result = copy.deepcopy(self)
        self._now = now
        return result

    def weight_variance(self, noise_share: float) -> Array:
        """Variance (A,) that a sample is weighted by; smoothed white noise makes 1 / ``noise_share`` samples alike.

        One or two blocks may have a small mean by chance: what they say is taken for less than it may be.
        """
        doubt = 1.0 + DOUBT / np.maximum(self._effective, 1.0)
        return np.maximum(self.variance / noise_share, doubt * self._block_variance)

    def add(
        self, stamp: int, target: Array, predicted: Array, matrix: Array, used: NDArray[np.bool_],
        covariance: Callable[[], Array],
    ) -> BlockEnd | None:  # fmt: skip
        """Take forces (A,) and their prediction by rows (A, B); what has ended with them.

        Parameters
        ----------
        used : (A,) drives that are not are left out
        covariance : of the parameters (B, B), asked for at the begin of a block
        """
        if self._now is None:
            self._now = Block(*matrix.shape)
        ended = self._now.add(stamp, target, predicted, matrix, used, covariance)
        if ended is not None:
            place = 1 + self.blocks[ended.drives] % MEMORY
            self._squares[place, :, ended.drives] = ended.squares
            self._spread[place, :, ended.drives] = ended.spread
            self.blocks[ended.drives] += 1
            self._judge()
        return ended


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
