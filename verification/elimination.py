"""Ranks, and backward elimination: parameters are removed until the data determine all that remain.

Heimann & Abdellatif reduce the friction parameters of all joints to a minimal set; this is the usual rule for it: drop
the parameter with the largest relative standard deviation, estimate again, until all are below a threshold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from pkm_description.arrays import Array
from pkm_identification.estimator.least_squares import solve, white_covariance


@dataclass(frozen=True)
class Elimination:
    """What is left after a backward elimination.

    Attributes
    ----------
    kept : (K,) indices of the remaining parameters, ascending
    values, standard_deviations : (K,) of the remaining ones; residuals are taken as independent and of equal size
    """

    kept: tuple[int, ...]
    values: Array
    standard_deviations: Array

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
        If there are not more equations than parameters, or columns are zero or depend on each other.
    """
    rows, columns = observation.shape
    if rows <= columns or rank_and_gap(observation)[0] < columns:
        raise ValueError(f'{rows} equations do not determine {columns} parameters and their standard deviations')
    kept = list(range(observation.shape[1]))
    while True:
        matrix = observation[:, kept]
        values = solve(matrix, measurement)
        residuals = measurement - matrix @ values
        variance = float(residuals @ residuals) / (len(matrix) - len(kept))
        result = Elimination(tuple(kept), values, np.sqrt(variance * white_covariance(matrix).diagonal()))
        doubtful = [place for place, index in enumerate(kept) if index in candidates]
        worst = max(doubtful, key=lambda place: result.relative[place], default=0)
        if not doubtful or result.relative[worst] <= threshold:
            return result
        del kept[worst]


def rank_and_gap(matrix: Array) -> tuple[int, float]:
    """Rank of a matrix with columns of unit norm, and how far its last singular value stands above the next."""
    norms = np.linalg.norm(matrix, axis=0)
    used = norms > 1e-9 * norms.max()
    values = np.linalg.svd(matrix[:, used] / norms[used], compute_uv=False)
    rank = int(np.sum(values > 1e-9 * values[0]))
    return rank, float(values[rank - 1] / values[rank]) if rank < len(values) else np.inf
