"""Ranks, and backward elimination: parameters are removed until the data determine all that remain.

Heimann & Abdellatif reduce the friction parameters of all joints to a minimal set; this is the usual rule for it: drop
the parameter with the largest relative standard deviation, estimate again, until all are below a threshold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from pkm_description.arrays import Array


@dataclass(frozen=True)
class Elimination:
    """What is left after a backward elimination.

    Attributes
    ----------
    kept : (K,) indices of the remaining parameters, ascending
    dropped : indices of the parameters left out, in the order in which they went
    values, standard_deviations : (K,) of the remaining ones; residuals are taken as independent and of equal size
    residual : root mean square of what the remaining parameters do not explain, in the unit of the measurements
    """

    kept: tuple[int, ...]
    dropped: tuple[int, ...]
    values: Array
    standard_deviations: Array
    residual: float

    @property
    def relative(self) -> Array:
        """Standard deviations over absolute values (K,)."""
        with np.errstate(divide='ignore'):
            return self.standard_deviations / np.abs(self.values)


def backward_elimination(
    observation: Array, measurement: Array, candidates: Sequence[int], threshold: float = 0.15
) -> Elimination:
    """Drop badly determined parameters, the worst first.

    Parameters
    ----------
    observation : (M, P) observation matrix of full column rank
    measurement : (M,)
    candidates : indices of the parameters that may be left out; the others always stay
    threshold : largest relative standard deviation of a candidate that may stay

    Raises
    ------
    ValueError
        If there are not more equations than parameters, or columns depend on each other.
    """
    kept = list(range(observation.shape[1]))
    dropped: list[int] = []
    droppable = set(candidates)
    while True:
        values, deviations, residual = _least_squares(observation[:, kept], measurement)
        result = Elimination(tuple(kept), tuple(dropped), values, deviations, residual)
        doubtful = [place for place, index in enumerate(kept) if index in droppable]
        if not doubtful:
            return result
        worst = max(doubtful, key=lambda place: result.relative[place])
        if result.relative[worst] <= threshold:
            return result
        dropped.append(kept.pop(worst))


def rank_and_gap(matrix: Array) -> tuple[int, float]:
    """Rank of a matrix with columns of unit norm, and how far its last singular value stands above the next."""
    norms = np.linalg.norm(matrix, axis=0)
    used = norms > 1e-9 * norms.max()
    values = np.linalg.svd(matrix[:, used] / norms[used], compute_uv=False)
    rank = int(np.sum(values > 1e-9 * values[0]))
    return rank, float(values[rank - 1] / values[rank]) if rank < len(values) else np.inf


def _least_squares(matrix: Array, measurement: Array) -> tuple[Array, Array, float]:
    """Values, standard deviations (P,) and root mean square residual."""
    rows, columns = matrix.shape
    if rows <= columns:
        raise ValueError(f'{rows} equations do not determine {columns} parameters and their standard deviations')
    if columns == 0:
        return np.zeros(0), np.zeros(0), float(np.sqrt(np.mean(measurement**2)))
    scale = np.linalg.norm(matrix, axis=0)
    if not np.all(scale > 0.0):
        raise ValueError(f'column {int(np.argmin(scale))} is zero: no measurement depends on this parameter')
    left, singular, right = np.linalg.svd(matrix / scale, full_matrices=False)
    if singular[-1] < 1e-10 * singular[0]:
        raise ValueError('columns of the observation matrix depend on each other: reduce them to base parameters first')
    values = (right.T @ ((left.T @ measurement) / singular)) / scale
    residuals = measurement - matrix @ values
    variance = float(residuals @ residuals) / (rows - columns)
    covariance = np.sum((right.T / singular) ** 2, axis=1)
    return values, np.sqrt(variance * covariance) / scale, float(np.sqrt(np.mean(residuals**2)))
