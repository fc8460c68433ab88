"""The estimators behind one interface, and the recursive one; settings and vectors that are refused."""

from __future__ import annotations

import numpy as np
import pytest
from pkm_description.errors import ConfigurationError
from pkm_description.machine import INERTIAL_PARAMETERS
from pkm_identification.estimator.bodies import least_eigenvalues
from pkm_identification.estimator.interface import ESTIMATORS, estimator_after, estimator_by_name
from pkm_identification.estimator.least_squares import weighted
from pkm_identification.estimator.recursive import RecursiveLeastSquares, checked_vector
from pkm_identification.estimator.residual_covariance import RowNoise
from scipy.signal import lfilter

TRUTH = np.array([1000.0, -2.0, 0.03, 5.0])
NOISE = np.array([1.0, 3.0, 1.0, 1.0, 10.0, 1.0])


def problem(seed: int, samples: int = 300) -> tuple[np.ndarray, np.ndarray]:
    """Smooth observation (N, 6, 4) and noisy forces (N, 6)."""
    random = np.random.default_rng(seed)
    white = random.normal(size=(samples + 50, 6, 4))
    observation = lfilter([0.3], [1.0, -0.7], white, axis=0)[50:] * [1.0, 30.0, 1e4, 5.0]
    return observation, observation @ TRUTH + NOISE * random.normal(size=(samples, 6))


@pytest.mark.parametrize('name', [name for name in ESTIMATORS if name != 'ml'])
def test_all_recover_the_truth_and_keep_a_record(name: str) -> None:
    """Noise-free data to 1e-8 (R4-34); errors of noisy data within what the standard deviations say."""
    observation, force = problem(0)
    estimate = estimator_by_name(name)
    exact = estimate(observation, observation @ TRUTH)
    assert exact.parameters == pytest.approx(TRUTH, rel=1e-8)
    found = estimate(observation, force)
    assert np.abs((found.parameters - TRUTH) / found.std).max() < 4.0
    assert found.residuals.shape == force.shape
    assert found.solver.method.startswith(name)
    assert found.solver.converged
    assert found.solver.iterations >= 1
    assert found.solver.optimality['gradient'] < 1e-9
    # after a fit that has estimated the noise, whether it begins with that or not
    later = estimator_after(name, RowNoise(NOISE), 0)(observation, force)
    assert np.abs((later.parameters - found.parameters) / found.std).max() < 0.1


def test_recursive_equals_batch() -> None:
    """R4-37: without forgetting, sample by sample, the batch result (here: to 1e-11), at every sample on the way."""
    observation, force = problem(8)
    weights = np.ones(force.shape)
    weights[100:120, 3] = 0.0
    found = estimator_by_name('rls')(observation, force, weights, NOISE)
    batch = estimator_by_name('wls')(observation, force, weights, NOISE)
    assert found.parameters == pytest.approx(batch.parameters, rel=1e-11)
    assert found.covariance == pytest.approx(batch.covariance, rel=1e-9)
    live = RecursiveLeastSquares(4)
    for step in range(20):
        live.update(observation[step] / NOISE[:, None], force[step] / NOISE)
    early = weighted(observation[:20], force[:20], None, NOISE)
    assert live.parameters == pytest.approx(early.parameters, rel=1e-11)
    white = np.linalg.inv(np.einsum('nli,nlj,l->ij', observation[:20], observation[:20], NOISE**-2.0))
    assert live.covariance == pytest.approx(white, rel=1e-9)


@pytest.mark.parametrize(
    ('name', 'settings', 'text'),
    [
        ('kalman', {}, "estimator = 'kalman': there is no such estimator; choose ls .*; wls .*; gls .*; ml .*; rls"),
        ('wls', {'iteration': 3}, r"wls has no setting 'iteration' \(= 3\); it has iterations"),
    ],
)
def test_unknown_names_are_refused(name: str, settings: dict, text: str) -> None:
    with pytest.raises(ConfigurationError, match=text):
        estimator_by_name(name, settings)


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
    assert least_eigenvalues(names, values) == {'platform_link': pytest.approx(0.5)}
