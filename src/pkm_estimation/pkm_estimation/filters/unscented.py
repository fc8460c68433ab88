"""Unscented Kalman filter with additive noise; every model sees all sigma points in one call."""

from __future__ import annotations

from math import inf, sqrt

import numpy as np
from numpy import add, multiply, negative
from pkm_description.arrays import Array
from scipy.linalg.lapack import dpotrf, dtrtri

from pkm_estimation.filters.kalman import CovarianceError, Indices, Innovation, KalmanFilter, Model
from pkm_estimation.filters.unscented_transform import ScaledUnscentedTransform


class UnscentedKalmanFilter(KalmanFilter):
    """Scaled UKF (Miletovic et al. 2017, section 3.2); sigma points are drawn anew before the update.

    Parameters
    ----------
    transform : weights and number of states n
    state : (n,)
    covariance : (n, n)

    Notes
    -----
    Points are columns (n, 2 n + 1), so that each state is contiguous. Covariances are formed as ``Z Z^T``: symmetric to
    the last bit and positive semi-definite by construction as long as ``beta >= alpha^2``. That holds for the update,
    too: deviations of the state less gain times deviations of the measurement, and the gain times the noise's root.
    """

    def __init__(self, transform: ScaledUnscentedTransform, state: Array, covariance: Array) -> None:
        size = transform.size
        self.transform = transform
        self.state = np.array(state, dtype=float)
        self.covariance = np.array(covariance, dtype=float)
        if self.state.shape != (size,) or self.covariance.shape != (size, size):
            raise ValueError(f'state {self.state.shape}, covariance {self.covariance.shape}: expected size {size}')
        self._shift_weight = transform.shift_weight
        mean_weights = np.full(2 * size + 1, transform.weight)
        mean_weights[0] = 0.0  # applied to deviations from the centre point
        less_first = np.eye(2 * size + 1)
        less_first[0] -= 1.0
        self._shift_of_points = less_first.dot(mean_weights)
        # points @ this: a root of their covariance, see _root. As exact as subtracting the first point from each, and
        # faster than operations that broadcast
        self._root_of_points = sqrt(transform.weight) * less_first
        root_of_shift = sqrt(max(0.0, self._shift_weight))
        self._root_of_points[:, 0] = root_of_shift * self._shift_of_points
        # an array of zero dimensions, which ufuncs take faster than a float
        self._shift_of_root = np.array(1.0 / root_of_shift) if root_of_shift > 0.0 else None
        self._offsets = transform.offsets()
        # times the factor^T: the state's deviations, a root of its covariance, one row for each point
        self._deviations_of_factor = np.ascontiguousarray(sqrt(transform.weight) * self._offsets[1:].T)
        # column-major: LAPACK factorises the covariance in place, beside the mean
        self._mean_and_factor = np.zeros((size, size + 1), order='F')
        self._mean = self._mean_and_factor[:, 0]
        self._factor = self._mean_and_factor[:, 1:]
        self._factor_by_rows = self._factor.T
        self._points = np.empty((size, 2 * size + 1))
        self._noise = np.empty((size, size))
        self._roots: dict[int, tuple[Array, Array, Array]] = {}
        self._corrections: dict[int, _Correction] = {}

    def predict(self, propagate: Model, noise_factor: Array) -> None:
        """Move the state: ``propagate`` maps points (n, 2n+1) to points, ``noise_factor`` (n, k) is a noise root."""
        points = propagate(self.draw_points())
        root, transposed, shift = self._root(points)
        add(points[:, 0], shift, self.state)
        covariance = root.dot(transposed, self.covariance)
        covariance += noise_factor.dot(noise_factor.T, self._noise)
        if self._shift_weight < 0.0:  # beta < alpha^2: no root of this part exists
            self.covariance += self._shift_weight * np.outer(shift, shift)

    def update(
        self,
        observe: Model,
        measurement: Array,
        noise_covariance: Array,
        used: Indices | None = None,
        limit: float = inf,
    ) -> Innovation:
        """Correct the state; parameters and result as :meth:`KalmanFilter.update`."""
        predicted = observe(self.draw_points())
        if used is not None:
            predicted, measurement = predicted[used], measurement[used]
            full_size, noise_covariance = len(noise_covariance), noise_covariance[np.ix_(used, used)]
        work = self._correction(len(predicted))
        if noise_covariance is not work.noise_covariance:
            work.set_noise(noise_covariance)
        root, transposed, shift = self._root(predicted)
        innovation_covariance = root.dot(transposed)
        innovation_covariance += noise_covariance
        if self._shift_weight < 0.0:
            innovation_covariance += self._shift_weight * np.outer(shift, shift)
        residual = measurement - predicted[:, 0]
        residual -= shift

        factor, info = dpotrf(innovation_covariance.T, 1)
        if info != 0:
            raise CovarianceError('innovation covariance is not positive definite')
        # with the small root inverted all else is products; LAPACK's solver (dtrtrs) is no alternative: OpenBLAS runs
        # it in several threads even for six rows, and waits for milliseconds where the processor is busy
        whitener, _ = dtrtri(factor, 1)
        error = whitener.dot(residual)
        nis = float(error.dot(error))
        variance = innovation_covariance.diagonal()
        innovation = Innovation(residual, variance, nis)
        if used is not None:
            innovation = Innovation(_spread(residual, used, full_size), _spread(variance, used, full_size), nis)
        if nis > limit:
            return innovation
        slope = whitener.dot(root.dot(self._deviations_of_factor))
        work.factor[:] = self._factor_by_rows
        gain = whitener.T.dot(slope).dot(work.factor, work.gain)
        self.state += residual.dot(gain)
        # deviations of the state less gain times those of the measurement, and gain times the noise's root
        negative(transposed, work.minus_root)
        deviations = work.coefficients.dot(work.factor_and_gain, work.deviations)
        work.transposed_deviations.dot(deviations, self.covariance)
        if self._shift_weight < 0.0:  # beta < alpha^2: the root above lacks this part
            own = shift.dot(gain)
            self.covariance += self._shift_weight * np.outer(own, own)
        return innovation

    def predicted_innovation(
        self, observe: Model, measurement: Array, noise_covariance: Array
    ) -> tuple[Array, Array]:
        """Residual (m,) of a measurement and its covariance (m, m); changes nothing."""
        predicted = observe(self.draw_points())
        root, transposed, shift = self._root(predicted)
        covariance: Array = root.dot(transposed) + noise_covariance
        if self._shift_weight < 0.0:
            covariance += self._shift_weight * np.outer(shift, shift)
        residual: Array = measurement - predicted[:, 0] - shift
        return residual, covariance

    def draw_points(self) -> Array:
        """Sigma points (n, 2n+1) of the present state; the array is reused by the next call."""
        self._mean[:] = self.state
        self._factor_by_rows[:] = self.covariance  # symmetric
        _, info = dpotrf(self._factor, 1, 1, 1)  # lower, clean, overwrite
        # a NaN in the covariance passes LAPACK's test of the pivots on some builds: look at the last pivot, too
        if info != 0 or not self._factor.item(-1) > 0.0:
            raise CovarianceError('state covariance is not positive definite')
        return self._mean_and_factor.dot(self._offsets, self._points)

    def _root(self, points: Array) -> tuple[Array, Array, Array]:
        """Return a root (rows, 2n+1) of the covariance of points, its transpose, and the shift of their mean.

        The shift is the mean's distance from the first point. The first column of the root, where that point's own
        deviation would be zero, is the shift's part in the covariance. The next call for as many rows overwrites it.
        """
        work = self._roots.get(len(points))
        if work is None:
            root = np.empty(points.shape)
            work = self._roots[len(points)] = (root, root.T, root[:, 0])
        root, transposed, first = work
        points.dot(self._root_of_points, root)
        if self._shift_of_root is None:
            return root, transposed, points.dot(self._shift_of_points)
        return root, transposed, multiply(first, self._shift_of_root)

    def _correction(self, count: int) -> _Correction:
        work = self._corrections.get(count)
        if work is None:
            work = self._corrections[count] = _Correction(self._deviations_of_factor, count)
        return work


class _Correction:
    """Memory of an update with so many measured numbers.

    ``coefficients @ [factor^T; gain^T]`` is a root of the corrected covariance: deviations of the state less gain times
    deviations of the measurement, and gain times root of the noise.
    """

    def __init__(self, deviations_of_factor: Array, count: int) -> None:
        points, size = deviations_of_factor.shape
        self.coefficients = np.zeros((points + count, size + count))
        self.coefficients[:points, :size] = deviations_of_factor
        self.minus_root = self.coefficients[:points, size:]
        self.noise_covariance: Array | None = None
        self.factor_and_gain = np.empty((size + count, size))
        self.factor, self.gain = self.factor_and_gain[:size], self.factor_and_gain[size:]
        self.deviations = np.empty((points + count, size))
        self.transposed_deviations = self.deviations.T

    def set_noise(self, covariance: Array) -> None:
        """Take another covariance of the noise (m, m)."""
        self.noise_covariance = covariance
        count = len(covariance)
        self.coefficients[-count:, -count:] = np.linalg.cholesky(covariance).T


def _spread(values: Array, used: Indices, size: int) -> Array:
    full = np.full(size, np.nan)
    full[used] = values
    return full
