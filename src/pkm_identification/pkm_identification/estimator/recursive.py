"""Recursive least squares in square-root form: row by row, for parameters that may drift.

What is kept is the triangle R and the vector z of ``R x = z``; new rows are appended and R is made triangular again
(QR update by LAPACK). That is the information form of Honegger et al. (2000), which Heimann & Abdellatif cite, with
twice the digits: without forgetting the result is that of batch least squares, to rounding.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
from pkm_description.arrays import Array
from scipy.linalg import lapack

from pkm_identification.errors import NotExcitedError
from pkm_identification.estimator.least_squares import Estimate, all_or, noise_floor, ordinary, with_noise
from pkm_identification.estimator.residual_covariance import RowNoise

#: columns that LAPACK takes together, at most
BLOCK = 8
#: condition number, with unit columns, up to which the samples determine all parameters
LARGEST = 1e12


class RecursiveLeastSquares:
    """Least squares of all samples so far, older ones forgotten; live, with or without a prior.

    The cost is ``sum of forgetting^(age in samples) |A_t x - f_t|^2``, the prior's term being the oldest.

    Parameters
    ----------
    count : number of parameters B
    forgetting : in (0, 1]; 1 forgets nothing. The memory is ``1 / (1 - forgetting)`` samples. What the motion no longer
        excites is forgotten, too, and its covariance grows without end: stop updating at rest
    prior : mean (B,) and covariance (B, B), or standard deviations (B,); without one, nothing is known at the start

    Attributes
    ----------
    samples : how many have been taken
    forgetting : of the next sample, see above; may be set, as where samples do not come evenly
    """

    def __init__(self, count: int, forgetting: float = 1.0, prior: tuple[Array, Array] | None = None) -> None:
        if not 0.0 < forgetting <= 1.0:
            raise ValueError(f'forgetting = {forgetting}: must be above 0 and at most 1')
        self.samples = 0
        self.forgetting, self._count = float(forgetting), count
        # R and z, and in the last row what the residuals leave
        self._whole = np.zeros((count + 1, count + 1), order='F')
        if prior is not None:
            mean = checked_vector('mean of the prior', prior[0], count)
            triangle = np.linalg.qr(np.linalg.inv(covariance_factor(prior[1], count)), mode='r')
            self._whole[:count, :count], self._whole[:count, -1] = triangle, triangle @ mean

    def update(self, rows: Array, force: Array, noise_variances: Array | None = None) -> None:
        """Take one sample.

        Parameters
        ----------
        rows, force : (m, B), (m,) regressor and forces
        noise_variances : (m,) of the forces; infinite where a row is not to be used, as of a drive that sticks. Without
            them rows and forces have been divided by the noise already
        """
        used = len(rows)
        weights = np.ones(used) if noise_variances is None else 1.0 / np.sqrt(checked_variances(noise_variances, used))
        taken = weights > 0.0
        new = np.column_stack([rows, force])[taken] * weights[taken, None]
        if not np.isfinite(new).all():
            raise ValueError('rows and forces must be finite numbers')
        if self.forgetting < 1.0:
            self._whole *= sqrt(self.forgetting)
        if len(new):
            self._whole = lapack.dtpqrt(0, min(BLOCK, self._count + 1), self._whole, new, overwrite_a=1)[0]
        self.samples += 1

    @property
    def triangle(self) -> Array:
        """The triangle R (B, B)."""
        return self._whole[:-1, :-1]

    @property
    def parameters(self) -> Array:
        """Parameters (B,) so far.

        Raises
        ------
        NotExcitedError
            The samples so far do not determine all of them.
        """
        inverse = self._inverse()
        return np.asarray(inverse @ self._whole[:-1, -1])

    @property
    def covariance(self) -> Array:
        """Covariance (B, B) if the noise of all rows is white and as given, and nothing is forgotten."""
        inverse = self._inverse()
        return np.asarray(inverse @ inverse.T, dtype=float)

    @property
    def std(self) -> Array:
        """Standard deviations (B,) of the parameters: roots of the diagonal of the covariance."""
        return np.asarray(np.linalg.norm(self._inverse(), axis=1), dtype=float)

    def _inverse(self) -> Array:
        """Inverse of the triangle; raises NotExcitedError."""
        inverse, singular = lapack.dtrtri(self.triangle)
        size = np.linalg.norm(self.triangle, axis=0)
        # condition with unit columns, from the Frobenius norms of R and of its inverse
        if singular or not np.linalg.norm(inverse * size[:, None]) * sqrt(self._count) < LARGEST:
            raise NotExcitedError(
                [f'parameter {index}' for index in np.flatnonzero(size == 0.0)] or ['a combination of parameters'],
                f'{self.samples} samples do not determine all {self._count} parameters yet',
            )
        return np.asarray(inverse)


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
