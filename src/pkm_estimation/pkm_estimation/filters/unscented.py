"""Unscented Kalman filter with additive noise; every model sees all sigma points in one call."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy import add, multiply
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dtrtri

from pkm_estimation.filters.unscented_transform import ScaledUnscentedTransform

Array = NDArray[np.float64]
Indices = NDArray[np.intp]


class CovarianceError(Exception):
    """A covariance is no longer positive definite (or not finite); the filter must be started again."""


class Innovation(NamedTuple):
    """What one measurement said.

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
    def standard_deviation(self) -> Array:
        """Standard deviation (m,) of the residual."""
        deviation: Array = np.sqrt(self.variance)
        return deviation


class _Root:
    """Deviations of points (rows, count) from the first one, and views of them.

    The first column, where the deviation is zero, is used for the part of the mean's shift.
    """

    def __init__(self, rows: int, count: int) -> None:
        self.all = np.empty((rows, count))
        self.transposed, self.first = self.all.T, self.all[:, 0]


class UnscentedKalmanFilter:
    """Scaled UKF; sigma points are drawn anew before the update (Miletovic 3.4).

    Parameters
    ----------
    transform : weights and number of states n
    state : (n,)
    covariance : (n, n)

    Notes
    -----
    Points are columns (n, 2 n + 1), so that each state is contiguous. Covariances are formed as ``Z Z^T``: symmetric to
    the last bit and positive semi-definite by construction as long as ``beta >= alpha^2``.
    """

    def __init__(self, transform: ScaledUnscentedTransform, state: Array, covariance: Array) -> None:
        size = transform.size
        self.transform = transform
        self.state = np.array(state, dtype=float)
        self.covariance = np.array(covariance, dtype=float)
        if self.state.shape != (size,) or self.covariance.shape != (size, size):
            raise ValueError(f'state {self.state.shape}, covariance {self.covariance.shape}: expected size {size}')
        # scalars are arrays of zero dimensions, which ufuncs take faster than floats
        self._weight = np.array(transform.weight)
        self._shift_weight = transform.shift_weight
        # relative to the other points' weight, which multiplies whole covariances at the end
        self._relative_shift = np.array(sqrt(max(0.0, self._shift_weight) / transform.weight))
        # points @ this: each less the first one; exact like a subtraction, and faster than one that broadcasts
        self._less_first = np.eye(2 * size + 1)
        self._less_first[0] -= 1.0
        self._mean_weights = np.full(2 * size + 1, transform.weight)
        self._mean_weights[0] = 0.0  # applied to deviations from the centre point
        self._offsets = transform.offsets()
        # the state's deviations are the factor times the offsets: this times the factor^T is the cross covariance
        self._cross_weights = transform.weight * self._offsets[1:].T
        # column-major: LAPACK factorises the covariance in place, beside the mean
        self._mean_and_factor = np.zeros((size, size + 1), order='F')
        self._mean = self._mean_and_factor[:, 0]
        self._factor = self._mean_and_factor[:, 1:]
        self._factor_by_rows = self._factor.T
        self._points = np.empty((size, 2 * size + 1))
        self._correction = np.empty((size, size))
        self._roots: dict[int, _Root] = {}
        self._shift = np.empty(0)

    def predict(self, propagate: Callable[[Array], Array], noise_factor: Array) -> None:
        """Move the state: ``propagate`` maps points (n, 2n+1) to points, ``noise_factor`` (n, k) is a noise root."""
        points = propagate(self.draw_points())
        root = self._deviations(points)
        add(points[:, 0], self._shift, self.state)
        covariance = root.all.dot(root.transposed, self.covariance)
        covariance *= self._weight
        covariance += noise_factor.dot(noise_factor.T, self._correction)
        if self._shift_weight < 0.0:  # beta < alpha^2: no root of this part exists
            covariance += self._shift_weight * np.outer(self._shift, self._shift)

    def update(
        self,
        observe: Callable[[Array], Array],
        measurement: Array,
        noise_covariance: Array,
        used: Indices | None = None,
    ) -> Innovation:
        """Correct the state with ``measurement`` (m,).

        Parameters
        ----------
        observe : maps points (n, 2n+1) to predicted measurements (m, 2n+1)
        measurement : (m,)
        noise_covariance : (m, m)
        used : indices of the entries to use, all by default; the others come back as NaN in the innovation
        """
        predicted = observe(self.draw_points())
        if used is not None:
            predicted, measurement = predicted[used], measurement[used]
            full_size, noise_covariance = len(noise_covariance), noise_covariance[np.ix_(used, used)]
        root = self._deviations(predicted)
        innovation_covariance = root.all.dot(root.transposed)
        innovation_covariance *= self._weight
        innovation_covariance += noise_covariance
        if self._shift_weight < 0.0:
            innovation_covariance += self._shift_weight * np.outer(self._shift, self._shift)
        residual = measurement - predicted[:, 0]
        residual -= self._shift

        factor, info = dpotrf(innovation_covariance.T, 1)
        if info != 0:
            raise CovarianceError('innovation covariance is not positive definite')
        # with the small root inverted all else is products; LAPACK's solver (dtrtrs) is no alternative: OpenBLAS runs
        # it in several threads even for six rows, and waits for milliseconds where the processor is busy
        whitener, _ = dtrtri(factor, 1)
        error = whitener.dot(residual)
        gain = self._factor.dot(whitener.dot(root.all.dot(self._cross_weights)).T)  # cross covariance, whitened
        self.state += gain.dot(error)
        self.covariance -= gain.dot(gain.T, self._correction)
        nis = error.dot(error)
        variance = innovation_covariance.diagonal()
        if used is not None:
            residual, variance = _spread(residual, used, full_size), _spread(variance, used, full_size)
        return Innovation(residual, variance, float(nis))

    def draw_points(self) -> Array:
        """Sigma points (n, 2n+1) of the present state; the array is reused by the next call."""
        self._mean[:] = self.state
        self._factor_by_rows[:] = self.covariance  # symmetric
        _, info = dpotrf(self._factor, 1, 1, 1)  # lower, clean, overwrite
        # a NaN in the covariance passes LAPACK's test of the pivots on some builds: look at the last pivot, too
        if info != 0 or not self._factor.item(-1) > 0.0:
            raise CovarianceError('state covariance is not positive definite')
        return self._mean_and_factor.dot(self._offsets, self._points)

    def _deviations(self, points: Array) -> _Root:
        """Return a root such that ``weight * root @ root.T`` is the covariance; sets the mean's shift."""
        root = self._roots.get(len(points))
        if root is None:
            root = self._roots[len(points)] = _Root(*points.shape)
        points.dot(self._less_first, root.all)
        self._shift = root.all.dot(self._mean_weights)
        multiply(self._shift, self._relative_shift, root.first)
        return root


def _spread(values: Array, used: Indices, size: int) -> Array:
    full = np.full(size, np.nan)
    full[used] = values
    return full
