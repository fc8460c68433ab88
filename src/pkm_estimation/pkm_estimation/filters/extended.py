"""Extended and iterated extended Kalman filter (EKF, IEKF) on the same models as the unscented filter.

The jacobians are central differences: of the same model that the unscented filter uses, at as many points.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf

import numpy as np
from pkm_description.arrays import Array

from pkm_estimation.filters.interface import ProcessStep
from pkm_estimation.filters.kalman import CovarianceError, Innovation, KalmanFilter, Reading
from pkm_estimation.kernels.unscented import CARRIED_NOISES

#: step of the central differences; states are metres, m/s, 1, m/s^2, rad/s, all of order one
_STEP = 1e-5
#: the iterations of an update end when no state changes by more
_SETTLED = 1e-12


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

    def update(self, reading: Reading, limit: float = inf) -> Innovation:
        """Correct the state, see :meth:`KalmanFilter.update`."""
        model, measurement, rows = reading.model, reading.values, reading.rows
        noise = reading.noise[np.ix_(rows, rows)]
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
            seen = self.seen_constants(reading, here[None], slope)
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
            settled = np.abs(there - here).max() < _SETTLED
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

    def predicted_innovation(self, reading: Reading) -> tuple[Array, Array]:
        """Residual (m,) of a measurement and its covariance (m, m); changes nothing."""
        predicted, slope = self._linearise(reading.model.observe, self.state)
        spread = slope @ self.covariance @ slope.T + reading.noise
        seen = self.judge * self.seen_constants(reading, self.state[None], slope)
        if seen.size:
            spread += seen @ seen.T
        return reading.values - predicted, spread

    def _linearise(self, function: Callable[[Array], Array], state: Array) -> tuple[Array, Array]:
        """Value (m,) and slope (m, n) of a function of points (n, N) at a state."""
        size = len(state)
        values = function(state + self._steps)
        return values[0], (values[1 : size + 1] - values[size + 1 :]).T / (2.0 * _STEP)
