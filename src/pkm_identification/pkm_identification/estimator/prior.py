"""What estimators that run sample by sample are given, checked."""

from __future__ import annotations

import numpy as np
from pkm_description.arrays import Array


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


def weights_of(noise_variances: Array, rows: int) -> Array:
    """One over the noise of each row; 0 where it is not used."""
    return np.asarray(1.0 / np.sqrt(checked_variances(noise_variances, rows)), dtype=float)
