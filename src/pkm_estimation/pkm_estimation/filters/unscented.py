"""Unscented Kalman filter with additive noise; every model sees all sigma points in one call."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dtrtrs

from pkm_estimation.filters.unscented_transform import ScaledUnscentedTransform

Array = NDArray[np.float64]


class CovarianceError(Exception):
    """A covariance is no longer positive definite (or not finite); the filter must be started again."""


class Innovation(NamedTuple):
    """What one measurement said.

    Attributes
    ----------
    residual : (m,) measured minus predicted
    standard_deviation : (m,) of the residual
    nis : normalised innovation squared
    """

    residual: Array
    standard_deviation: Array
    nis: float


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
        self._weight, self._shift_weight = transform.weight, transform.shift_weight
        # relative to the other points' weight, which multiplies whole covariances at the end
        self._relative_shift = sqrt(max(0.0, self._shift_weight) / self._weight)
        self._noise_scale = 1.0 / sqrt(self._weight)
        # the state's deviations are +/- sqrt(spread) times the factor's columns
        self._cross_weight = self._weight * sqrt(transform.spread)
        self._mean_weights = np.full(2 * size + 1, self._weight)
        self._mean_weights[0] = 0.0  # applied to deviations from the centre point
        self._offsets = transform.offsets()
        # column-major: LAPACK factorises the covariance in place, beside the mean
        self._mean_and_factor = np.zeros((size, size + 1), order='F')
        self._factor = self._mean_and_factor[:, 1:]
        self._factor_transposed = self._factor.T
        self._points = np.empty((size, 2 * size + 1))
        self._correction = np.empty((size, size))

    def predict(self, propagate: Callable[[Array], Array], noise_factor: Array) -> None:
        """Move the state: ``propagate`` maps points (n, 2n+1) to points; ``noise_factor`` (n, k) is a root of the noise."""
        points = propagate(self.draw_points())
        size, count = points.shape
        root = np.empty((size, count + noise_factor.shape[1]))
        deviations = root[:, :count]
        shift = self._deviations(points, deviations)
        np.multiply(noise_factor, self._noise_scale, out=root[:, count:])
        np.add(points[:, 0], shift, out=self.state)
        np.dot(root, root.T, out=self.covariance)
        self._weigh(self.covariance, shift)

    def update(
        self, observe: Callable[[Array], Array], measurement: Array, noise_covariance: Array, used: Array | None = None
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
        count, size = len(measurement), self.transform.size
        deviations = np.empty(predicted.shape)
        shift = self._deviations(predicted, deviations)
        innovation_covariance = np.dot(deviations, deviations.T)
        self._weigh(innovation_covariance, shift)
        innovation_covariance += noise_covariance
        residual = measurement - predicted[:, 0]
        residual -= shift
        standard_deviation = np.sqrt(innovation_covariance.diagonal())

        # whitened by the innovation's Cholesky root: [cross covariance^T (m, n) | residual]
        whitened = np.empty((count, size + 1), order='F')
        difference = deviations[:, 1 : size + 1] - deviations[:, size + 1 :]
        difference *= self._cross_weight
        whitened[:, :size] = np.dot(difference, self._factor_transposed)
        whitened[:, size] = residual
        root, info = dpotrf(innovation_covariance.T, lower=1, overwrite_a=1)
        if info != 0:
            raise CovarianceError('innovation covariance is not positive definite')
        whitened, _ = dtrtrs(root, whitened, lower=1, overwrite_b=1)
        gain, error = whitened[:, :size], whitened[:, size]
        self.state += np.dot(error, gain)
        self.covariance -= np.dot(gain.T, gain, out=self._correction)
        nis = float(np.dot(error, error))
        if used is not None:
            residual, standard_deviation = (_spread(v, used, full_size) for v in (residual, standard_deviation))
        return Innovation(residual, standard_deviation, nis)

    def draw_points(self) -> Array:
        """Sigma points (n, 2n+1) of the present state; the array is reused by the next call."""
        self._mean_and_factor[:, 0] = self.state
        self._factor[:] = self.covariance
        _, info = dpotrf(self._factor, lower=1, clean=1, overwrite_a=1)
        # a NaN in the covariance passes LAPACK's test of the pivots on some builds: look at the last pivot, too
        if info != 0 or not self._factor[-1, -1] > 0.0:
            raise CovarianceError('state covariance is not positive definite')
        return np.dot(self._mean_and_factor, self._offsets, out=self._points)

    def _deviations(self, points: Array, out: Array) -> Array:
        """Write deviations such that ``weight * out @ out.T`` is the covariance; return the mean's shift."""
        np.subtract(points, points[:, :1], out=out)
        shift: Array = np.dot(out, self._mean_weights)
        np.multiply(shift, self._relative_shift, out=out[:, 0])
        return shift

    def _weigh(self, covariance: Array, shift: Array) -> None:
        """Apply the common weight; beta < alpha^2 makes the shift's weight negative, then no root of it exists."""
        covariance *= self._weight
        if self._shift_weight < 0.0:
            covariance += self._shift_weight * np.outer(shift, shift)


def _spread(values: Array, used: Array, size: int) -> Array:
    full = np.full(size, np.nan)
    full[used] = values
    return full
