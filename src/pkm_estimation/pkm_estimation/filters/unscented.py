"""Unscented Kalman filter with additive noise, see :mod:`pkm_estimation.kernels.unscented`."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
from pkm_description.arrays import Array
from pkm_description.kernels.model import Integers
from pkm_description.kernels.structures import structure
from scipy.linalg import solve_triangular

from pkm_estimation.filters.interface import CorrectionMemory, FilterMemory, ProcessStep
from pkm_estimation.filters.kalman import CovarianceError, Indices, Innovation, KalmanFilter, Reading, solved
from pkm_estimation.kernels.unscented import (
    NO_CHANGES,
    NO_DRIVES,
    STATE_INDEFINITE,
    draw_points,
    filter_data,
    innovate,
)

MAX_ITERATIONS = 30
#: the iteration ends when no state changes by more than this part of its standard deviation
_SETTLED = 1e-3


def _in_memory(name: str, meaning: str) -> Any:
    """Attribute that kernels read: what is assigned is written into their memory."""

    def read(owner: UnscentedKalmanFilter) -> Array:
        values: Array = getattr(owner.memory.data, name)
        return values

    def write(owner: UnscentedKalmanFilter, values: Array) -> None:
        getattr(owner.memory.data, name)[:] = values

    return property(read, write, doc=meaning)


class UnscentedKalmanFilter(KalmanFilter):
    """Scaled UKF (Miletovic et al. 2017, section 3.2); sigma points are drawn anew before the update.

    One update linearises over the prior. With a prior std of a metre and a sensor std of ten micrometres, the result
    has errors of centimetres and a std of micrometres. So a measurement that surprises can be linearised again over
    each result, with the same prior, until it converges: iterated posterior linearisation (Garcia-Fernandez, Svensson,
    Sarkka 2015).

    Parameters
    ----------
    transform : weights and number of states n
    state : (n,)
    covariance : (n, n)
    constants : columns for the sensitivity to constants of the machine, a multiple of six
    changes, at_zero : of zeros of drives, as in :class:`~pkm_estimation.kernels.unscented.FilterData`
    iteration_nis : normalised innovation squared above which an update is iterated; infinite: never
    longest_step : (n,) largest change of each state in one iteration

    Attributes
    ----------
    memory : state and covariance, as kernels read them
    """

    def __init__(
        self, transform: ScaledUnscentedTransform, state: Array, covariance: Array, constants: int = 0,
        changes: Integers = NO_CHANGES, at_zero: Array = NO_DRIVES, iteration_nis: float = inf,
        longest_step: Array | float = inf,
    ) -> None:  # fmt: skip
        size = transform.size
        if np.shape(state) != (size,) or np.shape(covariance) != (size, size):
            raise ValueError(f'state {np.shape(state)}, covariance {np.shape(covariance)}: expected size {size}')
        self.transform, self.iteration_nis, self._longest_step = transform, iteration_nis, longest_step
        weights = transform.spread, transform.weight, transform.shift_weight
        data = filter_data(size, *weights, constants, changes, at_zero)
        self.memory = FilterMemory(data, structure(data))
        self.state, self.covariance = state, covariance
        self.claim, self.judge, self.scale, self.found = data.claim, data.judge, data.scale, data.found
        self.claim_rows, self.judge_rows = data.claim_rows, data.judge_rows
        self.changes, self.at_zero = data.changes, data.at_zero
        self.elapsed, self.rates = data.elapsed, data.rates
        self._corrections: dict[int, CorrectionMemory] = {}

    state: Array = _in_memory('state', 'State (n,).')
    covariance: Array = _in_memory('covariance', 'Covariance (n, n).')
    carried: Array = _in_memory('carried', 'Covariances (n, c) of the state with lasting causes of process noise.')

    @property
    def carried_count(self) -> int:
        """Columns of :attr:`carried` that are in use."""
        return self.memory.data.carried_count.item()

    @carried_count.setter
    def carried_count(self, count: int) -> None:
        self.memory.data.carried_count[0] = count

    def predict(self, step: ProcessStep) -> None:
        """Move the state by a step of a process."""
        _check(step.predict(self.memory))

    def update(self, reading: Reading, limit: float = inf) -> Innovation:
        """Correct the state, see :meth:`KalmanFilter.update`."""
        work = self.prepared(reading.values, reading.noise, reading.used)
        _check(reading.model.correct(self.memory, work, limit))
        data = work.data
        shared = data.shared.copy() if len(self.claim) else 0.0  # without constants nothing lasts
        return Innovation(data.residual.copy(), data.variance.copy(), data.nis.item(), shared)

    def update_iterated(self, reading: Reading, limit: float = inf) -> Innovation:
        """Correct the state, again around the result if the NIS is large; the innovation is the prediction's."""
        innovation = self.update(reading, min(limit, self.iteration_nis))
        if self.iteration_nis < innovation.nis <= limit:
            state, covariance = self.state.copy(), self.covariance.copy()
            try:
                self.update_from(None, reading)
            except CovarianceError:  # no answer that stays: the plain update's is as good as any
                self.state[:], self.covariance[:] = state, covariance
                self.update(reading)
        return innovation

    def update_from(self, begin: Array | None, reading: Reading) -> Innovation:
        """Correct the state, linearised around the result; a filter that never iterates makes a plain update.

        Parameters
        ----------
        begin : (n,) where to linearise first; ``None``: the prior mean

        Returns
        -------
        Innovation of the last linearisation: small where the measurement could be explained at all

        Raises
        ------
        CovarianceError
            A covariance is not positive definite, or the iteration does not settle.
        """
        if self.iteration_nis == inf:
            return self.update(reading)
        rows = reading.rows
        noise = reading.noise[np.ix_(rows, rows)]
        prior, prior_covariance = self.state.copy(), self.covariance.copy()
        identity = np.eye(len(prior))
        if begin is not None:
            self.state[:] = begin
        for _ in range(MAX_ITERATIONS):
            slope, predicted, excess = self._linearise(reading)
            spread = slope @ prior_covariance @ slope.T + noise + excess
            gain = solved(spread, slope @ prior_covariance).T
            residual = reading.values[rows] - predicted - slope @ (prior - self.state)
            step = prior + gain @ residual - self.state
            excess_step = float(np.abs(step / self._longest_step).max())
            self.state += step / max(1.0, excess_step)
            if excess_step <= 1.0:
                kept = identity - gain @ slope
                covariance = kept @ prior_covariance @ kept.T + gain @ (noise + excess) @ gain.T
                self.covariance[:] = 0.5 * (covariance + covariance.T)
                if np.abs(step / np.sqrt(covariance.diagonal())).max() < _SETTLED:
                    seen = self.seen_constants(reading, self.memory.data.points, slope)
                    self.noise_carried[:] = kept @ self.noise_carried
                    self.sensitivity[:] -= gain @ seen
                    full = np.full((2, len(reading.values)), np.nan)
                    full[:, rows] = residual, spread.diagonal()
                    return Innovation(full[0], full[1], float(residual @ solved(spread, residual)))
        raise CovarianceError(f'the iterated update did not settle within {MAX_ITERATIONS} iterations')

    def _linearise(self, reading: Reading) -> tuple[Array, Array, Array]:
        """Statistical linear regression over the present distribution: slope, mean, covariance of the rest."""
        rows, count = reading.rows, len(reading.rows)
        work = self.prepared(reading.values, np.zeros(reading.noise.shape), rows)
        data = work.data
        data.values[:] = reading.model.observe(self.draw_points())
        innovate(self.memory.struct, work.struct)
        slope = solve_triangular(self.memory.data.factor, data.slopes[:count].T, trans=1, lower=True).T
        return slope, reading.values[rows] - data.residual[rows], data.excess[:count, :count].copy()

    def predicted_innovation(self, reading: Reading) -> tuple[Array, Array]:
        """Residual (m,) of a measurement and its covariance (m, m); changes nothing."""
        memory = self.prepared(reading.values, reading.noise, reading.used)
        memory.data.values[:] = reading.model.observe(self.draw_points())
        innovate(self.memory.struct, memory.struct)
        data, spread = self.memory.data, memory.data.spread.copy()
        if self.sensitivity.shape[1]:
            slope = solve_triangular(data.factor, memory.data.slopes.T, trans=1, lower=True).T
            seen = self.seen_constants(reading, data.points, slope)
            spread += seen @ self.judge @ self.judge.T @ seen.T
            return memory.data.residual - seen @ self.found, spread
        return memory.data.residual.copy(), spread

    def draw_points(self) -> Array:
        """Sigma points (2n+1, n) of the present state; the array is reused by the next call."""
        _check(draw_points(self.memory.struct))
        return self.memory.data.points

    def prepared(self, measurement: Array, noise_covariance: Array, used: Indices | None) -> CorrectionMemory:
        """Memory for the correction by a measurement (m,), with the measurement in it."""
        work = self._corrections.get(len(measurement))
        if work is None:
            work = CorrectionMemory(len(self.state), len(measurement), self.sensitivity.shape[1])
            self._corrections[len(measurement)] = work
        data = work.data
        data.measurement[:] = measurement
        if noise_covariance is not work.noise or used is not work.used:
            work.noise, work.used = noise_covariance, used
            rows = np.arange(len(measurement)) if used is None else used
            data.noise[:], data.used[: len(rows)], data.used_count[0] = noise_covariance, rows, len(rows)
        return work

    def correction(self, count: int) -> CorrectionMemory:
        """What was computed for the last correction by ``count`` numbers."""
        return self._corrections[count]


def _check(status: int) -> None:
    """Raise CovarianceError if a kernel's status says so."""
    if status < 0:
        whose = 'state' if status == STATE_INDEFINITE else 'innovation'
        raise CovarianceError(f'{whose} covariance is not positive definite')


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
