"""The verification table: nothing fails on our machines, and a wrong figure does fail."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pkm_description.loading import load_machine, machine_names
from pkm_description.machine import Machine

from verification.accepted import with_acceptance
from verification.catalogue import GROUPS, SUITES
from verification.check import Check, at_least, at_most, equal, near, refused, within
from verification.miletovic_2017 import checks as miletovic
from verification.requirements import requirements_file


@pytest.mark.parametrize(
    ('check', 'status'),
    [
        (at_most('a', 'b', 1.0, [0.5, -0.9]), 'met'),
        (at_most('a', 'b', 1.0, [0.5, -1.1]), 'not met'),
        (at_most('a', 'b', 1.0, [0.5, np.nan]), 'not met'),
        (at_most('a', 'b', 1.0, []), 'not met'),
        (at_least('a', 'b', 1.0, [0.5, 2.0]), 'not met'),
        (at_least('a', 'b', 1.0, np.nan), 'not met'),
        (within('a', 'b', 0.0, 1.0, 1.0), 'met'),
        (within('a', 'b', 0.0, 1.0, np.nan), 'not met'),
        (near('a', 'b', 3.27, 3.276, 0.005), 'not met'),
        (near('a', 'b', 3.27, 3.274, 0.005), 'met'),
        (equal('a', 'b', [1, 2], [1, 2]), 'met'),
        (equal('a', 'b', 22, 23), 'not met'),
        (refused('a', 'b', ValueError, int, 'no'), 'met'),
        (refused('a', 'b', ValueError, {}.pop, 'no'), 'not met'),
        (refused('a', 'b', ValueError, int, '1'), 'not met'),
    ],
)
def test_judgement(check: Check, status: str) -> None:
    assert check.status == status


#: groups that take long, by suite and source: test_dart runs the first on small machines, the campaign runs all
ELSEWHERE = {
    ('engines', 'independent engines, simulation of the SDF'),
    ('estimators', 'noisy runs, machines that can exist'),
    ('heimann_abdellatif', 'estimators'),
    ('heimann_abdellatif', 'measured motion and forces'),
    ('mata_2008', 'models 1 to 4, predicted forces, figures'),
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
        done = with_acceptance((check for group in wanted for check in group.checks(machine, True)), True)
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


@pytest.mark.parametrize('name', ['oh_2003', 'mata_2008', 'rosyid_2020', 'heimann_abdellatif'])
def test_every_requirement_is_named_by_a_check(name: str) -> None:
    texts = [path.read_text(encoding='utf-8') for path in Path(requirements_file(name)).parent.glob('*.py')]
    named = {one.id: any(f"'{one.id}'" in text for text in texts) for one in SUITES[name].requirements}
    assert [id for id, is_named in named.items() if not is_named] == []
