"""Time of one sample of the estimators that run sample by sample; linear models of six rows, all judged."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
from pkm_identification.online.estimators import (
    ExtendedParameterFilter,
    RandomWalk,
    RecursiveLeastSquares,
    UnscentedParameterFilter,
)

ROWS, SAMPLES, RUNS = 6, 400, 5


def prior(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviations."""
    return np.zeros(count), np.ones(count)


def unscented(count: int) -> UnscentedParameterFilter:
    """With the noise of Robbins and Monro."""
    return UnscentedParameterFilter(*prior(count), RandomWalk(np.full(count, 1e-6), 0.05))


#: what, parameters, how it is made, s
CASES: tuple[tuple[str, int, Callable[[], Any], float], ...] = (
    ('RLS', 40, lambda: RecursiveLeastSquares(40, 0.999, prior(40)), 0.1e-3),
    ('EKF', 40, lambda: ExtendedParameterFilter(*prior(40), RandomWalk(np.full(40, 1e-6))), 0.1e-3),
    ('UKF', 12, partial(unscented, 12), 0.4e-3),
    ('UKF', 24, partial(unscented, 24), 0.9e-3),
)


def main() -> int:
    """Print all times; 0 if none is above its target."""
    missed = 0
    for name, count, make, target in CASES:
        random = np.random.default_rng(0)
        regressors, forces = random.normal(size=(SAMPLES, ROWS, count)), random.normal(size=(SAMPLES, ROWS))
        medians = []
        for _ in range(RUNS):
            estimator, times = make(), []
            for rows, force in zip(regressors, forces, strict=True):
                start = perf_counter()
                estimator.update(rows, force, np.ones(ROWS))
                times.append(perf_counter() - start)
            medians.append(float(np.median(times)))
        low, high = min(medians) * 1e3, max(medians) * 1e3
        print(f'{name}, {count} parameters, {ROWS} rows: median {low:.3f} to {high:.3f} ms (wanted {target * 1e3:g})')
        missed += low > target * 1e3
    return int(missed > 0)


if __name__ == '__main__':
    sys.exit(main())
