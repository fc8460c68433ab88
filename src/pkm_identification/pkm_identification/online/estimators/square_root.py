"""Kalman filters of parameters in square-root form: extended, unscented (Oh 2003), and what samples leave open."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.kernels.jit import structure
from pkm_estimation.filters.interface import CorrectionMemory
from pkm_estimation.filters.unscented import ScaledUnscentedTransform
from pkm_estimation.kernels.unscented import filter_data

from pkm_identification.estimator.recursive import checked_variances, checked_vector, covariance_factor
from pkm_identification.kernels.parameter_filter import (
    add_noise,
    draw_parameter_points,
    independent_slopes,
    set_slopes,
    take_measurement,
)

#: from parameters (N, P) to forces (N, m)
PointModel = Callable[[Array], Array]

#: share of the standard deviation before above which a direction counts as not observed
STILL_OPEN = 0.5
#: printed by Oh (2003) for his pendulum
LEAST_ALPHA = 1e-4
#: from parameters (P,) to forces (m,) and their derivatives (m, P)
ModelWithJacobian = Callable[[Array], tuple[Array, Array]]


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


class FixedNoise:
    """The same variances before every sample.

    Parameters
    ----------
    variances : (P,) by which the parameters wander in one sample; 0 for constants
    """

    def __init__(self, variances: Array) -> None:
        self.variances = _variances(variances)

    def learn(self, step: Array) -> None:
        """Learn from the step (P,) of a correction: nothing, here."""


class RobbinsMonro:
    """Variances that follow the squares of the corrections: Oh (2003), Eq. 2.75, restricted to a diagonal.

    ``Q <- (1 - gain) Q + gain diag(K e e^T K^T)``, where ``K e`` is the correction of the parameters.

    Parameters
    ----------
    gain : in (0, 1]
    variances : (P,) at the start
    """

    def __init__(self, gain: float, variances: Array) -> None:
        if not 0.0 < gain <= 1.0:
            raise ValueError(f'gain = {gain}: must be above 0 and at most 1')
        self.gain, self.variances = gain, _variances(variances)

    def learn(self, step: Array) -> None:
        """Learn from the step (P,) of a correction."""
        self.variances *= 1.0 - self.gain
        self.variances += self.gain * step**2


#: process noise of a filter
RandomWalk = FixedNoise | RobbinsMonro


def _variances(values: Array) -> Array:
    variances = np.array(values, dtype=float)
    if not (np.isfinite(variances).all() and (variances >= 0.0).all()):
        raise ValueError(f'variances of a random walk must be finite and at least 0, got {values!r}')
    return variances


class ExtendedParameterFilter(ParameterFilter):
    """Kalman filter of parameters: the model is linearised at the last estimate. Exact for linear models."""

    def update(self, model: Array | ModelWithJacobian, forces: Array, noise_variances: Array) -> None:
        """Take one sample.

        Parameters
        ----------
        model : regressor (m, P), or a function from parameters (P,) to forces (m,) and their derivatives (m, P)
        forces : (m,) measured
        noise_variances : (m,) of them; infinite where a row is not to be used
        """
        measured, variances = self._before(forces, noise_variances)
        if callable(model):
            expected, jacobian = model(self._parameters.copy())
        else:
            expected, jacobian = model @ self._parameters, model
        used = variances < inf
        # rows that are not used may hold anything
        slopes = np.where(used[:, None], np.asarray(jacobian, dtype=float)[:, self._active], 0.0)
        set_slopes(self._columns, len(self._active), slopes)
        self._after(np.where(used, measured - expected, 0.0), variances)


class UnscentedParameterFilter(ParameterFilter):
    """Unscented filter in square-root form: the model is evaluated at 2 P + 1 points, no derivatives are needed.

    All sums are over differences from the centre point, in which the large cancelling weights of a small ``alpha`` do
    not occur (see :mod:`pkm_estimation.kernels.unscented`).

    Parameters
    ----------
    parameters, covariance, random_walk, limit : as of :class:`ParameterFilter`
    alpha : distance of the points, from 1e-4 to 1
    beta, kappa : 2 for Gaussian parameters; Oh prints ``3 - P``, and where that is impossible 0
    """

    def __init__(
        self,
        parameters: Array,
        covariance: Array,
        random_walk: RandomWalk | None = None,
        limit: float = inf,
        alpha: float = 1e-2,
        beta: float = 2.0,
        kappa: float = 0.0,
    ) -> None:
        self._scaling = (alpha, beta, kappa)
        super().__init__(parameters, covariance, random_walk, limit)

    def _set_factor(self, factor: Array, rows: int) -> None:
        super()._set_factor(factor, rows)
        size = len(self._active)
        self._transform = ScaledUnscentedTransform(size, *self._scaling, least_alpha=LEAST_ALPHA)
        transform = self._transform
        data = filter_data(size, transform.spread, transform.weight, transform.shift_weight)
        self._struct, self._distance = structure(data), float(data.scaling[0])
        self._correction = CorrectionMemory.of(size, rows)
        self._active_points = np.zeros((2 * size + 1, size))
        self._points = np.tile(self._parameters, (2 * size + 1, 1))
        self._residual = np.zeros(rows)

    def update(self, model: Array | PointModel, forces: Array, noise_variances: Array) -> None:
        """Take one sample.

        Parameters
        ----------
        model : regressor (m, P), or a function from parameters (N, P), one set per row, to forces (N, m)
        forces : (m,) measured
        noise_variances : (m,) of them; infinite where a row is not to be used
        """
        measured, variances = self._before(forces, noise_variances)
        draw_parameter_points(self._columns, self._state, self._distance, self._active_points)
        self._points[:, self._active] = self._active_points
        values = model(self._points) if callable(model) else self._points @ np.transpose(model)
        data = self._correction.data
        used = np.flatnonzero(variances < inf)
        data.values[:], data.measurement[:] = values, measured
        if not (np.isfinite(data.values[:, used]).all() and np.isfinite(measured[used]).all()):
            raise ValueError('forces, and those of the model, must be finite numbers')
        data.noise[:] = 0.0
        data.noise[used, used] = variances[used]
        data.used[: len(used)], data.used_count[0] = used, len(used)
        whitened = np.where(variances < inf, 1.0, inf)
        if not independent_slopes(self._struct, self._correction.struct, self._columns, self._residual):
            raise ValueError('the noise of the forces, with the curvature of the model, is not positive definite')
        self._after(self._residual, whitened)


def unobserved_directions(names: Sequence[str], scale: Array, covariance: Array) -> tuple[dict[str, float], ...]:
    """Directions that samples hardly determine: parameters' names and their shares of a unit vector, in units of scale.

    Parameters
    ----------
    names : of the parameters (P,)
    scale : (P,) standard deviations before anything was known
    covariance : (P, P) after the samples
    """
    values, vectors = np.linalg.eigh(covariance / np.outer(scale, scale))
    found = []
    for vector in vectors.T[values > STILL_OPEN**2]:
        leading = vector * np.sign(vector[np.argmax(np.abs(vector))])
        shares = [place for place in np.argsort(-np.abs(leading)) if abs(leading[place]) > 0.1]
        found.append({names[place]: float(leading[place]) for place in shares})
    return tuple(found)
