"""The checks of the 3-RPS of Mata et al. hold for its machine file, and a wrong robot or a wrong model fails them."""

from __future__ import annotations

import dataclasses
from functools import partial

import numpy as np
import pytest
from pkm_description.loading import load_machine
from pkm_description.machine import Machine

from verification.check import Check
from verification.mata_2008 import checks as mata
from verification.mata_2008 import regressor as mata_regressor
from verification.suite import Part, run_part


def run(machine: Machine) -> list[Check]:
    return run_part(Part('Mata', partial(mata.checks, machine, True)))


def failed(machine: Machine) -> set[str]:
    return {check.id for check in run(machine) if check.status != 'met'}


@pytest.fixture(scope='module')
def machine() -> Machine:
    return load_machine('valencia_3rps')


def test_machine_file(machine: Machine) -> None:
    checks = run(machine)
    assert [check for check in checks if check.status != 'met'] == []
    assert {check.id for check in checks} == {f'M{item}' for item in range(1, 16)} - {'M9'}


def test_a_shifted_platform_joint(machine: Machine) -> None:
    leg = machine.legs[1]
    outwards = leg.base_point / np.linalg.norm(leg.base_point)  # in the leg's plane: elsewhere home could not be closed
    leg = leg.with_end(other_point=leg.platform_point + 1e-5 * outwards)
    wrong = dataclasses.replace(machine, legs=(machine.legs[0], leg, machine.legs[2]))
    assert {'M1', 'M2', 'M3', 'M11'} <= failed(wrong)


def test_a_heavier_rod(machine: Machine) -> None:
    leg = machine.legs[1]
    rod = dataclasses.replace(leg.joints[1], body=dataclasses.replace(leg.joints[1].body, mass=2.1))
    wrong = dataclasses.replace(
        machine, legs=(machine.legs[0], dataclasses.replace(leg, joints=(leg.joints[0], rod)), machine.legs[2])
    )
    assert 'M14' in failed(wrong)


def test_another_triangle_has_another_table(machine: Machine) -> None:
    robot = mata.ThreeRps(0.4, 0.46)
    samples = mata.random_samples(robot, 20, machine.gravity)
    stacked = mata_regressor.drive_regressor(
        robot, samples.lengths, samples.rates, samples.accelerations, machine.gravity
    ).reshape(-1, 70)
    status = {check.what: check.status for check in mata.table_checks(robot, stacked)}
    assert status['factors of all 25 rows of Table 1 against the closed form'] == 'met'
    assert status['factors of all 25 rows against the printed digits, beyond rounding'] == 'failed'


def test_wrong_sign_in_the_regressor(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sign that the paper's words have wrong: the vector between frames points from k to i."""
    right = mata_regressor._cross

    def wrong(vector: np.ndarray) -> np.ndarray:
        return -right(vector)

    monkeypatch.setattr(mata_regressor, '_cross', wrong)
    assert {'M2', 'M4'} <= failed(machine)
