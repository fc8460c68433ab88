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

#: columns of a sample before its rows
OWN = ('number', 'force', 'residual', 'squared residual')


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
