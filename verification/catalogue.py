"""All suites, and which checks belong to each."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module

from verification.consistency import plan as consistency
from verification.engines import random_checks
from verification.force_figures import figures_of
from verification.heimann_abdellatif import figures as heimann_figures
from verification.identification import plan as identification
from verification.machine_groups import (
    CheckFunction,
    CheckGroup,
    every_machine,
    hexapod,
    in_turn,
    machine_plan,
    machines_of,
    open_chain,
    with_platform,
)
from verification.mata_2008 import prediction as mata_figures
from verification.miletovic_2017 import rows as miletovic
from verification.oh_2003 import figures as oh_figures
from verification.rosyid_2020 import figures as rosyid_figures
from verification.soak import plan as soak
from verification.suite import Figure, Suite
from verification.wiring import plan as wiring

_OH_HEXAPODS = ('uf', 'snl', 'ford')
_HANNOVER_HEXAPODS = ('palida', 'msi')
_OTHER_CONTROLLED = ('srs', 'valencia_3rps', 'khalifa_3prr')

#: checks of machines, by suite: what they are about; modules of the suite that yield them, one after the other in one
#: process (``module:function``, ``checks`` if none is named); machines, or what a machine must be like
_TABLE: dict[str, tuple[tuple[str, str, tuple[str, ...] | Callable[..., bool]], ...]] = {
    'mechanics': (
        ('laws of mechanics', 'checks', with_platform),
        ('laws of mechanics', 'open_chains', open_chain),
        ('forward kinematics in the workspace', 'forward_kinematics', hexapod),
        ('Dietmaier 1998, on these legs', 'dietmaier', ('srs',)),
    ),
    'engines': (
        ('independent engines, motion and forces', 'checks', every_machine),
        ('independent engines, models', 'model_checks', every_machine),
        ('independent engines, simulation of the SDF', 'dart', with_platform),
    ),
    'oh_2003': (
        ('chapter 2', 'checks', _OH_HEXAPODS),
        ('the library against his model', 'library', _OH_HEXAPODS),
        ('golden points', 'checks:golden_checks', ('uf',)),
        ('friction', 'library:friction_checks', ('uf',)),
        ('groups of forces', 'library:dominance_checks', _OH_HEXAPODS),
        ('chapter 3', 'pendulum', ('double_pendulum',)),
        ('estimators of chapter 3', 'pendulum:estimator_checks', ('double_pendulum',)),
        ('chapter 4', 'identification_checks', ('uf',)),
        ('chapter 5', 'staged', ('uf',)),
    ),
    'estimators': (
        ('noisy runs, machines that can exist', 'feasible_runs',
         ('srs', 'palida', 'hexaglide_6pus', 'octopod_8ups', 'valencia_3rps')),
    ),
    'mata_2008': (
        ('the paper and the library', 'checks', ('valencia_3rps',)),
        ('friction', 'library:law_checks', ('valencia_3rps',)),
        ('excitation', 'excitation', ('valencia_3rps',)),
        ('estimation', 'estimation', ('valencia_3rps',)),
        ('simulator, currents and noise', 'machine_data', ('valencia_3rps',)),
        ('models 1 to 4, predicted forces, figures', 'processing ladder prediction prediction:figure_checks',
         ('valencia_3rps',)),
    ),
    'rosyid_2020': (
        ('the paper and the library', 'checks', ('khalifa_3prr',)),
        ('friction', 'friction', ('khalifa_3prr',)),
        ('excitation', 'excitation', ('khalifa_3prr',)),
        ('identification', 'searches comparison recording figures', ('khalifa_3prr',)),
    ),
    'heimann_abdellatif': (
        ('kinematics', 'kinematics', _HANNOVER_HEXAPODS),
        ('limits', 'kinematics:limit_checks', _HANNOVER_HEXAPODS),
        ('dynamics', 'dynamics', _HANNOVER_HEXAPODS),
        ('C code', 'c_export', _HANNOVER_HEXAPODS),
        ('parameters and friction', 'parameters', ('palida',)),
        ('friction laws', 'dynamics:friction_checks', ('palida',)),
        ('estimators', 'estimators', ('palida',)),
        ('measured motion and forces', 'measurement', ('palida',)),
        ('sensors', 'measurement:drive_sensor_checks', ('palida',)),
        ('safe stop', 'control:safe_stop_checks', _HANNOVER_HEXAPODS),
        ('excitation', 'excitation', ('palida',)),
        ('excitation against random series', 'excitation:against_random', ('palida', *_OTHER_CONTROLLED)),
        ('hydraulic axes', 'hydraulic_axis', ('msi',)),
        ('feed-forward control', 'control', ('palida',)),
        ('feed-forward with friction laws', 'control:law_checks', ('palida',)),
        ('feed-forward figures', 'figures', ('palida',)),
        ('feed-forward with identified parameters', 'control_identified', ('palida',)),
        ('forces with identified parameters', 'control_identified:validated', ('palida',)),
        ('feed-forward control', 'control:other_machine_checks', _OTHER_CONTROLLED),
    ),
}  # fmt: skip


def _group(suite: str, source: str, modules: str, machines: tuple[str, ...] | Callable[..., bool]) -> CheckGroup:
    functions: list[CheckFunction] = []
    for place in modules.split():
        module, _, function = place.partition(':')
        functions.append(getattr(import_module(f'verification.{suite}.{module}'), function or 'checks'))
    checks = in_turn(*functions) if len(functions) > 1 else functions[0]
    if callable(machines):
        return CheckGroup(source, checks, machines)
    return CheckGroup(source, checks, names=machines)


#: by suite
GROUPS = {suite: tuple(_group(suite, *row) for row in rows) for suite, rows in _TABLE.items()}


def _machine_suite(name: str, title: str, figures: Callable[[], tuple[Figure, ...]] = tuple) -> Suite:
    plan = partial(machine_plan, GROUPS[name], figures=figures)
    return Suite(name, title, plan, machines_of(GROUPS[name]), takes_files=True)


#: in the order of the output; those that take longest stand last
SUITES: dict[str, Suite] = {
    suite.name: suite
    for suite in (
        _machine_suite('mechanics', 'laws that any machine obeys'),
        Suite('engines', 'any machine against Pinocchio, MuJoCo and DART',
              partial(random_checks.plan, GROUPS['engines']), takes_files=True),
        _machine_suite('oh_2003', 'Oh (2003): hexapods by Kane, double pendulum', oh_figures.figures),
        _machine_suite('mata_2008', 'Mata et al. (2008): base parameters and friction of a 3-RPS',
                       partial(figures_of, 'valencia_3rps', mata_figures.DRAWINGS)),
        _machine_suite('rosyid_2020', 'Rosyid and El-Khasawneh (2020): planar 3-PRR',
                       partial(figures_of, 'khalifa_3prr', rosyid_figures.DRAWINGS)),
        _machine_suite('heimann_abdellatif', 'Heimann and Abdellatif: hexapods, friction of all joints, feed-forward',
                       partial(figures_of, 'palida', heimann_figures.DRAWINGS)),
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
