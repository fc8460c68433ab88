"""Mata et al. (2008), M36, M37, M39, M42: errors of predicted forces, each motion from each other, figures like 2 to 4.

Real recordings, of which Table 4 speaks, are not public. The synthetic robot has Stribeck friction, which no model here
has: that is what the fits have to get over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from matplotlib.figure import Figure as Drawing
from pkm_description.arrays import Array
from pkm_description.dynamics.parameter_reduction.reduced_models import MATA_MODELS
from pkm_description.loading import load_machine
from pkm_description.machine import Machine
from pkm_identification.estimator.least_squares import ordinary
from pkm_identification.excitation.plots import excitation_figure
from pkm_identification.judgement.force_error import force_error
from pkm_identification.validation.other_motions import (
    CrossPrediction,
    mean_relative_error,
    relative_absolute_error,
)

from verification.check import Check, at_least, at_most, holds, not_reachable, within
from verification.force_figures import Drawn, curves, drawing_checks
from verification.mata_2008.data import NOISE, excitation, truth_run
from verification.mata_2008.estimation import OTHERS, Model, Run, run_of
from verification.mata_2008.ladder import Ladder

#: exponent of the power law (Eq. 17) that M28 finds
EXPONENT = 1.46

#: part of its speed at which the slow motion plays the excitation
SLOW = 0.5

#: Table 4: errors in % on the slow motion
PRINTED_SLOW = {'linear, LSM': 15.5, 'linear, SQP': 19.2, 'nonlinear, SQP': 18.0}

#: Table 4: error on other motions over that on the own one
PRINTED_RATIOS = {'linear, LSM': (1.35, 1.89), 'linear, SQP': (0.94, 1.27), 'nonlinear, SQP': (0.85, 1.17)}


@dataclass(frozen=True)
class Way:
    """A way of identification: parameters of a run, and the forces that they predict."""

    fit: Callable[[Run], Array]
    predict: Callable[[Array, Run], Array]


def ways(machine: Machine, reference: Run) -> dict[str, Way]:
    """The three ways of Table 4; base parameters are those of one reference run."""
    linear, power = Model(machine), Model(machine, EXPONENT)
    base, _ = linear.base(reference)

    def least_squares(run: Run) -> Array:
        return ordinary(base.columns(linear.columns(run)), run.noisy).parameters

    return {
        'linear, LSM': Way(cache(least_squares), lambda values, run: base.columns(linear.columns(run)) @ values),
        'linear, SQP': Way(cache(linear.fit), lambda values, run: linear.columns(run) @ values),
        'nonlinear, SQP': Way(cache(power.fit), lambda values, run: power.columns(run) @ values),
    }


def checks(machine: Machine, quick: bool) -> Iterator[Check]:
    """Errors of the three ways."""
    seeds = (1, *OTHERS[:2]) if quick else (1, *OTHERS)
    runs = [run_of(machine, seed) for seed in seeds]
    yield from error_checks(runs[0])
    found = ways(machine, runs[0])
    crossed = {
        word: CrossPrediction(np.array([
            [relative_absolute_error(run.noisy, way.predict(way.fit(own), run)) for run in runs] for own in runs
        ]))
        for word, way in found.items()
    }  # fmt: skip
    yield from cross_checks(crossed)
    yield from slow_checks(found, runs[0], run_of(machine, seeds[0], SLOW))


def error_checks(run: Run) -> Iterator[Check]:
    """M36: Eqs. 33 and 34, against sums written out."""
    clean = run.data.efforts
    rough = clean + 30.0 * np.sin(np.arange(len(clean)))[:, None]
    error = relative_absolute_error(run.noisy, rough)
    by_drive = force_error(run.noisy, rough).relative_absolute_of_drives
    rows = [*zip(run.noisy.ravel().tolist(), rough.ravel().tolist(), strict=True)]
    mean = sum(measured for measured, _ in rows) / len(rows)
    written = sum(abs(found - told) for told, found in rows) / sum(abs(told - mean) for told, _ in rows)
    what = 'eps_RA of all drives against Eq. 33 written out, relative'
    yield at_most('M36', what, 1e-12, error / written - 1.0)
    drives = []
    for drive in range(run.noisy.shape[1]):
        told, found = run.noisy[:, drive].tolist(), rough[:, drive].tolist()
        middle = sum(told) / len(told)
        drives.append(
            sum(abs(a - b) for a, b in zip(told, found, strict=True)) / sum(abs(a - middle) for a in told)
        )
    yield at_most('M36', 'eps_RA by drive against it, relative', 1e-12, by_drive / drives - 1.0)
    truth, values = np.array([3272.0, 227.96, 228.04, 483.10]), np.array([3296.73, 1659.0181, -1210.55, 505.03])
    printed = [0.0076, 6.28, 6.31, 0.0454]
    found = [mean_relative_error(values[[place]], truth[[place]]) for place in range(4)]
    yield at_most('M36', 'errors of Table 5 by Eq. 34 against those of its figures', 5e-3, np.array(found) - printed)
    mean_of_four = mean_relative_error(values, truth)
    difference = mean_of_four / np.mean(found) - 1.0
    yield at_most('M36', 'eps_AV of these four against their mean, relative', 1e-12, difference)


def cross_checks(crossed: dict[str, CrossPrediction]) -> Iterator[Check]:
    """M37: the matrix, and how errors on other motions compare with those on the own one."""
    least, linear, power = crossed.values()
    what = 'least squares has the lowest error of the linear fits on its own motion: ratio to the constrained fit'
    yield at_most('M37', what, 1.0, least.own / linear.own)
    other = ~np.eye(len(least.own), dtype=bool)
    lost = [float(np.nanmean(found.ratios)) for found in (least, linear)]
    text = f'{lost[0]:.2f} against {lost[1]:.2f}'
    what = 'order of Table 4: least squares loses more on other motions than the constrained fit'
    yield holds('M37', what, 'larger ratio', text, lost[0] > lost[1])
    what = 'order of Table 4: nonlinear over linear friction, constrained, on other motions'
    yield at_most('M37', what, 1.0, (power.errors / linear.errors)[other])
    for word, found in crossed.items():
        low, high = PRINTED_RATIOS[word]
        what = f'{word}: mean ratio of test to fit, {len(found.own)} motions'
        rows = '; '.join(' '.join(f'{100 * error:.1f}' for error in row) for row in found.errors)
        note = f'eps_RA in %, fitted on (rows) and predicted (columns): {rows}'
        yield within('M37', what, low, high, float(np.nanmean(found.ratios)), note=note)
    yield at_least('M37', 'motions', 3, len(least.own))


def slow_checks(found: dict[str, Way], run: Run, slow: Run) -> Iterator[Check]:
    """M39: a slow motion, where the Stribeck part of friction matters most."""
    errors = {
        word: 100.0 * relative_absolute_error(slow.noisy, way.predict(way.fit(run), slow))
        for word, way in found.items()
    }
    fastest = [float(np.abs(one.data.velocities).max()) for one in (slow, run)]
    shown = ', '.join(f'{word} {error:.1f} %' for word, error in errors.items())
    what = f'slow motion ({fastest[0]:.2f} against {fastest[1]:.2f} m/s)'
    good = errors['nonlinear, SQP'] < errors['linear, SQP']
    yield holds('M39', f'{what}: order of Table 4, constrained', 'nonlinear < linear', shown, good)
    own = relative_absolute_error(run.noisy, found['linear, SQP'].predict(found['linear, SQP'].fit(run), run))
    yield at_least('M39', f'{what}: error over that on the motion of the fit, linear SQP', 1.0,
                   errors['linear, SQP'] / (100.0 * own))  # fmt: skip
    printed = ', '.join(f'{word} {error} %' for word, error in PRINTED_SLOW.items())
    yield not_reachable('M39', f'{what}: printed errors', printed, f'{shown}: neither the motion nor the robot\'s '
                        'friction is printed')  # fmt: skip
    printed = '8.40, 8.43, 8.53, 8.62 % for models 1 to 4'
    yield not_reachable('M38', 'errors with the recordings of the real robot', printed, 'the recordings are not public')


def fitted_forces(path: str) -> Drawing:
    """Measured forces, and those by least squares and by the constrained fit."""
    machine = load_machine(path)
    run = run_of(machine, 1)
    found = ways(machine, run)
    values = {'measured': run.noisy}
    values |= {word: way.predict(way.fit(run), run) for word, way in found.items() if word.startswith('linear')}
    return curves(run.data.time, values, machine.actuated_joint_names, 'N', ['measured'])


def predicted_forces(path: str) -> Drawing:
    """Model 4 found on one excitation, and the forces of another."""
    machine = load_machine(path)
    ladder, noisy = Ladder(machine), truth_run(path).with_noise(NOISE, 1)
    fit = ladder.fit(MATA_MODELS[3], noisy, truth_run(path))
    other = run_of(machine, 11)
    _, _, rows = ladder.rows(MATA_MODELS[3], other.data)
    values = {'measured': other.noisy, 'model 4': rows @ fit.estimate.parameters}
    return curves(other.data.time, values, machine.actuated_joint_names, 'N', ['measured'])


DRAWINGS = (
    Drawn(2, 'an excitation of 11 harmonics', lambda path: excitation_figure(excitation(path)), (3, 3, 3, 3, 0)),
    Drawn(3, 'synthetic forces, and those of both linear fits', fitted_forces, (3, 3, 3)),
    Drawn(4, 'forces of a motion that the fit did not use', predicted_forces, (2, 2, 2)),
)


def figure_checks(machine: Machine, quick: bool) -> Iterator[Check]:
    """Every figure has the curves of the paper's."""
    yield from drawing_checks('M42', DRAWINGS, str(machine.path))
