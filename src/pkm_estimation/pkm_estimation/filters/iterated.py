"""Iterated posterior linearisation filter: an unscented filter that linearises again around its own result.

One unscented update linearises over the prior. With a prior std of a metre and a sensor std of ten micrometres, the
result has errors of centimetres and a std of micrometres. So the measurement is linearised again over each result, with
the same prior, until it converges (Garcia-Fernandez, Svensson, Sarkka 2015).
"""

from __future__ import annotations

from math import inf

import numpy as np
from pkm_description.arrays import Array
from scipy.linalg import solve_triangular

from pkm_estimation.filters.interface import MeasurementModel
from pkm_estimation.filters.kalman import CovarianceError, Indices, Innovation, solved
from pkm_estimation.filters.unscented import ScaledUnscentedTransform, UnscentedKalmanFilter
from pkm_estimation.kernels.unscented import innovate

MAX_ITERATIONS = 30

#: the iteration ends when no state changes by more than this part of its standard deviation
_SETTLED = 1e-3


class IteratedUnscentedFilter(UnscentedKalmanFilter):
    """Unscented filter whose updates are iterated if the NIS is large.

    Parameters
    ----------
    transform, state, covariance : as in :class:`UnscentedKalmanFilter`
    iteration_nis : normalised innovation squared above which the update is iterated
    longest_step : (n,) largest change of each state in one iteration
    """

    def __init__(
        self,
        transform: ScaledUnscentedTransform,
        state: Array,
        covariance: Array,
        iteration_nis: float,
        longest_step: Array,
    ) -> None:
        super().__init__(transform, state, covariance)
        self.iteration_nis, self._longest_step = iteration_nis, longest_step

    def update_iterated(
        self,
        model: MeasurementModel,
        measurement: Array,
        noise_covariance: Array,
        used: Indices | None = None,
        limit: float = inf,
    ) -> Innovation:
        """Correct the state; the innovation is the one that the prediction had."""
        innovation = self.update(model, measurement, noise_covariance, used, min(limit, self.iteration_nis))
        if self.iteration_nis < innovation.nis <= limit:
            state, covariance = self.state.copy(), self.covariance.copy()
            try:
                self.update_from(None, model, measurement, noise_covariance, used)
            except CovarianceError:  # no answer that stays: the plain update's is as good as any
                self.state[:], self.covariance[:] = state, covariance
                self.update(model, measurement, noise_covariance, used)
        return innovation

    def update_from(
        self,
        begin: Array | None,
        model: MeasurementModel,
        measurement: Array,
        noise_covariance: Array,
        used: Indices | None = None,
    ) -> Innovation:
        """Correct the state with a measurement (m,), linearised around the result.

        Parameters
        ----------
        begin : (n,) where to linearise first; ``None``: the prior mean
        model, measurement, noise_covariance, used : as in :meth:`KalmanFilter.update`

        Returns
        -------
        Innovation of the last linearisation: small where the measurement could be explained at all

        Raises
        ------
        CovarianceError
            A covariance is not positive definite, or the iteration does not settle.
        """
        rows = np.arange(len(measurement)) if used is None else used
        noise = noise_covariance[np.ix_(rows, rows)]
        prior, prior_covariance = self.state.copy(), self.covariance.copy()
        identity = np.eye(len(prior))
        if begin is not None:
            self.state[:] = begin
        for _ in range(MAX_ITERATIONS):
            slope, predicted, excess = self._linearise(model, measurement, rows)
            spread = slope @ prior_covariance @ slope.T + noise + excess
            gain = solved(spread, slope @ prior_covariance).T
            residual = measurement[rows] - predicted - slope @ (prior - self.state)
            step = prior + gain @ residual - self.state
            excess_step = float(np.abs(step / self._longest_step).max())
            self.state += step / max(1.0, excess_step)
            if excess_step <= 1.0:
                kept = identity - gain @ slope
                covariance = kept @ prior_covariance @ kept.T + gain @ (noise + excess) @ gain.T
                self.covariance[:] = 0.5 * (covariance + covariance.T)
                if np.abs(step / np.sqrt(covariance.diagonal())).max() < _SETTLED:
                    self.carried[:] = kept @ self.carried
                    return _innovation(residual, spread, rows, len(measurement))
        raise CovarianceError(f'the iterated update did not settle within {MAX_ITERATIONS} iterations')

    def _linearise(
        self, model: MeasurementModel, measurement: Array, rows: Indices
    ) -> tuple[Array, Array, Array]:
        """Statistical linear regression over the present distribution: slope, mean, covariance of the rest."""
        work = self.prepared(measurement, np.zeros((len(measurement), len(measurement))), rows)
        data, count = work.data, len(rows)
        data.values[:] = model.observe(self.draw_points())
        innovate(self.memory.struct, work.struct)
        slope = solve_triangular(self.memory.data.factor, data.slopes[:count].T, trans=1, lower=True).T
        return slope, measurement[rows] - data.residual[rows], data.excess[:count, :count].copy()


def _innovation(residual: Array, spread: Array, rows: Indices, size: int) -> Innovation:
    full_residual, variance = np.full(size, np.nan), np.full(size, np.nan)
    full_residual[rows], variance[rows] = residual, spread.diagonal()
    return Innovation(full_residual, variance, float(residual @ solved(spread, residual)))

