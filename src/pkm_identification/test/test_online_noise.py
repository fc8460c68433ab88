"""Noise of residuals while they come: by blocks, and in the first seconds together with the parameters."""

from __future__ import annotations

import numpy as np
import pytest
from pkm_description.arrays import Array
from pkm_description.machine import Machine
from pkm_identification.online.change_filter import LEARNED, LONGEST, ChangeFilter, FirstSeconds
from pkm_identification.online.observation import OnlineObservation
from pkm_identification.online.residual_noise import ResidualNoise
from pkm_identification.online.settings import ESTIMATORS, OnlineSettings

#: ns between two samples, and samples of a block
STEP, SAMPLES = 10**7, 101
#: standard deviations of the white noise of two drives, and of what stays the same over a block
WHITE, SLOW = np.array([1.0, 3.0]), np.array([0.0, 5.0])
NONE = np.zeros((2, 1))
ALL = np.ones(2, dtype=bool)


def fed(noise: ResidualNoise, residuals: Array, rows: Array = NONE, covariance: float = 0.0) -> ResidualNoise:
    """Take residuals (N, 2) of predictions by one parameter."""
    for step, residual in enumerate(residuals):
        noise.add(step * STEP, residual, np.zeros(2), rows, ALL, lambda: covariance * np.eye(1))
    return noise


def test_few_samples_do_not_set_the_noise() -> None:
    """A second of which a drive has three samples, small by chance, says nothing of its noise; the others do."""
    noise = ResidualNoise(np.array([1.0, 1.0]), 1.0)
    random = np.random.default_rng(0)
    for step in range(102):
        residual = np.array([1e-3 * (step < 3), 0.5]) * random.normal(size=2)
        noise.add(step * STEP, residual, np.zeros(2), NONE, np.array([step < 3, True]), lambda: np.eye(1))
    assert noise.variance[0] == 1.0 and noise.weight_variance[0] >= 4.0
    assert noise.variance[1] == pytest.approx(0.25, rel=0.5)
    assert not noise.is_known.any()


def test_slow_errors_count_as_what_they_are() -> None:
    """White noise of the first drive makes samples independent; the second one has errors that last over blocks."""
    found = []
    for seed in range(10):
        random = np.random.default_rng(seed)
        residuals = random.normal(size=(20, SAMPLES, 2)) * WHITE + SLOW * random.normal(size=(20, 1, 2))
        noise = fed(ResidualNoise(np.full(2, 1e4), 1.0), residuals.reshape(-1, 2))
        assert noise.is_known.all()
        found.append([noise.variance, noise.weight_variance / (1.0 + 3.0 / 20.0)])
    expected = [WHITE**2 + SLOW**2, WHITE**2 + SAMPLES * SLOW**2]
    np.testing.assert_allclose(np.mean(found, axis=0), expected, rtol=0.4)


@pytest.mark.parametrize('unknown', [False, True])
def test_residuals_by_unknown_parameters_are_no_noise(unknown: bool) -> None:
    """Ten blocks with an error of 20 that the parameter's deviation explains, or not; then ten without."""
    random = np.random.default_rng(2)
    rows, noise = np.ones((2, 1)), ResidualNoise(np.full(2, 1e4), 1.0)
    white = random.normal(size=(10 * SAMPLES, 2))
    fed(noise, 20.0 + white, rows, 400.0 if unknown else 0.0)
    for step, residual in enumerate(white):
        noise.add((10 * SAMPLES + step) * STEP, residual, np.zeros(2), rows, ALL, lambda: 1e-4 * np.eye(1))
    if unknown:
        assert (noise.variance < 1.3).all() and (noise.weight_variance < 3.0).all()
    else:
        assert (noise.variance > 100.0).all() and (noise.weight_variance > 1e4).all()


def test_noise_that_was_taken_for_too_small_is_corrected() -> None:
    """Parameters seem unknown beside it, and nothing would be learned of the noise any more: the filter diverged."""
    noise = ResidualNoise(np.full(2, 1e4), 1.0)
    for level in noise.levels:
        level.know(np.full(2, 1e-6), np.full(2, 1e-6), np.full(2, 5.0))
    fed(noise, np.random.default_rng(3).normal(size=(10 * SAMPLES, 2)), np.ones((2, 1)), 0.1)
    assert (noise.variance > 0.3).all() and (noise.variance < 1.5).all()


def test_noise_that_cancels_within_a_window_counts_as_little() -> None:
    """Accelerations are differences: their noise is large, and small as soon as some samples are taken together."""
    random = np.random.default_rng(5)
    white = random.normal(size=(20 * SAMPLES + 2, 2))
    residuals = white[2:] - 2.0 * white[1:-1] + white[:-2]
    noise = fed(ResidualNoise(np.full(2, 1e4), 0.2), residuals)
    np.testing.assert_allclose(noise.variance, 6.0, rtol=0.1)
    # of 21 samples the mean has that of four single ones at their ends
    assert (noise.weight_variance < 0.5).all() and (noise.weight_variance > 4.0 / 21.0).all()


def test_a_copy_goes_on_by_itself_with_a_new_block() -> None:
    """What the old block has is not taken along: after a change of the load its residuals mean something else."""
    noise = fed(ResidualNoise(np.ones(2), 1.0), 100.0 * np.ones((50, 2)))
    copied = fed(noise.copy(), 0.1 * np.random.default_rng(4).normal(size=(SAMPLES, 2)))
    assert (copied.variance < 0.02).all() and (noise.variance == 1.0).all()


def test_the_first_seconds_are_weighed_by_their_noise() -> None:
    """Parameters of 40 runs within their deviations (chi-square), which come close to those of known noise.

    Two drives see the same five parameters; that with slow errors would spoil them if it counted as much as the other.
    """
    parameters, drives, blocks, spread = 5, 2, 12, 10.0
    squared, ratios = [], []
    for seed in range(40):
        random = np.random.default_rng(seed)
        true = spread * random.normal(size=parameters)
        first = FirstSeconds(spread**2 * np.eye(parameters), np.full(drives, 1e3))
        noise = ResidualNoise(np.full(drives, 1e3), 0.2)
        information = np.eye(parameters) / spread**2
        for block in range(blocks):
            slow = SLOW * random.normal(size=drives)
            phase = random.uniform(0.0, 2.0 * np.pi, size=(drives, parameters))
            for step in range(SAMPLES):
                matrix = np.sin(0.03 * step * np.arange(1, parameters + 1) + phase)
                target = matrix @ true + slow + WHITE * random.normal(size=drives)
                first.add(matrix, target, ALL)
                information += (matrix.T / (WHITE**2 + SAMPLES * SLOW**2)) @ matrix
                stamp = (block * SAMPLES + step) * STEP
                ended = noise.add(stamp, target, np.zeros(drives), matrix, ALL, lambda: spread**2 * np.eye(5))
                first.take(ended)
                if ended[-1] is not None:
                    found, covariance = first.estimate(noise)
        error = found - true
        squared.append(error @ np.linalg.solve(covariance, error))
        ratios.append(np.sqrt(np.trace(covariance) / np.trace(np.linalg.inv(information))))
    # the doubt makes deviations too large rather than too small: 200 degrees of freedom, 99.9 % of chi-square is 267
    assert 60.0 < np.sum(squared) < 267.0
    assert 0.8 < np.median(ratios) < 1.8


@pytest.mark.parametrize(('moving', 'blocks'), [(6, LEARNED), (5, LONGEST)])
def test_the_first_seconds_end(srs: Machine, moving: int, blocks: int) -> None:
    """Also where a drive never moves: what they keep would grow, and so would the time that weighing takes."""
    observation = OnlineObservation(srs)
    found, random, used = ChangeFilter(observation, OnlineSettings()), np.random.default_rng(0), np.arange(6) < moving
    count, ended = len(observation.base), []
    for step in range(11 * (blocks + 2)):
        matrix = random.normal(size=(6, count)) / observation.scale
        found.update(step * 10**8, matrix, random.normal(size=6), used)
        if found._first is None:
            ended.append(int(found.noise.blocks.max()))
    assert ended[0] == blocks


def followed(
    srs: Machine, steps: int = 600, drift: float = 0.0, **settings: object
) -> tuple[ChangeFilter, np.ndarray, np.ndarray]:
    """A filter after steps of 0.3 s, what is true then, and the parameters' sizes; friction drifts in the end."""
    observation, random = OnlineObservation(srs), np.random.default_rng(0)
    found = ChangeFilter(observation, OnlineSettings(**settings))
    true = 0.1 * random.normal(size=len(observation.base)) * observation.scale
    slope = drift / (steps // 2) * np.where(observation.size > 0.0, observation.scale, 0.0)
    for step in range(steps):
        true = true + slope * (step >= steps // 2)
        matrix = random.normal(size=(6, len(true))) / observation.scale
        found.update(step * 3 * 10**8, matrix, matrix @ true + 1e-2 * random.normal(size=6), np.ones(6, dtype=bool))
    return found, true, observation.scale


def test_all_filters_of_constants_agree(srs: Machine) -> None:
    still = {'friction_drift': 0.0, 'offset_drift': 0.0, 'memory': 1e9}
    (ekf, true, scale), *others = (followed(srs, 200, estimator=kind, **still) for kind in ESTIMATORS)
    assert np.abs((ekf.change - true) / ekf.std).max() < 5.0 and (ekf.std < 1e-2 * scale).all()
    for other, _, _ in others:
        np.testing.assert_allclose(other.change / scale, ekf.change / scale, rtol=0.0, atol=1e-7)
        np.testing.assert_allclose(other.std, ekf.std, rtol=1e-5)


def test_least_squares_forget_friction_as_it_was(srs: Machine) -> None:
    away = []
    for memory in (40.0, 1e9):
        found, true, scale = followed(srs, 1200, 0.03, estimator='rls', memory=memory)
        away.append(float(np.sqrt(np.mean(((found.change - true) / scale) ** 2))))
    assert away[0] < 0.5 * away[1]
