"""Kalman filters: predict, update, innovation; the extended and iterated extended filter (EKF, IEKF).

The latter work on the same models as the unscented filter: their jacobians are central differences of these.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.kernels.model import Integers

from pkm_estimation.filters.interface import MeasurementModel, ProcessStep
from pkm_estimation.kernels.carried import add_changes, add_claim, add_found, rows_of_root
from pkm_estimation.kernels.unscented import CARRIED_NOISES, NO_CHANGES

Indices = NDArray[np.intp]

#: step of the central differences; states are metres, m/s, 1, m/s^2, rad/s, all of order one
_STEP = 1e-5
#: the iterations of an update end when no state changes by more
_SETTLED = 1e-12


class CovarianceError(Exception):
    """A covariance is no longer positive definite (or not finite); the filter must be started again."""


def solved(covariance: Array, right: Array) -> Array:
    """Solution x (m, ...) of ``covariance @ x = right``; raises CovarianceError where there is none."""
    try:
        return np.asarray(np.linalg.solve(covariance, right), dtype=np.float64)
    except np.linalg.LinAlgError:
        raise CovarianceError('innovation covariance is not positive definite') from None


class Innovation(NamedTuple):
    """Innovation of one measurement.

    Attributes
    ----------
    residual : (m,) measured minus predicted; NaN where an entry was not used
    variance : (m,) of the residual
    nis : normalised innovation squared
    shared : part (m,) of the variance that constants of the machine have: an error that hardly changes with time
    """

    residual: Array
    variance: Array
    nis: float
    shared: Array | float = 0.0

    @property
    def std(self) -> Array:
        """Standard deviation (m,) of the residual."""
        deviation: Array = np.sqrt(self.variance)
        return deviation


class Reading(NamedTuple):
    """What was measured, m numbers.

    Attributes
    ----------
    model : predicts it
    values : (m,)
    noise : (m, m) covariance
    used : indices of the entries to use, ascending, all by default; the others come back as NaN in the innovation
    """

    model: MeasurementModel
    values: Array
    noise: Array
    used: Indices | None = None

    @property
    def rows(self) -> Indices:
        """Indices of the entries to use."""
        return np.arange(len(self.values)) if self.used is None else self.used


class KalmanFilter(ABC):
    """A Gaussian estimate that is predicted and corrected.

    Attributes
    ----------
    state : (n,)
    covariance : (n, n)
    carried : (n, c) covariances of the state with causes of process noise that act in more than one step; behind them
        the columns of :attr:`sensitivity`
    carried_count : columns of it that are in use for noise
    claim, judge, claim_rows, judge_rows, scale, found : as in :class:`~pkm_estimation.kernels.unscented.FilterData`
    changes, at_zero, elapsed, rates : the same
    """

    state: Array
    covariance: Array
    carried: Array
    carried_count: int
    claim: Array
    judge: Array
    claim_rows: Integers
    judge_rows: Integers
    scale: Array
    found: Array
    changes: Integers = NO_CHANGES
    at_zero: Array
    elapsed: Array
    rates: Array

    @property
    def sensitivity(self) -> Array:
        """Sensitivity (n, p) of the state to constants of the machine, in their standard deviations."""
        return self.carried[:, CARRIED_NOISES:]

    @property
    def noise_carried(self) -> Array:
        """Covariances (n, 18) with causes of process noise."""
        return self.carried[:, :CARRIED_NOISES]

    def seen_constants(self, reading: Reading, points: Array, slope: Array) -> Array:
        """``D = H B + H_g``: sensitivity (m, p) of an innovation to the constants, with the slope H (m, n).

        ``points`` are those that the model observed last, ``slope`` has the rows of its predictions that are used.
        """
        seen: Array = slope @ self.sensitivity
        slopes = reading.model.slopes_by_constants(points) if seen.size else None
        if slopes is None:
            return seen
        by_constants = np.zeros((len(slopes), seen.shape[1]))
        by_constants[:, : slopes.shape[1]] = slopes
        rows = reading.rows
        if len(self.changes):
            speeds, positions = np.zeros(len(slopes)), reading.values[: len(self.at_zero)] - self.at_zero
            speeds[rows] = slope @ self.rates
            for drive, own in enumerate(by_constants[: len(positions)]):
                add_changes(self.changes, float(self.elapsed[0]), positions[drive], speeds[drive], drive, own)
        return np.asarray(seen + by_constants[rows])

    @property
    def estimate(self) -> tuple[Array, Array, Array]:
        """State (n,), covariance (n, n) and carried covariances (n, c); copies, which may be assigned again."""
        return self.state.copy(), self.covariance.copy(), self.carried.copy()

    @estimate.setter
    def estimate(self, estimate: tuple[Array, Array, Array]) -> None:
        self.state[:], self.covariance[:], self.carried[:] = estimate

    def weigh_constants(self, claim: Array, judge: Array, scale: float, found: Array | float) -> None:
        """Set roots, scale and constants that were found, see :class:`~pkm_estimation.kernels.unscented.FilterData`."""
        self.claim[:], self.judge[:], self.scale[0], self.found[:] = claim, judge, scale, found
        self.claim_rows[:], self.judge_rows[:] = rows_of_root(claim), rows_of_root(judge)

    @property
    def claimed_state(self) -> Array:
        """State (n,) with what was found of the constants of the machine."""
        state = self.state.copy()
        add_found(self.carried, CARRIED_NOISES, self.found, state)
        return state

    @property
    def claimed(self) -> Array:
        """Covariance (n, n) with what the constants of the machine make of the estimate."""
        claimed = self.covariance.copy()
        if len(self.claim) or self.scale[0] != 1.0:
            add_claim(self.carried, CARRIED_NOISES, self.claim, self.claim_rows, self.scale.item(), claimed)
        return claimed

    @abstractmethod
    def predict(self, step: ProcessStep) -> None:
        """Move the state by a step of a process. Raises CovarianceError."""

    @abstractmethod
    def update(self, reading: Reading, limit: float = inf) -> Innovation:
        """Correct the state, unless the normalised innovation squared is beyond a limit.

        Raises
        ------
        CovarianceError
            A covariance is not positive definite, or not finite.
        """

    def update_iterated(self, reading: Reading, limit: float = inf) -> Innovation:
        """Do the same; filters that can do so linearise a measurement that surprises them around its own result."""
        return self.update(reading, limit)

    def update_from(self, begin: Array | None, reading: Reading) -> Innovation:
        """Correct the state, linearised first at the state (n,) ``begin`` by filters that can choose."""
        return self.update(reading)

    @abstractmethod
    def predicted_innovation(self, reading: Reading) -> tuple[Array, Array]:
        """Residual (m,) of a measurement and its covariance (m, m); changes nothing."""


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
        self.claim, self.judge, self.scale = np.eye(constants), np.eye(constants), np.ones(1)
        self.claim_rows, self.judge_rows = rows_of_root(self.claim), rows_of_root(self.judge)
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
                judged = seen @ self.judge
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
        seen = self.seen_constants(reading, self.state[None], slope) @ self.judge
        if seen.size:
            spread += seen @ seen.T
        return reading.values - predicted, spread

    def _linearise(self, function: Callable[[Array], Array], state: Array) -> tuple[Array, Array]:
        """Value (m,) and slope (m, n) of a function of points (n, N) at a state."""
        size = len(state)
        values = function(state + self._steps)
        return values[0], (values[1 : size + 1] - values[size + 1 :]).T / (2.0 * _STEP)
