"""Recursive least squares in square-root form: row by row, for parameters that may drift.

What is kept is the triangle R and the vector z of ``R x = z``; new rows are appended and R is made triangular again
(QR update). That is the information form of Honegger et al. (2000), which Heimann & Abdellatif cite, with twice the
digits: without forgetting the result is that of batch least squares, to rounding.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
from pkm_description.arrays import Array

from pkm_identification.errors import NotExcitedError
from pkm_identification.estimator.least_squares import Estimate, all_or, noise_floor, ordinary, with_noise
from pkm_identification.estimator.residual_covariance import RowNoise
from pkm_identification.kernels.triangle import (
    append_rows,
    forget_all,
    forget_along,
    invert_triangle,
    substitute,
    whitened_innovations,
)


class RecursiveLeastSquares:
    """Least squares of all samples so far, older ones forgotten; live, with or without a prior.

    The cost is ``sum of forgetting^(age in samples) |A_t x - f_t|^2``, the prior's term being the oldest.

    Parameters
    ----------
    count : number of parameters B
    forgetting : in (0, 1]; 1 forgets nothing. The memory is ``1 / (1 - forgetting)`` samples
    directional : forget only where new rows bring information, and no more than they bring. Otherwise directions that
        the motion no longer excites are forgotten, too, and their covariance grows without end: stop updating at rest
    prior : mean (B,) and covariance (B, B), or standard deviations (B,); without one, nothing is known at the start

    Attributes
    ----------
    samples : how many have been taken
    forgetting : of the next sample, see above; may be set, as where samples do not come evenly
    normalised_innovations : (m,) of the last sample: forces less their predictions from the samples before, divided by
        the root of their covariance, so that each is of size 1 if model and noise are right. NaN for rows that are not
        used, and where the prediction was not determined yet
    """

    def __init__(
        self,
        count: int,
        forgetting: float = 1.0,
        directional: bool = False,
        prior: tuple[Array, Array] | None = None,
    ) -> None:
        if not 0.0 < forgetting <= 1.0:
            raise ValueError(f'forgetting = {forgetting}: must be above 0 and at most 1')
        self.samples = 0
        self.normalised_innovations = np.zeros(0)
        self.forgetting = float(forgetting)
        self._count, self._directional = count, directional
        self._memory = _Memory(count, 1)
        if prior is not None:
            mean = checked_vector('mean of the prior', prior[0], count)
            factor = np.linalg.inv(covariance_factor(prior[1], count))
            self.triangle[:] = np.linalg.qr(factor, mode='r')
            self._memory.matrix[:count, -1] = self.triangle @ mean

    def update(self, rows: Array, force: Array, noise_variances: Array | None = None) -> None:
        """Take one sample.

        Parameters
        ----------
        rows, force : (m, B), (m,) regressor and forces
        noise_variances : (m,) of the forces; infinite where a row is not to be used, as of a drive that sticks. Without
            them rows and forces have been divided by the noise already
        """
        used = len(rows)
        memory = self._memory_for(used)
        matrix, count = memory.matrix, self._count
        weights = np.ones(used) if noise_variances is None else 1.0 / np.sqrt(checked_variances(noise_variances, used))
        matrix[count:, :count] = np.where(weights[:, None] > 0.0, rows * weights[:, None], 0.0)
        matrix[count:, count] = np.where(weights > 0.0, force * weights, 0.0)
        if not np.isfinite(matrix[count:]).all():
            raise ValueError('rows and forces must be finite numbers')
        self.normalised_innovations = np.empty(used)
        whitened_innovations(matrix, count, memory.directions, memory.root, self.normalised_innovations)
        self.normalised_innovations[weights == 0.0] = np.nan
        if self._directional and self.forgetting < 1.0:
            forget_along(matrix, count, 1.0 - self.forgetting, memory.directions, memory.work)
            append_rows(matrix, count, True, memory.work)
        else:
            if self.forgetting < 1.0:
                forget_all(matrix, count, sqrt(self.forgetting))
            append_rows(matrix, count, False, memory.work)
        self.samples += 1

    def _memory_for(self, rows: int) -> _Memory:
        """Memory for samples of so many rows, with what is known in it."""
        if len(self._memory.matrix) != self._count + rows:
            memory = _Memory(self._count, rows)
            memory.matrix[: self._count] = self._memory.matrix[: self._count]
            self._memory = memory
        return self._memory

    @property
    def triangle(self) -> Array:
        """The triangle R (B, B); nothing below its diagonal has a meaning."""
        return self._memory.matrix[: self._count, :-1]

    @property
    def parameters(self) -> Array:
        """Parameters (B,) so far.

        Raises
        ------
        NotExcitedError
            The samples so far do not determine all of them.
        """
        self._inverse()
        solution = np.empty(self._count)
        substitute(self._memory.matrix, self._count, solution)
        return solution

    @property
    def covariance(self) -> Array:
        """Covariance (B, B) if the noise of all rows is white and as given, and nothing is forgotten."""
        inverse = self._inverse()
        return np.asarray(inverse @ inverse.T, dtype=float)

    @property
    def std(self) -> Array:
        """Standard deviations (B,) of the parameters: roots of the diagonal of the covariance."""
        return np.asarray(np.linalg.norm(self._inverse(), axis=1), dtype=float)

    @property
    def information(self) -> Array:
        """Inverse (B, B) of the covariance, also where not all parameters are determined."""
        triangle = np.triu(self.triangle)
        return np.asarray(triangle.T @ triangle, dtype=float)

    def _inverse(self) -> Array:
        """Inverse of the triangle; raises NotExcitedError."""
        triangle, count = np.triu(self.triangle), self._count
        size = np.linalg.norm(triangle, axis=0)
        inverse = np.empty((count, count))
        regular = invert_triangle(self._memory.matrix, count, inverse)
        # condition with unit columns, from the Frobenius norms of R and of its inverse
        if not (regular and np.linalg.norm(inverse * size[:, None]) * sqrt(count) < 1e12):
            raise NotExcitedError(
                [f'parameter {index}' for index in np.flatnonzero(size == 0.0)] or ['a combination of parameters'],
                f'{self.samples} samples do not determine all {count} parameters yet',
            )
        return inverse


class _Memory:
    """Triangle and right side, with room for the rows of a sample below, and working memory."""

    __slots__ = ('directions', 'matrix', 'root', 'work')

    def __init__(self, count: int, rows: int) -> None:
        self.matrix = np.zeros((count + rows, count + 1))
        self.directions = np.zeros((count, rows))
        self.root = np.zeros((rows, rows))
        self.work = np.zeros(count + 1)


def recursive(
    observation: Array,
    force: Array,
    row_weights: Array | None = None,
    force_std: Array | None = None,
    correlation_lags: int = 0,
) -> Estimate:
    """Recursive least squares over a recording, sample by sample; the estimate at its end, with honest covariance.

    Parameters
    ----------
    observation, force, row_weights, correlation_lags : as of
        :func:`~pkm_identification.estimator.least_squares.weighted`
    force_std : (L,) known noise; ``None`` takes that of the residuals of ordinary least squares of all rows
    """
    weights = all_or(row_weights, force)
    if force_std is None:
        force_std = np.maximum(ordinary(observation, force, weights).force_std, noise_floor(force))
    noise = RowNoise(np.asarray(force_std, dtype=float))
    found = RecursiveLeastSquares(observation.shape[-1])
    for rows, targets in zip(noise.weighed(observation, weights), noise.weighed(force, weights), strict=True):
        found.update(rows, targets)
    return with_noise(
        observation, force, weights, noise, correlation_lags, 'rls, square-root form', found.samples, found.parameters
    )


def checked_vector(what: str, values: Array, count: int) -> Array:
    """Finite numbers (count,), copied."""
    vector = np.array(values, dtype=float)
    if vector.shape != (count,) or not np.isfinite(vector).all():
        raise ValueError(f'{what}: expected {count} finite numbers, got {values!r}')
    return vector


def covariance_factor(covariance: Array, count: int) -> Array:
    """Lower factor L of ``P = L L^T`` for a covariance (B, B) or standard deviations (B,).

    The matrix is brought to unit diagonal first: parameters may be of sizes from 1e-5 to 10 side by side.
    """
    given = np.array(covariance, dtype=float)
    if given.ndim == 1:
        given = checked_vector('standard deviations', given, count)
        if not (given > 0.0).all():
            raise ValueError(f'standard deviations must be above 0, got {covariance!r}')
        return np.diag(given)
    diagonal = np.diagonal(given) if given.shape == (count, count) else np.zeros(1)
    if not (np.isfinite(given).all() and (diagonal > 0.0).all() and np.allclose(given, given.T, rtol=1e-9, atol=0.0)):
        raise ValueError(f'covariance: expected a symmetric matrix ({count}, {count}) with a positive diagonal')
    size = np.sqrt(diagonal)
    try:
        return np.asarray(np.linalg.cholesky(given / np.outer(size, size)) * size[:, None], dtype=float)
    except np.linalg.LinAlgError:
        raise ValueError('covariance: not positive definite') from None


def checked_variances(noise_variances: Array, rows: int) -> Array:
    """Variances (rows,) of forces: above 0, infinite where a row is not used."""
    variances = np.broadcast_to(np.asarray(noise_variances, dtype=float), (rows,))
    if not (variances > 0.0).all():  # NaN, too
        raise ValueError(f'noise variances must be above 0 (infinite where a row is not used), got {noise_variances!r}')
    return variances
