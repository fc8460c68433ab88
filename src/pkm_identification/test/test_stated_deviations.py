"""Standard deviations and priors against the formulas of the textbook: none is doubled, no freedom is dropped."""

from __future__ import annotations

import numpy as np
import pytest
from base_values import base_of
from pkm_description.machine import INERTIAL_PARAMETERS
from pkm_identification.estimator import least_squares
from pkm_identification.estimator.bodies import (
    PhysicalParameters,
    infeasibilities,
    nominal_covariance,
    share_out,
)
from pkm_identification.estimator.recursive import checked_variances, covariance_factor
from pkm_identification.estimator.residual_covariance import (
    MANY_ROWS,
    autocorrelation,
    definite,
    degrees_of_freedom,
    honest_covariance,
)
from scipy import stats

RANDOM = np.random.default_rng(5)
PLATFORM = [f'platform_link.{kind}' for kind in INERTIAL_PARAMETERS]
ROD = [f'leg_rod.{kind}' for kind in INERTIAL_PARAMETERS]


def student(freedom: float) -> float:
    """Factor by which three deviations are as rare as three of a normal distribution."""
    return float(stats.t.isf(stats.norm.sf(3.0), freedom) / 3.0)


def test_white_noise_of_one_drive_has_the_covariance_of_the_textbook() -> None:
    """``s^2 (A'A)^-1`` with ``s^2 = r'r / (M - B)``, and Student's tails for M - B degrees of freedom."""
    count = 3
    # from 200 rows for each parameter on, what the fit absorbs is left out
    rows = RANDOM.normal(size=(200 * count, 1, count)) * [1.0, 1e-3, 50.0]
    force = rows @ np.array([2.0, 3e3, -0.1]) + 0.7 * RANDOM.normal(size=rows.shape[:2])
    estimate = least_squares.weighted(rows, force)
    flat, freedom = rows[:, 0], rows.shape[0] - count
    residual = force[:, 0] - flat @ np.linalg.lstsq(flat, force[:, 0], rcond=None)[0]
    expected = np.linalg.inv(flat.T @ flat) * (residual @ residual) / freedom
    assert estimate.std == pytest.approx(student(freedom) * np.sqrt(np.diag(expected)), rel=1e-5)
    correlation = expected / np.outer(np.sqrt(np.diag(expected)), np.sqrt(np.diag(expected)))
    assert estimate.covariance / np.outer(estimate.std, estimate.std) == pytest.approx(correlation, abs=1e-6)
    assert estimate.force_std == pytest.approx(np.sqrt(residual @ residual / freedom), rel=1e-9)
    units = flat / estimate.force_std
    assert least_squares.white_covariance(units) == pytest.approx(np.linalg.inv(units.T @ units), rel=1e-6)


def test_noise_of_two_drives_that_err_together() -> None:
    """The covariance of residuals between drives counts, with its sign."""
    samples = 2 * MANY_ROWS
    column = RANDOM.normal(size=(samples, 1, 1))
    rows, common = np.concatenate([column, column], axis=1), RANDOM.normal(size=samples)
    used = np.ones((samples, 2), dtype=bool)
    for sign in (1.0, -1.0):
        residuals = np.column_stack([common, sign * common]) + 0.1 * RANDOM.normal(size=(samples, 2))
        covariance = honest_covariance(rows, residuals, used, 0)
        noise = residuals.T @ residuals / samples
        expected = noise.sum() / (4.0 * float(np.sum(column**2)))
        assert covariance[0, 0] == pytest.approx(student(2 * samples - 1) ** 2 * expected, rel=0.01)


def test_noise_that_lasts_has_the_variance_of_its_taper() -> None:
    """One column of ones: the variance of the mean is the sum of the tapered autocovariances."""
    samples, lags = 3000, 3
    noise = RANDOM.normal(size=samples + 1)
    residuals = (noise[1:] + noise[:-1])[:, None]
    rows, used = np.ones((samples, 1, 1)), np.ones((samples, 1), dtype=bool)
    covariance = honest_covariance(rows, residuals, used, lags)[0, 0]
    total = 0.0
    for lag in range(lags + 1):
        product = float(residuals[: samples - lag, 0] @ residuals[lag:, 0]) / (samples - lag)
        total += (1.0 if lag == 0 else 2.0) * (1.0 - lag / (lags + 1.0)) * product * (samples - lag)
    expected = total / samples**2 / (1.0 - 1.0 / samples)
    assert covariance == pytest.approx(student(0.75 * samples / lags) ** 2 * expected, rel=1e-4)


def test_noise_of_few_rows_is_not_too_small() -> None:
    """Ten rows for four parameters: the residuals' mean square is 0.6 of the noise's."""
    squares = []
    for _ in range(400):
        rows = RANDOM.normal(size=(5, 2, 4))
        squares.append(np.mean(least_squares.weighted(rows, RANDOM.normal(size=(5, 2)), iterations=0).force_std ** 2))
    assert np.mean(squares) == pytest.approx(1.0, abs=0.1)
    used = np.ones((5, 2), dtype=bool)
    used[0] = False
    assert degrees_of_freedom(used, 4) == pytest.approx(0.5)
    assert degrees_of_freedom(used, 8) == degrees_of_freedom(used, 9) == pytest.approx(1e-3)


def test_ordinary_least_squares_claim_what_they_are_on_unequal_drives() -> None:
    """``(A'A)^-1 A'SA (A'A)^-1``: the noise of each drive counts in the claim, not in the weights."""
    samples, count, noise = 400, 2, np.array([0.1, 3.0])
    rows = RANDOM.normal(size=(samples, 2, count)) * np.array([1.0, 0.2])[:, None]
    force = noise * RANDOM.normal(size=(samples, 2))
    estimate = least_squares.ordinary(rows, force)
    flat = rows.reshape(-1, count)
    residual = force - rows @ np.linalg.lstsq(flat, force.ravel(), rcond=None)[0]
    inverse = np.linalg.inv(flat.T @ flat)
    meat = np.einsum('nia,ij,njb->ab', rows, residual.T @ residual / samples, rows)
    spread = np.sqrt(np.diag(inverse @ meat @ inverse) / (1.0 - count / (2.0 * samples)))
    expected = student(2 * samples - count) * spread
    assert estimate.std == pytest.approx(expected, rel=1e-3)
    assert np.array_equal(estimate.covariance, least_squares.ordinary(rows, force, correlation_lags=0).covariance)
    assert estimate.autocorrelation.shape == (2, 2)


def test_known_noise_is_used_as_weights() -> None:
    rows, force, noise = RANDOM.normal(size=(40, 2, 3)), RANDOM.normal(size=(40, 2)), np.array([0.1, 3.0])
    weight = (1.0 / noise**2)[None, :, None]
    normal = np.einsum('nla,nlb->ab', weight * rows, rows)
    expected = np.linalg.solve(normal, np.einsum('nla,nl->a', weight * rows, force))
    estimate = least_squares.weighted(rows, force, force_std=noise)
    assert estimate.parameters == pytest.approx(expected, rel=1e-9)
    assert estimate.solver.iterations == 1 and estimate.solver.method.startswith('wls')
    ordinary = least_squares.ordinary(rows, force)
    plain = np.linalg.lstsq(rows.reshape(-1, 3), force.ravel(), rcond=None)[0]
    assert ordinary.parameters == pytest.approx(plain, rel=1e-9)
    assert ordinary.solver.method.startswith('ls')
    flat = rows.reshape(-1, 3)
    assert ordinary.force_condition == pytest.approx(np.linalg.cond(flat))
    assert ordinary.condition == pytest.approx(np.linalg.cond(flat / np.linalg.norm(flat, axis=0)))


def test_bound_of_the_error_is_that_of_the_equation() -> None:
    """Heimann & Abdellatif Eq. (8), with the residual enlarged by ``sqrt(M / (M - B))``."""
    rows, force = RANDOM.normal(size=(4, 2, 3)), RANDOM.normal(size=(4, 2))
    estimate = least_squares.ordinary(rows, force)
    flat = rows.reshape(-1, 3)
    residual = force.ravel() - flat @ estimate.parameters
    expected = np.linalg.cond(flat) * np.sqrt(8.0 / 5.0) * np.linalg.norm(residual)
    assert least_squares.error_bound(estimate, rows, force) == pytest.approx(
        expected / np.linalg.norm(flat @ estimate.parameters)
    )


def test_gradient_is_that_of_the_squares() -> None:
    rows, residuals, force = RANDOM.normal(size=(6, 2, 3)), RANDOM.normal(size=(6, 2)), RANDOM.normal(size=(6, 2))
    flat = rows.reshape(-1, 3)
    expected = np.abs(flat.T @ residuals.ravel()) / np.linalg.norm(flat, axis=0) / np.linalg.norm(force)
    assert least_squares.relative_gradient(rows, residuals, force) == pytest.approx(expected.max())
    assert least_squares.noise_floor(np.array([[3.0, -7.0]])) == pytest.approx(7e-12)
    assert least_squares.noise_floor(np.zeros((0, 2))) > 0.0


def test_autocorrelation_of_pairs_that_are_used() -> None:
    residuals = np.array([[1.0], [2.0], [0.0], [-1.0], [3.0]])
    used = np.array([[True], [True], [False], [True], [True]])
    power = 15.0 / 4.0
    found = autocorrelation(residuals * used, used, 3)
    expected = [1.0, (2.0 - 3.0) / 2.0 / power, -2.0 / 1.0 / power, (-1.0 + 6.0) / 2.0 / power]
    assert found[:, 0] == pytest.approx(expected)
    assert (autocorrelation(np.zeros((4, 1)), np.ones((4, 1), dtype=bool), 2)[1:] == 0.0).all()


def test_an_indefinite_correlation_gets_more_variance() -> None:
    matrix = np.array([[1.0, 1.2], [1.2, 1.0]])
    mended = definite(matrix)
    assert np.linalg.eigvalsh(mended)[0] == pytest.approx(1e-12, abs=1e-13)
    assert mended == pytest.approx(matrix + 0.2 * np.eye(2))
    sound = np.array([[1.0, 0.5], [0.5, 1.0]])
    assert definite(sound) is sound


# -- priors ------------------------------------------------------------------------------------------------------------


def body(points: int = 6) -> np.ndarray:
    """Ten parameters of points of mass, by the definition of the moments."""
    places, masses = RANDOM.normal(size=(points, 3)) + np.array([0.5, -1.0, 0.3]), RANDOM.uniform(1.0, 3.0, points)
    second = np.einsum('n,ni,nj->ij', masses, places, places)
    inertia = np.trace(second) * np.eye(3) - second
    return np.concatenate([[masses.sum()], masses @ places, inertia[np.triu_indices(3)]])


def test_prior_is_that_of_the_stated_trust() -> None:
    """The mass has the relative standard deviation; legs have their own; friction has none."""
    names = (*PLATFORM, *ROD, 'leg1_prismatic.viscous')
    nominal = np.concatenate([body(), body(), [100.0]])
    covariance = nominal_covariance(names, nominal, 0.3, 0.05)
    std = np.sqrt(np.diag(covariance))
    assert std[[0, 10]] == pytest.approx([0.3 * nominal[0], 0.05 * nominal[10]])
    assert std[20] == 0.0 and not covariance[:10, 10:].any()
    # first moments vary as J_11 J_44 + J_14^2, halved
    second = 0.5 * nominal[[4, 7, 9]].sum() - nominal[[4, 7, 9]]
    assert std[1:4] ** 2 == pytest.approx(0.5 * 0.3**2 * (second * nominal[0] + nominal[1:4] ** 2))
    assert nominal_covariance(names, nominal, 0.6, 0.05)[:10, :10] == pytest.approx(4.0 * covariance[:10, :10])


def test_sharing_out_is_the_posterior_of_the_textbook() -> None:
    names, nominal = PLATFORM, body()
    prior = nominal_covariance(tuple(names), nominal, 0.2, 0.0)
    combination = RANDOM.normal(size=(6, 10))
    root = 0.05 * RANDOM.normal(size=(6, 6))
    noise, values = root @ root.T + 0.01 * np.eye(6), combination @ nominal + RANDOM.normal(size=6)
    found, covariance = share_out(base_of(names, combination), values, noise, nominal, prior)
    information = np.linalg.inv(prior) + combination.T @ np.linalg.solve(noise, combination)
    posterior = np.linalg.inv(information)
    expected = posterior @ (np.linalg.solve(prior, nominal) + combination.T @ np.linalg.solve(noise, values))
    scale = np.sqrt(np.diag(prior))
    assert found / scale == pytest.approx(expected / scale, abs=1e-6)
    assert covariance / np.outer(scale, scale) == pytest.approx(posterior / np.outer(scale, scale), abs=1e-6)


def test_friction_comes_from_the_data_alone() -> None:
    """Alone in its base parameter, together with a body, and in none."""
    names = [*PLATFORM, 'a.viscous', 'b.coulomb', 'c.viscous']
    nominal = np.concatenate([body(), [7.0, 8.0, 9.0]])
    prior = np.zeros((13, 13))
    prior[:10, :10] = nominal_covariance(tuple(PLATFORM), nominal[:10], 0.1, 0.0)
    combination = np.zeros((3, 13))
    combination[0, 0], combination[1, 10] = 1.0, 2.0
    combination[2, [0, 11]] = 1.0, 4.0
    values = np.array([nominal[0] + 0.1, 5.0, 60.0])
    noise = np.diag([0.01, 0.04, 0.09])
    found, covariance = share_out(base_of(names, combination), values, noise, nominal, prior)
    assert found[10] == pytest.approx(2.5) and covariance[10, 10] == pytest.approx(0.04 / 4.0, rel=1e-5)
    mass = found[0]
    assert found[11] == pytest.approx((60.0 - mass) / 4.0, rel=1e-5)
    assert covariance[11, 11] == pytest.approx((0.09 + covariance[0, 0]) / 16.0, rel=1e-5)
    assert found[12] == 9.0 and covariance[12, 12] == np.inf


@pytest.mark.parametrize(
    ('mass', 'moments', 'words'),
    [
        (2.0, (1.0, 2.0, 2.9), ()), (2.0, (1.0, 2.0, 3.0 * (1.0 + 0.9e-6)), ()),
        (2.0, (1.0, 2.0, 3.0 * (1.0 + 1.1e-6)), ('triangle',)), (2.0, (0.0, 2.0, 2.0), ('not positive',)),
        (0.0, (1.0, 1.0, 1.0), ('mass 0 kg',)), (-1.0, (1.0, 1.0, 1.0), ('mass -1 kg',)),
    ],
)  # fmt: skip
def test_what_no_body_can_have(mass: float, moments: tuple, words: tuple) -> None:
    parameters = np.array([mass, 0.0, 0.0, 0.0, moments[0], 0.0, 0.0, moments[1], 0.0, moments[2]])
    found = infeasibilities({'thing': parameters})
    assert len(found) == len(words)
    assert all(word in text and text.startswith('thing: ') for word, text in zip(words, found, strict=True))


def test_deviations_of_physical_parameters_are_roots_of_variances() -> None:
    covariance = np.diag([4.0, 9.0, -1e-9])
    physical = PhysicalParameters(('a', 'b', 'c'), np.zeros(3), np.zeros(3), covariance, ())
    assert physical.std == pytest.approx([2.0, 3.0, 0.0])


# -- what runs sample by sample ----------------------------------------------------------------------------------------


def test_factor_of_a_prior() -> None:
    root = RANDOM.normal(size=(4, 4)) * np.array([[1e-5], [1.0], [10.0], [1e3]])
    covariance = root @ root.T
    factor = covariance_factor(covariance, 4)
    size = np.sqrt(np.diag(covariance))
    assert factor @ factor.T / np.outer(size, size) == pytest.approx(covariance / np.outer(size, size), abs=1e-9)
    assert np.array_equal(factor, np.tril(factor))
    assert covariance_factor(np.array([0.5, 2.0]), 2) == pytest.approx(np.diag([0.5, 2.0]))
    for wrong in (np.array([0.5, 0.0]), np.array([[1.0, 0.1], [0.2, 1.0]]), np.array([[1.0, 2.0], [2.0, 1.0]]),
                  np.array([[1.0, 0.0], [0.0, 0.0]]), np.eye(3), np.array([1.0, np.nan])):  # fmt: skip
        with pytest.raises(ValueError, match='covariance|standard deviations'):
            covariance_factor(wrong, 2)


def test_weights_are_one_over_the_noise() -> None:
    assert checked_variances(np.array(9.0), 3) == pytest.approx([9.0] * 3)
    for wrong in (0.0, -1.0, np.nan):
        with pytest.raises(ValueError, match='above 0'):
            checked_variances(np.array([1.0, wrong]), 2)
