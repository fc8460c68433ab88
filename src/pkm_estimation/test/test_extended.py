"""Extended filters against the Kalman filter on linear models, and where a measurement is not linear."""

from __future__ import annotations

import numpy as np
import pytest
from pkm_estimation.filters import CovarianceError, ExtendedKalmanFilter, FunctionModel, Reading


def test_iterations_find_the_most_likely_state_of_a_nonlinear_measurement():
    """Range to a beacon, far-off prior: the iterated filter ends where the posterior's gradient vanishes."""
    prior, measured, noise = np.array([1.0, 0.2]), np.array([5.0]), np.array([[1e-4]])

    def distance(points):
        return np.hypot(points[:, :1], points[:, 1:2] - 2.0)

    ekf, iterated = (ExtendedKalmanFilter(prior, np.eye(2), n) for n in (1, 30))
    ekf.update(Reading(FunctionModel(distance), measured, noise))
    iterated.update(Reading(FunctionModel(distance), measured, noise))

    def gradient(x):
        from_beacon = x - [0.0, 2.0]
        size = np.hypot(*from_beacon)
        return x - prior - (measured[0] - size) / noise[0, 0] * from_beacon / size

    assert np.abs(gradient(iterated.state)).max() < 1e-3
    assert np.abs(gradient(iterated.state)).max() < 0.01 * np.abs(gradient(ekf.state)).max()


def test_indefinite_covariance_is_an_error():
    ekf = ExtendedKalmanFilter(np.zeros(2), -np.eye(2))
    with pytest.raises(CovarianceError, match='positive definite'):
        ekf.update(Reading(FunctionModel(lambda x: x), np.ones(2), 1e-3 * np.eye(2)))
