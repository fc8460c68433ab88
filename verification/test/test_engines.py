"""Hand-built machines of all kinds against engines that share no line, engines that are missing, random machines."""

from __future__ import annotations

import dataclasses
import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from hand_built_machines import heimann_check_robot, simona_z_down, turned_link_frames
from other_machines import CLOSED, cart_with_pendulum
from pkm_description.export.rest import home_configuration
from pkm_description.kinematics import forward_kinematics, joint_motion
from pkm_description.kinematics.closed_legs import close_legs
from pkm_description.loading import load_machine
from pkm_description.machine import Joint, Machine
from pkm_description.machine.machine import with_joints

from verification.engines import checks, dart, model_checks, random_checks
from verification.engines.drives import driven_by, independent_drives
from verification.engines.pinocchio import PinocchioTree
from verification.engines.projection import EngineMissingError
from verification.engines.random_checks import followed_from_home
from verification.engines.random_legs import FREE, HOLDING
from verification.engines.random_machines import random_machines

pytest.importorskip('pinocchio')
pytest.importorskip('mujoco')

OPEN = {'cart with pendulum': cart_with_pendulum}
OTHERS = {'heimann': heimann_check_robot, 'simona_z_down': simona_z_down, 'turned': turned_link_frames}
BUILT = {**OTHERS, **CLOSED, **OPEN}


@pytest.mark.parametrize(
    ('module', 'name', 'least'),
    [
        *((checks, name, 5 if name in OPEN else 10) for name in BUILT),
        *((model_checks, name, 2 if name in OPEN else 3) for name in ('turned', *CLOSED, *OPEN)),
        *((dart, name, 4) for name in CLOSED),
    ],
)
def test_engines_agree(module: ModuleType, name: str, least: int) -> None:
    if module is dart:
        pytest.importorskip('dartpy', exc_type=ImportError)  # on a bare Debian libGL.so.1 is missing
    found = list(module.checks(BUILT[name](), quick=True))
    assert [check for check in found if check.status != 'met'] == []
    assert len(found) >= least


def test_a_missing_engine_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = heimann_check_robot()
    for name in ('pinocchio', 'mujoco', 'dartpy'):
        monkeypatch.setitem(sys.modules, name, None)
    found = [check for module in (checks, dart) for check in module.checks(machine, quick=True)]
    assert [check.status for check in found] == ['not reachable'] * 3
    assert 'pip install pin' in found[0].measured and 'pip install dartpy' in found[2].measured
    with pytest.raises(EngineMissingError):
        PinocchioTree(machine)

    def not_loaded(name: str) -> None:
        raise ImportError('libGL.so.1: cannot open shared object file')

    monkeypatch.setattr(dart, 'importlib', SimpleNamespace(import_module=not_loaded))
    (check,) = dart.checks(machine, quick=True)
    assert 'libGL.so.1' in check.measured and 'libgl1' in check.measured


@pytest.mark.parametrize(('below', 'above', 'reach'), [
    (1.0, 1.0, 0.04),
    (0.03, 1.0, 0.04),  # to the side with more room
    (0.0, 1.0, 0.04),
    (0.01, 0.02, 0.016),  # 0.8 of the room
])  # fmt: skip
def test_drives_in_dart_stay_within_their_limits(below: float, above: float, reach: float) -> None:
    machine = load_machine('palida')
    home = home_configuration(machine).joint_positions

    def narrowed(joint: Joint) -> Joint:
        q = home[joint.name]
        limits = dataclasses.replace(joint.limits, lower=q - below, upper=q + above)
        return dataclasses.replace(joint, limits=limits) if joint.actuated else joint

    machine = with_joints(machine, narrowed)
    start = np.array([home[joint.name] for joint in machine.actuated_joints])
    time = np.sort(np.append(np.linspace(0.0, 1.2, 100), np.pi / np.linspace(3.0, 5.0, len(start))))
    moved = dart.drive_motion(machine, start, time)[1] - start
    assert moved.min() >= -below
    assert moved.max() <= above
    assert np.abs(moved).max() == pytest.approx(reach)


@pytest.fixture(scope='module')
def machines() -> list[Machine]:
    return list(random_machines(20, seed=11))


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


def test_path_of_the_drives_in_the_engine(machines: list[Machine]) -> None:
    """Ends where forward kinematics says, away from home."""
    for machine in (machines[0], next(machine for machine in machines if machine.planar)):
        tree, motion = PinocchioTree(machine), random_checks.states(machine, 5)
        drives = joint_motion(machine, motion).positions[0, machine.drive_columns]
        found = forward_kinematics(machine, drives).require().joint_positions[0]
        np.testing.assert_allclose(followed_from_home(tree, drives), found, atol=1e-9)
        assert np.abs(found - machine.model.home_joints).max() > 1e-2
