"""Rows of a motion, and errors of forces that are correlated in time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from pkm_description.arrays import Array
from pkm_identification.estimator.least_squares import Estimate

LEGS, PARAMETERS = 6, 12


def slow_rows(generator: np.random.Generator, samples: int) -> Array:
    """Columns (samples, 6, 12) that change over a tenth of the time and more, as a motion's do."""
    time = np.linspace(0.0, 2.0 * np.pi, samples)
    waves = np.stack([wave(order * time) for order in range(1, 6) for wave in (np.sin, np.cos)], axis=1)
    return np.einsum('nw,wlb->nlb', waves, generator.normal(size=(waves.shape[1], LEGS, PARAMETERS)))


def spread(
    method: Callable[..., Estimate], error: Callable[[Array], Array], samples: int, lags: int, runs: int
) -> tuple[float, float, float]:
    """Coverage of the intervals of 95 %, mean claim over the true error, and that error, root mean square."""
    generator, errors, claims = np.random.default_rng(0), [], []
    for _ in range(runs):
        rows = slow_rows(generator, samples)
        estimate = method(rows, error(generator.normal(size=(samples + 8, LEGS))), correlation_lags=lags)
        errors.append(estimate.parameters)
        claims.append(estimate.std)
    found, claimed = np.concatenate(errors), np.concatenate(claims)
    size = float(np.sqrt(np.mean(found**2)))
    return float(np.mean(np.abs(found) <= 1.96 * claimed)), float(np.sqrt(np.mean(claimed**2))) / size, size


def differentiated(noise: Array) -> Array:
    """Noise of positions that became an error of accelerations: neighbours have opposite signs."""
    return np.diff(noise, 2, axis=0)[: len(noise) - 8] / np.sqrt(6.0)


def lasting(noise: Array) -> Array:
    """A model error that lasts for some samples."""
    return np.asarray(sum(noise[k : len(noise) - 8 + k] for k in range(4))) / 2.0


def white(noise: Array) -> Array:
    return noise[:-8]
