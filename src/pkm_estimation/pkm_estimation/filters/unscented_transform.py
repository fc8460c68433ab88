"""Sigma points and weights of the scaled unscented transform (Julier 2002; Miletovic et al. 2017, section 3.2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class ScaledUnscentedTransform:
    """Weights for ``size`` dimensions.

    Parameters
    ----------
    size : number of dimensions n
    alpha, beta, kappa : scaling parameters; the paper prints 0.1, 2, 0. Below alpha = 1e-3 the weights cancel so many
        digits that the filter of a state becomes inconsistent (the paper warns of this, too: section 4.4)
    least_alpha : refuse a smaller one. Filters of parameters, whose points do not move, may go down to 1e-4
    """

    size: int
    alpha: float = 0.1
    beta: float = 2.0
    kappa: float = 0.0
    least_alpha: float = 1e-3

    def __post_init__(self) -> None:
        if not self.least_alpha <= self.alpha <= 1.0:
            raise ValueError(
                f'alpha = {self.alpha!r}: must be at least {self.least_alpha:g} (numerical stability) and at most 1'
            )
        if not self.size + self.kappa > 0.0:
            raise ValueError(f'kappa = {self.kappa!r}: size + kappa must be positive (size = {self.size})')
        if not np.isfinite(self.beta):
            raise ValueError(f'beta = {self.beta!r}: must be a finite number')

    @property
    def spread(self) -> float:
        """``n + lambda``, square of the distance of the sigma points in standard deviations."""
        return self.alpha**2 * (self.size + self.kappa)

    @property
    def centre_mean_weight(self) -> float:
        """Weight of the centre point in the mean."""
        return 1.0 - self.size / self.spread

    @property
    def centre_covariance_weight(self) -> float:
        """Weight of the centre point in covariances."""
        return self.centre_mean_weight + 1.0 - self.alpha**2 + self.beta

    @property
    def weight(self) -> float:
        """Weight of each of the other points, in mean and covariance."""
        return 0.5 / self.spread

    @property
    def shift_weight(self) -> float:
        """Weight of ``d d^T`` in the covariance, where ``d`` is the mean seen from the transformed centre point.

        With deviations ``D_i`` from the centre point, ``sum Wc (Y - mean)(Y - mean)^T`` equals
        ``weight sum D_i D_i^T + (beta - alpha^2) d d^T``: the large cancelling weights are gone.
        """
        return self.beta - self.alpha**2
