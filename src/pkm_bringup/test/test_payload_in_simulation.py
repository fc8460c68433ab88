"""A payload put on the platform while it moves: the physics of a machine that had it from the start."""

from __future__ import annotations

import numpy as np
import pytest
from hand_built_platform import hand_built_platform, six_axis_sinusoids
from pkm_bringup.control import ServoSettings
from pkm_bringup.simulation import ControlledSimulation, MujocoSimulation
from pkm_bringup.simulation.mujoco_simulation import PayloadError, point_mass
from pkm_description.dynamics import inverse_dynamics
from pkm_description.loading import load_machine
from pkm_description.machine import PlatformMotion, RigidBody
from pkm_description.machine.machine import with_payload

BODY = RigidBody('payload', 40.0, np.array([0.1, -0.05, 0.2]), np.diag([0.6, 0.8, 0.5]))


def _state(simulation: MujocoSimulation) -> np.ndarray:
    return np.concatenate([simulation.data.qpos, simulation.data.qvel])


@pytest.mark.parametrize('name', ['srs', 'khalifa_3prr', 'delta'])
def test_from_then_on_it_is_the_heavier_machine(name: str) -> None:
    """Same state, same forces: the same motion to 1e-9; taken off again, that of the machine without."""
    machine = load_machine(name)
    size = 0.1 * (machine.platform.mass or 1.0)
    body = RigidBody('payload', size, np.array([0.02, -0.01, 0.03]), 1e-4 * size * np.eye(3))
    ours = MujocoSimulation(machine, noise=False)
    forces = ours.data.ctrl.copy()
    for _ in range(50):
        ours.step(1.02 * forces)
    for present in (body, None):
        ours.put_payload(present)
        assert ours.payload is present
        expected = MujocoSimulation(machine if present is None else with_payload(machine, body), noise=False)
        for part in ('qpos', 'qvel', 'act', 'qacc_warmstart'):
            getattr(expected.data, part)[:] = getattr(ours.data, part)
        before = _state(ours)
        for _ in range(100):
            ours.step(1.02 * forces)
            expected.step(1.02 * forces)
        moved = np.abs(_state(ours) - before).max()
        assert np.abs(_state(ours) - _state(expected)).max() < 1e-9 * moved


def test_forces_and_motion_belong_to_the_heavier_machine() -> None:
    """Newton and Euler, our own equations: motion with the payload and the drives' forces agree to 10 mN."""
    machine = hand_built_platform()
    controlled = ControlledSimulation(machine, noise=False, settings=ServoSettings(feedforward='rigid_body_friction'))
    simulation = controlled.simulation
    times = np.arange(1401) / 100.0
    controlled.add_reference(six_axis_sinusoids(machine).evaluate(times), simulation.time_ns)
    samples = []
    for index in range(round(4.0 / simulation.time_step)):
        if index == round(2.0 / simulation.time_step):
            simulation.put_payload(BODY)
        sample = controlled.step()
        if sample is not None and sample.joints is not None and sample.stamp_ns > 2_100_000_000:
            samples.append(sample)
    truths = [sample.truth for sample in samples]
    motion = PlatformMotion(
        np.array([sample.stamp_ns * 1e-9 for sample in samples]),
        *(np.array([getattr(one, part) for one in truths]) for part in (
            'position', 'rotation_base_platform', 'linear_velocity', 'angular_velocity', 'linear_acceleration',
            'angular_acceleration',
        )),
    )  # fmt: skip
    efforts = np.array([sample.joints.efforts for sample in samples])
    error = inverse_dynamics(with_payload(machine, BODY), motion) - efforts
    without = inverse_dynamics(machine, motion) - efforts
    assert np.sqrt(np.mean(error**2)) < 0.01 and np.sqrt(np.mean(without**2)) > 10.0


def test_what_is_no_payload_is_refused() -> None:
    simulation = MujocoSimulation(load_machine('srs'))
    assert point_mass(0.0, np.zeros(3)) is None
    for mass, place in ((-1.0, np.zeros(3)), (np.nan, np.zeros(3)), (1.0, np.full(3, np.inf)), (1.0, np.zeros(2))):
        with pytest.raises(PayloadError, match='payload of'):
            point_mass(mass, place)
    with pytest.raises(PayloadError, match='no body has'):
        simulation.put_payload(RigidBody('payload', 1.0, np.zeros(3), -1e6 * np.eye(3)))
    assert simulation.payload is None
