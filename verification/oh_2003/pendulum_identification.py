"""Oh (2003), chapter 3: T8, T10 to T12, A11 and A12, on motions of our own starts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from pkm_description.arrays import Array
from pkm_description.machine import Machine
from pkm_estimation.filters.unscented import ScaledUnscentedTransform

from verification.check import Check, at_least, at_most, near_each, within
from verification.oh_2003.pendulum import PendulumMotion
from verification.oh_2003.pendulum_runs import (
    TRUE_PARAMETERS,
    Start,
    batch,
    extended,
    fall,
    known_force,
    least_squares,
    starts,
    unscented,
    with_noise,
)

#: what the thesis quotes of an EKF (Table 3.1, partly legible), kg
QUOTED = np.array([0.68, 0.45, 1.35])

#: variance of the noise with which our EKF finds the lengths; with 0.01, as of the UKF, it ends at masses of zero
EKF_VARIANCE = 100.0


def observable(parameters: Array) -> Array:
    """Per cent by which lengths and ratios m1/M, m2/M are off: what free fall determines."""
    found, true = (np.concatenate([values[:2], values[2:4] / values[4]]) for values in (parameters, TRUE_PARAMETERS))
    return np.asarray(100.0 * (found - true) / true)


def checks(machine: Machine, quick: bool) -> Iterator[Check]:
    """The estimators of chapter 3; quick: 3 s of two starts."""
    weights = ScaledUnscentedTransform(5, 1e-4, 2.0, -2.0, least_alpha=1e-4)
    found = [weights.centre_mean_weight, weights.centre_covariance_weight, weights.weight]
    what = 'weights of centre (mean, covariance) and of the other points, n = 5'
    yield near_each('T8', what, [-166666665.67, -166666662.67, 16666666.67], found, 0.005)

    chosen = [replace(start, duration=3.0) for start in starts()[1:3]] if quick else starts()
    runs = [(start, *fall(start)) for start in chosen]
    filtered = [unscented(motion, forces).parameters for _, motion, forces in runs]
    errors = np.array([observable(parameters) for parameters in filtered])
    text = f'UKF, free fall, {len(chosen)} of 12 starts: l1, l2, m1/M, m2/M, worst'
    yield at_most('T10', text, 1.0, errors, '%')
    yield at_most('A11', text, 1.0, errors, '%')
    scale = np.array([parameters[4] / TRUE_PARAMETERS[4] for parameters in filtered])
    span = f'{scale.min():.2f} to {scale.max():.2f}'
    what = f'scale of the masses, open in free fall: {span} by start (printed 1 +- 0.01): off by'
    yield at_least('T10', what, 0.02, np.abs(scale - 1.0).max())
    yield from _least_squares_checks(runs)
    yield from _quoted_checks(runs)
    yield from _noise_checks(runs, 3)

    motion, forces = fall(Start(starts()[6].state, 1e-3, 1.5 if quick else 2.5), known_force)
    off = 100.0 * (unscented(motion, forces).parameters / TRUE_PARAMETERS - 1.0)
    yield at_most('T11', 'UKF, known force 5 sin(6 t) N, 1 ms: all five parameters, worst', 0.2, off, '%')
    yield at_most('A11', 'UKF, known force: all five parameters, worst', 1.0, off, '%')
    exact = 100.0 * (batch(motion, forces) / TRUE_PARAMETERS - 1.0)
    yield at_most('T11', 'batch least squares, known force: all five parameters, worst', 1e-4, exact, '%')


def _least_squares_checks(runs: list[tuple[Start, PendulumMotion, Array]]) -> Iterator[Check]:
    """T12: steps that single-sample least squares take; it may end in a wrong solution."""
    outcomes = [(start, *least_squares(motion, forces)) for start, motion, forces in runs]
    right = [bool(np.abs(observable(found)).max() < 1.0) for _, found, _ in outcomes]
    steps = [count for (start, _, count), good in zip(outcomes, right, strict=True) if good and start.step == 1e-3]
    text = f'steps of LS at 1 ms where it ends right ({", ".join(str(count) for count in steps)}; printed 1225), median'
    yield within('T12', text, 300.0, 4000.0, float(np.median(steps)))
    yield at_least('T12', 'share of the starts from which LS ends at the right lengths and ratios', 0.5, np.mean(right))


def _noise_checks(runs: list[tuple[Start, PendulumMotion, Array]], seeds: int) -> Iterator[Check]:
    """A17: 1 % of each number as noise in all states (Table 3.2); what free fall leaves open does not count."""
    _, motion, forces = runs[1]
    noisy = [with_noise(motion, 0.01, seed) for seed in range(seeds)]
    ours, squares = (
        float(np.median([np.abs(observable(estimate(one))).max() for one in noisy]))
        for estimate in (lambda one: unscented(one, forces).parameters, lambda one: least_squares(one, forces)[0])
    )
    what = f'free fall, 1 % noise, median of {seeds} seeds: worst error of l1, l2, m1/M, m2/M, UKF over LS'
    yield at_most('A17', what, 1.0, ours / squares, note=f'{ours:.3g} % against {squares:.3g} %')


def _quoted_checks(runs: list[tuple[Start, PendulumMotion, Array]]) -> Iterator[Check]:
    """A12: masses by our EKF from a start of all ones; P_0, R^e and start of the quoted filter are not printed."""
    true = TRUE_PARAMETERS[2:]
    _, motion, forces = runs[-1]
    found = extended(motion, forces, EKF_VARIANCE).parameters
    yield near_each('A12', f'EKF, free fall, R^e {EKF_VARIANCE:g}: masses (quoted), kg', QUOTED, found[2:], 0.02)
    errors = observable(found)
    yield at_most('A12', 'EKF, free fall, R^e 100: l1, l2, m1/M, m2/M, worst', 1.0, errors, '%')
    again = extended(motion, forces, 100.0 * EKF_VARIANCE).parameters
    change = abs(again[4] - found[4]) / true[2]
    yield at_least('A12', 'the same data with R^e 1e4: change of the scale of the masses', 0.02, change)
