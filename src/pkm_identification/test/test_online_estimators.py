"""Estimators that run sample by sample: against batch solutions, textbook formulas, and their own uncertainty."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from pkm_estimation.filters.unscented import ScaledUnscentedTransform
from pkm_identification.errors import NotExcitedError
from pkm_identification.online.estimators import (
    ExtendedParameterFilter,
    RandomWalk,
    RecursiveLeastSquares,
    UnscentedParameterFilter,
    unobserved_directions,
)
from scipy.stats import chi2

NOISE = np.array([0.5, 1.0, 2.0])
TRUTH = np.array([3.0, -2.0, 5.0, 1.0])


def linear(seed: int, samples: int = 200, size: np.ndarray | float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Regressors (N, 3, 4) with columns of given sizes, and noisy forces (N, 3)."""
    random = np.random.default_rng(seed)
    regressors = random.normal(size=(samples, 3, 4)) / size
    return regressors, regressors @ (TRUTH * size) + NOISE * random.normal(size=(samples, 3))


def batch(regressors: np.ndarray, forces: np.ndarray, prior_std: np.ndarray | None = None) -> np.ndarray:
    """Weighted least squares of all rows, with a prior of mean 0."""
    rows = (regressors / NOISE[:, None]).reshape(-1, regressors.shape[-1])
    right = (forces / NOISE).ravel()
    if prior_std is not None:
        rows = np.concatenate([rows, np.diag(1.0 / prior_std)])
        right = np.concatenate([right, np.zeros(len(prior_std))])
    size = np.linalg.norm(rows, axis=0)
    return np.linalg.lstsq(rows / size, right, rcond=None)[0] / size


def run(estimator: object, regressors: np.ndarray, forces: np.ndarray) -> None:
    for rows, force in zip(regressors, forces, strict=True):
        estimator.update(rows, force, NOISE**2)


def test_least_squares_equal_the_batch_with_and_without_prior() -> None:
    regressors, forces = linear(1)
    free, with_prior = RecursiveLeastSquares(4), RecursiveLeastSquares(4, prior=(np.zeros(4), np.full(4, 0.3)))
    run(free, regressors, forces)
    run(with_prior, regressors, forces)
    assert free.parameters == pytest.approx(batch(regressors, forces), rel=1e-11)
    right = batch(regressors, forces, np.full(4, 0.3))
    assert with_prior.parameters == pytest.approx(right, rel=1e-11)
    assert np.abs(with_prior.parameters - free.parameters).max() > 1e-3
    information = np.einsum('nli,nlj,l->ij', regressors, regressors, NOISE**-2.0)
    assert free.covariance == pytest.approx(np.linalg.inv(information), rel=1e-9)
    assert free.std == pytest.approx(np.sqrt(np.diagonal(free.covariance)), rel=1e-12)


@pytest.mark.parametrize('kind', [ExtendedParameterFilter, UnscentedParameterFilter])
def test_filters_equal_the_batch_for_parameters_of_all_sizes(kind: type) -> None:
    """Parameters from 1e-5 to 10 side by side: the same estimate, in standard deviations, as if all were alike."""
    size = np.array([1e-5, 1e-2, 1.0, 10.0])
    regressors, forces = linear(2, size=size)
    prior = 100.0 * size
    right, std = batch(regressors, forces, prior), None
    for alpha in [1e-4, 1e-2, 1.0] if kind is UnscentedParameterFilter else [None]:
        settings = {} if alpha is None else {'alpha': alpha}
        found = kind(np.zeros(4), prior, **settings)
        run(found, regressors, forces)
        information = np.einsum('nli,nlj,l->ij', regressors, regressors, NOISE**-2.0) + np.diag(prior**-2.0)
        unit = information * np.outer(size, size)
        covariance = np.linalg.inv(unit) * np.outer(size, size)
        std = np.sqrt(np.diagonal(covariance))
        # the points of alpha = 1e-4 stand so close that half the digits of their differences are gone
        limit = 1e-5 if alpha == 1e-4 else 1e-8
        assert np.abs((found.parameters - right) / std).max() < limit
        assert found.std == pytest.approx(std, rel=1e-4 if alpha == 1e-4 else 1e-8)
        assert found.covariance / np.outer(std, std) == pytest.approx(covariance / np.outer(std, std), abs=1e-4)


@pytest.mark.parametrize(
    'make',
    [
        lambda: RecursiveLeastSquares(4, prior=(np.zeros(4), np.ones(4))),
        lambda: ExtendedParameterFilter(np.zeros(4), np.ones(4)),
        lambda: UnscentedParameterFilter(np.zeros(4), np.ones(4)),
    ],
)
def test_rows_of_infinite_variance_are_as_if_they_were_not_there(make: Callable[[], object]) -> None:
    """Also if they hold no numbers at all: a drive that sticks says nothing."""
    regressors, forces = linear(3, 50)
    gated, without = make(), make()
    for rows, force in zip(regressors, forces, strict=True):
        broken, bad = rows.copy(), force.copy()
        broken[1], bad[1] = np.nan, np.nan
        gated.update(broken, bad, np.array([0.25, np.inf, 4.0]))
        without.update(rows[[0, 2]], force[[0, 2]], np.array([0.25, 4.0]))
    assert gated.parameters == pytest.approx(without.parameters, rel=1e-9)
    assert gated.std == pytest.approx(without.std, rel=1e-9)
    if not isinstance(gated, RecursiveLeastSquares):
        assert np.isfinite(gated.normalised_innovations).tolist() == [True, False, True]


def test_innovations_are_those_of_one_joint_measurement() -> None:
    """The sum of their squares is the normalised innovation squared."""
    regressors, forces = linear(4, 30)
    extended = ExtendedParameterFilter(np.zeros(4), np.ones(4))
    for rows, force in zip(regressors, forces, strict=True):
        mean, covariance = extended.parameters, extended.covariance
        extended.update(rows, force, NOISE**2)
        spread = rows @ covariance @ rows.T + np.diag(NOISE**2)
        innovation = force - rows @ mean
        nis = innovation @ np.linalg.solve(spread, innovation)
        assert np.sum(extended.normalised_innovations**2) == pytest.approx(nis, rel=1e-9)


def test_exponential_forgetting_is_the_weighted_batch() -> None:
    regressors, forces = linear(5)
    found = RecursiveLeastSquares(4, 0.95)
    run(found, regressors, forces)
    age = np.sqrt(0.95) ** np.arange(len(forces) - 1, -1, -1)
    assert found.parameters == pytest.approx(batch(regressors * age[:, None, None], forces * age[:, None]), rel=1e-10)


def pendulum_like(point: np.ndarray, phase: np.ndarray) -> np.ndarray:
    """A model that bends: forces (..., 3) of parameters (..., 4)."""
    a, b, c, d = np.moveaxis(point[..., None, :], -1, 0)
    return a * np.sin(phase) + np.exp(0.3 * b) * np.cos(2.0 * phase) + c * d * np.cos(phase)


def textbook(
    mean: np.ndarray, covariance: np.ndarray, phases: np.ndarray, forces: np.ndarray, noise: np.ndarray, alpha: float
) -> tuple[np.ndarray, np.ndarray]:
    """Eqs. 2.71 to 2.74 as printed, in numbers of 64 binary digits."""
    wide = np.longdouble
    mean, covariance, count = mean.astype(wide), covariance.astype(wide), len(mean)
    spread = wide(alpha) ** 2 * count
    first = 1 - count / spread
    weights = np.concatenate([[first], np.full(2 * count, 1 / (2 * spread))])
    for phase, force in zip(phases, forces, strict=True):
        covariance = covariance + np.diag(noise)
        factor = np.zeros((count, count), dtype=wide)
        for j in range(count):
            factor[j, j] = np.sqrt(covariance[j, j] - factor[j, :j] @ factor[j, :j])
            for i in range(j + 1, count):
                factor[i, j] = (covariance[i, j] - factor[i, :j] @ factor[j, :j]) / factor[j, j]
        deviations = np.concatenate([np.zeros((1, count)), np.sqrt(spread) * factor.T, -np.sqrt(spread) * factor.T])
        values = pendulum_like(mean + deviations, phase.astype(wide))
        expected = weights @ values
        centred = values - expected
        covariance_weights = weights.copy()
        covariance_weights[0] += 3 - wide(alpha) ** 2
        inner = (covariance_weights[:, None] * centred).T @ centred + np.diag(NOISE.astype(wide) ** 2)
        cross = (covariance_weights[:, None] * deviations).T @ centred
        gain = (cross @ np.linalg.inv(inner.astype(float))).astype(wide)
        # one step of refinement: the inverse has double precision only
        gain = gain + ((cross - gain @ inner) @ np.linalg.inv(inner.astype(float))).astype(wide)
        mean = mean + gain @ (force - expected)
        covariance = covariance - gain @ inner @ gain.T
    return mean.astype(float), covariance.astype(float)


@pytest.mark.parametrize(('alpha', 'limit'), [(1e-4, 1e-3), (1e-2, 1e-6), (0.5, 1e-10)])
def test_unscented_filter_equals_the_textbook(alpha: float, limit: float) -> None:
    """Of a model that bends, with a random walk; also with weights of 1e8, from numbers of twice the digits there."""
    random = np.random.default_rng(7)
    phases = random.uniform(0.0, 6.0, (60, 3))
    start, wander = np.full(4, 1.5), np.full(4, 1e-4)
    forces = np.array([pendulum_like(TRUTH / 2.0, phase) for phase in phases]) + NOISE * random.normal(size=(60, 3))
    found = UnscentedParameterFilter(start, np.ones(4), RandomWalk(wander), alpha=alpha)
    for phase, force in zip(phases, forces, strict=True):
        found.update(lambda points, phase=phase: pendulum_like(points, phase), force, NOISE**2)
    mean, covariance = textbook(start, np.eye(4), phases, forces, wander, alpha)
    std = np.sqrt(np.diagonal(covariance))
    assert np.abs((found.parameters - mean) / std).max() < limit
    assert found.covariance / np.outer(std, std) == pytest.approx(covariance / np.outer(std, std), abs=limit)


def test_alpha_is_limited_here_and_for_states() -> None:
    with pytest.raises(ValueError, match='alpha'):
        UnscentedParameterFilter(np.zeros(3), np.ones(3), alpha=1e-5)
    with pytest.raises(ValueError, match='alpha'):
        ScaledUnscentedTransform(3, alpha=1e-4)


@pytest.mark.parametrize('kind', ['extended', 'unscented'])
def test_the_uncertainty_of_filters_is_right(kind: str) -> None:
    """NEES over 50 seeds inside its bounds of 99.8 %: errors are as large as the filters say, of a model that bends."""
    total, innovations, rows = 0.0, 0.0, 0
    for seed in range(50):
        random = np.random.default_rng(seed)
        truth = TRUTH / 2.0 + 0.3 * random.normal(size=4)
        prior = TRUTH / 2.0, np.full(4, 0.3)
        found = UnscentedParameterFilter(*prior) if kind == 'unscented' else ExtendedParameterFilter(*prior)
        for _ in range(40):
            phase = random.uniform(0.0, 6.0, 3)
            force = pendulum_like(truth, phase) + NOISE * random.normal(size=3)
            if kind == 'unscented':
                found.update(lambda points, phase=phase: pendulum_like(points, phase), force, NOISE**2)
            else:
                found.update(lambda point, phase=phase: with_jacobian(point, phase), force, NOISE**2)
            innovations, rows = innovations + np.sum(found.normalised_innovations**2), rows + 3
        error = found.parameters - truth
        total += error @ np.linalg.solve(found.covariance, error)
    lower, upper = chi2.ppf([0.001, 0.999], 200)
    assert lower < total < upper
    lower, upper = chi2.ppf([0.001, 0.999], rows)
    assert lower < innovations < upper


def with_jacobian(point: np.ndarray, phase: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    steps = 1e-6 * np.eye(4)
    columns = [(pendulum_like(point + step, phase) - pendulum_like(point - step, phase)) / 2e-6 for step in steps]
    return pendulum_like(point, phase), np.stack(columns, axis=1)


def test_robbins_monro_learns_from_the_corrections() -> None:
    regressors, forces = linear(8, 2)
    walk = RandomWalk(np.full(4, 1e-3), 0.1)
    found = ExtendedParameterFilter(np.zeros(4), np.ones(4), walk)
    found.update(regressors[0], forces[0], NOISE**2)
    first = 0.9 * 1e-3 + 0.1 * found.parameters**2
    assert walk.variances == pytest.approx(first, rel=1e-12)
    prior = found.covariance + np.diag(first)
    found.update(regressors[1], forces[1], NOISE**2)
    information = np.linalg.inv(prior) + np.einsum('li,lj,l->ij', regressors[1], regressors[1], NOISE**-2.0)
    assert found.covariance == pytest.approx(np.linalg.inv(information), rel=1e-9)


@pytest.mark.parametrize('kind', [ExtendedParameterFilter, UnscentedParameterFilter])
def test_frozen_parameters_rest(kind: type) -> None:
    regressors, forces = linear(9)
    found = kind(np.zeros(4), np.full(4, 10.0))
    run(found, regressors[:50], forces[:50])
    held, std = found.parameters[2], found.std[2]
    mean, covariance = np.delete(found.parameters, 2), np.delete(np.delete(found.covariance, 2, 0), 2, 1)
    found.freeze([2])
    others = kind(mean, covariance)
    for rows, force in zip(regressors[50:100], forces[50:100], strict=True):
        found.update(rows, force, NOISE**2)
        others.update(np.delete(rows, 2, 1), force - rows[:, 2] * held, NOISE**2)
    assert found.frozen.tolist() == [False, False, True, False]
    assert (found.parameters[2], found.std[2]) == (held, std)
    assert np.delete(found.parameters, 2) == pytest.approx(others.parameters, rel=1e-7)
    assert np.delete(found.std, 2) == pytest.approx(others.std, rel=1e-7)


def test_what_is_not_observed_is_named() -> None:
    """Two columns that are alike: their sum is known, their difference is not; without a prior there is no estimate."""
    random = np.random.default_rng(10)
    found, squares = ExtendedParameterFilter(np.zeros(3), np.full(3, 5.0)), RecursiveLeastSquares(3)
    for _ in range(300):
        rows = random.normal(size=(3, 2))[:, [0, 1, 1]]
        for one in (found, squares):
            one.update(rows, rows @ [3.0, 1.0, 2.0] + NOISE * random.normal(size=3), NOISE**2)
    with pytest.raises(NotExcitedError, match='300 samples do not determine all 3'):
        _ = squares.parameters
    (direction,) = unobserved_directions(('mass', 'left', 'right'), np.full(3, 5.0), found.covariance)
    assert set(direction) == {'left', 'right'}
    assert abs(direction['left']) == pytest.approx(np.sqrt(0.5), rel=1e-3)
    assert direction['left'] == pytest.approx(-direction['right'], rel=1e-3)


def test_bad_input_is_refused() -> None:
    with pytest.raises(ValueError, match='above 0'):
        ExtendedParameterFilter(np.zeros(2), np.array([1.0, 0.0]))
    with pytest.raises(ValueError, match='not positive definite'):
        ExtendedParameterFilter(np.zeros(2), np.array([[1.0, 2.0], [2.0, 1.0]]))
    with pytest.raises(ValueError, match='expected 2'):
        ExtendedParameterFilter(np.zeros(2), np.ones(2), RandomWalk(np.zeros(3)))
    for gain in (-0.1, 1.1):
        with pytest.raises(ValueError, match='gain'):
            RandomWalk(np.zeros(2), gain)
    for found in (
        ExtendedParameterFilter(np.zeros(2), np.ones(2)),
        UnscentedParameterFilter(np.zeros(2), np.ones(2)),
        RecursiveLeastSquares(2),
    ):
        with pytest.raises(ValueError, match='variances'):
            found.update(np.eye(2), np.ones(2), np.array([1.0, 0.0]))
        with pytest.raises(ValueError, match='finite'):
            found.update(np.eye(2), np.array([1.0, np.nan]), np.ones(2))
