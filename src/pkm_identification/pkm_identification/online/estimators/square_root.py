"""What the Kalman filters of parameters have in common: a square root of the covariance, and parameters that rest."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array

from pkm_identification.estimator.prior import checked_variances, checked_vector, covariance_factor
from pkm_identification.kernels.parameter_filter import add_noise, take_measurement
from pkm_identification.online.estimators.random_walk import FixedNoise, RandomWalk


class ParameterFilter:
    """Parameters of a random walk, and a square root of their covariance.

    Parameters
    ----------
    parameters : (P,) at the start
    covariance : (P, P) of them, or standard deviations (P,)
    random_walk : how the parameters wander; by default they are constants
    limit : rows whose innovation is beyond so many standard deviations are not used

    Attributes
    ----------
    samples : how many have been taken
    normalised_innovations : (m,) of the last sample, row by row: the measured force less what was expected of it after
        the rows before it, in standard deviations. NaN where a row was not used
    """

    def __init__(
        self, parameters: Array, covariance: Array, random_walk: RandomWalk | None = None, limit: float = inf
    ) -> None:
        count = len(parameters)
        self._parameters = checked_vector('parameters', parameters, count)
        factor = covariance_factor(covariance, count)
        self.random_walk = FixedNoise(np.zeros(count)) if random_walk is None else random_walk
        if self.random_walk.variances.shape != (count,):
            raise ValueError(f'random walk of {self.random_walk.variances.shape} parameters: expected {count}')
        if not limit > 0.0:
            raise ValueError(f'limit = {limit}: must be above 0')
        self.limit = limit
        self.samples = 0
        self.normalised_innovations = np.zeros(0)
        self._resting_std = np.full(count, np.nan)  # NaN: not at rest
        self._set_factor(factor, 1)

    @property
    def parameters(self) -> Array:
        """Parameters (P,), those at rest included."""
        return self._parameters.copy()

    @property
    def covariance(self) -> Array:
        """Covariance (P, P); those at rest have that of their last moment, and none with others."""
        count = len(self._parameters)
        covariance = np.diag(np.where(self.frozen, self._resting_std, 0.0) ** 2)
        covariance[np.ix_(self._active, self._active)] = self._factor @ self._factor.T
        return covariance.reshape(count, count)

    @property
    def std(self) -> Array:
        """Standard deviations (P,)."""
        std = self._resting_std.copy()
        std[self._active] = np.linalg.norm(self._factor, axis=1)
        return std

    @property
    def frozen(self) -> NDArray[np.bool_]:
        """Which parameters (P,) are at rest."""
        return np.isfinite(self._resting_std)

    def freeze(self, indices: Sequence[int]) -> None:
        """Hold parameters: their values count as right. What is known of the others is their own covariance."""
        std = self.std
        before = self._active
        self._resting_std[list(indices)] = std[list(indices)]
        stays = ~self.frozen[before]
        rows = self._factor[stays]
        self._set_factor(_triangle(rows), self._columns.shape[1] - len(before))

    def unfreeze(self, indices: Sequence[int], std: Array | None = None) -> None:
        """Let parameters go again, with the standard deviations (k,) they had, or others; independent of the rest."""
        places = [index for index in indices if self.frozen[index]]
        if len(places) != len(indices):
            raise ValueError(f'not frozen: {sorted(set(indices) - set(places))}')
        covariance = self.covariance
        if std is not None:
            variances = checked_vector('standard deviations', std, len(places)) ** 2
            covariance[places, places] = variances
        before, old = self._active, self._factor
        self._resting_std[places] = np.nan
        active = np.flatnonzero(~self.frozen)
        factor = np.zeros((len(active), len(active)))
        factor[np.ix_(np.searchsorted(active, before), np.arange(len(before)))] = old
        new = np.searchsorted(active, places)
        factor[new, len(before) + np.arange(len(places))] = np.sqrt(covariance[places, places])
        self._set_factor(_triangle(factor), self._columns.shape[1] - len(before))

    def _set_factor(self, factor: Array, rows: int) -> None:
        """Memory for samples of so many rows, with the factor of the active parameters in it."""
        self._active = np.flatnonzero(~self.frozen)
        size = len(self._active)
        self._columns = np.zeros((size, size + rows))
        self._columns[:, :size] = factor.T
        self._state = self._parameters[self._active].copy()
        self._work = np.zeros(size + rows)

    @property
    def _factor(self) -> Array:
        """Lower factor of the covariance of the active parameters."""
        return self._columns[:, : len(self._active)].T

    def _before(self, forces: Array, noise_variances: Array) -> tuple[Array, Array]:
        """Forces and their variances, checked; the covariance has grown by the random walk."""
        measured = np.asarray(forces, dtype=float)
        variances = checked_variances(noise_variances, len(measured))
        size = len(self._active)
        if self._columns.shape[1] != size + len(measured):
            self._set_factor(self._factor, len(measured))
        add_noise(self._columns, size, self.random_walk.variances[self._active], self._work)
        return measured, variances

    def _after(self, residual: Array, variances: Array) -> None:
        """Correct by the residual; the slopes are in their place."""
        if not np.isfinite(residual[variances < inf]).all():
            raise ValueError('forces, and those of the model, must be finite numbers')
        self.normalised_innovations = np.empty(len(residual))
        before = self._state.copy()
        take_measurement(
            self._columns, self._state, residual, variances, self.limit, self._work, self.normalised_innovations
        )
        step = np.zeros(len(self._parameters))
        step[self._active] = self._state - before
        self._parameters[self._active] = self._state
        self.random_walk.learn(step)
        self.samples += 1


def _triangle(rows: Array) -> Array:
    """Lower triangular factor (n, n) of the covariance whose factor has rows (n, k)."""
    factor = np.transpose(np.asarray(np.linalg.qr(rows.T, mode='r')))
    return np.asarray(factor * np.where(np.diagonal(factor) < 0.0, -1.0, 1.0), dtype=float)
