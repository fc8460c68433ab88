"""The verification table: nothing fails on our machines, and a wrong machine or a wrong figure does fail."""

from __future__ import annotations

import dataclasses
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hand_built_machines import heimann_check_robot
from pkm_description.loading import load_machine, machine_names
from pkm_description.machine import Machine

from verification.catalogue import CATALOGUE, CheckGroup
from verification.check import Check, at_least, at_most, count, equal, near, refused, within
from verification.heimann_abdellatif import dynamics as heimann_dynamics
from verification.mechanics import checks as mechanics
from verification.mechanics import momentum
from verification.oh_2003 import checks as oh
from verification.oh_2003 import suite as oh_suite
from verification.report import table, verdict
from verification.run import run_group, verify
from verification.verify_machines import main


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


def test_an_error_is_a_failed_check_and_hides_nothing() -> None:
    def broken(machine: Machine, quick: bool):
        yield at_most('first', 'before the error', 1.0, 0.5)
        raise RuntimeError('out of order')

    machine = heimann_check_robot()
    checks = run_group(machine, CheckGroup('a paper', broken))
    assert [check.status for check in checks] == ['met', 'failed']
    assert 'out of order' in checks[1].measured
    assert {check.machine for check in checks} == {machine.name}
    silent = run_group(machine, CheckGroup('a paper', lambda machine, quick: iter(())))
    assert [check.status for check in silent] == ['failed']


def test_figures_stand_in_the_table() -> None:
    checks = [at_most('T2', 'strut rates', 1e-8, 3.25e-9, 'm/s'), equal('T7', 'rank', 8, 7)]
    lines = table(checks)
    assert lines[0].split() == ['met', 'T2', 'strut', 'rates', '<=', '1e-08', 'm/s', '3.25e-09', 'm/s']
    assert lines[1].split() == ['failed', 'T7', 'rank', '8', '7']
    assert verdict(checks) == 'machines: 1 met, 1 failed, 0 not reachable'
    assert count(checks) == {'met': 1, 'failed': 1, 'not reachable': 0}


def test_program(capsys: pytest.CaptureFixture[str]) -> None:
    """Two machines through the program; the last line counts the lines above it."""
    assert main(['uf', 'double_pendulum', '--quick']) == 0
    lines = capsys.readouterr().out.splitlines()
    met = sum(line.startswith('met ') for line in lines)
    open_ones = sum(line.startswith('not reachable') for line in lines)
    assert met > 50
    assert lines[-1] == f'machines: {met} met, 0 failed, {open_ones} not reachable'


def test_program_with_a_file_that_does_not_load(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(['nowhere.yaml', '--quick']) == 1
    assert capsys.readouterr().out.splitlines()[-1] == 'machines: 0 met, 1 failed, 0 not reachable'


@pytest.mark.parametrize('name', machine_names())
def test_no_check_of_a_machine_fails(name: str) -> None:
    checks = [check for _, done in verify(load_machine(name), quick=True) for check in done]
    assert [check for check in checks if check.status == 'failed'] == []
    assert len(checks) > 10
    assert all(check.required and check.measured for check in checks)


def failing(machine: Machine, source: str) -> set[str]:
    """Requirements that a machine fails among those of one source."""
    found = set()
    for group in CATALOGUE:
        if group.source.startswith(source) and group.applies(machine):
            found |= {check.id for check in run_group(machine, group, quick=True) if check.status == 'failed'}
    return found


def with_platform_point(machine: Machine, shift: float) -> Machine:
    first = machine.legs[0]
    moved = dataclasses.replace(first, platform_point=first.platform_point + np.array([shift, 0.0, 0.0]))
    return dataclasses.replace(machine, legs=(moved, *machine.legs[1:]))


def test_wrong_masses_and_points_fail_the_printed_figures() -> None:
    uf = load_machine('uf')
    heavy = dataclasses.replace(uf, platform=dataclasses.replace(uf.platform, mass=1.01 * uf.platform.mass))
    assert failing(heavy, 'Oh 2003') >= {'T3', 'T5'}
    assert {'T2', 'T3'} <= failing(with_platform_point(uf, 1e-4), 'Oh 2003')
    assert failing(with_platform_point(load_machine('srs'), 1e-4), 'Miletovic') >= {'S3-01', 'S3-02'}
    assert 'R4-11' in failing(with_platform_point(load_machine('palida'), 1e-3), 'Heimann and Abdellatif, parameters')


def test_wrong_pendulum_fails() -> None:
    pendulum = load_machine('double_pendulum')
    leg = pendulum.legs[0]
    longer = dataclasses.replace(leg.joints[2], translation=1.01 * leg.joints[2].translation)
    machine = dataclasses.replace(pendulum, legs=(dataclasses.replace(leg, joints=(*leg.joints[:2], longer)),))
    assert failing(machine, 'Oh 2003') == {'T9'}


@pytest.mark.parametrize(
    ('module', 'function', 'source', 'expected'),
    [
        (mechanics, 'inverse_dynamics', 'laws of mechanics', {'regressor', 'terms', 'forward', 'statics', 'power'}),
        (mechanics, 'kinetic_energy', 'laws of mechanics', {'energy', 'power'}),
        (mechanics, 'leg_motion', 'laws of mechanics', {'jacobian', 'power'}),
        (momentum, 'joint_reactions', 'laws of mechanics', {'reactions'}),
        (heimann_dynamics, 'inverse_dynamics', 'Heimann and Abdellatif, dynamics', {'R4-09', 'R4-10', 'R4-14'}),
        (oh_suite, 'rigid_body_regressor', 'Oh 2003', {'T3'}),
        (oh, 'strut_forces', 'Oh 2003', {'T3', 'T4'}),
    ],
)
def test_wrong_formulas_fail(
    monkeypatch: pytest.MonkeyPatch, module: ModuleType, function: str, source: str, expected: set[str]
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
    assert failing(machine, source) >= expected
