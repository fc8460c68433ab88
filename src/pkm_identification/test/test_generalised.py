"""Generalised least squares: noise that is correlated in time is estimated, and rows are weighed by it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from correlated_noise import LEGS, PARAMETERS, differentiated, lasting, slow_rows, spread, white
from pkm_description.arrays import Array
from pkm_identification.estimator import least_squares
from pkm_identification.estimator.generalised import ORDER, fitted_noise, generalised
from pkm_identification.estimator.least_squares import with_noise
from pkm_identification.estimator.residual_covariance import RowNoise
from scipy.linalg import solve_triangular, toeplitz
from scipy.signal import lfilter

LAGS = 10
PARTIAL = np.array([-0.45, -0.6, 0.2, -0.1])


def factors_of(partial: Array) -> Array:
    """Factors of the last samples (Durbin and Levinson), written anew."""
    factors = np.zeros(0)
    for last in partial:
        factors = np.append(factors - last * factors[::-1], last)
    return factors


def covariances_of(partial: Array, count: int) -> Array:
    """Covariances at lags below ``count`` of a series with variance 1: those of its impulse response."""
    response = lfilter([1.0], np.concatenate([[1.0], -factors_of(partial)]), np.eye(1, 4000)[0])
    found = np.array([response[: len(response) - lag] @ response[lag:] for lag in range(count)])
    return found / found[0]


@pytest.mark.parametrize('missing', [(), (0,), (3, 4, 5, 17), tuple(range(10, 25))])
def test_weighing_is_that_of_the_whole_covariance(missing: tuple[int, ...]) -> None:
    """Innovations by Kalman filter are those of the Cholesky factor of the rows that are there."""
    samples, generator = 40, np.random.default_rng(3)
    weights = np.ones((samples, 2))
    weights[list(missing), 0] = 0.0
    values, std = generator.normal(size=(samples, 2, 3)), np.array([2.0, 0.5])
    weighed = RowNoise(std, PARTIAL).weighed(values, weights)
    deviations = RowNoise(std, PARTIAL).innovations(values, weights > 0.0)[1]
    for drive in range(2):
        there = np.flatnonzero(weights[:, drive])
        factor = np.linalg.cholesky(toeplitz(covariances_of(PARTIAL, samples))[np.ix_(there, there)])
        expected = solve_triangular(factor, values[there, drive], lower=True) / std[drive]
        assert weighed[there, drive] == pytest.approx(expected, abs=1e-10)
        assert deviations[there, drive] == pytest.approx(np.diag(factor), abs=1e-10)
        assert not np.delete(weighed[:, drive], there, axis=0).any()


def test_white_noise_weighs_by_its_size_alone() -> None:
    values, weights = np.random.default_rng(0).normal(size=(9, 2)), np.ones((9, 2))
    weights[4, 1] = 0.5
    assert RowNoise(np.array([2.0, 4.0])).weighed(values, weights) == pytest.approx(values * weights / [2.0, 4.0])


def test_the_correlation_of_the_noise_is_found() -> None:
    """Although the fit has absorbed a third of the noise where the motion is, and drives are of unlike size."""
    generator, samples = np.random.default_rng(1), 400
    innovations = generator.normal(size=(samples + 500, LEGS))
    noise = lfilter([1.0], np.concatenate([[1.0], -factors_of(PARTIAL)]), innovations, axis=0)[500:]
    sizes = np.linspace(0.1, 3.0, LEGS)
    noise *= sizes / np.sqrt(1.0 / np.prod(1.0 - PARTIAL**2))
    rows, weights = slow_rows(generator, samples), np.ones((samples, LEGS))
    weights[generator.random(weights.shape) < 0.1] = 0.0
    found = fitted_noise(rows, noise, weights, RowNoise(least_squares.noise_of_legs(rows, noise, weights)))
    deviation = 1.0 / np.sqrt(weights.sum())
    assert len(found.partial) == ORDER
    assert np.abs(found.partial[:4] - PARTIAL).max() < 4.0 * deviation
    assert np.abs(found.partial[4:]).max() < 4.0 * deviation
    assert found.std == pytest.approx(sizes, rel=0.15)


@pytest.mark.parametrize(
    ('efforts', 'gain', 'widest'),
    [
        pytest.param(0.0, 0.4, 4.0, marks=pytest.mark.campaign),
        pytest.param(0.05, 0.7, 1.6, marks=pytest.mark.campaign),
        (0.1, 0.9, 1.2),
    ],
)
def test_noise_of_positions_that_was_differentiated(efforts: float, gain: float, widest: float) -> None:
    """Better values than by weights for the drives alone, and intervals that are true.

    The less noise of the efforts there is, the more is gained. Without any, no autoregression is as quiet at low
    frequencies as the noise: intervals are three times too wide, by weights for the drives nine times.
    """
    generator = np.random.default_rng(9)

    def error(noise: Array) -> Array:
        return differentiated(noise) + efforts * generator.normal(size=(len(noise) - 8, LEGS))

    share, claim, size = spread(generalised, error, 120, LAGS, 40)
    plain = spread(least_squares.weighted, error, 120, LAGS, 40)[2]
    print(f'coverage {share:.3f}, claim {claim:.2f} of the error; error {size / plain:.2f} of that of wls')
    assert share >= 0.93 and 0.9 < claim < widest
    assert size < gain * plain


@pytest.mark.parametrize(('error', 'least'), [(white, 0.93), (lasting, 0.91)])
def test_other_noise_is_no_worse(error: Callable[[Array], Array], least: float) -> None:
    share, claim, size = spread(generalised, error, 120, LAGS, 40)
    plain = spread(least_squares.weighted, error, 120, LAGS, 40)[2]
    print(f'coverage {share:.3f}, claim {claim:.2f} of the error; error {size / plain:.2f} of that of wls')
    assert least <= share <= 0.98
    assert size < 1.05 * plain


def test_few_rows_leave_the_noise_white() -> None:
    generator = np.random.default_rng(2)
    rows = slow_rows(generator, 5)
    force = generator.normal(size=(5, LEGS))
    estimate = generalised(rows, force)
    assert len(estimate.partial) == 0
    assert estimate.parameters == pytest.approx(least_squares.weighted(rows, force).parameters, rel=0.02)


def test_forces_without_noise_give_exact_values() -> None:
    generator = np.random.default_rng(4)
    rows, values = slow_rows(generator, 60), generator.normal(size=PARAMETERS)
    assert generalised(rows, rows @ values).parameters == pytest.approx(values, rel=1e-9)


def test_an_estimate_keeps_the_noise_that_it_was_made_with() -> None:
    """The same rows with it give the same values and deviations again."""
    generator = np.random.default_rng(6)
    rows = slow_rows(generator, 100)
    force = differentiated(generator.normal(size=(108, LEGS)))
    first = generalised(rows, force, correlation_lags=LAGS)
    again = with_noise(rows, force, np.ones(force.shape), first.noise(0.0), LAGS)
    assert again.parameters == pytest.approx(first.parameters, abs=0.02 * first.std.min())
    assert again.std == pytest.approx(first.std, rel=0.05)
    assert again.residuals == pytest.approx(force - rows @ again.parameters)
