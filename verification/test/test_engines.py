"""Kinematics, dynamics and reactions of all kinds of machines against Pinocchio and MuJoCo, which share no line."""

from __future__ import annotations

import dataclasses
import sys
from typing import Any

import numpy as np
import pytest
from hand_built_machines import heimann_check_robot, simona_z_down, turned_link_frames
from other_machines import CLOSED, cart_with_pendulum
from pkm_description.dynamics import gravity_forces, inverse_dynamics
from pkm_description.kinematics import joint_motion
from pkm_description.loading import load_machine
from pkm_description.machine import Machine, PlatformMotion
from pkm_description.machine.machine import with_gravity

from verification.engines import checks as engines
from verification.engines import model_checks as engine_models
from verification.engines.pinocchio import PinocchioTree
from verification.engines.result import EngineMissingError

HAND_BUILT = {
    'heimann': heimann_check_robot,
    'simona_z_down': simona_z_down,
    'turned': turned_link_frames,
    **CLOSED,
    'cart with pendulum': cart_with_pendulum,
}
FILES = ['srs', 'palida']


def built(name: str) -> Machine:
    return load_machine(name) if name in FILES else HAND_BUILT[name]()


@pytest.mark.parametrize('name', [*FILES, *HAND_BUILT])
def test_pinocchio(name: str) -> None:
    pytest.importorskip('pinocchio')
    checks = _checks(built(name), 'Pinocchio', 1e-9)
    assert [check for check in checks if check.status != 'met'] == []
    assert len(checks) >= 3


@pytest.mark.parametrize('name', [*FILES, *HAND_BUILT])
def test_mujoco(name: str) -> None:
    pytest.importorskip('mujoco')
    checks = _checks(built(name), 'MuJoCo', 1e-6)
    assert [check for check in checks if check.status != 'met'] == []
    assert len(checks) >= (7 if built(name).has_platform else 2)


def _checks(machine: Machine, engine: str, limit: float) -> list[engines.Check]:
    compare = engines.closed_machine_checks if machine.has_platform else engines.open_chain_checks
    return list(compare(machine, engine, limit, 8))


@pytest.mark.parametrize('name', ['turned', *CLOSED, 'cart with pendulum'])
def test_models(name: str) -> None:
    pytest.importorskip('pinocchio')
    machine = built(name)
    checks = list(engine_models.checks(machine, quick=True))
    assert [check for check in checks if check.status != 'met'] == []
    assert len(checks) >= (3 if machine.has_platform else 2)


def test_models_of_another_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pinocchio's gravity stays, ours turns by a millionth: what knows gravity fails, the mass matrix does not."""
    pytest.importorskip('pinocchio')
    machine = built('3-PRS')
    tilted = with_gravity(machine, machine.gravity + np.array([1e-5, 0.0, 0.0]))

    def of_tilted(name: str) -> None:
        right = getattr(engine_models, name)
        monkeypatch.setattr(
            engine_models, name, lambda one, *rest, **more: right(tilted if one is machine else one, *rest, **more)
        )

    for name in ('rigid_body_regressor', 'inverse_dynamics', 'mass_matrix'):
        of_tilted(name)
    failed = {check.what for check in engine_models.checks(machine, quick=True) if check.status == 'not met'}
    assert 'mass matrix on admissible twists, relative' not in failed
    wrench = 'inverse dynamics with an external wrench, relative'
    assert {'regressor of every body, separate legs, relative', wrench} <= failed


@pytest.mark.parametrize('name', ['palida', '3-RPS', 'planar 3-PRR'])
def test_a_wrong_mass_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine gets a platform that is heavier by a millionth: forces fail, kinematics do not."""
    pytest.importorskip('pinocchio')

    right = engines.pinocchio_result

    def of_wrong_machine(machine: Machine, *state: Any) -> engines.EngineResult:
        body = dataclasses.replace(machine.platform, mass=machine.platform.mass * (1.0 + 1e-6))
        return right(dataclasses.replace(machine, platform=body), *state)

    monkeypatch.setattr(engines, 'pinocchio_result', of_wrong_machine)
    failed = {check.what for check in _checks(built(name), 'Pinocchio', 1e-9) if check.status == 'not met'}
    assert not [what for what in failed if what.startswith(('closures at', 'joint velocities', 'joint accelerations'))]
    assert {'inverse dynamics, relative', 'constraint forces in the closures, relative'} <= failed
    assert 'mass of all bodies, relative' in failed


def test_a_missing_engine_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, 'pinocchio', None)
    monkeypatch.setitem(sys.modules, 'mujoco', None)
    checks = list(engines.checks(heimann_check_robot(), quick=True))
    assert [check.status for check in checks] == ['not reachable', 'not reachable']
    assert 'pip install pin' in checks[0].measured
    with pytest.raises(EngineMissingError):
        PinocchioTree(heimann_check_robot())


@pytest.mark.parametrize('name', ['palida', 'simona_z_down', '3-PRS'])
def test_weight_at_rest(name: str) -> None:
    pytest.importorskip('pinocchio')
    machine = built(name)
    home = machine.home
    motion = PlatformMotion.at_rest(home.position, home.rotation_base_platform)
    positions = joint_motion(machine, motion).positions
    forces = gravity_forces(machine, motion.position, motion.rotation_base_platform)
    expected = PinocchioTree(machine).drive_forces(positions[0], motion, 0)
    np.testing.assert_allclose(forces[0], expected, rtol=1e-9)
    np.testing.assert_allclose(forces, inverse_dynamics(machine, motion, friction=False), rtol=1e-11)
