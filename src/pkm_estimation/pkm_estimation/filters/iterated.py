"""Iterated posterior linearisation filter: an unscented filter that linearises again around its own result.

One unscented update linearises over the prior. With a prior std of a metre and a sensor std of ten micrometres, the
result has errors of centimetres and a std of micrometres. So the measurement is linearised again over each result, with
the same prior, until it converges (Garcia-Fernandez, Svensson, Sarkka 2015).
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf

import numpy as np
from pkm_description.arrays import Array
from pkm_description.kernels.model import Integers
from scipy.linalg import solve_triangular

from pkm_estimation.filters.interface import MeasurementModel, ProcessStep
from pkm_estimation.filters.kalman import CovarianceError, Indices, Innovation, KalmanFilter, solved
from pkm_estimation.filters.unscented import ScaledUnscentedTransform, UnscentedKalmanFilter
from pkm_estimation.kernels.unscented import CARRIED_NOISES, NO_CHANGES, NO_DRIVES, innovate

#: step of the central differences; states are metres, m/s, 1, m/s^2, rad/s, all of order one
_STEP = 1e-5

#: the iterations of an update end when no state changes by more
_EXTENDED_SETTLED = 1e-12
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
    constants, changes, at_zero : as in :class:`UnscentedKalmanFilter`
    """

    def __init__(
        self,
        transform: ScaledUnscentedTransform,
        state: Array,
        covariance: Array,
        iteration_nis: float,
        longest_step: Array,
        constants: int = 0,
        changes: Integers = NO_CHANGES,
        at_zero: Array = NO_DRIVES,
    ) -> None:
        super().__init__(transform, state, covariance, constants, changes, at_zero)
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
                    seen = self.seen_constants(model, self.memory.data.points, slope, measurement, rows)
                    self.noise_carried[:] = kept @ self.noise_carried
                    self.sensitivity[:] -= gain @ seen
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


# Extended and iterated extended Kalman filter (EKF, IEKF) on the same models as the unscented filter.
#
# The jacobians are central differences: of the same model that the unscented filter uses, at as many points.
class ExtendedKalmanFilter(KalmanFilter):
    """Extended Kalman filter, iterated if ``iterations`` is above 1.

    Parameters
    ----------
    state : (n,)
    covariance : (n, n)
    iterations : linearisations per update; 1 is the EKF, more the iterated EKF (Gauss-Newton on the posterior)
    constants : as in :class:`UnscentedKalmanFilter`

    Attributes
    ----------
    slope : (n, n) Jacobian of the last prediction
    """

    def __init__(self, state: Array, covariance: Array, iterations: int = 1, constants: int = 0) -> None:
        self.state = np.array(state, dtype=float)
        self.covariance = np.array(covariance, dtype=float)
        self.carried = np.zeros((len(state), CARRIED_NOISES + constants))
        self.carried_count = CARRIED_NOISES
        self.claim, self.judge, self.scale = np.ones(constants), np.ones(constants), np.ones(1)
        self.found, self.elapsed = np.zeros(constants), np.zeros(1)
        self.iterations = iterations
        self.slope = np.eye(len(state))
        step = _STEP * np.eye(len(state))
        self._steps = np.vstack([np.zeros(len(state)), step, -step])

    def predict(self, step: ProcessStep) -> None:
        """Move the state by a step of a process."""
        moved, slope = self._linearise(step.propagate, self.state)
        self.slope = slope
        self.covariance[:] = slope @ self.covariance @ slope.T
        self.carried[:] = slope @ self.carried
        step.add_noise(self.state, self.covariance, self.carried)
        self.state[:] = moved

    def update(
        self,
        model: MeasurementModel,
        measurement: Array,
        noise_covariance: Array,
        used: Indices | None = None,
        limit: float = inf,
    ) -> Innovation:
        """Correct the state; parameters and result as :meth:`KalmanFilter.update`."""
        rows = np.arange(len(measurement)) if used is None else used
        noise = noise_covariance[np.ix_(rows, rows)]
        prior, here = self.state.copy(), self.state
        first: Innovation | None = None
        for _ in range(self.iterations):
            predicted, slope = self._linearise(model.observe, here)
            predicted, slope = predicted[rows], slope[rows]
            spread = slope @ self.covariance @ slope.T + noise
            residual = measurement[rows] - predicted - slope @ (prior - here)
            try:
                root = np.linalg.cholesky(spread)
            except np.linalg.LinAlgError:
                raise CovarianceError('innovation covariance is not positive definite') from None
            gain = np.linalg.solve(spread, slope @ self.covariance).T
            seen = self.seen_constants(model, here[None], slope, measurement, rows)
            if first is None:
                judged = self.judge * seen
                if seen.size:
                    spread = spread + judged @ judged.T
                    root = np.linalg.cholesky(spread)
                error = np.linalg.solve(root, residual)
                full = np.full((3, len(measurement)), np.nan)
                full[:, rows] = residual, spread.diagonal(), np.square(judged).sum(axis=1) / spread.diagonal()
                first = Innovation(full[0], full[1], float(error @ error), np.nan_to_num(full[2]))
                if first.nis > limit:
                    return first
            there = prior + gain @ residual
            settled = np.abs(there - here).max() < _EXTENDED_SETTLED
            here = there
            if settled:
                break
        kept = np.eye(len(prior)) - gain @ slope
        self.state[:] = here
        self.covariance[:] = kept @ self.covariance @ kept.T + gain @ noise @ gain.T
        self.noise_carried[:] = kept @ self.noise_carried
        self.sensitivity[:] -= gain @ seen
        if not np.isfinite(self.covariance).all():
            raise CovarianceError('state covariance is not finite')
        assert first is not None
        return first

    def predicted_innovation(
        self, model: MeasurementModel, measurement: Array, noise_covariance: Array
    ) -> tuple[Array, Array]:
        """Residual (m,) of a measurement and its covariance (m, m); changes nothing."""
        predicted, slope = self._linearise(model.observe, self.state)
        spread = slope @ self.covariance @ slope.T + noise_covariance
        seen = self.judge * self.seen_constants(model, self.state[None], slope, measurement)
        if seen.size:
            spread += seen @ seen.T
        return measurement - predicted, spread

    def _linearise(self, function: Callable[[Array], Array], state: Array) -> tuple[Array, Array]:
        """Value (m,) and slope (m, n) of a function of points (n, N) at a state."""
        size = len(state)
        values = function(state + self._steps)
        return values[0], (values[1 : size + 1] - values[size + 1 :]).T / (2.0 * _STEP)
