"""A fit with its rows weighed by a noise, to which further columns are offered."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from scipy.linalg import solve_triangular

from pkm_identification.blocks import blocks
from pkm_identification.estimator.row_noise import RowNoise

#: part of a column's square beyond the fitted columns up to which it counts as one of them
OWN = 1e-3


class Products(NamedTuple):
    """Products of offered columns.

    Attributes
    ----------
    squares : (C, C) with themselves
    inside : (B, C) with the orthonormal basis of the fitted columns
    moments : (C, 2) with the residuals, as they are and as they are judged
    """

    squares: Array
    inside: Array
    moments: Array

    def of(self, sums: Array) -> Products:
        """Those of sums (C, G) of the columns."""
        return Products(sums.T @ self.squares @ sums, self.inside @ sums, sums.T @ self.moments)


class Offered(NamedTuple):
    """What is new in offered columns: K orthonormal directions beyond the fitted columns.

    Attributes
    ----------
    along, judged : (K,) of the residuals, as they are and as they are judged
    moved : (B, K) changes of the fitted parameters with one unit of each
    """

    along: Array
    judged: Array
    moved: Array

    @property
    def shifts(self) -> Array:
        """Changes (B,) of the parameters with all of it, beyond what noise of the factors makes of them."""
        shifts = self.moved @ self.along
        return np.asarray(np.sign(shifts) * np.sqrt(np.maximum(shifts**2 - np.sum(self.moved**2, axis=1), 0.0)))


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
        weighed, count = self.noise.weighed(rows, self._weights), rows.shape[-1]
        residuals = np.stack([self.residuals, judged], axis=-1)
        basis = self._basis.reshape(*self.residuals.shape, -1)
        total = np.zeros((count + basis.shape[-1] + 2, count))
        for part in blocks(len(rows)):
            offered = weighed[part].reshape(-1, count)
            others = np.concatenate([basis[part], residuals[part]], axis=-1).reshape(len(offered), -1)
            total += np.concatenate([offered, others], axis=1).T @ offered
        squares, inside, moments = np.split(total, [count, count + basis.shape[-1]])
        return Products(squares, inside, moments.T)

    def offered(self, products: Products) -> Offered | None:
        """What is new in columns, by their products; ``None`` if the fit has them already."""
        size = np.sqrt(np.diag(products.squares))
        seen = size > 1e-12 * max(size.max(initial=0.0), 1e-300)
        if not seen.any():
            return None
        inside, moments = products.inside[:, seen] / size[seen], products.moments[seen] / size[seen, None]
        beyond = products.squares[np.ix_(seen, seen)] / np.outer(size[seen], size[seen]) - inside.T @ inside
        sizes, directions = np.linalg.eigh(beyond)
        new = sizes > OWN
        if not new.any():
            return None
        directions = directions[:, new] / np.sqrt(sizes[new])
        along, judged = (directions.T @ moments).T
        moved = solve_triangular(self._triangle, inside @ directions) / self._scale[:, None]
        return Offered(along, judged, moved)
