"""Rows of a motion, and errors of forces that are correlated in time."""

from __future__ import annotations

import numpy as np
from pkm_description.arrays import Array

LEGS, PARAMETERS = 6, 12


def slow_rows(generator: np.random.Generator, samples: int) -> Array:
    """Columns (samples, 6, 12) that change over a tenth of the time and more, as a motion's do."""
    time = np.linspace(0.0, 2.0 * np.pi, samples)
    waves = np.stack([wave(order * time) for order in range(1, 6) for wave in (np.sin, np.cos)], axis=1)
    return np.einsum('nw,wlb->nlb', waves, generator.normal(size=(waves.shape[1], LEGS, PARAMETERS)))


def differentiated(noise: Array) -> Array:
    """Noise of positions that became an error of accelerations: neighbours have opposite signs."""
    return np.diff(noise, 2, axis=0)[: len(noise) - 8] / np.sqrt(6.0)


def lasting(noise: Array) -> Array:
    """A model error that lasts for some samples."""
    return np.asarray(sum(noise[k : len(noise) - 8 + k] for k in range(4))) / 2.0


def white(noise: Array) -> Array:
    return noise[:-8]
