"""Extended Kalman filter of parameters."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

import numpy as np
from pkm_description.arrays import Array

from pkm_identification.kernels.parameter_filter import set_slopes
from pkm_identification.online.estimators.square_root import ParameterFilter

#: from parameters (P,) to forces (m,) and their derivatives (m, P)
ModelWithJacobian = Callable[[Array], tuple[Array, Array]]


class ExtendedKalmanFilter(ParameterFilter):
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
