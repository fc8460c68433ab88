"""The verification table: nothing fails on our machines, and a wrong machine or a wrong figure does fail."""

from __future__ import annotations

import dataclasses
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from pkm_description.loading import load_machine, machine_names
from pkm_description.machine import Machine

from verification.catalogue import GROUPS, SUITES
from verification.check import Check, at_least, at_most, equal, near, refused, within
from verification.heimann_abdellatif import dynamics as heimann_dynamics
from verification.mechanics import checks as mechanics
from verification.mechanics import momentum
from verification.miletovic_2017 import checks as miletovic
from verification.oh_2003 import checks as oh
from verification.oh_2003 import library as oh_library
from verification.suite import Part, run_part


@pytest.mark.parametrize(
    ('check', 'status'),
    [
        (at_most('a', 'b', 1.0, [0.5, -0.9]), 'met'),
        (at_most('a', 'b', 1.0, [0.5, -1.1]), 'failed'),
        (at_most('a', 'b', 1.0, [0.5, np.nan]), 'failed'),
        (at_most('a', 'b', 1.0, []), 'failed'),
        (at_least('a', 'b', 1.0, [0.5, 2.0]), 'failed'),
        (at_least('a', 'b', 1.0, np.nan), 'failed'),
        (within('a', 'b', 0.0, 1.0, 1.0), 'met'),
        (within('a', 'b', 0.0, 1.0, np.nan), 'failed'),
        (near('a', 'b', 3.27, 3.276, 0.005), 'failed'),
        (near('a', 'b', 3.27, 3.274, 0.005), 'met'),
        (equal('a', 'b', [1, 2], [1, 2]), 'met'),
        (equal('a', 'b', 22, 23), 'failed'),
        (refused('a', 'b', ValueError, ValueError('no')), 'met'),
        (refused('a', 'b', ValueError, KeyError('no')), 'failed'),
        (refused('a', 'b', ValueError, None), 'failed'),
    ],
)
def test_judgement(check: Check, status: str) -> None:
    assert check.status == status


#: groups of which another test runs the most, by suite and source: test_dart, test_estimator_checks and the studies'
ELSEWHERE = {
    ('engines', 'independent engines, simulation of the SDF'),
    ('estimators', 'noisy runs, machines that can exist'),
    ('heimann_abdellatif', 'estimators'),
    ('heimann_abdellatif', 'measured motion and forces'),
    ('mata_2008', 'models 1 to 4, predicted forces, figures'),
    ('mata_2008', 'simulator, currents and noise'),
    ('mata_2008', 'estimation'),
    ('rosyid_2020', 'excitation'),
    ('rosyid_2020', 'identification'),
}
#: searches for an excitation, identifications with what a controller makes of them, axes in MuJoCo
LONG = {
    ('heimann_abdellatif', source)
    for source in (
        'excitation', 'excitation against random series', 'feed-forward with friction laws',
        'feed-forward with identified parameters', 'forces with identified parameters', 'hydraulic axes',
    )
} | {('mata_2008', 'excitation'), ('oh_2003', 'estimators of chapter 3')}  # fmt: skip
#: machines that take long, of kinds that others are of, too
SLOW = ('palida', 'uf', 'msi')

#: of one machine here, of the others in the campaign; of palida in test_feedforward, too
CONTROL, CONTROLLED = {('heimann_abdellatif', 'feed-forward control')}, 'khalifa_3prr'
ALL = {(suite, group.source) for suite, groups in GROUPS.items() for group in groups}


def judged(machine: Machine, chosen: set[tuple[str, str]]) -> list[Check]:
    """Checks of the chosen groups that apply to a machine; none has failed, each has its figures."""
    checks: list[Check] = []
    for suite, groups in GROUPS.items():
        wanted = [group for group in groups if (suite, group.source) in chosen and group.is_for(machine)]
        done = [check for group in wanted for check in group.checks(machine, True)]
        if requirements := SUITES[suite].requirements:
            assert {check.id for check in done} <= {requirement.id for requirement in requirements}
        checks += done
    assert [check for check in checks if check.failed] == []
    assert all(check.required and check.measured for check in checks)
    return checks


@pytest.mark.parametrize(
    'name', [pytest.param(name, marks=pytest.mark.campaign) if name in SLOW else name for name in machine_names()]
)
def test_no_check_of_a_machine_fails(name: str) -> None:
    assert ALL >= ELSEWHERE | LONG | CONTROL
    chosen = ALL - ELSEWHERE - LONG - (set() if name == CONTROLLED else CONTROL)
    assert len(judged(load_machine(name), chosen)) > 10


@pytest.mark.campaign
@pytest.mark.parametrize('name', machine_names())
def test_no_check_of_the_long_groups_fails(name: str) -> None:
    judged(load_machine(name), ELSEWHERE | LONG | (set() if name == CONTROLLED else CONTROL))


def test_no_check_of_simona_fails() -> None:
    checks = list(miletovic.checks(load_machine('srs'), quick=True))
    assert [check for check in checks if check.status != 'met'] == []
    assert {check.id for check in checks} == {f'S3-{number:02d}' for number in range(1, 10)}


def failing(machine: Machine, suite: str, source: str | tuple[str, ...] = '') -> set[str]:
    """Requirements that a machine fails among those of one suite, or of some of its groups."""
    found = set()
    for group in GROUPS[suite]:
        if group.source.startswith(source) and group.is_for(machine):
            part = Part(group.source, partial(group.checks, machine, True))
            found |= {check.id for check in run_part(part) if check.failed}
    return found


def with_platform_point(machine: Machine, shift: float) -> Machine:
    first = machine.legs[0]
    moved = first.with_end(other_point=first.platform_point + np.array([shift, 0.0, 0.0]))
    return dataclasses.replace(machine, legs=(moved, *machine.legs[1:]))


def test_wrong_masses_and_points_fail_the_printed_figures() -> None:
    uf = load_machine('uf')
    heavy = dataclasses.replace(uf, platform=dataclasses.replace(uf.platform, mass=1.01 * uf.platform.mass))
    his = ('chapter 2', 'golden points')
    assert failing(heavy, 'oh_2003', his) >= {'T3', 'T5'}
    assert {'T2', 'T3'} <= failing(with_platform_point(uf, 1e-4), 'oh_2003', his)
    checks = partial(miletovic.checks, with_platform_point(load_machine('srs'), 1e-4), True)
    assert {check.id for check in run_part(Part('', checks)) if check.failed} >= {'S3-01', 'S3-02'}
    assert 'R4-11' in failing(with_platform_point(load_machine('palida'), 1e-3), 'heimann_abdellatif', 'parameters')


def test_wrong_pendulum_fails() -> None:
    pendulum = load_machine('double_pendulum')
    leg = pendulum.legs[0]
    longer = dataclasses.replace(leg.joints[2], translation=1.01 * leg.joints[2].translation)
    machine = dataclasses.replace(pendulum, legs=(dataclasses.replace(leg, joints=(*leg.joints[:2], longer)),))
    assert failing(machine, 'oh_2003', 'chapter 3') == {'T9'}


@pytest.mark.parametrize(
    ('module', 'function', 'suite', 'expected'),
    [
        (mechanics, 'inverse_dynamics', 'mechanics', {'regressor', 'terms', 'forward', 'statics', 'power'}),
        (mechanics, 'kinetic_energy', 'mechanics', {'energy', 'power'}),
        (mechanics, 'joint_motion', 'mechanics', {'jacobian', 'power'}),
        (momentum, 'joint_reactions', 'mechanics', {'reactions'}),
        (heimann_dynamics, 'inverse_dynamics', 'heimann_abdellatif', {'R4-09', 'R4-10', 'R4-14'}),
        (oh_library, 'rigid_body_regressor', 'oh_2003', {'T3'}),
        (oh, 'strut_forces', 'oh_2003', {'T3', 'T4'}),
    ],
)
def test_wrong_formulas_fail(
    monkeypatch: pytest.MonkeyPatch, module: ModuleType, function: str, suite: str, expected: set[str]
) -> None:
    """An error of ten parts in a million in one function is seen by all checks that should see it."""
    right = getattr(module, function)

    def wrong(*arguments: Any, **options: Any) -> Any:
        result = right(*arguments, **options)
        if isinstance(result, np.ndarray):
            return result * (1.0 + 1e-5)
        changed = {
            field.name: getattr(result, field.name) * (1.0 + 1e-5)
            for field in dataclasses.fields(result)
            if field.name in ('velocities', 'closure_forces', 'joint_forces', 'drive_forces')
        }
        return dataclasses.replace(result, **changed)

    monkeypatch.setattr(module, function, wrong)
    machine = load_machine('palida' if module is heimann_dynamics else 'uf')
    sources = {mechanics: 'laws', momentum: 'laws', heimann_dynamics: 'dynamics'}
    source = sources.get(module, ('chapter 2', 'the library'))
    assert failing(machine, suite, source) >= expected
