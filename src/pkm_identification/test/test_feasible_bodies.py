"""Filters in log-Cholesky coordinates: every estimate is a machine that can exist."""

from __future__ import annotations

import numpy as np
import pytest
from pkm_description.dynamics import rigid_body_parameters, rigid_body_regressor
from pkm_description.machine import Machine
from pkm_description.motion.profiles import profile
from pkm_identification.errors import InfeasibleParametersError
from pkm_identification.estimator.pseudo_inertia import pseudo_inertia
from pkm_identification.online.estimators import ExtendedParameterFilter, FeasibleBodies, UnscentedParameterFilter
from scipy.optimize import approx_fprime
from scipy.stats import chi2

#: of each coordinate before, and N, noise of the drives' forces
BELIEVED, NOISE = 0.1, 100.0


@pytest.fixture(scope='module')
def nominal(srs: Machine) -> np.ndarray:
    """Legs alike, platform, and an offset of each drive."""
    return np.concatenate([rigid_body_parameters(srs), np.zeros(6)])


@pytest.fixture(scope='module')
def regressors(srs: Machine) -> np.ndarray:
    """Rows (N, 6, P) of two seconds, too little to tell all bodies."""
    motion = profile('fourier', srs, 20.0, 25.0, 0)[250:300]
    rows = rigid_body_regressor(srs, motion)
    return np.concatenate([rows, np.broadcast_to(np.eye(6), (len(rows), 6, 6))], axis=2)


def bodies_of(nominal: np.ndarray) -> FeasibleBodies:
    return FeasibleBodies(nominal, (len(nominal) - 6) // 10)


def least_eigenvalue(parameters: np.ndarray) -> float:
    pseudo = [pseudo_inertia(one) for one in parameters[:-6].reshape(-1, 10)]
    return min(float(np.linalg.eigvalsh(one / np.trace(one))[0]) for one in pseudo)


def test_coordinates_are_zero_for_the_nominal_machine_and_go_there_and_back(nominal: np.ndarray) -> None:
    bodies, random = bodies_of(nominal), np.random.default_rng(0)
    np.testing.assert_allclose(bodies.coordinates(nominal), 0.0, atol=1e-9)
    np.testing.assert_allclose(bodies.parameters(np.zeros(len(nominal))), nominal, rtol=1e-12, atol=1e-12)
    place = random.normal(size=(3, len(nominal)))
    parameters = bodies.parameters(place)
    for one, given in zip(parameters, place, strict=True):
        assert least_eigenvalue(one) > 0.0
        np.testing.assert_allclose(bodies.coordinates(one), given, rtol=0.0, atol=1e-7)


def test_slopes_are_those_of_finite_differences(nominal: np.ndarray) -> None:
    bodies = bodies_of(nominal)
    place = 0.3 * np.random.default_rng(1).normal(size=len(nominal))
    numeric = approx_fprime(place, bodies.parameters, 1e-7)
    np.testing.assert_allclose(bodies.slopes(place), numeric, rtol=1e-4, atol=1e-5 * np.abs(numeric).max())


@pytest.mark.parametrize('kind', [ExtendedParameterFilter, UnscentedParameterFilter])
def test_every_estimate_is_a_machine_that_can_exist(nominal: np.ndarray, regressors: np.ndarray, kind: type) -> None:
    """Where few and noisy samples make bodies of the linear filter impossible; both explain the forces alike well."""
    bodies, random = bodies_of(nominal), np.random.default_rng(2)
    true = bodies.parameters(BELIEVED * random.normal(size=len(nominal)) * (np.arange(len(nominal)) < len(nominal) - 6))
    forces = regressors @ true + NOISE * random.normal(size=regressors.shape[:2])
    believed = bodies.std(BELIEVED, np.full(6, 10.0))
    # the same belief for the linear filter
    spread = np.sqrt(np.diag(bodies.covariance(np.zeros(len(nominal)), np.diag(believed**2))))
    feasible = kind(np.zeros(len(nominal)), believed)
    linear = ExtendedParameterFilter(nominal, spread)
    variances, worst = np.full(6, NOISE**2), np.inf
    for rows, force in zip(regressors, forces, strict=True):
        model = bodies.model(rows) if kind is ExtendedParameterFilter else bodies.points(rows)
        feasible.update(model, force, variances)
        linear.update(rows, force, variances)
        assert least_eigenvalue(bodies.parameters(feasible.parameters)) > 0.0
        worst = min(worst, least_eigenvalue(linear.parameters))
    assert worst < 0.0
    found = bodies.parameters(feasible.parameters)
    residuals = (forces - regressors @ found) / NOISE
    assert np.mean(residuals**2) < 1.2
    # the whole error in units of its covariance, and single parameters
    error = feasible.parameters - bodies.coordinates(true)
    squared = error @ np.linalg.solve(feasible.covariance, error)
    assert chi2.ppf(1e-4, len(error)) < squared < chi2.ppf(1.0 - 1e-4, len(error))
    std = np.sqrt(np.diag(bodies.covariance(feasible.parameters, feasible.covariance)))
    assert np.abs((found - true) / std).max() < 5.0 and std[0] < 0.1 * spread[0]


def test_bodies_that_cannot_exist_are_refused(nominal: np.ndarray) -> None:
    flat = nominal.copy()
    flat[4] = -flat[4] - 1.0
    with pytest.raises(InfeasibleParametersError, match='nominal body 0 cannot exist'):
        bodies_of(flat)
    with pytest.raises(InfeasibleParametersError, match='no log-Cholesky coordinates'):
        bodies_of(nominal).coordinates(flat)
