"""Residuals of a short time, drive by drive."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array

#: part of the samples of a block that must be a drive's own
FULL = 0.5
#: samples between two looks at what errors of the parameters make of a residual
LOOK = 20


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


class Block:
    """Sums over a time; a drive that has few samples in it goes on: near to each other, they may be alike by chance.

    Parameters
    ----------
    length : s
    drives, parameters : numbers A and B
    """

    def __init__(self, length: float, drives: int, parameters: int) -> None:
        self._length, self._since, self._samples = round(length * 1e9), 0, 0
        self._covariance = np.zeros((parameters, parameters))
        # number, forces, residuals, their squares; looks, and at each what parameters make of these squares
        self._sums = np.zeros((6, drives))
        self._rows = np.zeros((drives, parameters))

    def add(
        self, stamp: int, target: Array, predicted: Array, matrix: Array, used: NDArray[np.bool_],
        covariance: Callable[[], Array],
    ) -> BlockEnd | None:  # fmt: skip
        """Take a sample, see :meth:`pkm_identification.online.residual_noise.ResidualNoise.add`."""
        if self._samples == 0:
            self._since, self._covariance = stamp, covariance()
        residual = target - predicted
        self._sums[:4, used] += np.stack([np.ones_like(target), target, residual, residual**2])[:, used]
        self._rows[used] += matrix[used]
        if self._samples % LOOK == 0:
            spread = np.einsum('ab,bc,ac->a', matrix, self._covariance, matrix)
            self._sums[4:, used] += np.stack([np.ones_like(spread), spread])[:, used]
        self._samples += 1
        return None if stamp - self._since < self._length else self._end()

    def _end(self) -> BlockEnd | None:
        drives = np.flatnonzero((self._sums[0] >= FULL * self._samples) & (self._sums[4] > 0.0))
        self._samples = 0
        if len(drives) == 0:
            return None
        count, targets, residuals, squares, looks, spread = self._sums[:, drives]
        rows = self._rows[drives] / count[:, None]
        slow = count * np.einsum('ab,bc,ac->a', rows, self._covariance, rows)
        self._sums[:, drives], self._rows[drives] = 0.0, 0.0
        return BlockEnd(
            drives, np.stack([squares / count, residuals**2 / count], axis=1), np.stack([spread / looks, slow], axis=1),
            count, rows, targets / count,
        )  # fmt: skip
