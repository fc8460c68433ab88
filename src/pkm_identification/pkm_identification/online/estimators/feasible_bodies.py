"""Coordinates for the filters in which every estimate, and every point of a filter, is a real body."""

from __future__ import annotations

import numpy as np
from pkm_description.arrays import Array

from pkm_identification.errors import InfeasibleParametersError
from pkm_identification.estimator.log_cholesky import coordinates_of, matrices_of, slopes_of
from pkm_identification.estimator.pseudo_inertia import COLUMNS, ROWS, parameters_by_whitened, pseudo_inertia
from pkm_identification.online.estimators.square_root import ModelWithJacobian, PointModel


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
