"""Inverse dynamics and leg kinematics against Pinocchio, which shares no line with them."""

from __future__ import annotations

import numpy as np
import pytest
from hand_built_machines import heimann_check_robot, simona_z_down, turned_link_frames
from pkm_description.dynamics import gravity_forces, inverse_dynamics
from pkm_description.kinematics import leg_motion
from pkm_description.machine.model import Machine
from pkm_description.mechanism import Mechanism
from pkm_description.motion import PlatformMotion
from pkm_description.motion.random_states import random_states

pytest.importorskip('pinocchio')
from pinocchio_oracle import PinocchioOracle

SAMPLES = 40


@pytest.fixture(scope='module', params=['heimann', 'simona_z_down', 'turned', 'srs', 'palida'])
def machine(request: pytest.FixtureRequest) -> Machine:
    hand_built = {
        'heimann': heimann_check_robot,
        'simona_z_down': simona_z_down,
        'turned': turned_link_frames,
    }
    if request.param in hand_built:
        return hand_built[request.param]()
    from pkm_description.machine import load_machine

    return load_machine(request.param)


def test_closures_joint_rates_and_accelerations(machine: Machine) -> None:
    mechanism, oracle = Mechanism(machine), PinocchioOracle(machine)
    motion = random_states(machine, SAMPLES, seed=11)
    legs = leg_motion(mechanism, motion)
    for sample in range(SAMPLES):
        configuration, velocity, acceleration = oracle.state(legs.positions[sample], motion, sample)
        oracle.closure_jacobian(configuration)
        for tip, anchor in zip(oracle.tips, oracle.anchors, strict=True):
            gap = oracle.data.oMf[tip].translation - oracle.data.oMf[anchor].translation
            assert np.abs(gap).max() < 1e-13
        np.testing.assert_allclose(legs.velocities[sample].ravel(), velocity[:-6], rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(
            legs.accelerations[sample].ravel(), acceleration[:-6], rtol=1e-9, atol=1e-10
        )


def test_inverse_dynamics(machine: Machine) -> None:
    mechanism, oracle = Mechanism(machine), PinocchioOracle(machine)
    motion = random_states(machine, SAMPLES, seed=12)
    positions = leg_motion(mechanism, motion).positions
    forces = inverse_dynamics(mechanism, motion, friction=False)
    expected = np.array([oracle.drive_forces(positions[sample], motion, sample) for sample in range(SAMPLES)])
    assert np.abs(forces - expected).max() < 1e-9 * np.abs(expected).max()
    # most samples agree far better; the bound above is the requirement
    assert np.median(np.abs(forces - expected)) < 1e-12 * np.abs(expected).max()


def test_weight_at_rest(machine: Machine) -> None:
    mechanism, oracle = Mechanism(machine), PinocchioOracle(machine)
    home = machine.home
    motion = PlatformMotion.at_rest(home.position, home.rotation_base_platform)
    positions = leg_motion(mechanism, motion).positions
    forces = gravity_forces(mechanism, motion.position, motion.rotation_base_platform)
    expected = oracle.drive_forces(positions[0], motion, 0)
    np.testing.assert_allclose(forces[0], expected, rtol=1e-9)
    np.testing.assert_allclose(forces, inverse_dynamics(mechanism, motion, friction=False), rtol=1e-11)
