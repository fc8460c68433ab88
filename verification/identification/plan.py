"""Which cases, machines and seeds are identified, and what must come out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter

import numpy as np
from pkm_description.dynamics import inverse_dynamics
from pkm_description.kinematics.workspace import random_states
from pkm_description.loading import load_machine
from pkm_description.machine.machine import with_joints
from pkm_identification.columns.observation import ObservationModel
from pkm_identification.excitation.design import design_excitation
from pkm_identification.excitation.objective import ExcitationSettings

from verification.check import Check, at_least, at_most
from verification.identification.diagnosis import diagnosis_checks
from verification.identification.expectations import (
    EXPECTATIONS,
    MIS_MODELLED,
    NOISE_FLOORS,
    PEER_RATIO,
    SIGMAS,
    Expectation,
)
from verification.identification.online import alarm_checks as online_alarm_checks
from verification.identification.online import lack_checks, load_checks
from verification.identification.online_consistency import batch_checks, consistency_checks
from verification.identification.repetitions import alarm_checks, repeated_checks
from verification.identification.trial import Outcome, run_trial
from verification.identification_data.dataset import DURATIONS, MOTIONS, generate
from verification.suite import Part, Plan, Request, Workers

#: on which figures are asked for case by case, and others
HEXAPOD, OTHERS = 'srs', ('valencia_3rps', 'khalifa_3prr', 'palida')
#: what ``sections`` may name; diagnosis, alarms and coverage take long: ask for them alone
SECTIONS = (
    'cases', 'machines', 'diagnosis', 'alarms', 'coverage', 'excitation', 'rotors', 'online', 'online_consistency',
)  # fmt: skip
#: s, of the recordings of alarms, and of coverage
ALARM_DURATION, COVERAGE_DURATIONS = 12.0, (5.0, 12.0)
#: machine with drives whose rotors count
WITH_ROTORS = 'palida'
#: on whose platforms loads are put while they move, in which cases
LOADED, LOADED_CASES = ('srs', 'palida', 'hexaglide_6pus'), ('plain', 'bias_ripple')
#: motions with a load: the second one is asked for on the first machine only, it hardly turns the platform
LOADED_MOTIONS = ('fourier', 'mp1')
#: whose estimates, sample by sample, are compared with the batch and with what they claim
CONSISTENT = ('srs', 'palida', 'hexaglide_6pus', 'valencia_3rps', 'khalifa_3prr', 'delta')
#: whose recordings are diagnosed
DIAGNOSED = ('srs', 'palida', 'hexaglide_6pus', 'valencia_3rps', 'khalifa_3prr', 'delta')

#: random series that a design is compared with
RANDOM = 500
#: optimisations, in as many processes as the issue's computer has
_STARTS, _PROCESSES = 4, 2
#: kg or kg m^2, of every drive
ROTOR = 2.0


@dataclass(frozen=True)
class Extent:
    """How much is run.

    Attributes
    ----------
    sections : of :data:`SECTIONS`
    cases : of :data:`EXPECTATIONS`, with the product's settings and without what they lack (alarms)
    seed : the first one
    seeds : of each case and machine
    diagnosis_seeds, alarm_seeds, coverage_seeds, online_seeds : of the sections of these names
    online_duration : s, in which false alarms are counted
    nees_seeds : over which errors are compared with the covariance that is stated
    """

    sections: tuple[str, ...] = ('cases', 'machines')
    cases: tuple[str, ...] = tuple(EXPECTATIONS)
    seed: int = 0
    seeds: int = 3
    diagnosis_seeds: int = 10
    alarm_seeds: int = 50
    coverage_seeds: int = 200
    online_seeds: int = 3
    online_duration: float = 600.0
    nees_seeds: int = 50

    def __post_init__(self) -> None:
        for key, known in (('sections', SECTIONS), ('cases', tuple(EXPECTATIONS))):
            unknown = [name for name in getattr(self, key) if name not in known]
            if unknown or not getattr(self, key):
                raise ValueError(f'{key} = {",".join(getattr(self, key))}: must be some of {",".join(known)}')
        repeated = (
            self.seeds, self.diagnosis_seeds, self.alarm_seeds, self.coverage_seeds, self.online_seeds, self.nees_seeds,
        )  # fmt: skip
        if min(repeated) < 1 or self.seed < 0:
            raise ValueError('seeds must be at least 1, the first seed at least 0')


FULL = Extent()
QUICK = Extent(
    seeds=1, diagnosis_seeds=1, alarm_seeds=2, coverage_seeds=10, online_seeds=1, online_duration=60.0, nees_seeds=3,
)


def plan(request: Request, workers: Workers) -> Plan:
    """Make a part of every machine and case."""
    extent: Extent = request.settings
    parts: dict[str, Callable[[], list[Part]]] = {
        'cases': lambda: [
            Part(f'{case}, seeds from {extent.seed}', partial(case_checks, case, extent), HEXAPOD)
            for case in extent.cases
        ],
        'machines': lambda: [
            _machine_part(name, extent) for name in request.machines or OTHERS
        ],
        'diagnosis': lambda: [
            Part(f'{name}, diagnosis', partial(diagnosis_checks, name, extent.seed, extent.diagnosis_seeds), name)
            for name in request.machines or DIAGNOSED
        ],
        'alarms': lambda: [
            Part(f'alarms, {case}', partial(_alarm_checks, case, extent), HEXAPOD)
            for case in ('plain', *MIS_MODELLED) if case in extent.cases
        ],
        'coverage': lambda: [
            Part(f'coverage, {duration:g} s', partial(_coverage_checks, duration, extent), HEXAPOD)
            for duration in COVERAGE_DURATIONS
        ],
        'excitation': lambda: [Part('design of an excitation', partial(design_checks, HEXAPOD, extent.seed), HEXAPOD)],
        'rotors': lambda: [Part('rotors', partial(rotor_checks, WITH_ROTORS), WITH_ROTORS)],
        'online': lambda: _online_parts(request.machines or LOADED, extent),
        'online_consistency': lambda: [
            Part(f'{name}, sample by sample', partial(_sample_by_sample_checks, name, extent), name)
            for name in request.machines or CONSISTENT
        ],
    }
    return Plan(tuple(part for section in extent.sections for part in parts[section]()))


def _online_parts(machines: tuple[str, ...], extent: Extent) -> list[Part]:
    seeds, parts = range(extent.seed, extent.seed + extent.online_seeds), []
    for name in machines:
        for case in LOADED_CASES:
            for motion in LOADED_MOTIONS[: 2 if name == HEXAPOD else 1]:
                title = f'{name}, a load, {case}, {motion}'
                parts.append(Part(title, partial(load_checks, name, case, motion, seeds), name))
            alarms = partial(online_alarm_checks, name, case, extent.seed, extent.online_duration)
            parts.append(Part(f'{name}, false alarms and drift, {case}', alarms, name))
        parts.append(Part(f'{name}, a force that is missing', partial(lack_checks, name, seeds), name))
    return parts


def _sample_by_sample_checks(source: str, extent: Extent) -> Iterator[Check]:
    yield from batch_checks(source, extent.seed)
    yield from consistency_checks(source, range(extent.seed, extent.seed + extent.nees_seeds))


def _machine_part(source: str, extent: Extent) -> Part:
    name = load_machine(source).name
    return Part(f'{name}, against the noise floor', partial(machine_checks, source, extent), name)


def case_checks(case: str, extent: Extent) -> Iterator[Check]:
    """Force error, friction, honesty, and the textbook's pipeline, worst of all seeds."""
    expected = EXPECTATIONS[case]
    outcomes = []
    for seed in range(extent.seed, extent.seed + extent.seeds):
        data = generate(
            HEXAPOD, case, seed, (expected.duration, DURATIONS[1]), motions=MOTIONS[expected.motion]
        )
        outcomes.append(run_trial(data, expected.settings, with_peer=True))
    yield from judged(case, expected, outcomes)


def judged(case: str, expected: Expectation, outcomes: list[Outcome]) -> Iterator[Check]:
    """Checks of one case from its outcomes."""
    yield _force_check(case, expected, outcomes)
    if expected.coulomb:
        errors = 100.0 * np.array([one.coulomb for one in outcomes])
        yield at_most(f'{case}-coulomb', 'Coulomb friction', 100.0 * expected.coulomb, errors, '%')
    if expected.stribeck_velocity:
        errors = 100.0 * np.array([one.stribeck_velocity for one in outcomes])
        yield at_most(f'{case}-stribeck', 'Stribeck velocity', 100.0 * expected.stribeck_velocity, errors, '%')
    yield honest(case, outcomes)
    ratios = np.array([one.peer / one.compared for one in outcomes])
    peers = ', '.join(f'{100.0 * one.peer:.2g} % : {100.0 * one.compared:.2g} %' for one in outcomes)
    yield at_least(f'{case}-peer', f'force error of a Pinocchio pipeline to ours ({peers})', PEER_RATIO, ratios)


def _force_check(case: str, expected: Expectation, outcomes: list[Outcome]) -> Check:
    """Held-out force error, and beside it what noise of the held-out recording alone makes."""
    held_out = 100.0 * max(one.held_out for one in outcomes)
    floor = 100.0 * max(one.noise_floor for one in outcomes)
    noise_free = 100.0 * max(one.compared for one in outcomes)
    limit = 100.0 * expected.held_out
    told = f'noise alone {floor:.2g} %; noise-free forces: {noise_free:.2g} %'
    what = f'held-out force error, {len(outcomes)} seeds'
    return at_most(f'{case}-force', what, limit, held_out, '%', f'{told}; {_statuses(outcomes)}')


def honest(case: str, outcomes: list[Outcome]) -> Check:
    """No value called identified is wrong, or none is called so."""
    worst = max(one.worst for one in outcomes)
    count = sum(len(one.sigmas) for one in outcomes)
    return at_most(f'{case}-honest', f'error of {count} values called identified, in their sigmas', SIGMAS, worst)


def _statuses(outcomes: list[Outcome]) -> str:
    names = [one.status for one in outcomes]
    return ', '.join(f'{names.count(name)} {name}' for name in dict.fromkeys(names))


def machine_checks(source: str, extent: Extent) -> Iterator[Check]:
    """The same settings on another machine: down to the noise."""
    seeds = range(extent.seed, extent.seed + extent.seeds)
    outcomes = [run_trial(generate(source, 'plain', seed), EXPECTATIONS['plain'].settings) for seed in seeds]
    floors = [one.held_out / one.noise_floor for one in outcomes]
    worst = 100.0 * max(one.held_out for one in outcomes)
    what = f'held-out force error (at most {worst:.2g} %) to what noise alone makes ({_statuses(outcomes)})'
    yield at_most('machine-force', what, NOISE_FLOORS, floors)
    yield honest('machine', outcomes)


def _alarm_checks(case: str, extent: Extent) -> Iterator[Check]:
    """Viscous and Coulomb friction only: too little for all cases but the plain one."""
    # a model that may grow is not mis-modelled for long
    settings = EXPECTATIONS['plain'].settings | ({} if case == 'plain' else {'columns.extend': False})
    yield from alarm_checks(HEXAPOD, case, ALARM_DURATION, settings, extent.seed, extent.alarm_seeds)


def _coverage_checks(duration: float, extent: Extent) -> Iterator[Check]:
    """How many true values lie in the intervals of 95 %, and whether the bodies can exist."""
    settings = EXPECTATIONS['plain'].settings
    yield from repeated_checks(HEXAPOD, duration, settings, extent.seed, extent.coverage_seeds)


def design_checks(source: str, seed: int) -> Iterator[Check]:
    """Condition number of a design against the best of random series within the same limits."""
    settings = ExcitationSettings(starts=_STARTS, draws=RANDOM // _STARTS, seed=seed)
    begin = perf_counter()
    found = design_excitation(load_machine(source), settings, workers=_PROCESSES)
    seconds = perf_counter() - begin
    gain = 100.0 * (1.0 - found.objective / found.random_objective)
    text = (
        f'{found.settings.objective} {found.objective:.4g} below the best of {found.random_count} random series, '
        f'{found.random_objective:.4g}'
    )
    yield at_least('excitation', text, 45.0, gain, '%')
    yield at_most('excitation', f'time of that with {_PROCESSES} processes', 60.0, seconds, 's')


def rotor_checks(source: str) -> Iterator[Check]:
    """Observation matrix times parameters against inverse dynamics, with heavy rotors: known, and identified."""
    plain = load_machine(source)
    machine = with_joints(plain, lambda one: replace(one, rotor_inertia=ROTOR) if one.actuated else one)
    motion = random_states(machine, 200, seed=5)
    expected = inverse_dynamics(machine, motion)
    moved = float(np.abs(expected - inverse_dynamics(plain, motion)).max())
    model = ObservationModel(machine)
    matrix, known = model.regressor(motion)
    error = float(np.abs(matrix @ model.parameters(machine) + known - expected).max() / np.abs(expected).max())
    what = f'rotors of {ROTOR:g} (forces of up to {moved:.3g}): observation matrix, relative'
    yield at_most('rotors', what, 1e-9, error)
