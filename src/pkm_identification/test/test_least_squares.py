"""Least squares: recovery, weights, honest standard deviations, bound (8)."""

from __future__ import annotations

import numpy as np
import pytest
from pkm_identification.estimator import least_squares
from scipy.signal import lfilter

TRUTH = np.array([1000.0, -2.0, 0.03, 5.0])


def problem(random: np.random.Generator, samples: int = 300, legs: int = 6) -> np.ndarray:
    """Smooth observation (N, L, 4) with columns of very different size."""
    white = random.normal(size=(samples + 50, legs, 4))
    return lfilter([0.3], [1.0, -0.7], white, axis=0)[50:] * [1.0, 30.0, 1e4, 5.0]


def test_weighted_beats_ordinary_on_unequal_legs() -> None:
    """R4-35: smaller true errors and smaller stated ones when the legs' noise differs by 30."""
    random = np.random.default_rng(1)
    observation = problem(random)
    noise = np.array([1.0, 1.0, 30.0, 1.0, 10.0, 1.0])
    errors: dict[str, list[np.ndarray]] = {'ordinary': [], 'weighted': []}
    for _ in range(40):
        force = observation @ TRUTH + noise * random.normal(size=observation.shape[:2])
        for name in errors:
            estimate = getattr(least_squares, name)(observation, force)
            errors[name].append(estimate.parameters - TRUTH)
    assert np.all(np.var(errors['weighted'], axis=0) < 0.3 * np.var(errors['ordinary'], axis=0))
    assert estimate.force_std == pytest.approx(noise, rel=0.15)


def test_standard_deviations_are_honest() -> None:
    """Errors in units of their own standard deviation have rms 1, for correlated noise that legs share."""
    random = np.random.default_rng(2)
    observation = problem(random)
    mixing = np.eye(6) + 0.5 * random.normal(size=(6, 6))
    standardised = []
    for _ in range(150):
        noise = lfilter([1.0], [1.0, -0.6], random.normal(size=(350, 6)), axis=0) @ mixing
        estimate = least_squares.weighted(observation, observation @ TRUTH + noise[50:], correlation_lags=12)
        standardised.append((estimate.parameters - TRUTH) / estimate.std)
    rms = np.sqrt(np.mean(np.square(standardised)))
    assert 0.9 < rms < 1.12  # 600 draws: standard deviation of the rms is 0.03, the taper costs a few percent


def test_dropped_rows_do_not_count() -> None:
    """A row of weight zero may hold anything."""
    random = np.random.default_rng(3)
    observation = problem(random)
    force = observation @ TRUTH + random.normal(size=(300, 6))
    weights = np.ones((300, 6))
    weights[50:80, 2] = 0.0
    clean = least_squares.weighted(observation, force, weights, correlation_lags=3)
    force[50:80, 2] = 1e9
    spoilt = least_squares.weighted(observation, force, weights, correlation_lags=3)
    assert spoilt.parameters == pytest.approx(clean.parameters, rel=1e-12)
    assert spoilt.std == pytest.approx(clean.std, rel=1e-12)


def test_weights_agree_with_the_residuals_after_a_few_passes() -> None:
    """The solution is the one by the noise that it states itself; passes end once that is so."""
    random = np.random.default_rng(7)
    observation, noise = problem(random), np.array([1.0, 1.0, 30.0, 1.0, 10.0, 1.0])
    force = observation @ TRUTH + noise * random.normal(size=(300, 6))
    estimate = least_squares.weighted(observation, force)
    assert 3 <= estimate.solver.iterations <= 8
    again = least_squares.weighted(observation, force, force_std=estimate.force_std)
    assert (np.abs(again.parameters - estimate.parameters) < 2e-3 * estimate.std).all()
    assert again.force_std == pytest.approx(estimate.force_std, rel=1e-3)
    assert least_squares.weighted(observation, force, iterations=1).solver.iterations == 2


def test_what_correlation_is_looked_at_by_default() -> None:
    """Of the residuals the first lag; for the deviations none: those of white noise."""
    random = np.random.default_rng(8)
    observation = problem(random)
    force = observation @ TRUTH + lfilter([1.0], [1.0, -0.6], random.normal(size=(350, 6)), axis=0)[50:]
    for name in ('ordinary', 'weighted'):
        estimator = getattr(least_squares, name)
        estimate, white = estimator(observation, force), estimator(observation, force, correlation_lags=0)
        assert estimate.autocorrelation.shape == (2, 6)
        assert estimate.autocorrelation[0] == pytest.approx(np.ones(6))
        assert estimate.autocorrelation[1].mean() == pytest.approx(0.6, abs=0.06)
        assert np.array_equal(estimate.covariance, white.covariance)
        lasting = estimator(observation, force, correlation_lags=1)
        assert not np.allclose(lasting.std, estimate.std, rtol=1e-3)
        assert estimator(observation, force, correlation_lags=5).autocorrelation.shape == (6, 6)


def test_noise_of_legs_is_that_of_the_weighed_estimate() -> None:
    """Rows of weight zero may hold anything, those of a half count for less."""
    random = np.random.default_rng(9)
    observation, weights = problem(random, 80), random.choice([0.0, 0.5, 1.0], size=(80, 6))
    force = observation @ TRUTH + np.array([1.0, 3.0, 0.3, 1.0, 1.0, 2.0]) * random.normal(size=(80, 6))
    force[weights == 0.0] = 1e9
    found = least_squares.noise_of_legs(observation, force, weights)
    assert found == pytest.approx(least_squares.weighted(observation, force, weights).force_std)
