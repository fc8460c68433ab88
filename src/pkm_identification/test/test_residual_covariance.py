"""Intervals of least squares whose errors are correlated: as wide as they must be, and no wider."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from correlated_noise import LEGS, PARAMETERS, differentiated, lasting, slow_rows, spread, white
from pkm_description.arrays import Array
from pkm_identification.estimator import least_squares
from pkm_identification.estimator.residual_covariance import honest_covariance
from scipy import stats

LAGS = 10


def coverage(error: Callable[[Array], Array], samples: int, lags: int) -> tuple[float, float]:
    """Share of true values in the intervals of 95 %, and mean claim over the true root mean square error."""
    return spread(least_squares.weighted, error, samples, lags, 200)[:2]


@pytest.mark.parametrize('samples', [20, 120])
def test_intervals_cover_the_truth(samples: int) -> None:
    """Also where few rows say little of the noise: three deviations are as rare as those of a normal distribution."""
    share, _ = coverage(white, samples, LAGS)
    freedom = 0.75 * samples * LEGS / LAGS
    factor = stats.t.isf(stats.norm.sf(3.0), freedom) / 3.0
    assert share == pytest.approx(1.0 - 2.0 * stats.t.sf(1.96 * factor, freedom), abs=0.015)
    assert share >= 0.95


def test_errors_that_last_make_intervals_wider() -> None:
    """They are a tenth too narrow still: the taper takes from the lags that it has."""
    share, wide = coverage(lasting, 120, LAGS)
    assert share >= 0.91 and wide > 0.88
    assert coverage(lasting, 120, 0)[0] < 0.7


def test_noise_of_positions_that_was_differentiated_makes_intervals_narrower() -> None:
    """They are still too wide: the decrease is believed by half."""
    share, wide = coverage(differentiated, 120, LAGS)
    assert share >= 0.93
    _, white_claim = coverage(differentiated, 120, 0)
    assert 1.0 < wide < 0.8 * white_claim


def test_where_rows_are_many_the_correction_for_what_the_fit_absorbed_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is left out there; up to a percent the deviations are the same."""
    generator = np.random.default_rng(1)
    samples = 500
    rows, noise = slow_rows(generator, samples), lasting(generator.normal(size=(samples + 8, LEGS)))
    used = np.ones((samples, LEGS), dtype=bool)
    residuals = noise - rows @ np.linalg.lstsq(rows.reshape(-1, PARAMETERS), noise.ravel(), rcond=None)[0]
    without = np.sqrt(np.diag(honest_covariance(rows, residuals, used, LAGS)))
    monkeypatch.setattr('pkm_identification.estimator.residual_covariance.MANY_ROWS', 1000)
    corrected = np.sqrt(np.diag(honest_covariance(rows, residuals, used, LAGS)))
    assert (corrected >= 0.999 * without).all() and np.median(corrected / without) < 1.05


@pytest.mark.parametrize('error', [lasting, differentiated])
def test_correlations_between_values_are_those_without_lags(error: Callable[[Array], Array]) -> None:
    generator = np.random.default_rng(1)
    rows, used = slow_rows(generator, 400), np.ones((400, LEGS), dtype=bool)
    noise = error(generator.normal(size=(408, LEGS)))
    correlations = []
    for lags in (0, LAGS):
        covariance = honest_covariance(rows, noise, used, lags)
        std = np.sqrt(np.diag(covariance))
        correlations.append(covariance / np.outer(std, std))
    assert correlations[0] == pytest.approx(correlations[1], abs=1e-9)
