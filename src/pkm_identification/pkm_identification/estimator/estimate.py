"""What every estimator returns: parameters, their covariance, and what its solver says of its own work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from pkm_description.arrays import Array

from pkm_identification.estimator.row_noise import RowNoise


@dataclass(frozen=True)
class SolverRecord:
    """How a solution came about, for the result and its report.

    Attributes
    ----------
    method : of the estimator and of its solver, e.g. ``wls, QR``
    iterations : of the outermost loop
    converged : whether the solver reached its own tolerances; a result that did not is never called converged
    optimality : the solver's own figures, by name: 0 at an exact optimum
    evaluations : of the cost
    stop : reason of the stop, in the solver's words
    cost : final value, in the solver's units
    seed : of the random numbers, where there are any
    """

    method: str
    iterations: int
    converged: bool
    optimality: Mapping[str, float] = field(default_factory=dict)
    evaluations: int = 0
    stop: str = ''
    cost: float = np.nan
    seed: int | None = None


#: of an estimate that was built by hand
UNKNOWN_SOLVER = SolverRecord('not recorded', 0, False)


@dataclass(frozen=True)
class Estimate:
    """Solution of ``force = matrix @ parameters + error``.

    Attributes
    ----------
    parameters, std : (B,)
    covariance : (B, B)
    force_std : (L,) residual standard deviation of each leg, at the rate of the rows; robust estimators: of the rows
        without the outliers
    residuals : (N, L), zero where the weight is zero
    autocorrelation : (K+1, L) of the residuals at lags 0..K, less what the noise's own correlation explains
    condition : condition number of the weighted, column-scaled matrix
    force_condition : the same matrix' condition without column scaling (the kappa of Heimann & Abdellatif)
    solver : how it was found
    row_weights : (N, L) factors that the estimator itself gave the rows; ``None`` where it treats all alike
    partial : (p,) partial autocorrelations of the noise; none where it is taken to be white
    """

    parameters: Array
    covariance: Array
    force_std: Array
    residuals: Array
    autocorrelation: Array
    condition: float
    force_condition: float
    solver: SolverRecord = UNKNOWN_SOLVER
    row_weights: Array | None = None
    partial: Array = field(default_factory=lambda: np.zeros(0))

    def noise(self, least: float) -> RowNoise:
        """Size and correlation of the noise, not smaller than ``least``."""
        return RowNoise(np.maximum(self.force_std, least), self.partial)

    @property
    def std(self) -> Array:
        """Square roots of the covariance's diagonal (B,)."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def correlation(self) -> Array:
        """Correlation matrix of the parameters (B, B)."""
        return self.covariance / np.outer(self.std, self.std)
