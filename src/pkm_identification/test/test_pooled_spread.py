"""How far drives of a kind may be apart, by estimates of each."""

from __future__ import annotations

import numpy as np
from pkm_identification.fitting.pooled_spread import spread_variance


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
