"""Interface of the Kalman filters: predict, update, innovation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array

Indices = NDArray[np.intp]
#: maps states (n, N) to states (n, N) or to measurements (m, N), all columns in one call
Model = Callable[[Array], Array]


class CovarianceError(Exception):
    """A covariance is no longer positive definite (or not finite); the filter must be started again."""


class Innovation(NamedTuple):
    """Innovation of one measurement.

    Attributes
    ----------
    residual : (m,) measured minus predicted; NaN where an entry was not used
    variance : (m,) of the residual
    nis : normalised innovation squared
    """

    residual: Array
    variance: Array
    nis: float

    @property
    def std(self) -> Array:
        """Standard deviation (m,) of the residual."""
        deviation: Array = np.sqrt(self.variance)
        return deviation


class KalmanFilter(ABC):
    """A Gaussian estimate that is predicted and corrected.

    Attributes
    ----------
    state : (n,)
    covariance : (n, n)
    """

    state: Array
    covariance: Array

    @abstractmethod
    def predict(self, propagate: Model, noise_factor: Array) -> None:
        """Move the state: ``propagate`` maps points (n, 2n+1) to points, ``noise_factor`` (n, k) is a noise root."""

    @abstractmethod
    def update(
        self,
        observe: Model,
        measurement: Array,
        noise_covariance: Array,
        used: Indices | None = None,
        limit: float = inf,
    ) -> Innovation:
        """Correct the state with ``measurement`` (m,).

        Parameters
        ----------
        observe : maps points (n, 2n+1) to predicted measurements (m, 2n+1)
        measurement : (m,)
        noise_covariance : (m, m)
        used : indices of the entries to use, all by default; the others come back as NaN in the innovation
        limit : normalised innovation squared beyond which nothing is corrected

        Raises
        ------
        CovarianceError
            A covariance is not positive definite, or not finite.
        """

    def update_iterated(
        self,
        observe: Model,
        measurement: Array,
        noise_covariance: Array,
        used: Indices | None = None,
        limit: float = inf,
    ) -> Innovation:
        """Do the same; filters that can do so linearise a measurement that surprises them around its own result."""
        return self.update(observe, measurement, noise_covariance, used, limit)

    def update_from(
        self,
        begin: Array | None,
        observe: Model,
        measurement: Array,
        noise_covariance: Array,
        used: Indices | None = None,
    ) -> Innovation:
        """Correct the state, linearised first at the state (n,) ``begin`` by filters that can choose."""
        return self.update(observe, measurement, noise_covariance, used)

    @abstractmethod
    def predicted_innovation(
        self, observe: Model, measurement: Array, noise_covariance: Array
    ) -> tuple[Array, Array]:
        """Residual (m,) of a measurement and its covariance (m, m); changes nothing."""
