"""Noise of residuals while they come, by segments, and what the first one knows of the parameters."""

from __future__ import annotations

import numpy as np
import pytest
from pkm_description.arrays import Array
from pkm_description.machine import Machine
from pkm_identification.columns.term import JointSamples
from pkm_identification.online.change_filter import ChangeFilter, Noise
from pkm_identification.online.observation import OnlineObservation
from pkm_identification.online.segment import MotionSegment, SegmentFit, fit_segment
from pkm_identification.online.settings import ESTIMATORS, OnlineSettings

#: of a segment, and residuals over which a slow error lasts
SAMPLES, LASTS = 400, 20
#: standard deviations of the white noise of two drives, and of what stays the same for a second
WHITE, SLOW = np.array([1.0, 3.0]), np.array([0.0, 5.0])


def segment_of(matrix: Array, targets: Array, is_whole: bool = True) -> MotionSegment:
    """Rows (n, A, B), 50 ms apart, of drives that always move."""
    count, none = len(targets), np.zeros_like(targets)
    return MotionSegment(
        np.arange(count) * 5 * 10**7, matrix, targets, none, np.ones(targets.shape, dtype=bool),
        JointSamples(*5 * [none]), none, none, 5.0, (np.zeros(1), np.ones(1)), is_whole,
    )  # fmt: skip


def fitted(segment: MotionSegment, prior: Array) -> SegmentFit:
    """All steps of a fit."""
    steps = fit_segment(segment, prior, np.full(segment.targets.shape[1], 1e-6))
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value


def slow_errors(random: np.random.Generator) -> Array:
    """White noise of the first drive, of the second one with errors that last."""
    errors = random.normal(size=(SAMPLES // LASTS, LASTS, 2)) * WHITE
    return (errors + SLOW * random.normal(size=(SAMPLES // LASTS, 1, 2))).reshape(-1, 2)


def test_slow_errors_count_as_what_they_are() -> None:
    """Samples of the first drive are independent; those of the second are alike for a second."""
    found, none = [], np.zeros((SAMPLES, 2, 1))
    for seed in range(10):
        fit = fitted(segment_of(none, slow_errors(np.random.default_rng(seed))), np.ones(1))
        found.append([fit.scatter**2, fit.noise**2])
    np.testing.assert_allclose(np.mean(found, axis=0)[0], WHITE**2 + SLOW**2, rtol=0.2)
    # means of lags up to a second have a part of errors that last a second
    assert np.mean(found, axis=0)[1, 0] == pytest.approx(1.0, rel=0.5)
    assert 0.3 * LASTS * SLOW[1] ** 2 < np.mean(found, axis=0)[1, 1] < LASTS * SLOW[1] ** 2


def test_noise_that_cancels_within_a_window_counts_as_independent() -> None:
    """Accelerations are differences; few samples do not tell that surely by how much means of them vary less."""
    white = np.random.default_rng(5).normal(size=(SAMPLES + 2, 2))
    fit = fitted(segment_of(np.zeros((SAMPLES, 2, 1)), white[2:] - 2.0 * white[1:-1] + white[:-2]), np.ones(1))
    np.testing.assert_allclose(fit.scatter**2, 6.0, rtol=0.2)
    np.testing.assert_allclose(fit.noise, fit.scatter, rtol=1e-12)


def test_drives_that_hardly_moved_keep_their_noise() -> None:
    """Others are means over the samples now and before."""
    before = Noise(*np.array([[1.0, 4.0], [2.0, 8.0]]), np.array([400, 400]))
    now = Noise(*np.array([[3.0, 0.0], [6.0, 0.0]]), np.array([400, 3])).after(before)
    np.testing.assert_allclose(now[:2], [[2.0, 4.0], [4.0, 8.0]])
    assert now.samples.tolist() == [400, 400]


def test_the_first_seconds_are_weighed_by_their_noise(srs: Machine) -> None:
    """Parameters of 40 runs within their deviations (chi-square), which come close to those of known noise.

    Two drives see the same five parameters; that with slow errors would spoil them if it counted as much as the other.
    """
    spread, squared, ratios = 10.0 * np.ones(5), [], []
    for seed in range(40):
        random = np.random.default_rng(seed)
        true, phase = spread * random.normal(size=5), random.uniform(0.0, 2.0 * np.pi, size=(2, 5))
        matrix = np.sin(0.3 * np.arange(SAMPLES)[:, None, None] * np.arange(1, 6) + phase)
        fit = fitted(segment_of(matrix, matrix @ true + slow_errors(random)), spread)
        known = fit.segment.fitted(fit.noise, spread)
        found, covariance = known.parameters, known.covariance
        squared.append((found - true) @ np.linalg.solve(covariance, found - true))
        weights = 1.0 / (WHITE**2 + LASTS * SLOW**2)
        known = np.linalg.inv(np.einsum('nai,naj,a->ij', matrix, matrix, weights) + np.diag(spread**-2.0))
        ratios.append(np.sqrt(np.trace(covariance) / np.trace(known)))
    # 200 degrees of freedom, 99.9 % of chi-square is 267
    assert 60.0 < np.sum(squared) < 267.0
    assert 0.8 < np.median(ratios) < 1.5


def test_the_first_segment_begins_the_filter_until_it_is_whole(srs: Machine) -> None:
    """Each fit of it is what is known; later ones tell of the noise alone."""
    observation, random = OnlineObservation(srs), np.random.default_rng(0)
    found, count = ChangeFilter(observation, OnlineSettings()), len(observation.base)
    matrix, true = random.normal(size=(SAMPLES, 6, count)) / observation.scale, 0.1 * observation.scale
    changes = []
    for samples, size in ((100, 1.0), (SAMPLES, 1.0), (SAMPLES, 5.0)):
        targets = (matrix @ true + size * 1e-3 * observation.typical_force * random.normal(size=(SAMPLES, 6)))[:samples]
        segment = segment_of(matrix[:samples], targets, is_whole=samples == SAMPLES)
        found.take(fitted(segment, 0.3 * observation.scale))
        changes.append(found.estimator.parameters)
        assert np.abs((found.estimator.parameters - true) / found.estimator.std).max() < 5.0
    assert not np.array_equal(changes[0], changes[1]) and np.array_equal(changes[1], changes[2])
    # half of the noise is remembered
    size = np.sqrt(found.noise.variance) / observation.typical_force
    np.testing.assert_allclose(size, 1e-3 * np.sqrt(13.0), rtol=0.2)


def followed(
    srs: Machine, steps: int = 600, drift: float = 0.0, **settings: object
) -> tuple[ChangeFilter, np.ndarray, np.ndarray]:
    """A filter after steps of 0.3 s, what is true then, and the parameters' sizes; friction drifts in the end."""
    observation, random = OnlineObservation(srs), np.random.default_rng(0)
    found = ChangeFilter(observation, OnlineSettings(**settings))
    found.noise = found.noise._replace(weight_variance=np.full(6, 1e-4))
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
    known = ekf.estimator
    assert np.abs((known.parameters - true) / known.std).max() < 5.0 and (known.std < 1e-2 * scale).all()
    for other in (one.estimator for one, _, _ in others):
        np.testing.assert_allclose(other.parameters / scale, known.parameters / scale, rtol=0.0, atol=1e-7)
        np.testing.assert_allclose(other.std, known.std, rtol=1e-5)


def test_least_squares_forget_friction_as_it_was(srs: Machine) -> None:
    away = []
    for memory in (40.0, 1e9):
        found, true, scale = followed(srs, 1200, 0.03, estimator='rls', memory=memory)
        away.append(float(np.sqrt(np.mean(((found.estimator.parameters - true) / scale) ** 2))))
    assert away[0] < 0.5 * away[1]
