"""Noise of the rows of a fit: how large it is on each drive, and how it is correlated in time."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array

from pkm_identification.kernels.whitening import set_autoregression, whiten


@dataclass(frozen=True)
class RowNoise:
    """Noise of A drives, autoregressive in time: of their own size each, correlated alike.

    Attributes
    ----------
    std : (A,) standard deviations, above 0
    partial : (p,) partial autocorrelations; none for noise that is white
    """

    std: Array
    partial: Array = field(default_factory=lambda: np.zeros(0))

    def weighed(self, values: Array, row_weights: Array) -> Array:
        """Rows (n, A, ...) with independent noise of size 1: what the rows before say of it is taken out.

        Parameters
        ----------
        row_weights : (n, A) in [0, 1]; rows with 0 are missing, and are 0 in the result
        """
        white = self.innovations(values, row_weights > 0.0)[0] if len(self.partial) else values
        factors = row_weights / self.std
        return np.asarray(white * factors.reshape(*factors.shape, *[1] * (values.ndim - 2)))

    def innovations(self, values: Array, used: NDArray[np.bool_]) -> tuple[Array, Array]:
        """What is new in rows (n, A, ...), and the standard deviations (n, A) of what is new in the noise.

        Both are in units of the drives' ``std``; rows that are not used are 0, and 1.
        """
        samples, drives = used.shape
        columns = values.reshape(samples, drives, -1)
        order = len(self.partial)
        factors, covariances = np.zeros(order), np.zeros(order + 1)
        variance = set_autoregression(self.partial, factors, covariances, np.zeros(order))
        means, spread, gains = np.zeros((order, columns.shape[-1])), np.zeros((order, order)), np.zeros(order)
        found, deviations = np.empty(columns.shape), np.empty((drives, samples))
        own = np.empty((samples, columns.shape[-1]))
        for drive in range(drives):
            whiten(
                factors, covariances, variance, np.ascontiguousarray(used[:, drive]),
                np.ascontiguousarray(columns[:, drive], dtype=float), own, deviations[drive], means, spread, gains,
            )  # fmt: skip
            found[:, drive] = own
        return found.reshape(values.shape), deviations.T
