"""Estimates with another prior: against the estimate that had it from the start."""

from __future__ import annotations

import numpy as np
import pytest
from pkm_identification.online.payload import PriorExchange


@pytest.mark.parametrize('jumped', [0.0, 3.0])
def test_a_prior_is_exchanged_afterwards(jumped: float) -> None:
    """Mean, covariance and likelihood ratio by the textbook's marginal likelihoods."""
    random = np.random.default_rng(2)
    half = random.normal(size=(4, 4))
    other = half @ half.T
    first = other + np.diag([4.0, 0.0, 9.0, 0.0])
    rows, noise = random.normal(size=(9, 4)), 0.5
    truth = np.linalg.cholesky(other) @ random.normal(size=4) + jumped * np.array([2.0, 0.0, -3.0, 0.0])
    measured = rows @ truth + noise * random.normal(size=9)

    def estimate(prior: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        covariance = np.linalg.inv(np.linalg.inv(prior) + rows.T @ rows / noise**2)
        marginal = rows @ prior @ rows.T + noise**2 * np.eye(9)
        logarithm = -0.5 * (np.linalg.slogdet(marginal)[1] + measured @ np.linalg.solve(marginal, measured))
        return covariance @ rows.T @ measured / noise**2, covariance, float(logarithm)

    mean, covariance, likelihood = estimate(first)
    expected = estimate(other)
    found = PriorExchange(first, other).of(mean, covariance)
    np.testing.assert_allclose(found.mean, expected[0], rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(found.covariance, expected[1], rtol=1e-7, atol=1e-9)
    assert found.log_odds == pytest.approx(expected[2] - likelihood, rel=1e-7)
    assert (found.log_odds < 0.0) is (jumped > 0.0)
