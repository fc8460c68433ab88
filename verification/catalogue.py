"""All suites, and which checks belong to each."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from verification.consistency import plan as consistency
from verification.engines import checks as engines
from verification.engines import dart_checks as engine_dart
from verification.engines import model_checks as engine_models
from verification.engines import plan as engine_plan
from verification.estimators import feasible_runs
from verification.heimann_abdellatif import c_export, control_identified, hydraulic_axis
from verification.heimann_abdellatif import control as heimann_control
from verification.heimann_abdellatif import dynamics as heimann_dynamics
from verification.heimann_abdellatif import estimators as heimann_estimators
from verification.heimann_abdellatif import excitation as heimann_excitation
from verification.heimann_abdellatif import figures as heimann_figures
from verification.heimann_abdellatif import friction as heimann_friction
from verification.heimann_abdellatif import kinematics as heimann_kinematics
from verification.heimann_abdellatif import limits as heimann_limits
from verification.heimann_abdellatif import measurement as heimann_measurement
from verification.heimann_abdellatif import parameters as heimann_parameters
from verification.heimann_abdellatif import safe_stop as heimann_safe_stop
from verification.heimann_abdellatif import sensors as heimann_sensors
from verification.heimann_abdellatif import validation as heimann_validation
from verification.identification import plan as identification
from verification.machine_groups import (
    CheckGroup,
    hexapod,
    machine_plan,
    machines_of,
    open_chain,
    with_platform,
)
from verification.mata_2008 import checks as mata
from verification.mata_2008 import estimation as mata_estimation
from verification.mata_2008 import excitation as mata_excitation
from verification.mata_2008 import figures as mata_figures
from verification.mata_2008 import friction as mata_friction
from verification.mata_2008 import machine_data as mata_machine_data
from verification.mata_2008 import study as mata_study
from verification.mechanics import checks as mechanics
from verification.mechanics import dietmaier, open_chains
from verification.mechanics import forward_kinematics as forward_kinematics_check
from verification.miletovic_2017 import rows as miletovic
from verification.oh_2003 import checks as oh
from verification.oh_2003 import dominance as oh_dominance
from verification.oh_2003 import figures as oh_figures
from verification.oh_2003 import friction as oh_friction
from verification.oh_2003 import golden as oh_golden
from verification.oh_2003 import identification_checks as oh_identification
from verification.oh_2003 import library as oh_library
from verification.oh_2003 import pendulum_checks as oh_pendulum
from verification.oh_2003 import pendulum_identification as oh_pendulum_identification
from verification.oh_2003 import staged_checks as oh_staged
from verification.rosyid_2020 import checks as rosyid
from verification.rosyid_2020 import excitation as rosyid_excitation
from verification.rosyid_2020 import figures as rosyid_figures
from verification.rosyid_2020 import friction as rosyid_friction
from verification.rosyid_2020 import study as rosyid_study
from verification.soak import plan as soak
from verification.suite import Figure, Suite
from verification.wiring import plan as wiring

_OH_HEXAPODS = ('uf', 'snl', 'ford')
_HANNOVER_HEXAPODS = ('palida', 'msi')
_OTHER_CONTROLLED = ('srs', 'valencia_3rps', 'khalifa_3prr')

#: checks of machines, by suite
GROUPS: dict[str, tuple[CheckGroup, ...]] = {
    'mechanics': (
        CheckGroup('laws of mechanics', mechanics.checks, with_platform),
        CheckGroup('laws of mechanics', open_chains.checks, open_chain),
        CheckGroup('forward kinematics in the workspace', forward_kinematics_check.checks, hexapod),
        CheckGroup('Dietmaier 1998, on these legs', dietmaier.checks, names=('srs',)),
    ),
    'engines': (
        CheckGroup('independent engines, motion and forces', engines.checks),
        CheckGroup('independent engines, models', engine_models.checks),
        CheckGroup('independent engines, simulation of the SDF', engine_dart.checks, with_platform),
    ),
    'oh_2003': (
        CheckGroup('chapter 2', oh.checks, names=_OH_HEXAPODS),
        CheckGroup('the library against his model', oh_library.checks, names=_OH_HEXAPODS),
        CheckGroup('golden points', oh_golden.checks, names=('uf',)),
        CheckGroup('friction', oh_friction.checks, names=('uf',)),
        CheckGroup('groups of forces', oh_dominance.checks, names=('uf',)),
        CheckGroup('chapter 3', oh_pendulum.checks, names=('double_pendulum',)),
        CheckGroup('estimators of chapter 3', oh_pendulum_identification.checks, names=('double_pendulum',)),
        CheckGroup('chapter 4', oh_identification.checks, names=('uf',)),
        CheckGroup('chapter 5', oh_staged.checks, names=('uf',)),
    ),
    'estimators': (
        CheckGroup('noisy runs, machines that can exist', feasible_runs.checks,
                   names=('srs', 'palida', 'hexaglide_6pus', 'octopod_8ups', 'valencia_3rps')),
    ),
    'mata_2008': (
        CheckGroup('the paper and the library', mata.checks, names=('valencia_3rps',)),
        CheckGroup('friction', mata_friction.checks, names=('valencia_3rps',)),
        CheckGroup('excitation', mata_excitation.checks, names=('valencia_3rps',)),
        CheckGroup('estimation', mata_estimation.checks, names=('valencia_3rps',)),
        CheckGroup('simulator, currents and noise', mata_machine_data.checks, names=('valencia_3rps',)),
        CheckGroup('models 1 to 4, predicted forces, figures', mata_study.checks, names=('valencia_3rps',)),
    ),
    'rosyid_2020': (
        CheckGroup('the paper and the library', rosyid.checks, names=('khalifa_3prr',)),
        CheckGroup('friction', rosyid_friction.checks, names=('khalifa_3prr',)),
        CheckGroup('excitation', rosyid_excitation.checks, names=('khalifa_3prr',)),
        CheckGroup('identification', rosyid_study.checks, names=('khalifa_3prr',)),
    ),
    'heimann_abdellatif': (
        CheckGroup('kinematics', heimann_kinematics.checks, names=_HANNOVER_HEXAPODS),
        CheckGroup('limits', heimann_limits.checks, names=_HANNOVER_HEXAPODS),
        CheckGroup('dynamics', heimann_dynamics.checks, names=_HANNOVER_HEXAPODS),
        CheckGroup('C code', c_export.checks, names=_HANNOVER_HEXAPODS),
        CheckGroup('parameters and friction', heimann_parameters.checks, names=('palida',)),
        CheckGroup('friction laws', heimann_friction.checks, names=('palida',)),
        CheckGroup('estimators', heimann_estimators.checks, names=('palida',)),
        CheckGroup('measured motion and forces', heimann_measurement.checks, names=('palida',)),
        CheckGroup('sensors', heimann_sensors.checks, names=('palida',)),
        CheckGroup('safe stop', heimann_safe_stop.checks, names=_HANNOVER_HEXAPODS),
        CheckGroup('excitation', heimann_excitation.checks, names=('palida',)),
        CheckGroup('excitation against random series', heimann_excitation.against_random,
                   names=('palida', *_OTHER_CONTROLLED)),
        CheckGroup('hydraulic axes', hydraulic_axis.checks, names=('msi',)),
        CheckGroup('feed-forward control', heimann_control.checks, names=('palida',)),
        CheckGroup('feed-forward with friction laws', heimann_control.law_checks, names=('palida',)),
        CheckGroup('feed-forward figures', heimann_figures.checks, names=('palida',)),
        CheckGroup('feed-forward with identified parameters', control_identified.checks, names=('palida',)),
        CheckGroup('forces with identified parameters', heimann_validation.checks, names=('palida',)),
        CheckGroup('feed-forward control', heimann_control.other_machine_checks, names=_OTHER_CONTROLLED),
    ),
}


def _machine_suite(name: str, title: str, figures: Callable[[], tuple[Figure, ...]] = tuple) -> Suite:
    plan = partial(machine_plan, GROUPS[name], figures=figures)
    return Suite(name, title, plan, machines_of(GROUPS[name]), takes_files=True)


#: in the order of the output; those that take longest stand last
SUITES: dict[str, Suite] = {
    suite.name: suite
    for suite in (
        _machine_suite('mechanics', 'laws that any machine obeys'),
        Suite('engines', 'any machine against Pinocchio, MuJoCo and DART', partial(engine_plan.plan, GROUPS['engines']),
              takes_files=True),
        _machine_suite('oh_2003', 'Oh (2003): hexapods by Kane, double pendulum', oh_figures.figures),
        _machine_suite('mata_2008', 'Mata et al. (2008): base parameters and friction of a 3-RPS',
                       mata_figures.figures),
        _machine_suite('rosyid_2020', 'Rosyid and El-Khasawneh (2020): planar 3-PRR', rosyid_figures.figures),
        _machine_suite('heimann_abdellatif', 'Heimann and Abdellatif: hexapods, friction of all joints, feed-forward',
                       heimann_figures.figures),
        _machine_suite('estimators', 'estimators of the identification, and machines that can exist'),
        Suite('soak', 'the estimator under random faults', soak.plan, settings=soak.FULL, quick_settings=soak.QUICK),
        Suite('wiring', 'check_robot on seeded faults of wiring', wiring.plan, settings=wiring.FULL,
              quick_settings=wiring.QUICK),
        Suite('consistency', 'what the estimator claims of its own errors', consistency.plan,
              consistency.MACHINES, settings=consistency.FULL, quick_settings=consistency.QUICK),
        Suite('identification', 'identify on data of MuJoCo with real drives, beside a Pinocchio pipeline',
              identification.plan, settings=identification.FULL, quick_settings=identification.QUICK),
        Suite('miletovic_2017', 'Miletovic et al. (2017): estimation of the motion of SIMONA',
              miletovic.plan, ('srs', 'palida', 'msi')),
    )
}  # fmt: skip

#: run where a machine file but no suite is named: the check that an owner of a new machine runs
FOR_ANY_MACHINE = ('mechanics', 'engines')
