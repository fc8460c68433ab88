"""Noise of residuals while they come: size, and how many samples count as one."""

from __future__ import annotations

import copy

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array

#: s, length of the blocks whose means tell slow errors from noise
BLOCK = 1.0
#: blocks that are remembered
MEMORY = 20


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
        self._block_variance = begin.copy()

    @property
    def is_known(self) -> NDArray[np.bool_]:
        """Drives (A,) of which there are residuals."""
        return np.asarray(self._blocks > 0.0)

    def copy(self) -> ResidualNoise:
        """Copy that goes on by itself."""
        return copy.deepcopy(self)

    def weight_variance(self, noise_share: float) -> Array:
        """Variance (A,) that a sample is weighted by; smoothed white noise makes 1 / ``noise_share`` samples alike."""
        return np.maximum(self.variance / noise_share, self._block_variance)

    def add(self, stamp: int, residual: Array, used: NDArray[np.bool_]) -> None:
        """Take a residual (A,) of the prediction; drives that are not ``used`` (A,) are left out.

        Residuals count where parameters are known well enough for them to be noise; those of a fit are too small.
        """
        if self._first is None:
            self._first = stamp
        self._sum += np.where(used, residual, 0.0)
        self._squares += np.where(used, residual**2, 0.0)
        self._count += used
        if stamp - self._first < BLOCK * 1e9:
            return
        self._first = stamp
        seen = self._count > 0.0
        count = np.maximum(self._count, 1.0)
        share = np.where(seen, np.maximum(1.0 / (self._blocks + 1.0), 1.0 / MEMORY), 0.0)
        self.variance = self.variance + share * (self._squares / count - self.variance)
        self._block_variance = self._block_variance + share * (count * (self._sum / count) ** 2 - self._block_variance)
        self._blocks += seen
        self._sum[:] = self._squares[:] = self._count[:] = 0.0
