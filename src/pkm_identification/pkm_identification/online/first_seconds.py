"""The first seconds of motion, whose rows are kept as sums: they are weighed anew when their noise is known better."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array

from pkm_identification.online.block import BlockEnd
from pkm_identification.online.residual_noise import ResidualNoise

#: steps of an estimate towards the likeliest noise; the next one goes on from there
STEPS = 8


class FirstSeconds:
    """Maximum likelihood of parameters and noise together, as long as the sums of all samples are kept.

    A filter weighs each sample once, by what is known of its noise at that time; in the first seconds that is little.
    Here parameters are constants, and the noise of each drive follows from the residuals about their estimate and from
    what that estimate leaves open (expectation maximisation).

    Parameters
    ----------
    covariance : (B, B) of the parameters before anything is known; they are zero
    begin : (A,) variances of a residual before anything is known
    """

    def __init__(self, covariance: Array, begin: Array) -> None:
        drives, count = len(begin), len(covariance)
        self._size = np.sqrt(np.diag(covariance))
        self._prior = np.linalg.inv(covariance / np.outer(self._size, self._size))
        self._matrix, self._right = np.zeros((drives, count, count)), np.zeros((drives, count))
        self._squares, self._samples = np.zeros(drives), np.zeros(drives)
        self._single = begin
        self._levels: list[_Blocks] = []

    def add(self, matrix: Array, target: Array, used: NDArray[np.bool_]) -> None:
        """Take the rows (A, B) of a sample and their forces (A,); drives that are not ``used`` (A,) are left out."""
        rows = np.where(used[:, None], matrix * self._size, 0.0)
        target = np.where(used, target, 0.0)
        self._matrix += rows[:, :, None] * rows[:, None, :]
        self._right += rows * target[:, None]
        self._squares += target**2
        self._samples += used

    def take(self, ended: Sequence[BlockEnd | None]) -> None:
        """Take blocks of each level of the noise that have ended with the last sample."""
        self._levels = self._levels or [_Blocks(self._size, self._single) for _ in ended]
        for level, block in zip(self._levels, ended, strict=True):
            if block is not None:
                level.add(block)

    def estimate(self, noise: ResidualNoise) -> tuple[Array, Array]:
        """Parameters (B,) and covariance (B, B) by all that was taken; ``noise`` learns its size, too."""
        for _ in range(STEPS):
            parameters, covariance = self._weighed(np.maximum(*(level.mean for level in self._levels)))
            for level in self._levels:
                level.judge(parameters, covariance)
        expected = np.outer(parameters, parameters) + covariance
        squares = self._squares - 2.0 * self._right @ parameters + np.tensordot(self._matrix, expected, 2)
        self._single = np.where(self._samples > 0, squares / np.maximum(self._samples, 1.0), self._single)
        for level, own in zip(self._levels, noise.levels, strict=True):
            own.know(self._single, level.mean, level.effective)
        parameters, covariance = self._weighed(noise.weight_variance)
        return self._size * parameters, covariance * np.outer(self._size, self._size)

    def _weighed(self, variances: Array) -> tuple[Array, Array]:
        """Scaled parameters (B,) and their covariance (B, B) by variances (A,) of samples."""
        covariance = np.linalg.inv(self._prior + np.tensordot(1.0 / variances, self._matrix, 1))
        covariance = 0.5 * (covariance + covariance.T)
        return covariance @ (self._right.T @ (1.0 / variances)), covariance


class _Blocks:
    """Blocks of one length, and what their means say of the noise.

    Parameters
    ----------
    size : (B,) of the parameters
    begin : (A,) variance before there are blocks
    """

    def __init__(self, size: Array, begin: Array) -> None:
        self.mean, self.effective = begin, np.zeros(len(begin))
        self._size = size
        self._drives: NDArray[np.intp] = np.zeros(0, dtype=np.intp)
        self._samples, self._targets, self._rows = np.zeros(0), np.zeros(0), np.zeros((0, len(size)))

    def add(self, block: BlockEnd) -> None:
        """Take one."""
        self._drives = np.concatenate([self._drives, block.drives])
        self._samples = np.concatenate([self._samples, block.samples])
        self._targets = np.concatenate([self._targets, block.targets])
        self._rows = np.concatenate([self._rows, block.rows * self._size])

    def judge(self, parameters: Array, covariance: Array) -> None:
        """Variances by residuals about the estimate, and by what it leaves open of them."""
        left_open = self._samples * np.einsum('ib,ib->i', self._rows @ covariance, self._rows)
        squares = self._samples * (self._targets - self._rows @ parameters) ** 2 + left_open
        count, total, left = (
            np.bincount(self._drives, weights, len(self.mean)) for weights in (None, squares, left_open)
        )
        self.mean = np.where(count > 0, total / np.maximum(count, 1), self.mean)
        self.effective = np.maximum(count - left / self.mean, 1e-6)
