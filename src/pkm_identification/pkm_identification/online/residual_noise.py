"""Noise of residuals while they come: size, and how many samples count as one."""

from __future__ import annotations

import copy

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array

#: s, length of the blocks whose means tell slow errors from noise
BLOCK = 1.0
#: blocks that are remembered, and that must be known for residuals to be called too large
MEMORY, KNOWN = 20, 3
#: part of the samples of a block that must be a drive's own, and blocks of doubt
FULL, DOUBT = 0.5, 3.0


class ResidualNoise:
    """Variances of single residuals, such that samples may be used as if they were independent.

    Smoothed samples are alike over a window, and ripple or a force that the model lacks lasts longer than that: the
    variance of the means of blocks says by how much. Both are followed with a memory of 20 s.

    Parameters
    ----------
    begin : (A,) N^2, (N m)^2 variances before there are residuals

    Attributes
    ----------
    variance : (A,) of one residual
    """

    def __init__(self, begin: Array) -> None:
        self.variance = begin.copy()
        self._blocks = np.zeros(len(begin))
        self._sum, self._squares, self._count = np.zeros(len(begin)), np.zeros(len(begin)), np.zeros(len(begin))
        self._first: int | None = None
        self._samples = 0
        self._block_variance = begin.copy()

    @property
    def is_known(self) -> NDArray[np.bool_]:
        """Drives (A,) whose residuals are known."""
        return np.asarray(self._blocks >= KNOWN)

    def copy(self) -> ResidualNoise:
        """Copy that goes on by itself."""
        return copy.deepcopy(self)

    def weight_variance(self, noise_share: float) -> Array:
        """Variance (A,) that a sample is weighted by; smoothed white noise makes 1 / ``noise_share`` samples alike.

        One or two blocks may have a small mean by chance: what they say is taken for less than it may be.
        """
        doubt = 1.0 + DOUBT / np.maximum(self._blocks, 1.0)
        return np.maximum(self.variance / noise_share, doubt * self._block_variance)

    def add(self, stamp: int, residual: Array, used: NDArray[np.bool_]) -> None:
        """Take a residual (A,) of the prediction; drives that are not ``used`` (A,) are left out.

        Residuals count where parameters are known well enough for them to be noise; those of a fit are too small. A
        drive's block goes on until half of the samples of a block are its own: few of them, near to each other, may be
        small by chance.
        """
        if self._first is None:
            self._first = stamp
        self._sum += np.where(used, residual, 0.0)
        self._squares += np.where(used, residual**2, 0.0)
        self._count += used
        self._samples += 1
        if stamp - self._first < BLOCK * 1e9:
            return
        # the first blocks count least: parameters were least known then
        seen = self._count >= FULL * self._samples
        self._first, self._samples = stamp, 0
        count = np.maximum(self._count, 1.0)
        share = np.where(seen, np.maximum(2.0 / (self._blocks + 2.0), 1.0 / MEMORY), 0.0)
        self.variance = self.variance + share * (self._squares / count - self.variance)
        self._block_variance = self._block_variance + share * (count * (self._sum / count) ** 2 - self._block_variance)
        self._blocks += seen
        for values in (self._sum, self._squares, self._count):
            values[seen] = 0.0
