"""Log-Cholesky coordinates: every point of an unconstrained space is a real body (Rucker & Wensing 2022).

A positive definite matrix (4, 4) is ``Y = T T'`` with an upper triangular T whose diagonal is an exponential.
Coordinates are the entries of T, logarithms on the diagonal; all are zero for the unit matrix. The map is one to one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array

from pkm_identification.estimator.pseudo_inertia import COLUMNS, ROWS

#: which of the ten entries stand on the diagonal
DIAGONAL: NDArray[np.bool_] = np.asarray(ROWS == COLUMNS)


def coordinates_of(matrices: Array) -> Array:
    """Coordinates (n, 10) of positive definite matrices (n, 4, 4); ``numpy.linalg.LinAlgError`` for others."""
    turned = np.linalg.cholesky(matrices[:, ::-1, ::-1])[:, ::-1, ::-1]
    found = turned[:, ROWS, COLUMNS]
    return np.where(DIAGONAL, np.log(np.where(DIAGONAL, found, 1.0)), found)


def matrices_of(coordinates: Array) -> Array:
    """Matrices (..., 4, 4) of coordinates (..., 10)."""
    triangle = _triangle(coordinates)[0]
    return np.asarray(triangle @ np.swapaxes(triangle, -1, -2))


def slopes_of(coordinates: Array) -> Array:
    """Derivatives (n, 10, 10) of the entries of the matrices by coordinates (n, 10)."""
    triangle, entries = _triangle(coordinates)
    slopes = np.empty((len(coordinates), 10, 10))
    for number, (row, column) in enumerate(zip(ROWS, COLUMNS, strict=True)):
        factor = entries[:, number] if row == column else np.ones(len(coordinates))
        change = np.zeros_like(triangle)
        change[:, row] = factor[:, None] * triangle[:, :, column]
        change = change + np.swapaxes(change, 1, 2)
        slopes[:, :, number] = change[:, ROWS, COLUMNS]
    return slopes


def _triangle(coordinates: Array) -> tuple[Array, Array]:
    entries = np.where(DIAGONAL, np.exp(np.where(DIAGONAL, coordinates, 0.0)), coordinates)
    triangle = np.zeros((*coordinates.shape[:-1], 4, 4))
    triangle[..., ROWS, COLUMNS] = entries
    return triangle, entries
