"""The first seconds of motion, whose rows are kept as sums: they are weighed anew when their noise is known better."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array

from pkm_identification.online.block import BlockEnd
from pkm_identification.online.residual_noise import ResidualNoise

#: steps of an estimate towards the likeliest noise; the next one goes on from there
STEPS = 10


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
        self._blocks: list[BlockEnd] = []
        self._noise = np.stack([begin, begin])

    def add(self, matrix: Array, target: Array, used: NDArray[np.bool_]) -> None:
        """Take the rows (A, B) of a sample and their forces (A,); drives that are not ``used`` (A,) are left out."""
        rows = np.where(used[:, None], matrix * self._size, 0.0)
        target = np.where(used, target, 0.0)
        self._matrix += rows[:, :, None] * rows[:, None, :]
        self._right += rows * target[:, None]
        self._squares += target**2
        self._samples += used

    def estimate(self, ended: BlockEnd, noise: ResidualNoise, noise_share: float) -> tuple[Array, Array]:
        """Parameters (B,) and covariance (B, B) when a block has ended; ``noise`` learns its size, too."""
        self._blocks.append(ended)
        for _ in range(STEPS):
            single, mean = self._noise
            found = self._noise_about(*self._weighed(np.maximum(single / noise_share, mean)))
            self._noise = np.stack(found[:2])
        noise.know(*found)
        parameters, covariance = self._weighed(noise.weight_variance(noise_share))
        return self._size * parameters, covariance * np.outer(self._size, self._size)

    def _weighed(self, variances: Array) -> tuple[Array, Array]:
        """Scaled parameters (B,) and their covariance (B, B) by variances (A,) of samples."""
        covariance = np.linalg.inv(self._prior + np.tensordot(1.0 / variances, self._matrix, 1))
        covariance = 0.5 * (covariance + covariance.T)
        return covariance @ (self._right.T @ (1.0 / variances)), covariance

    def _noise_about(self, parameters: Array, covariance: Array) -> tuple[Array, Array, Array]:
        """Variances (A,) of single residuals and of means of blocks, and how many blocks tell the latter."""
        expected = np.outer(parameters, parameters) + covariance
        squares = self._squares - 2.0 * self._right @ parameters + np.tensordot(self._matrix, expected, 2)
        total, blocks, open_blocks = np.zeros((3, len(squares)))
        for block in self._blocks:
            rows = block.rows * self._size
            spread = block.samples * np.einsum('ab,bc,ac->a', rows, covariance, rows)
            total[block.drives] += block.samples * (block.targets - rows @ parameters) ** 2 + spread
            blocks[block.drives] += 1.0
            open_blocks[block.drives] += spread
        variance = np.where(self._samples > 0, squares / np.maximum(self._samples, 1.0), self._noise[0])
        mean = np.where(blocks > 0, total / np.maximum(blocks, 1.0), self._noise[1])
        return variance, mean, np.maximum(blocks - open_blocks / mean, 0.0) + 1e-6
