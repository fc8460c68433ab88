"""The same hidden machine and motion with new noise, again and again: what is claimed against what is true.

Physics takes longer than noise: every hidden machine moves once, and is measured several times.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from pkm_description.arrays import Array
from pkm_identification.compare import compare_with_truth
from pkm_identification.configuration import IdentificationConfig
from pkm_identification.estimator.bodies import bodies_by_name, pseudo_inertia
from pkm_identification.estimator.feasible_problem import feasible_problem
from pkm_identification.pipeline import identify
from pkm_identification.result import INSUFFICIENT, IdentificationResult

from verification.check import Check, at_least, at_most, holds, within
from verification.estimators.base_feasibility import FEASIBLE, base_feasibility
from verification.identification.expectations import SIGMAS
from verification.identification.trial import config_of, sigmas_of
from verification.identification_data.cases import Case
from verification.identification_data.dataset import DataSet, generate

#: measurements of each motion
MEASUREMENTS = 10
#: s, of the validation, which is not looked at: the shortest that can be generated
_UNUSED = 6.1
#: places of the noise of measurements among the streams of a seed
_STREAM = 100
#: standard deviations, half the width of an interval of 95 %
_HALF = 1.959964


@dataclass(frozen=True)
class Delivered:
    """The machine that belongs to the base values of one identification.

    Attributes
    ----------
    least_eigenvalue : of the pseudo-inertias of all bodies as delivered, each of its trace; NaN where none is delivered
    shift : largest change of a base parameter to the bodies as delivered, in its standard deviations
    error, identified_error : root mean square errors of the base values of the bodies as delivered, and of those of
        the fit, in standard deviations of the latter
    is_feasible : whether a machine with exactly the base parameters of the weighted least squares exists
    """

    least_eigenvalue: float
    shift: float
    error: float
    identified_error: float
    is_feasible: bool


@dataclass(frozen=True)
class Repetition:
    """What an identification without held-out data says, and what is true.

    Attributes
    ----------
    is_alarm : whether it says that the model lacks a force
    sigmas, all_sigmas : errors in standard deviations of the values called identified, and of all
    """

    is_alarm: bool
    sigmas: Array
    all_sigmas: Array


def measured(source: str, case: Case | str, seed: int, duration: float, count: int) -> Iterator[DataSet]:
    """Data sets of ``count`` seeds, :data:`MEASUREMENTS` of which have a hidden machine and its motion in common."""
    data: DataSet | None = None
    for number in range(seed, seed + count):
        motion, repetition = divmod(number, MEASUREMENTS)
        if data is None or data.seed != motion:
            data = generate(source, case, motion, (duration, _UNUSED))
        own = data.signals.measure(data.training.run, motion, _STREAM + repetition)
        positions, velocities, efforts = own
        yield replace(
            data, training=replace(data.training, positions=positions, velocities=velocities, efforts=efforts)
        )


def repetition(data: DataSet, settings: dict[str, Any]) -> Repetition:
    """Identify from one recording alone."""
    return _judged(data, _identified(data, settings)[0])


def _identified(data: DataSet, settings: dict[str, Any]) -> tuple[IdentificationResult, IdentificationConfig]:
    config = config_of(data, settings)
    return identify(data.nominal, data.training.recording, None, config), config


def _judged(data: DataSet, result: IdentificationResult) -> Repetition:
    return Repetition(result.status == INSUFFICIENT, *sigmas_of(data, result))


def with_bodies(data: DataSet, settings: dict[str, Any]) -> tuple[Repetition, Delivered]:
    """Identify from one recording alone, and look at the machine that it makes."""
    result, config = _identified(data, settings)
    model, estimate, trust = result.model, result.estimate, config.estimator
    problem = feasible_problem(
        result.base, estimate.parameters, estimate.covariance, model.all_names, model.all_parameters(model.machine),
        platform_uncertainty=trust.platform_uncertainty, leg_uncertainty=trust.leg_uncertainty,
    )  # fmt: skip
    moved, rows = _delivered(result), compare_with_truth(result, data.true_machine)
    errors = np.array([row.standardised_error for row in rows])
    stated = [result.base.names.index(row.name) for row in rows]
    bodies = Delivered(
        _least_eigenvalue(result),
        float(np.abs(moved).max()),
        _size(errors + moved[stated]),
        _size(errors),
        base_feasibility(problem).verdict == FEASIBLE,
    )
    return _judged(data, result), bodies


def _delivered(result: IdentificationResult) -> Array:
    """Changes (B,) of the base values to the bodies as delivered, in standard deviations."""
    change = result.base.values(result.physical.values) - result.estimate.parameters
    return np.asarray(change / result.estimate.std, dtype=float)


def _size(values: ArrayLike) -> float:
    """Root mean square."""
    return float(np.sqrt(np.mean(np.square(values))))


def _least_eigenvalue(result: IdentificationResult) -> float:
    if result.identified_machine is None:
        return float('nan')
    bodies = bodies_by_name(result.model.all_names, result.model.complete(result.physical.values)).values()
    matrices = [pseudo_inertia(parameters) for parameters in bodies if parameters.any()]
    return min(float(np.linalg.eigvalsh(matrix)[0] / np.trace(matrix)) for matrix in matrices)


def repeated_checks(source: str, duration: float, settings: dict[str, Any], seed: int, count: int) -> Iterator[Check]:
    """Intervals that cover the truth, and bodies that can exist, of right models under noise."""
    data_sets = measured(source, 'plain', seed, duration, count)
    found, machines = zip(*(with_bodies(data, settings) for data in data_sets), strict=True)
    name, told = f'coverage-{duration:g}', f'{duration:g} s of data, {count} runs'
    errors = np.concatenate([one.all_sigmas for one in found])
    share = 100.0 * float(np.mean(errors < _HALF))
    yield within(name, f'true values in the intervals of 95 %, {told}, {len(errors)} values', 93.0, 98.0, share, '%')
    finite = bool(np.isfinite(errors).all())
    yield holds(name, 'all errors finite', 'yes', str(finite), finite)
    known = np.concatenate([one.sigmas for one in found])
    beyond = f'{int((known > SIGMAS).sum())} of {len(known)} beyond {SIGMAS:g}'
    text = f'error of values called identified, in their sigmas, {told} ({beyond})'
    yield at_most(name, text, SIGMAS, float(known.max(initial=0.0)))
    yield at_most(name, f'false alarms, {told}', 5.0, 100.0 * sum(one.is_alarm for one in found) / count, '%')
    least = [one.least_eigenvalue for one in machines]
    impossible = sum(not value > 0.0 for value in least)
    text = f'runs without a machine that can exist, {told} (least eigenvalue of a pseudo-inertia {min(least):.2g} of '
    yield at_most('feasible', f'{text}its trace)', 0.0, impossible)
    yield from _shift_checks([one for one in machines if one.is_feasible], told)


def _shift_checks(found: Sequence[Delivered], told: str) -> Iterator[Check]:
    """How far base values move where those of the least squares can exist."""
    before, after = (_size(errors) if errors else float('nan') for errors in (
        [one.identified_error for one in found], [one.error for one in found],
    ))  # fmt: skip
    text = (
        f'base values of the machine from those of the fit, in sigmas, {told}, {len(found)} of them with a feasible '
        f'fit (rms error against the truth from {before:.3g} to {after:.3g})'
    )
    yield at_most('feasible', text, 1.0, max((one.shift for one in found), default=float('nan')))


def alarm_checks(
    source: str, case: str, duration: float, settings: dict[str, Any], seed: int, count: int
) -> Iterator[Check]:
    """How many recordings of a case raise an alarm: of a model that has all forces, and of one that lacks some."""
    # a hidden machine and motion of its own for each: no noise alone
    data = (generate(source, case, number, (duration, _UNUSED)) for number in range(seed, seed + count))
    found = [repetition(one, settings) for one in data]
    share = 100.0 * sum(one.is_alarm for one in found) / count
    if case == 'plain':
        yield at_most('alarm-plain', f'false alarms of {count} runs, {duration:g} s', 5.0, share, '%')
    else:
        yield at_least(f'alarm-{case}', f'alarms of {count} mis-modelled runs, {duration:g} s', 95.0, share, '%')
    worst = max(float(one.sigmas.max(initial=0.0)) for one in found)
    yield at_most(f'alarm-{case}', 'error of values called identified, in their sigmas', SIGMAS, worst)
