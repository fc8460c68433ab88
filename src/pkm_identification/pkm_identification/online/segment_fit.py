"""Weighted least squares of one segment, in steps short enough for a machine that runs."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from scipy.linalg import solve_triangular

from pkm_identification.estimator.residual_covariance import autocorrelation, degrees_of_freedom
from pkm_identification.judgement.score import Explained, Products, inflation
from pkm_identification.online.segment import Segment

#: weightings by the residuals of the one before
PASSES = 3
#: samples over which residuals may be alike
LAGS = 10


@dataclass(frozen=True)
class SegmentFit:
    """Fit of the parameters of a segment, which are less certain before than its rows make them.

    Attributes
    ----------
    segment : which
    order : (B,) places of the parameters in the triangle
    triangle : (B + 1, B + 1) of rows and targets, weighted, columns in that order; a weak prior is part of it
    weights : (n, A) of the rows: 1 over the deviation that counts residuals as independent; 0: not used
    parameters : (B,)
    residuals : (n, A) weighted
    basis : (n * A, B) orthonormal, of the weighted rows
    freedom : degrees of freedom of the residuals
    """

    segment: Segment
    order: NDArray[np.intp]
    triangle: Array
    weights: Array
    parameters: Array
    residuals: Array
    basis: Array
    freedom: int

    def products(self, columns: Array) -> Products:
        """Products of force columns (n, A, K) with the fit."""
        count = columns.shape[-1]
        offered = (columns * self.weights[..., None]).reshape(-1, count)
        residuals = self.residuals.reshape(-1, 1)
        return Products.of(offered, self.basis, np.concatenate([residuals, residuals], axis=1))

    def changes(self, products: Products, explained: Explained) -> Array:
        """Changes (B,) of the parameters with offered columns, beyond what noise makes of them."""
        count = len(self.order)
        moved = np.empty((count, explained.directions.shape[1]))
        moved[self.order] = solve_triangular(self.triangle[:count, :count], products.inside @ explained.directions)
        return explained.changes(moved)


def fit_segment(
    segment: Segment, order: NDArray[np.intp], prior: Array, floor: Array
) -> Generator[None, None, SegmentFit]:
    """Fit; a generator that returns the fit, and yields between its steps.

    Parameters
    ----------
    order : (B,) of the parameters in the triangle
    prior : (B,) standard deviations of the parameters, which are 0 in the mean
    floor : (A,) N, N m, least scatter of residuals that are more than rounding and smoothing
    """
    count, used = len(order), segment.used
    matrix, targets = segment.matrix[..., order] * used[..., None], segment.targets * used
    freedom = degrees_of_freedom(used, count)
    taken = np.maximum(used.sum(axis=0), 1)
    noise = np.maximum(np.sqrt((targets**2).sum(axis=0) / taken), floor)
    for _ in range(PASSES):
        rows, right = _stacked(matrix, targets, noise, prior[order])
        triangle = _triangle(rows, right)
        parameters = solve_triangular(triangle[:count, :count], triangle[:count, count])
        residuals = targets - matrix @ parameters
        scatter = np.sqrt((residuals**2).sum(axis=0) / taken / freedom)
        noise = np.maximum(scatter, floor)
        yield
    noise = noise * inflation(autocorrelation(residuals, used, LAGS))
    rows, right = _stacked(matrix, targets, noise, prior[order])
    size = np.linalg.norm(rows, axis=0)
    basis, scaled = np.linalg.qr(rows / size)
    yield
    inside = basis.T @ right
    rest = right - basis @ inside
    triangle = np.zeros((count + 1, count + 1))
    triangle[:count, :count], triangle[:count, count] = scaled * size, inside
    triangle[count, count] = np.linalg.norm(rest)
    found = np.empty(count)
    found[order] = solve_triangular(triangle[:count, :count], inside)
    own, freedom_left = rest[: used.size].reshape(used.shape), int(np.count_nonzero(used)) - count
    return SegmentFit(
        segment, order, triangle, used / noise, found, own, basis[: used.size], freedom_left
    )


def _stacked(matrix: Array, targets: Array, noise: Array, prior: Array) -> tuple[Array, Array]:
    """Weighted rows and targets, those of the prior below."""
    count = matrix.shape[-1]
    rows = np.concatenate([(matrix / noise[:, None]).reshape(-1, count), np.diag(1.0 / prior)])
    return rows, np.concatenate([(targets / noise).ravel(), np.zeros(count)])


def _triangle(rows: Array, right: Array) -> Array:
    size = np.linalg.norm(rows, axis=0)
    triangle = np.asarray(np.linalg.qr(np.concatenate([rows / size, right[:, None]], axis=1), mode='r'))
    triangle[:, :-1] *= size
    return triangle
