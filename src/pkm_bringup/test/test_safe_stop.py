"""The servo stops the machine safely: trip, braking, hold, damping, release, reset; on MuJoCo physics."""

from __future__ import annotations

import numpy as np
import pytest
from pkm_bringup.control import LegServo, ServoSettings, ServoState, TrippedError
from pkm_bringup.simulation import ControlledSimulation, MujocoSimulation
from pkm_description.loading import load_machine
from pkm_description.machine import Machine, PlatformMotion
from pkm_description.motion.profiles import profile

FULL = ServoSettings(feedforward='rigid_body_friction')


def _moving(machine: Machine, settings: ServoSettings = FULL) -> tuple[MujocoSimulation, LegServo]:
    """A machine in the middle of a motion."""
    controlled = ControlledSimulation(machine, noise=False, settings=settings)
    controlled.add_reference(profile('drives', machine, 8.0, 50.0, seed=2), 0)
    _run(controlled.simulation, controlled.servo, 2500)
    assert np.abs(controlled.simulation.joint_velocities).max() > 0.01
    return controlled.simulation, controlled.servo


def _run(simulation: MujocoSimulation, servo: LegServo, steps: int, sign: float = 1.0) -> np.ndarray:
    """Applied forces (steps, A) of the servo on the simulated machine; ``sign`` of the drives."""
    forces = []
    for _ in range(steps):
        positions, velocities = simulation.joint_positions.copy(), simulation.joint_velocities.copy()
        forces.append(sign * servo.forces(simulation.time_ns, positions, velocities))
        simulation.step(forces[-1])
    return np.array(forces)


@pytest.mark.parametrize('name', ['palida', 'valencia_3rps'])
def test_blocked_drive_stops_the_machine_which_then_holds(name: str) -> None:
    machine = load_machine(name)
    speed = np.abs(np.diff(_sampled(machine), axis=0)).max()
    simulation, servo = _moving(
        machine, ServoSettings(feedforward='rigid_body_friction', tracking_error_limit=2.0 * speed)
    )
    dof = simulation.model.joint(machine.actuated_joint_names[0]).dofadr[0]
    free = simulation.model.dof_frictionloss[dof]
    simulation.model.dof_frictionloss[dof] = 2.0 * machine.actuated_joints[0].limits.effort  # it is blocked
    for _ in range(3000):
        _run(simulation, servo, 1)
        if servo.trip_reason:
            break
    assert servo.trip_reason.startswith(f'{machine.actuated_joint_names[0]}: tracking error')
    assert servo.state is ServoState.BRAKING
    with pytest.raises(TrippedError, match='remove the cause, then reset'):
        servo.add_reference(PlatformMotion.at_rest(machine.home.position, machine.home.rotation_base_platform), 0, 0)
    forces = _run(simulation, servo, 1500)
    assert servo.state is ServoState.HOLDING
    assert np.abs(simulation.joint_velocities).max() < 1e-3 * machine.actuated_joints[0].limits.velocity
    assert (np.abs(forces) <= [joint.limits.effort for joint in machine.actuated_joints]).all()
    simulation.model.dof_frictionloss[dof] = free
    servo.reset()
    assert servo.state is ServoState.FOLLOWING
    here = simulation.joint_positions.copy()
    _run(simulation, servo, 500)
    assert not servo.trip_reason
    assert simulation.joint_positions == pytest.approx(here, abs=2.0 * speed)


def _sampled(machine: Machine) -> np.ndarray:
    """Drive positions every 20 ms of the motion."""
    from pkm_description.kinematics import drive_positions

    return drive_positions(machine, profile('drives', machine, 8.0, 50.0, seed=2))


def test_braking_goes_on_along_the_path_and_stays_within_the_forces() -> None:
    machine = load_machine('palida')
    simulation, servo = _moving(machine)
    before = simulation.joint_velocities.copy()
    last = _run(simulation, servo, 1)[0]
    servo.trip('test', simulation.time_ns)
    forces = _run(simulation, servo, 1000)
    assert np.abs(forces[0] - last).max() < 0.25 * np.abs(last).max()  # the force of the acceleration so far
    assert np.abs(forces).max() < 150.0
    assert servo.state is ServoState.HOLDING
    assert np.abs(simulation.joint_velocities).max() < 1e-3
    assert np.abs(servo.tracking_error).max() < 5e-4
    assert np.abs(before).max() > 0.05


def test_drives_of_the_wrong_sign_are_released() -> None:
    """Braking, holding and damping all push the wrong way: the only safe force is none."""
    machine = load_machine('palida')
    simulation, servo = _moving(machine)
    states = []
    for _ in range(1500):
        applied = _run(simulation, servo, 1, sign=-1.0)
        states.append(servo.state)
    assert list(dict.fromkeys(states)) == [
        ServoState.FOLLOWING, ServoState.BRAKING, ServoState.DAMPED, ServoState.RELEASED
    ]  # fmt: skip
    assert not applied.any()
    assert 'tracking error' in servo.trip_reason
    # neither an operator's stop nor a gap in the joint states gives it forces again
    servo.trip('stop', simulation.time_ns)
    for gap in (1, 500):
        for _ in range(gap):
            simulation.step(servo.forces_without_measurement(simulation.time_ns))
        assert not _run(simulation, servo, 10, sign=-1.0).any()
    assert servo.state is ServoState.RELEASED


@pytest.mark.parametrize('gone', ['silent', 'not finite'])
def test_without_joint_states_it_brakes_by_feedforward_and_holds_when_they_come_again(gone: str) -> None:
    machine = load_machine('palida')
    simulation, servo = _moving(machine)
    assert not servo.trip_reason
    nothing = np.full(6, np.nan)
    for step in range(900):
        if gone == 'silent':
            forces = servo.forces_without_measurement(simulation.time_ns)
        else:
            forces = servo.forces(simulation.time_ns, nothing, nothing)
        simulation.step(forces)
        if step == 200:
            assert not servo.trip_reason  # a gap shorter than the timeout
    assert 'no usable joint states for 0.25 s' in servo.trip_reason
    assert np.abs(simulation.joint_velocities).max() < 0.01  # at rest, without having been seen
    with pytest.raises(TrippedError, match='there are no joint states yet'):
        servo.reset()
    _run(simulation, servo, 600)
    assert servo.state is ServoState.HOLDING
    assert np.abs(simulation.joint_velocities).max() < 1e-3
    servo.reset()
    assert not servo.trip_reason


def test_forces_that_are_no_numbers_stop_it() -> None:
    machine = load_machine('palida')
    simulation, servo = _moving(machine)
    servo._axes.integral = np.full(6, np.nan)
    servo._axes._integral_gain = 1.0
    forces = _run(simulation, servo, 1)
    assert np.isfinite(forces).all()
    assert 'not finite' in servo.trip_reason
    assert servo.state is ServoState.DAMPED
    _run(simulation, servo, 1500)
    assert np.abs(simulation.joint_velocities).max() < 0.01
