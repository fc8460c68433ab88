"""Wrong formulas, filters and machines that the checks must catch: ``./pkm verify --mutants``.

A check that cannot fail is no evidence. Each mutant spoils one function (a wrong sign, a factor, a filter that does
nothing) or one number of a machine, runs the checks that judge it, and names those that must then not be met.
"""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import chain
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
from pkm_description.arrays import Array
from pkm_description.dynamics.parameter_reduction.reduced_models import MATA_MODELS
from pkm_description.loading import load_machine
from pkm_description.machine import Joint, Machine, PlatformMotion, RigidBody
from pkm_description.machine.machine import with_gravity
from pkm_estimation.stream import EstimatorConfig

from verification.accepted import with_acceptance
from verification.catalogue import GROUPS
from verification.check import Check, holds
from verification.consistency import (
    cause_checks,
    delay_checks,
    everything_wrong,
    imu_failure_checks,
    leg_fault_checks,
    sweep,
)
from verification.consistency.monte_carlo import consistency_checks
from verification.consistency.scenarios import scenario_of
from verification.engines import random_checks
from verification.heimann_abdellatif import measurement
from verification.mata_2008 import estimation, ladder, machine_data
from verification.mata_2008.data import NOISE, truth_run
from verification.miletovic_2017.pipeline_run import Laboratory
from verification.miletovic_2017.rows import ROWS
from verification.miletovic_2017.scenario import machine_named
from verification.oh_2003 import identification_checks
from verification.oh_2003.parameters import oh_model
from verification.oh_2003.staged import Experiment, Stage
from verification.rosyid_2020 import comparison, figures, recording, searches
from verification.rosyid_2020.table import geometry_of


def _as_it_is(value: Any) -> Any:
    return value


@dataclass(frozen=True)
class Mutant:
    """Something wrong, and what must catch it.

    Attributes
    ----------
    suite : whose checks they are
    what : is wrong, in words
    machine : that is judged
    checks : of the machine
    caught_by : ids of checks of which one each must not be met
    place : of what is replaced, ``module:name`` or ``module:Class.name``; empty: nothing
    change : makes what stands there instead
    spoil : makes the machine that is judged
    is_long : takes more than some seconds
    """

    suite: str
    what: str
    machine: str
    checks: Callable[[Machine], Iterable[Check]]
    caught_by: tuple[str, ...]
    place: str = ''
    change: Callable[[Any], Any] = _as_it_is
    spoil: Callable[[Machine], Machine] = _as_it_is
    is_long: bool = False

    def judged(self) -> Check:
        """Whether the checks that must catch it do, and hold without it; the others need not run to their end."""
        # first, so that what checks keep of the right code is right
        anyway = _failed_as_it_is(self.checks, self.machine)
        machine, caught = self.spoil(load_machine(self.machine)), dict[str, str]()
        with self._changed():
            for id, what in _failed(self.checks, machine):
                if id in self.caught_by and (id, what) not in anyway:
                    caught.setdefault(id, what)
                if len(caught) == len(self.caught_by):
                    break
        missing = sorted(set(self.caught_by) - caught.keys())
        text = '; '.join(f'{id}: {what}' for id, what in caught.items())
        return holds(
            'mutant', f'{self.machine}: {self.what}', f'not met: {", ".join(self.caught_by)}',
            f'not caught by {", ".join(missing)}' if missing else text, not missing,
        )  # fmt: skip

    def _changed(self) -> AbstractContextManager[object]:
        """What stands at the place is another."""
        if not self.place:
            return nullcontext()
        module, _, path = self.place.partition(':')
        *owners, name = path.split('.')
        owner = importlib.import_module(module)
        for one in owners:
            owner = getattr(owner, one)
        return mock.patch.object(owner, name, self.change(getattr(owner, name)))


def _failed(checks: Callable[[Machine], Iterable[Check]], machine: Machine) -> Iterator[tuple[str, str]]:
    """Id and quantity of the checks that fail, one after the other, up to an error."""
    with suppress(Exception):
        for check in checks(machine):
            yield from ((one.id, one.what) for one in with_acceptance([check], quick=True) if one.failed)


@cache
def _failed_as_it_is(checks: Callable[[Machine], Iterable[Check]], machine: str) -> frozenset[tuple[str, str]]:
    return frozenset(_failed(checks, load_machine(machine)))


def mutant_checks(suites: Sequence[str]) -> Iterator[Check]:
    """Judge the mutants of some suites, one after the other."""
    return (mutant.judged() for mutant in MUTANTS if mutant.suite in suites)


# -- which checks ------------------------------------------------------------------------------------------------------


@cache
def _group(suite: str, *sources: str) -> Callable[[Machine], Iterator[Check]]:
    """Groups of the catalogue whose source begins like this."""

    def checks(machine: Machine) -> Iterator[Check]:
        for group in GROUPS[suite]:
            if group.source.startswith(sources) and group.applies(machine):
                yield from group.checks(machine, True)

    return checks


@cache
def _rows(*ids: str) -> Callable[[Machine], Iterator[Check]]:
    """Rows of Miletovic et al., with one seed and short runs."""

    def checks(machine: Machine) -> Iterator[Check]:
        lab = Laboratory(quick=True)
        lab.seeds, lab.duration, lab.settling = range(1, 2), 12.0, 5.0
        return chain.from_iterable(checks(lab) for measured, checks in ROWS.items() if set(ids) & set(measured))

    return checks


def _friction(machine: Machine) -> Iterator[Check]:
    yield from identification_checks.friction_checks(machine, oh_model(machine))


def _ladder(machine: Machine) -> Iterator[Check]:
    steps, clean = ladder.Ladder(machine), truth_run(str(machine.path))
    fit = steps.fit(MATA_MODELS[0], clean.with_noise(replace(NOISE, efforts=ladder.FORCE_NOISE), 0), clean)
    yield from ladder.verdict_checks(steps, fit)
    yield from ladder.collinear_checks(fit)


@cache
def _recorded(path: str) -> PlatformMotion:
    """A motion of the right code, also where what judges it is spoiled afterwards."""
    return measurement.periodic_motion(load_machine(path), 1)


def _periodic(machine: Machine) -> Iterator[Check]:
    motion = _recorded(str(machine.path))
    yield from measurement.filter_checks(machine, motion)
    yield from measurement.pose_checks(machine, motion)


def _problem(machine: Machine) -> Iterator[Check]:
    yield from searches.problem_checks(searches.measured(str(machine.path)).fit(searches.FRICTION_LIMITS))


def _searches(machine: Machine) -> Iterator[Check]:
    data = searches.measured(str(machine.path))
    yield from searches.search_checks(geometry_of(machine), data, data.fit(searches.FRICTION_LIMITS), True)


def _models(machine: Machine) -> Iterator[Check]:
    found = comparison.outcomes(str(machine.path))
    yield from comparison.model_checks(found)
    yield from comparison.circle_checks(machine, found)


def _signals(machine: Machine) -> Iterator[Check]:
    yield from recording.signal_checks(machine, str(machine.path))


def _random(machine: Machine) -> Iterator[Check]:
    yield from random_checks.checks(4)


def _claims(machine: Machine) -> Iterator[Check]:
    yield from consistency_checks(scenario_of(machine, 'MP1', 10.0, 4.0, 24.0), 6)


def _sweep(machine: Machine) -> Iterator[Check]:
    yield from sweep.sweep_checks(machine.name, 1.0, 100.0, 5, 4.0)


def _delay(machine: Machine) -> Iterator[Check]:
    yield from delay_checks.delay_checks('srs, MP1', 1, 14.0, (0.03,))


def _leg(machine: Machine) -> Iterator[Check]:
    yield from leg_fault_checks.leg_fault_checks(machine, 1, 0.5, leg_fault_checks.CASES[:1])


def _imu(machine: Machine) -> Iterator[Check]:
    yield from imu_failure_checks.imu_failure_checks('srs, MP1', 1, ('in_g',))


def _late(machine: Machine) -> Iterator[Check]:
    late = next(case for case in cause_checks.CASES if case.title == 'IMU 10 ms late')
    yield from cause_checks.cause_checks(machine.name, replace(late, duration=9.0), 1)


def _wrong(machine: Machine) -> Iterator[Check]:
    yield from everything_wrong.everything_wrong_checks('srs, MP1', 1, 15.0)


# -- what is wrong -----------------------------------------------------------------------------------------------------


def _scaled(factor: float, *names: str) -> Callable[[Any], Any]:
    """A function whose result, or some fields of it, are off by a factor; -1 is the wrong sign."""

    def change(right: Callable[..., Any]) -> Callable[..., Any]:
        def wrong(*arguments: Any, **options: Any) -> Any:
            result = right(*arguments, **options)
            if not names:
                return factor * result
            return replace(result, **{name: factor * getattr(result, name) for name in names})

        return wrong

    return change


def _instead(value: Any) -> Callable[[Any], Any]:
    return lambda right: value


def _believes(**fields: float) -> Callable[[Any], Any]:
    """A filter with other settings."""
    return lambda right: lambda one: right(replace(one, config=replace(one.config, **fields)))


def _believing(**fields: Any) -> Callable[[Any], Any]:
    """A filter of a machine with other settings."""
    return lambda right: lambda machine, config: right(machine, replace(config, **fields))


def _misled(right: Callable[..., Any]) -> Callable[..., Any]:
    """A filter that believes a joint elsewhere than where it is simulated."""

    def wrong(one: Any) -> Any:
        moved = _point_moved(1e-3, 2)(machine_named('centred'))
        with mock.patch('verification.miletovic_2017.scenario.machine_named', return_value=moved):
            return right(one)

    return wrong


def _rests(data: Experiment, start: Array, std: Array, estimated: Sequence[int], samples: int | None = None) -> Stage:
    return Stage(start, float(np.sqrt(np.mean((data.forces - data.regressors @ start) ** 2))), ())


def _swapped(right: Callable[[str], dict[str, Any]]) -> Callable[[str], dict[str, Any]]:
    def wrong(path: str) -> dict[str, Any]:
        found = right(path)
        first, second = comparison.BEST, 'Stribeck, constant'
        return found | {first: found[second], second: found[first]}

    return wrong


def _careless(right: Callable[..., Any]) -> Callable[..., Any]:
    """A search that steps over the bounds of the fit that is watched."""

    def wrong(fit: Any, *arguments: Any, **settings: Any) -> Any:
        wide = fit if settings.get('scaled_mesh', True) else replace(fit, lower=fit.lower - 1.0)
        return right(wide, *arguments, **settings)

    return wrong


def _of_forces_alone(right: Callable[..., Any]) -> Callable[..., Any]:
    return lambda values, *rest: values if values.ndim == 3 else right(values, *rest)


def _unfit(right: Callable[..., Any]) -> Callable[..., Any]:
    """An engine that returns a negative friction."""

    def wrong(problem: Any, *arguments: Any, **settings: Any) -> Any:
        found = right(problem, *arguments, **settings)
        return replace(found, values=np.append(found.values[:-1], -1.0))

    return wrong


def _unconstrained(model: estimation.Model, run: estimation.Run) -> Array:
    base, rows = model.base(run)
    found = np.zeros(len(model.names))
    found[base.independent] = estimation.ordinary(rows, run.noisy).parameters
    found[[name.endswith('.m') for name in model.names]] = 1.0
    return found


def _point_moved(shift: float, leg: int = 0) -> Callable[[Machine], Machine]:
    def spoil(machine: Machine) -> Machine:
        one = machine.legs[leg]
        moved = one.with_end(other_point=one.platform_point + np.array([shift, 0.0, 0.0]))
        return replace(machine, legs=(*machine.legs[:leg], moved, *machine.legs[leg + 1 :]))

    return spoil


def _tip_moved(machine: Machine) -> Machine:
    leg = machine.legs[0].with_end(point=machine.legs[0].tip + np.array([1e-6, 0.0, 0.0]))
    return replace(machine, legs=(leg, *machine.legs[1:]))


def _platform(factor: float) -> Callable[[Machine], Machine]:
    return lambda machine: replace(machine, platform=replace(machine.platform, mass=factor * machine.platform.mass))


def _joint(leg: int, place: int, change: Callable[[Joint], Joint]) -> Callable[[Machine], Machine]:
    def spoil(machine: Machine) -> Machine:
        joints = tuple(change(one) if at == place else one for at, one in enumerate(machine.legs[leg].joints))
        legs = list(machine.legs)
        legs[leg] = replace(legs[leg], joints=joints)
        return replace(machine, legs=tuple(legs))

    return spoil


def _heavier(body: RigidBody) -> RigidBody:
    return replace(body, mass=body.mass + 0.01)


def _rougher(joint: Joint) -> Joint:
    law = replace(joint.friction.law, coulomb_coefficient=0.1450)  # type: ignore[call-arg]
    return replace(joint, friction=replace(joint.friction, law=law))


_FILTER = 'verification.consistency.monte_carlo:make_filter'
_NOTHING_TESTED = EstimatorConfig(baseline=False, history=0.1)
_ENGINES = _group('engines', 'independent engines, motion')
_SLIGHT = 1.0 + 1e-5
_LAWS, _KANE = _group('mechanics', 'laws'), _group('oh_2003', 'chapter 2', 'golden points')
_CAMPAIGN, _STAGES = _group('oh_2003', 'chapter 4'), _group('oh_2003', 'chapter 5')
_TABLE, _PLANAR = _group('mata_2008', 'the paper'), _group('rosyid_2020', 'the paper')


def _of_wrong_mass(factor: float) -> Callable[[Any], Any]:
    return lambda right: lambda machine, *rest: right(_platform(factor)(machine), *rest)


def _tilted(right: Callable[..., Any]) -> Callable[..., Any]:
    def wrong(machine: Machine, *rest: Any, **options: Any) -> Any:
        return right(with_gravity(machine, machine.gravity + np.array([1e-5, 0.0, 0.0])), *rest, **options)

    return wrong


MUTANTS = (
    Mutant('mechanics', 'inverse dynamics off by 1e-5', 'uf', _LAWS,
           ('regressor', 'terms', 'forward', 'statics', 'power'), 'verification.mechanics.checks:inverse_dynamics',
           _scaled(_SLIGHT)),
    Mutant('mechanics', 'kinetic energy off by 1e-5', 'uf', _LAWS, ('energy', 'power'),
           'verification.mechanics.checks:kinetic_energy', _scaled(_SLIGHT)),
    Mutant('mechanics', 'joint rates off by 1e-5', 'uf', _LAWS, ('jacobian', 'power'),
           'verification.mechanics.checks:joint_motion', _scaled(_SLIGHT, 'velocities')),
    Mutant('mechanics', 'reactions off by 1e-5', 'uf', _LAWS, ('reactions',),
           'verification.mechanics.momentum:joint_reactions',
           _scaled(_SLIGHT, 'closure_forces', 'joint_forces', 'drive_forces')),
    Mutant('engines', 'a platform heavier by 1e-6 in the engine', 'khalifa_3prr', _ENGINES, ('Pinocchio',),
           'verification.engines.checks:pinocchio_result', _of_wrong_mass(1.0 + 1e-6)),
    Mutant('engines', 'a platform heavier by 1e-6 beside random machines', 'uf', _random, ('random',),
           'verification.engines.random_checks:pinocchio_result', _of_wrong_mass(1.0 + 1e-6)),
    Mutant('engines', 'gravity of the models turned by 1e-6', 'valencia_3rps',
           _group('engines', 'independent engines, models'), ('Pinocchio',),
           'verification.engines.model_checks:inverse_dynamics', _tilted),
    Mutant('engines', 'a platform heavier by 1 % in the SDF', 'valencia_3rps',
           _group('engines', 'independent engines, sim'), ('DART',), 'verification.engines.dart:sdf_text',
           _of_wrong_mass(1.01), is_long=True),
    Mutant('oh_2003', 'a platform heavier by 1 %', 'uf', _KANE, ('T3', 'T5'), spoil=_platform(1.01)),
    Mutant('oh_2003', 'a joint 0.1 mm away', 'uf', _KANE, ('T2', 'T3'), spoil=_point_moved(1e-4)),
    Mutant('oh_2003', 'regressor off by 1e-5', 'uf', _group('oh_2003', 'the library'), ('T3',),
           'verification.oh_2003.library:rigid_body_regressor', _scaled(_SLIGHT)),
    Mutant('oh_2003', 'strut forces off by 1e-5', 'uf', _KANE, ('T3', 'T4'), 'verification.oh_2003.checks:strut_forces',
           _scaled(_SLIGHT)),
    Mutant('oh_2003', 'a longer pendulum', 'double_pendulum', _group('oh_2003', 'chapter 3'), ('T9',),
           spoil=_joint(0, 2, lambda joint: replace(joint, translation=1.01 * joint.translation))),
    Mutant('oh_2003', 'forces 1 % too large', 'uf', _CAMPAIGN, ('A1', 'A2', 'A3', 'A4', 'A5', 'A6'),
           'verification.oh_2003.identification_checks:force_samples', _scaled(1.01, 'measured')),
    Mutant('oh_2003', 'no direction counts as open', 'uf', _CAMPAIGN, ('A4', 'A16'),
           'verification.oh_2003.campaign:unobserved_directions', _instead(lambda *_: ())),
    Mutant('oh_2003', 'friction of the wrong sign', 'uf', _friction, ('A7',),
           'pkm_description.friction_laws.laws:DeadBand.force', _scaled(-1.0)),
    Mutant('oh_2003', 'friction twice as large', 'uf', _friction, ('A7',),
           'pkm_description.friction_laws.laws:DeadBand.force', _scaled(2.0)),
    Mutant('oh_2003', 'an extended filter that does nothing', 'double_pendulum', _group('oh_2003', 'estimators of'),
           ('A12',), 'pkm_identification.online.estimators:ExtendedParameterFilter.update',
           _instead(lambda *_: None), is_long=True),
    Mutant('oh_2003', 'an estimator that does nothing', 'uf', _STAGES, ('A15',),
           'verification.oh_2003.staged:run_stage', _instead(_rests)),
    Mutant('mata_2008', 'a joint 10 um away', 'valencia_3rps', _TABLE, ('M1', 'M2', 'M3', 'M11'),
           spoil=_point_moved(1e-5)),
    Mutant('mata_2008', 'a heavier rod', 'valencia_3rps', _TABLE, ('M14',),
           spoil=_joint(1, 1, lambda joint: replace(joint, body=_heavier(joint.body)))),
    Mutant('mata_2008', 'the vector between frames points from k to i', 'valencia_3rps', _TABLE, ('M2', 'M4'),
           'verification.mata_2008.regressor:_cross', _scaled(-1.0)),
    Mutant('mata_2008', 'all signs are feasible', 'valencia_3rps', _ladder, ('M30',),
           'verification.mata_2008.ladder:possible_signs', _instead(lambda base: np.zeros(len(base)))),
    Mutant('mata_2008', 'standard deviations twice as large', 'valencia_3rps', _ladder, ('M30',),
           'verification.mata_2008.ladder:ordinary', _scaled(4.0, 'covariance')),
    Mutant('mata_2008', 'no warning of collinear columns', 'valencia_3rps', _ladder, ('M35',),
           'verification.mata_2008.ladder:aliases_of', _instead(lambda rows, names, chosen: ())),
    Mutant('mata_2008', 'a simulator that takes any machine', 'valencia_3rps', machine_data.refusal_checks, ('M40',),
           'verification.mata_2008.machine_data:simulate', _instead(lambda *_: None)),
    Mutant('rosyid_2020', 'a rod longer by 1 um', 'khalifa_3prr', _PLANAR, ('R2-01',), spoil=_tip_moved),
    Mutant('rosyid_2020', 'a heavier rod', 'khalifa_3prr', _PLANAR, ('R2-05',),
           spoil=_joint(1, 1, lambda joint: replace(joint, body=_heavier(joint.body)))),
    Mutant('rosyid_2020', 'friction of another guide', 'khalifa_3prr', _PLANAR, ('R2-12',),
           spoil=_joint(2, 0, _rougher)),
    Mutant('rosyid_2020', 'forces of velocity are lost', 'khalifa_3prr', _PLANAR, ('R2-07', 'R2-08', 'R2-12'),
           'verification.rosyid_2020.dynamics:PlanarDynamics.other_forces',
           lambda right: lambda self, q, velocity: right(self, q, np.zeros_like(velocity))),
    Mutant('rosyid_2020', 'a parameter of friction that is a body\'s', 'khalifa_3prr', _problem, ('R2-31',),
           'verification.rosyid_2020.data:NAMES', lambda names: (*names[:13], 'leg1.Iyy', *names[14:])),
    Mutant('rosyid_2020', 'a search that steps over the bounds', 'khalifa_3prr', _searches, ('R2-33',),
           'verification.rosyid_2020.searches:pattern_search', _careless, is_long=True),
    Mutant('rosyid_2020', 'constant friction called the best model', 'khalifa_3prr', _models, ('R2-41', 'R2-43'),
           'verification.rosyid_2020.comparison:outcomes', _swapped, is_long=True),
    Mutant('rosyid_2020', 'forces in the wrong unit', 'khalifa_3prr', _signals, ('R2-21',),
           'verification.rosyid_2020.recording:recorded', _scaled(1e-3, 'forces'), is_long=True),
    Mutant('rosyid_2020', 'a table without its bounds', 'khalifa_3prr', figures.data_checks, ('R2-45',),
           'verification.rosyid_2020.figures:truth', _scaled(0.9), is_long=True),
    Mutant('heimann_abdellatif', 'a joint 1 mm away', 'palida', _group('heimann_abdellatif', 'parameters'), ('R4-11',),
           spoil=_point_moved(1e-3)),
    Mutant('heimann_abdellatif', 'inverse dynamics off by 1e-5', 'palida', _group('heimann_abdellatif', 'dynamics'),
           ('R4-09', 'R4-10', 'R4-14'), 'verification.heimann_abdellatif.dynamics:inverse_dynamics', _scaled(_SLIGHT)),
    Mutant('heimann_abdellatif', 'recursive least squares that forget', 'palida',
           _group('heimann_abdellatif', 'estimators'), ('R4-37',),
           'pkm_identification.estimator.recursive:RecursiveLeastSquares',
           lambda right: lambda count, forgetting: right(count, 0.999), is_long=True),
    Mutant('heimann_abdellatif', 'forces are filtered, the regressor is not', 'palida', _periodic, ('R4-33',),
           'verification.heimann_abdellatif.measurement:line_filter', _of_forces_alone, is_long=True),
    Mutant('heimann_abdellatif', 'four harmonics for five', 'palida', _periodic, ('R4-31',),
           'verification.heimann_abdellatif.measurement:HARMONICS', _instead(4), is_long=True),
    Mutant('mata_2008', 'a fit without constraints', 'valencia_3rps', _group('mata_2008', 'estimation'), ('M26',),
           'verification.mata_2008.estimation:Model.fit', _instead(_unconstrained), is_long=True),
    Mutant('estimators', 'an engine that returns a negative friction', 'srs', _group('estimators', 'noisy'), ('runs',),
           'verification.estimators.feasible_runs:feasible_parameters', _unfit, is_long=True),
    Mutant('consistency', 'noise of the legs a quarter', 'srs', _claims, ('NEES', 'NIS'), _FILTER,
           _believing(r_scale=0.25)),
    Mutant('consistency', 'noise four times as large', 'srs', _claims, ('NIS',), _FILTER,
           _believing(noise_inflation=4.0)),
    Mutant('consistency', 'integration of first order', 'srs', _claims, ('NEES', 'NIS'), _FILTER,
           _believing(integrator='euler')),
    Mutant('consistency', 'less noise than there is, at all times', 'srs', _sweep, ('sweep',),
           'verification.consistency.sweep:CONFIG', _instead(replace(sweep.CONFIG, r_scale=0.25))),
    Mutant('consistency', 'a delay that is ignored', 'srs', _delay, ('delay', 'band', 'error'),
           'verification.consistency.delay_checks:UNKNOWN', _instead(replace(_NOTHING_TESTED, legs_alone=False)),
           is_long=True),
    Mutant('consistency', 'a leg that does not fail', 'srs', _leg, ('named',),
           'verification.consistency.leg_fault_checks:FaultyLeg.spoil', _instead(lambda _, names, positions, random: (
               names, positions)), is_long=True),
    Mutant('consistency', 'an IMU that is never left out', 'srs', _imu, ('IMU',),
           'verification.consistency.imu_failure_checks:EstimatorConfig',
           _instead(partial(EstimatorConfig, legs_alone=False)), is_long=True),
    Mutant('consistency', 'constants that nobody looks for', 'srs', _late, ('causes',),
           'verification.consistency.cause_checks:_CONFIG', _instead(_NOTHING_TESTED)),
    Mutant('consistency', 'sensors that nobody mends', 'srs', _wrong, ('wrong',),
           'verification.consistency.everything_wrong:sensors_of_motion',
           _instead(lambda machine, *_: SimpleNamespace(machine=machine, config=_NOTHING_TESTED))),
    Mutant('miletovic_2017', 'a joint 1 mm away', 'srs', _rows('S3-01'), ('S3-01', 'S3-02'),
           'verification.miletovic_2017.geometry:machine_named',
           lambda right: lambda name: _point_moved(1e-3, 2)(right(name))),
    Mutant('miletovic_2017', 'a filter that believes a joint 1 mm away', 'srs', _rows('S3-19'), ('S3-19',),
           'verification.miletovic_2017.filter_run:make_filter', _misled),
    Mutant('miletovic_2017', 'process noise a hundred times as large', 'srs', _rows('S3-16'), ('S3-16',),
           'verification.miletovic_2017.filter_run:make_filter', _believes(q_scale=100.0)),
    Mutant('miletovic_2017', 'noise of the legs a hundredth', 'srs', _rows('S3-29'), ('S3-29',),
           'verification.miletovic_2017.filter_run:make_filter', _believes(r_scale=0.01)),
    Mutant('miletovic_2017', 'no health', 'srs', _rows('S3-61'), ('S3-61',),
           'verification.miletovic_2017.pipeline_run:PipelineRun.__init__',
           lambda right: lambda self, *given: right(self, *given[:3], ('', ''), *given[4:])),
    Mutant('miletovic_2017', 'times of convergence are not kept', 'srs', _rows('S3-36'), ('S3-36',),
           'verification.miletovic_2017.pipeline_run:collect',
           lambda right: lambda outputs, health: right(outputs, dataclasses.replace(health, convergence_time={}))),
)  # fmt: skip
