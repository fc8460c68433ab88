"""How far drives of a kind may be apart, by estimates of each."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest
from pkm_identification.estimator.least_squares import Estimate
from pkm_identification.estimator.residual_covariance import RowNoise
from pkm_identification.fitting.aliases import _seen, spread_variance, with_spread
from pkm_identification.fitting.model_fit import ModelFit


def test_known_deviations_give_their_spread() -> None:
    deviations = 0.1 * np.random.default_rng(0).normal(size=40)
    found = spread_variance(deviations, 1e-8 * np.eye(40), 0.5)
    assert abs(np.sqrt(found) / deviations.std(ddof=1) - 1.0) < 0.05


def test_true_deviations_are_within_the_stated_spread() -> None:
    """Six drives, estimates as uncertain as the drives differ: 95 % intervals of a drive about the mean of all."""
    random, inside = np.random.default_rng(1), []
    for _ in range(120):
        spread = random.uniform(0.0, 0.2)
        true = spread * random.normal(size=6)
        estimated = true + 0.08 * random.normal(size=6)
        std = np.sqrt(spread_variance(estimated, 0.08**2 * np.eye(6), 0.5) + 0.08**2 / 6.0)
        inside.append(np.abs(true - estimated.mean()) < 1.96 * std)
    assert 0.92 < np.mean(inside) < 1.0


def test_what_no_data_tell_is_the_prior() -> None:
    found = spread_variance(np.zeros(3), 1e6 * np.eye(3), 0.3)
    assert abs(found / 0.15**2 - 1.0) < 0.02


@dataclass(frozen=True)
class Shape:
    """One shared parameter."""

    names: tuple[str, ...]
    values: np.ndarray
    std: np.ndarray


@dataclass(frozen=True)
class Fit:
    """What is read of a fit: here ordinary least squares of one common parameter and a shared one."""

    model: object
    base: tuple[str, ...]
    estimate: Estimate
    shape: Shape
    samples: int
    parameters: np.ndarray
    fitted_columns: np.ndarray
    errors: np.ndarray
    noise: RowNoise

    weighed = ModelFit.weighed


@pytest.mark.parametrize('dead', [0, 5])
def test_deviations_allow_for_drives_that_differ(dead: int) -> None:
    """Drives with parameters of their own, fitted as if they shared one: what is stated is as large as the errors.

    Without the spread the common parameter, whose columns are like those of the drives, errs by far more than stated.
    With a single drive that shows the parameter nothing tells how far drives are apart: the prior's half of a half.
    """
    random, noise, value = np.random.default_rng(0), 0.05, 2.0
    shared = SimpleNamespace(names=(), shape_names=('drives.velocity',), shared_name=lambda name: 'drives.velocity')
    single = SimpleNamespace(names=(), shape_names=tuple(f'leg{drive}.velocity' for drive in range(6)))
    normalised, plain, inside = [], [], []
    for _ in range(40):
        columns = random.normal(size=(80, 6, 2))
        columns[..., 1] = columns[..., 1] + columns[..., 0]
        columns[:, 6 - dead :, 1] = 0.0
        own = value + 0.2 * random.normal(size=6)
        force = 3.0 * columns[..., 0] + own * columns[..., 1] + noise * random.normal(size=(80, 6))
        flat = columns.reshape(-1, 2)
        found = np.linalg.lstsq(flat, force.ravel(), rcond=None)[0]
        covariance = noise**2 * np.linalg.inv(flat.T @ flat)
        estimate = Estimate(found[:1], covariance[:1, :1], np.full(6, noise), force, force, 1.0, 1.0)
        slopes = columns[..., 1, None] * np.eye(6)
        data = SimpleNamespace(row_weights=np.ones((80, 6)), slope_rows=lambda *_, rows=slopes: rows)
        fit = Fit(
            SimpleNamespace(with_parameters=lambda values: [(shared, values)]), ('mass',), estimate,
            Shape(shared.shape_names, found[1:], np.sqrt(covariance[1:, 1])), 80, np.zeros(1), columns,
            force - columns @ found, RowNoise(np.full(6, noise)),
        )  # fmt: skip
        wider = with_spread(data, fit, shared, single)
        if dead:
            assert wider.shape.std[0] == pytest.approx(0.25 * abs(found[1]), rel=1e-3)
            continue
        normalised.append((wider.estimate.parameters[0] - 3.0) / wider.estimate.std[0])
        plain.append((found[0] - 3.0) / covariance[0, 0] ** 0.5)
        others = value + 0.2 * random.normal(size=20)  # drives of the kind that were not measured
        inside += (np.abs(others - wider.shape.values[0]) < 1.96 * wider.shape.std[0]).tolist()
    if not dead:
        assert np.sqrt(np.mean(np.square(plain))) > 2.0
        assert 0.6 < np.sqrt(np.mean(np.square(normalised))) < 1.25
        assert 0.92 < np.mean(inside) < 0.99


def test_a_column_is_seen_where_rows_that_count_tell_it_from_the_others() -> None:
    """The first one is like another, the second differs where nothing counts, the third where it counts for half."""
    random = np.random.default_rng(2)
    others, weights = random.normal(size=(40, 2, 2)), np.ones((40, 2))
    weights[:10, 0], weights[10:20, 1] = 0.0, 0.5
    own = np.repeat(others[..., :1], 3, axis=-1)
    own[:10, 0, 1] += 1.0
    own[10:20, 1, 2] += 1.0
    assert _seen(others, own, weights, 1.0).tolist() == [2]
    # of a contact that is so stiff that nothing is left of it
    assert not _seen(others, 1e-150 * own, weights, 1e5).size
