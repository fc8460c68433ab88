"""A fit with its rows weighed by a noise, to which further columns are offered."""

from __future__ import annotations

from functools import reduce
from operator import add

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from scipy.linalg import solve_triangular

from pkm_identification.blocks import blocks
from pkm_identification.estimator.row_noise import RowNoise
from pkm_identification.judgement.score import Explained, Products


class WeighedFit:
    """Fitted columns (n, A, B), weighed by a noise, and the residuals of their least squares.

    Parameters
    ----------
    columns, errors : (n, A, B), (n, A) fitted columns, and forces less any combination of them
    row_weights : (n, A)
    noise : of the rows

    Attributes
    ----------
    residuals : (n, A) of the weighed rows
    freedom : rows beyond the columns
    """

    def __init__(self, columns: Array, errors: Array, row_weights: Array, noise: RowNoise) -> None:
        self.noise, self._weights = noise, row_weights
        count = columns.shape[-1]
        flat = noise.weighed(columns, row_weights).reshape(-1, count)
        self._scale = np.linalg.norm(flat, axis=0)
        self._basis, self._triangle = np.linalg.qr(flat / self._scale)
        residuals = noise.weighed(errors, row_weights).ravel()
        self.residuals = (residuals - self._basis @ (self._basis.T @ residuals)).reshape(errors.shape)
        self.freedom = int(np.count_nonzero(row_weights)) - count

    @property
    def used(self) -> NDArray[np.bool_]:
        """Rows (n, A) that count."""
        return self._weights > 0.0

    def products(self, rows: Array, judged: Array) -> Products:
        """Products of columns (n, A, C); ``judged`` (n, A) are the residuals as they are judged.

        In blocks: rows of own legs are large.
        """
        weighed = self.noise.weighed(rows, self._weights)
        basis = self._basis.reshape(*self.residuals.shape, -1)
        residuals = np.stack([self.residuals, judged], axis=-1)
        parts = (
            Products.of(_flat(weighed[part]), _flat(basis[part]), _flat(residuals[part]))
            for part in blocks(len(rows))
        )
        return reduce(add, parts)

    def left_by(self, rows: Array, factors: Array) -> Array:
        """Residuals (n, A) without forces of further columns (n, A, C) with factors (C,), beyond the fitted ones."""
        force = self.noise.weighed(rows @ factors, self._weights).ravel()
        force -= self._basis @ (self._basis.T @ force)
        return np.asarray(self.residuals - force.reshape(self.residuals.shape))

    def changes(self, products: Products, explained: Explained) -> Array:
        """Changes (B,) of the fitted parameters with offered columns, beyond what noise makes of them.

        Parameters
        ----------
        products, explained : of the columns
        """
        moved = solve_triangular(self._triangle, products.inside @ explained.directions) / self._scale[:, None]
        return explained.changes(moved)


def moved_by(further: Array, columns: Array, noise: RowNoise, row_weights: Array) -> Array:
    """Changes (B, K) of fitted parameters per unit of each of further forces, which the fit leaves out.

    Parameters
    ----------
    further, columns : (n, A, K), (n, A, B) left out, and fitted
    noise, row_weights : of the fit
    """
    flat, offered = (_flat(noise.weighed(rows, row_weights)) for rows in (columns, further))
    scale = np.linalg.norm(flat, axis=0)
    return np.asarray(np.linalg.lstsq(flat / scale, offered, rcond=None)[0] / scale[:, None])


def _flat(rows: Array) -> Array:
    """Rows (n, A, C) as (n * A, C)."""
    return rows.reshape(-1, rows.shape[-1])
