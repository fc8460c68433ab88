"""An estimate as it would be with a narrower prior, and how much better that prior tells the data."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from pkm_description.arrays import Array


class Exchanged(NamedTuple):
    """Estimate with the other prior.

    Attributes
    ----------
    mean, covariance : (B,), (B, B)
    log_odds : natural logarithm of the likelihood of the data with the other prior over that with the first one
    """

    mean: Array
    covariance: Array
    log_odds: float


class PriorExchange:
    """Exchanges the normal prior of an estimate for a narrower one, both of mean zero.

    The data's information is the estimate's less the first prior's. Likelihoods follow from the integral of the
    posterior times the ratio of both priors.

    Parameters
    ----------
    first, other : (B, B) covariances; their difference is not negative
    """

    def __init__(self, first: Array, other: Array) -> None:
        self._size = np.sqrt(np.diag(first))
        self._scale = np.outer(self._size, self._size)
        inverse_first, inverse_other = (np.linalg.inv(one / self._scale) for one in (first, other))
        self._gained = inverse_other - inverse_first
        self._log_priors = np.linalg.slogdet(first / self._scale)[1] - np.linalg.slogdet(other / self._scale)[1]

    def of(self, mean: Array, covariance: Array) -> Exchanged:
        """Exchange the prior of an estimate (B,), (B, B)."""
        scaled, place = covariance / self._scale, mean / self._size
        information = np.linalg.inv(scaled)
        whole = information + self._gained
        narrow = np.linalg.inv(whole)
        moved = narrow @ (information @ place)
        distance = place @ information @ place - moved @ whole @ moved
        logarithms = self._log_priors + np.linalg.slogdet(narrow)[1] - np.linalg.slogdet(scaled)[1]
        return Exchanged(moved * self._size, narrow * self._scale, float(0.5 * (logarithms - distance)))
