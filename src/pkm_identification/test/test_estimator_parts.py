"""Small parts of the estimators: which one follows an earlier fit, vectors that are checked, bodies that can exist."""

from __future__ import annotations

import numpy as np
import pytest
from pkm_description.errors import ConfigurationError
from pkm_description.machine import INERTIAL_PARAMETERS
from pkm_identification.estimator.interface import ESTIMATORS, estimator_after, estimator_by_name
from pkm_identification.estimator.recursive import checked_vector
from pkm_identification.estimator.residual_covariance import RowNoise
from pkm_identification.judgement.physical import PhysicalParameters, least_eigenvalues


@pytest.mark.parametrize('name', ['ls', 'wls', 'gls'])
def test_any_estimator_may_follow_one_that_knows_the_noise(name: str) -> None:
    """Also one that does not begin with it: the parameters are those of that estimator."""
    random = np.random.default_rng(0)
    observation, truth = random.normal(size=(60, 2, 3)), np.array([1.0, -2.0, 3.0])
    force = observation @ truth + 0.01 * random.normal(size=(60, 2))
    found = estimator_after(name, RowNoise(np.full(2, 0.01)), 2)(observation, force)
    alone = estimator_by_name(name, {'correlation_lags': 2})(observation, force)
    assert found.parameters == pytest.approx(truth, abs=0.02)
    assert found.parameters == pytest.approx(alone.parameters, abs=1e-3)


def test_an_estimator_that_there_is_not_is_refused_with_what_there_is() -> None:
    with pytest.raises(ConfigurationError, match='there is no such estimator') as refused:
        estimator_after('rols', RowNoise(np.ones(2)), 2)
    assert all(name in str(refused.value) for name in ESTIMATORS)


@pytest.mark.parametrize('values', [[1.0, np.nan], [np.inf, 1.0], [1.0, 2.0, 3.0], [[1.0, 2.0]], 1.0])
def test_a_vector_has_its_length_and_finite_numbers(values: object) -> None:
    with pytest.raises(ValueError, match='start: expected 2 finite numbers'):
        checked_vector('start', values, 2)
    given = np.array([1.0, 2.0])
    assert checked_vector('start', given, 2).tolist() == [1.0, 2.0]
    assert checked_vector('start', given, 2) is not given


def test_only_whole_bodies_have_a_least_eigenvalue() -> None:
    """Of one with all ten parameters; a mass alone says nothing, and friction is no body."""
    names = (*(f'platform_link.{kind}' for kind in INERTIAL_PARAMETERS), 'leg_rod.m', 'leg1_prismatic.viscous')
    # a mass of 2 kg, half a metre off each axis on either side: second moments of 1/2, 1/2 and 1/2 kg m^2
    values = np.array([2.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 3.0, 4.0])
    found = least_eigenvalues(PhysicalParameters(names, values, values, np.eye(12), ()))
    assert found == {'platform_link': pytest.approx(0.5)}
