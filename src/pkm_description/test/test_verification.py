"""The verification table: nothing fails on our machines, and a wrong machine or a wrong figure does fail."""

from __future__ import annotations

import numpy as np
import pytest
from hand_built_machines import heimann_check_robot
from pkm_description.machine.model import Machine
from pkm_description.nodes.verify_machines import main
from pkm_description.verification.catalogue import CheckGroup
from pkm_description.verification.check import Check, at_least, at_most, count, equal, near, refused, within
from pkm_description.verification.report import table, verdict
from pkm_description.verification.run import run_group


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
    """One machine through the program; the last line counts the lines above it."""
    assert main(['palida', '--quick']) == 0
    lines = capsys.readouterr().out.splitlines()
    met = sum(line.startswith('met ') for line in lines)
    open_ones = sum(line.startswith('not reachable') for line in lines)
    assert met > 10
    assert lines[-1] == f'machines: {met} met, 0 failed, {open_ones} not reachable'


def test_program_with_a_file_that_does_not_load(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(['nowhere.yaml', '--quick']) == 1
    assert capsys.readouterr().out.splitlines()[-1] == 'machines: 0 met, 1 failed, 0 not reachable'
