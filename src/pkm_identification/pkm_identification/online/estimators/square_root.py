"""Kalman filters of parameters in square-root form: extended, unscented (Oh 2003), and bodies that can exist."""

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

from pkm_identification.errors import InfeasibleParametersError
from pkm_identification.estimator.pseudo_inertia import (
    COLUMNS,
    ROWS,
    coordinates_of,
    matrices_of,
    parameters_by_whitened,
    pseudo_inertia,
    slopes_of,
)
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


class FeasibleBodies:
    """Log-Cholesky coordinates of bodies, relative to nominal ones; other parameters are differences to theirs.

    All coordinates are zero for the nominal machine. A coordinate of a body that is 0.1 means a tenth more or less of
    what it describes, so one standard deviation serves for all of a body. A filter estimates the coordinates::

        bodies = FeasibleBodies(nominal, 13)
        filter = ExtendedKalmanFilter(np.zeros(len(nominal)), bodies.std(0.3, friction_std))
        filter.update(bodies.model(regressor), forces, variances)
        parameters = bodies.parameters(filter.parameters)

    Parameters
    ----------
    nominal : (P,) parameters: ten of each body (mass, first moments, inertia about the origin of its frame), then the
        others
    bodies : number N of bodies

    Raises
    ------
    InfeasibleParametersError
        A nominal body that cannot exist.
    """

    def __init__(self, nominal: Array, bodies: int) -> None:
        self._nominal, self._size = np.asarray(nominal, dtype=float), 10 * bodies
        pseudo = np.stack([pseudo_inertia(one) for one in self._nominal[: self._size].reshape(-1, 10)])
        for number, one in enumerate(pseudo):
            least = float(np.linalg.eigvalsh(one / np.trace(one))[0])
            if not least > 0.0:
                raise InfeasibleParametersError(
                    f'nominal body {number} cannot exist: its pseudo-inertia has the relative eigenvalue {least:.3g}; '
                    'give it a mass, and inertia of all axes'
                )
        self._root = np.linalg.cholesky(pseudo)
        self._map = np.stack([parameters_by_whitened(root) for root in self._root])

    def std(self, relative: float, others: Array) -> Array:
        """Standard deviations (P,) of the coordinates: ``relative`` of all bodies, and ``others`` (P - 10 N,)."""
        return np.concatenate([np.full(self._size, relative), others])

    def coordinates(self, parameters: Array) -> Array:
        """Coordinates (P,) of parameters (P,).

        Raises
        ------
        InfeasibleParametersError
            Bodies that cannot exist have none.
        """
        pseudo = np.stack([pseudo_inertia(one) for one in parameters[: self._size].reshape(-1, 10)])
        whitened = np.linalg.solve(self._root, np.swapaxes(np.linalg.solve(self._root, pseudo), 1, 2))
        try:
            bodies = coordinates_of(0.5 * (whitened + np.swapaxes(whitened, 1, 2)))
        except np.linalg.LinAlgError:
            raise InfeasibleParametersError('a body that cannot exist has no log-Cholesky coordinates') from None
        return np.concatenate([bodies.ravel(), parameters[self._size :] - self._nominal[self._size :]])

    def parameters(self, coordinates: Array) -> Array:
        """Parameters (..., P) of coordinates (..., P)."""
        given = coordinates[..., : self._size].reshape(*coordinates.shape[:-1], -1, 10)
        bodies = np.einsum('npe,...ne->...np', self._map, matrices_of(given)[..., ROWS, COLUMNS])
        others = coordinates[..., self._size :] + self._nominal[self._size :]
        return np.concatenate([bodies.reshape(*coordinates.shape[:-1], -1), others], axis=-1)

    def slopes(self, coordinates: Array) -> Array:
        """Derivatives (P, P) of the parameters by coordinates (P,)."""
        blocks = self._map @ slopes_of(coordinates[: self._size].reshape(-1, 10))
        slopes = np.eye(len(coordinates))
        for number, block in enumerate(blocks):
            place = slice(10 * number, 10 * number + 10)
            slopes[place, place] = block
        return slopes

    def covariance(self, coordinates: Array, covariance: Array) -> Array:
        """Covariance (P, P) of the parameters by that of the coordinates (P, P), to first order."""
        slopes = self.slopes(coordinates)
        return np.asarray(slopes @ covariance @ slopes.T)

    def model(self, regressor: Array) -> ModelWithJacobian:
        """Forces and their derivatives by coordinates (P,), for the extended filter, from a regressor (m, P)."""
        return lambda coordinates: (regressor @ self.parameters(coordinates), regressor @ self.slopes(coordinates))

    def points(self, regressor: Array) -> PointModel:
        """Forces (K, m) of points (K, P), for the unscented filter, from a regressor (m, P)."""
        return lambda coordinates: self.parameters(coordinates) @ regressor.T
