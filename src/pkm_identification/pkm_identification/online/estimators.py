"""Estimators of parameters that take one sample at a time; pure mathematics, for any regressor or model.

All have ``update(regressor_or_model, forces, noise_variances)``, ``parameters``, ``covariance``, ``std`` and
``samples``, filters ``normalised_innovations``, too; :func:`unobserved_directions` names what their samples leave open.
Beside recursive least squares these are Kalman filters in square-root form: extended, and unscented (Oh 2003). What is
kept is the triangle S of ``P = S^T S``; a step appends rows and makes S triangular again (Kaminski, Bryson & Schmidt
1971). No covariance is ever formed, so that standard deviations may differ by sixteen orders of magnitude and not by
eight.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, sqrt

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_estimation.filters.unscented import ScaledUnscentedTransform
from scipy.linalg import lapack

from pkm_identification.estimator.recursive import (
    BLOCK,
    RecursiveLeastSquares,
    checked_variances,
    checked_vector,
    covariance_factor,
)

__all__ = [
    'ExtendedParameterFilter', 'RandomWalk', 'RecursiveLeastSquares', 'UnscentedParameterFilter',
    'unobserved_directions',
]  # fmt: skip

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

    Attributes
    ----------
    samples : how many have been taken
    normalised_innovations : (m,) of the last sample, row by row: the measured force less what was expected of it after
        the rows before it, in standard deviations. NaN where a row was not used
    """

    def __init__(self, parameters: Array, covariance: Array, random_walk: RandomWalk | None = None) -> None:
        count = len(parameters)
        self._parameters = checked_vector('parameters', parameters, count)
        root = covariance_factor(covariance, count).T
        self.random_walk = random_walk or RandomWalk(np.zeros(count))
        if self.random_walk.variances.shape != (count,):
            raise ValueError(f'random walk of {self.random_walk.variances.shape} parameters: expected {count}')
        self.samples = 0
        self.normalised_innovations = np.zeros(0)
        self._resting_std = np.full(count, np.nan)  # NaN: not at rest
        self._set_root(root)

    @property
    def parameters(self) -> Array:
        """Parameters (P,), those at rest included."""
        return self._parameters.copy()

    @property
    def covariance(self) -> Array:
        """Covariance (P, P); those at rest have that of their last moment, and none with others."""
        count = len(self._parameters)
        covariance = np.diag(np.where(self.frozen, self._resting_std, 0.0) ** 2)
        covariance[np.ix_(self._active, self._active)] = self._root.T @ self._root
        return covariance.reshape(count, count)

    @property
    def std(self) -> Array:
        """Standard deviations (P,)."""
        std = self._resting_std.copy()
        std[self._active] = np.linalg.norm(self._root, axis=0)
        return std

    @property
    def frozen(self) -> NDArray[np.bool_]:
        """Which parameters (P,) are at rest."""
        return np.isfinite(self._resting_std)

    def freeze(self, indices: Sequence[int]) -> None:
        """Hold parameters: their values count as right. What is known of the others is their own covariance."""
        before, std = self._active, self.std
        self._resting_std[list(indices)] = std[list(indices)]
        self._set_root(upper_triangle(self._root[:, ~self.frozen[before]]))

    def _set_root(self, root: Array) -> None:
        """Take the root of the covariance of the active parameters."""
        self._active, self._root = np.flatnonzero(~self.frozen), root

    def _before(self, forces: Array, noise_variances: Array) -> tuple[Array, Array]:
        """Forces and their variances, checked; the covariance has grown by the random walk."""
        measured = np.asarray(forces, dtype=float)
        variances = checked_variances(noise_variances, len(measured))
        grows = np.sqrt(self.random_walk.variances[self._active])
        if grows.any():
            size = len(grows)
            self._root = lapack.dtpqrt(size, min(BLOCK, size), self._root, np.diag(grows))[0]
        return measured, variances

    def _after(self, slopes: Array, residual: Array, deviations: Array, used: NDArray[np.bool_]) -> None:
        """Correct by the residual (u,) of the rows that are used (m,), with noise of their deviations (u,).

        Parameters
        ----------
        slopes : (n, u) of the forces along the rows of the root
        """
        if not np.isfinite(residual).all():
            raise ValueError('forces, and those of the model, must be finite numbers')
        self.normalised_innovations, step = np.full(len(used), np.nan), np.zeros(len(self._parameters))
        count, size = len(residual), len(self._active)
        if count:
            # the noise below [S H^T, S]: as a triangle, the root of the innovations' covariance, the gain, and S
            whole = np.zeros((size + count, count + size), order='F')
            whole[:size, :count], whole[:size, count:] = slopes, self._root
            whole[size + np.arange(count), np.arange(count)] = deviations
            whole = upper_triangle(whole)
            innovations = lapack.dtrtrs(whole[:count, :count], residual, trans=1)[0]
            step[self._active] = whole[:count, count:].T @ innovations
            self.normalised_innovations[used], self._root = innovations, whole[count:, count:]
        self._parameters += step
        self.random_walk.learn(step)
        self.samples += 1


def upper_triangle(rows: Array) -> Array:
    """Upper triangle (n, n) with the inner products of rows (k, n), largest rows first; its diagonal is positive."""
    found = np.triu(lapack.dgeqrf(rows)[0][: rows.shape[1]])
    return np.asfortranarray(found * np.where(np.diagonal(found) < 0.0, -1.0, 1.0)[:, None])


class RandomWalk:
    """Variances by which parameters wander before every sample: always the same, or learned from the corrections.

    Those that are learned follow the squares of the corrections, Oh (2003), Eq. 2.75, restricted to a diagonal:
    ``Q <- (1 - gain) Q + gain diag(K e e^T K^T)``, where ``K e`` is the correction of the parameters (Robbins-Monro).

    Parameters
    ----------
    variances : (P,) by which the parameters wander in one sample, at the start; 0 for constants
    gain : from 0, which learns nothing, to 1
    """

    def __init__(self, variances: Array, gain: float = 0.0) -> None:
        if not 0.0 <= gain <= 1.0:
            raise ValueError(f'gain = {gain}: must be at least 0 and at most 1')
        self.gain, self.variances = gain, np.array(variances, dtype=float)
        if not (np.isfinite(self.variances).all() and (self.variances >= 0.0).all()):
            raise ValueError(f'variances of a random walk must be finite and at least 0, got {variances!r}')

    def learn(self, step: Array) -> None:
        """Learn from the step (P,) of a correction."""
        self.variances *= 1.0 - self.gain
        self.variances += self.gain * step**2


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
        used = variances < inf  # rows that are not used may hold anything
        slopes = self._root @ np.asarray(jacobian, dtype=float)[used][:, self._active].T
        self._after(slopes, (measured - expected)[used], np.sqrt(variances[used]), used)


class UnscentedParameterFilter(ParameterFilter):
    """Unscented filter in square-root form: the model is evaluated at 2 P + 1 points, no derivatives are needed.

    All sums are over differences from the centre point, in which the large cancelling weights of a small ``alpha`` do
    not occur (see :mod:`pkm_estimation.kernels.unscented`).

    Parameters
    ----------
    parameters, covariance, random_walk : as of :class:`ParameterFilter`
    alpha : distance of the points, from 1e-4 to 1
    beta, kappa : 2 for Gaussian parameters; Oh prints ``3 - P``, and where that is impossible 0
    """

    def __init__(
        self,
        parameters: Array,
        covariance: Array,
        random_walk: RandomWalk | None = None,
        alpha: float = 1e-2,
        beta: float = 2.0,
        kappa: float = 0.0,
    ) -> None:
        self._scaling = (alpha, beta, kappa)
        super().__init__(parameters, covariance, random_walk)

    def _set_root(self, root: Array) -> None:
        super()._set_root(root)
        self._transform = ScaledUnscentedTransform(len(root), *self._scaling, least_alpha=LEAST_ALPHA)

    def update(self, model: Array | PointModel, forces: Array, noise_variances: Array) -> None:
        """Take one sample.

        Parameters
        ----------
        model : regressor (m, P), or a function from parameters (N, P), one set per row, to forces (N, m)
        forces : (m,) measured
        noise_variances : (m,) of them; infinite where a row is not to be used
        """
        measured, variances = self._before(forces, noise_variances)
        transform, size = self._transform, len(self._active)
        distance, used = sqrt(transform.spread), variances < inf
        points = np.tile(self._parameters, (2 * size + 1, 1))
        points[1 : 1 + size, self._active] += distance * self._root
        points[1 + size :, self._active] -= distance * self._root
        values = np.asarray(model(points) if callable(model) else points @ np.transpose(model))[:, used]
        if not (np.isfinite(values).all() and np.isfinite(measured[used]).all()):
            raise ValueError('forces, and those of the model, must be finite numbers')
        above, below = values[1 : 1 + size], values[1 + size :]
        bends = 0.5 * (above + below) - values[0]
        shift = 2.0 * transform.weight * bends.sum(axis=0)
        excess = np.diag(variances[used]) + 2.0 * transform.weight * bends.T @ bends
        excess += transform.shift_weight * np.outer(shift, shift)
        # divided by the root of the noise, that of the model's curvature included, rows are independent
        root, failed = lapack.dpotrf(excess, lower=1) if used.any() else (excess, 0)
        if failed:
            raise ValueError('the noise of the forces, with the curvature of the model, is not positive definite')
        wanted = np.column_stack([(above - below).T / (2.0 * distance), measured[used] - values[0] - shift])
        white = lapack.dtrtrs(root, wanted, lower=1)[0] if used.any() else wanted
        self._after(white[:, :-1].T, white[:, -1], np.ones(len(white)), used)


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
