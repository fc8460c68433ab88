"""Checks of the planar 3-PRR of Rosyid & El-Khasawneh: they hold for its file; wrong numbers and formulas fail."""

from __future__ import annotations

import dataclasses
from functools import partial

import numpy as np
import pytest
from pkm_description.errors import KinematicsError
from pkm_description.loading import load_machine
from pkm_description.machine import Joint, Machine

from verification.check import Check
from verification.rosyid_2020 import checks as rosyid
from verification.rosyid_2020.dynamics import PlanarDynamics
from verification.rosyid_2020.model import PlanarGeometry
from verification.rosyid_2020.table import DESIGN, geometry_of
from verification.suite import Part, run_part


def run(machine: Machine) -> list[Check]:
    return run_part(Part('Rosyid', partial(rosyid.checks, machine, True)))


def failed(machine: Machine) -> set[str]:
    return {check.id for check in run(machine) if check.status != 'met'}


def with_joint(machine: Machine, leg: int, place: int, **changes: object) -> Machine:
    def changed(index: int, joint: Joint) -> Joint:
        return dataclasses.replace(joint, **changes) if index == place else joint

    joints = tuple(changed(index, joint) for index, joint in enumerate(machine.legs[leg].joints))
    legs = list(machine.legs)
    legs[leg] = dataclasses.replace(legs[leg], joints=joints)
    return dataclasses.replace(machine, legs=tuple(legs))


@pytest.fixture(scope='module')
def machine() -> Machine:
    return load_machine('khalifa_3prr')


def test_machine_file(machine: Machine) -> None:
    checks = run(machine)
    assert [check for check in checks if check.status != 'met'] == []
    assert {check.id for check in checks} == {f'R2-{item:02d}' for item in (*range(1, 14), 39)}


def test_a_longer_rod(machine: Machine) -> None:
    leg = machine.legs[0].with_end(point=machine.legs[0].tip + np.array([1e-6, 0.0, 0.0]))
    assert 'R2-01' in failed(dataclasses.replace(machine, legs=(leg, *machine.legs[1:])))


def test_a_heavier_rod(machine: Machine) -> None:
    body = machine.legs[1].joints[1].body
    heavier = with_joint(machine, 1, 1, body=dataclasses.replace(body, mass=body.mass + 0.01))
    assert 'R2-05' in failed(heavier)


def test_friction_of_another_guide(machine: Machine) -> None:
    friction = machine.legs[2].joints[0].friction
    law = dataclasses.replace(friction.law, coulomb_coefficient=0.1450)
    assert failed(with_joint(machine, 2, 0, friction=dataclasses.replace(friction, law=law))) == {'R2-12'}


def test_a_lost_velocity_force(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    right = PlanarDynamics.other_forces

    def at_rest(self: PlanarDynamics, q: np.ndarray, velocity: np.ndarray) -> np.ndarray:
        return right(self, q, np.zeros_like(velocity))

    monkeypatch.setattr(PlanarDynamics, 'other_forces', at_rest)
    assert {'R2-07', 'R2-08', 'R2-12'} <= failed(machine)


def test_printed_constraints_are_refused_and_out_of_reach_is_named(machine: Machine) -> None:
    geometry: PlanarGeometry = geometry_of(machine)
    robot = PlanarDynamics(dataclasses.replace(geometry, printed=True), DESIGN, np.zeros(2))
    with pytest.raises(KinematicsError, match='guide 1'):
        robot.normal_forces(np.zeros((1, 9)))
    with pytest.raises(KinematicsError, match='pin 2 is 0.5 m'):
        geometry.coordinates(np.array([[0.0, 0.5, 0.0]]))


def test_another_machine_is_not_mistaken_for_it() -> None:
    with pytest.raises(ValueError, match='no slider on the x axis'):
        geometry_of(load_machine('valencia_3rps'))
