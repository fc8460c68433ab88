"""Unscented Kalman filter of parameters (Wan and van der Merwe 2001; Oh 2003, section 2.3)."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

import numpy as np
from pkm_description.arrays import Array
from pkm_description.kernels.jit import structure
from pkm_estimation.filters.interface import CorrectionMemory
from pkm_estimation.filters.unscented_transform import ScaledUnscentedTransform
from pkm_estimation.kernels.unscented import filter_data

from pkm_identification.kernels.parameter_filter import draw_parameter_points
from pkm_identification.kernels.unscented_slopes import independent_slopes
from pkm_identification.online.estimators.random_walk import RandomWalk
from pkm_identification.online.estimators.square_root import ParameterFilter

#: from parameters (N, P) to forces (N, m)
PointModel = Callable[[Array], Array]

#: printed by Oh (2003) for his pendulum
LEAST_ALPHA = 1e-4


class UnscentedKalmanFilter(ParameterFilter):
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
