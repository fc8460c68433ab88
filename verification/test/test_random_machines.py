"""Random machines with mixed legs against Pinocchio."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from pkm_description.kinematics import forward_kinematics, joint_motion
from pkm_description.kinematics.closed_legs import close_legs
from pkm_description.machine import Machine

from verification.engines import random_checks
from verification.engines.continuation import followed_from_home
from verification.engines.drives import driven_by, independent_drives
from verification.engines.pinocchio import PinocchioTree
from verification.engines.random_legs import FREE, HOLDING
from verification.engines.random_machines import random_machines

pytest.importorskip('pinocchio')


@pytest.fixture(scope='module')
def machines() -> list[Machine]:
    return list(random_machines(20, seed=11))


def test_no_error_is_silent() -> None:
    checks = list(random_checks.checks(12))
    assert [check.what for check in checks if check.status != 'met'] == []
    assert len(checks) == 11


def test_legs_are_mixed(machines: list[Machine]) -> None:
    """All kinds of legs and closures, several drives in a leg, none, redundant drives, planar machines."""
    kinds = {kind for machine in machines for kind in machine.name.split('-')}
    assert len(kinds) > 0.7 * (len(FREE) + len(HOLDING))
    closures = {closure.kind for machine in machines for closure in machine.closures}
    assert closures == {'ball', 'universal', 'pin', 'fixed'}
    driven = {sum(joint.actuated for joint in leg.joints) for machine in machines for leg in machine.legs}
    assert driven == {0, 1, 2}
    spare = [machine.actuated_count - int(machine.model.degrees_of_freedom[0]) for machine in machines]
    assert min(spare) == 0
    assert max(spare) > 0
    assert sum(machine.planar for machine in machines) == 4


def test_as_many_drives_as_freedoms(machines: list[Machine]) -> None:
    for machine in machines:
        few = driven_by(machine, independent_drives(machine))
        assert few.actuated_count == int(few.model.degrees_of_freedom[0])
        home = machine.home
        legs = close_legs(few, home.position[None], home.rotation_base_platform[None])
        np.testing.assert_allclose(legs.positions[0], machine.model.home_joints, atol=1e-9)


def test_a_wrong_mass_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine gets a platform that is heavier by a millionth."""
    machine = next(random_machines(1, seed=3))
    assert max(random_checks.compared(machine, 0).errors.values()) < 1e-8
    right = random_checks.pinocchio_result

    def of_wrong_machine(machine, *state):
        body = dataclasses.replace(machine.platform, mass=machine.platform.mass * (1.0 + 1e-6))
        return right(dataclasses.replace(machine, platform=body), *state)

    monkeypatch.setattr(random_checks, 'pinocchio_result', of_wrong_machine)
    errors = random_checks.compared(machine, 0).errors
    assert errors['inverse dynamics, relative'] > 1e-8
    assert errors['joint accelerations, relative'] < 1e-8


def test_path_of_the_drives_in_the_engine(machines: list[Machine]) -> None:
    """Ends where forward kinematics says, away from home."""
    for machine in (machines[0], next(machine for machine in machines if machine.planar)):
        tree, motion = PinocchioTree(machine), random_checks.states(machine, 5)
        drives = joint_motion(machine, motion).positions[0, machine.drive_columns]
        found = forward_kinematics(machine, drives).require().joint_positions[0]
        np.testing.assert_allclose(followed_from_home(tree, drives), found, atol=1e-9)
        assert np.abs(found - machine.model.home_joints).max() > 1e-2
