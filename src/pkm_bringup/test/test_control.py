"""References, servo and commanded forces without ROS."""

from __future__ import annotations

from collections import deque
from dataclasses import replace

import numpy as np
import pytest
from changed_machines import with_drive_limits
from hand_built_platform import hand_built_platform, six_axis_sinusoids
from pkm_bringup.control import (
    CommandError,
    EffortCommands,
    LegReference,
    LegServo,
    ReferenceRefusedError,
    ServoSettings,
    check_reference,
    gains_for_delay,
)
from pkm_bringup.simulation import ControlledSimulation, MujocoSimulation
from pkm_description.dynamics import inverse_dynamics
from pkm_description.kinematics import joint_motion
from pkm_description.loading import load_machine
from pkm_description.machine import PlatformMotion
from pkm_description.motion.profiles import profile

MACHINE = hand_built_platform(viscous=20.0, coulomb=1.0)
MECHANISM = MACHINE
SECOND = 10**9

#: for tests that feed positions of no machine
UNSUPERVISED = ServoSettings(tracking_error_limit=-1.0)


def _knots(rate: float = 50.0) -> PlatformMotion:
    return six_axis_sinusoids(MACHINE).evaluate(np.arange(round(14.0 * rate) + 1) / rate)


def _rest(offset: float = 0.0) -> PlatformMotion:
    home = MACHINE.home
    return PlatformMotion.at_rest(home.position + np.array([0.0, 0.0, offset]), home.rotation_base_platform)


@pytest.fixture(scope='module')
def knots() -> PlatformMotion:
    return _knots()


def test_reference_between_knots_is_that_of_the_motion(knots: PlatformMotion) -> None:
    reference = LegReference(MECHANISM, knots, 3 * SECOND, 'rigid_body_friction')
    times = np.arange(0.0, 14.0, 0.00137)
    setpoint = reference.evaluate(3 * SECOND + np.round(times * 1e9).astype(np.int64))
    motion = six_axis_sinusoids(MACHINE).evaluate(times)
    legs = joint_motion(MECHANISM, motion)
    assert np.abs(setpoint.positions - legs.positions[:, MECHANISM.drive_columns]).max() < 1e-8
    assert np.abs(setpoint.rates - legs.velocities[:, MECHANISM.drive_columns]).max() < 1e-6
    moving = np.abs(legs.velocities[:, MECHANISM.drive_columns]) > 0.01
    force = inverse_dynamics(MECHANISM, motion, friction=True)
    assert np.abs(setpoint.forces - force)[moving].max() < 5e-3


def test_forces_have_no_steps_of_the_knots(knots: PlatformMotion) -> None:
    """At 1 kHz successive forces differ smoothly; a 50 Hz staircase would show up in the second difference."""
    for mode in ('gravity', 'rigid_body_friction'):
        frictionless = hand_built_platform()
        reference = LegReference(frictionless, knots, 0, mode)
        forces = reference.evaluate(np.arange(14000, dtype=np.int64) * 10**6).forces
        staircase = np.abs(np.diff(forces[::20], axis=0)).max()
        assert np.abs(np.diff(forces, n=2, axis=0)).max() < 1e-2 * staircase


def test_reference_holds_its_ends(knots: PlatformMotion) -> None:
    reference = LegReference(MECHANISM, knots, SECOND)
    setpoint = reference.evaluate(np.array([0, SECOND, 15 * SECOND, 99 * SECOND]))
    assert setpoint.positions[0] == pytest.approx(setpoint.positions[1], abs=0.0)
    assert setpoint.positions[2] == pytest.approx(setpoint.positions[3], abs=0.0)
    assert setpoint.rates == pytest.approx(0.0, abs=1e-12)


def test_unusable_references_are_refused_with_the_place(knots: PlatformMotion) -> None:
    position = knots.position.copy()
    position[17, 1] = np.nan
    time = knots.time.copy()
    time[5] = time[4]
    for bad, text in (
        (replace(knots, position=position), 'point 17 of the reference: position is not finite'),
        (replace(knots, time=time), 'point 5 of the reference is not later'),
        (knots[100:], 'first point of the reference moves'),
        (knots[:300], 'last point of the reference moves'),
        (knots[:0], 'no points'),
    ):
        with pytest.raises(ReferenceRefusedError, match=text):
            LegReference(MECHANISM, bad, 0)


def test_limits_are_named_with_joint_and_time() -> None:
    times = np.arange(1401) / 100.0
    check_reference(MECHANISM, six_axis_sinusoids(MACHINE).evaluate(times))
    with pytest.raises(ReferenceRefusedError, match=r'leg\d_prismatic: position .* m (exceeds|is below) .* at t = '):
        check_reference(MECHANISM, six_axis_sinusoids(MACHINE, translation=0.6).evaluate(times))
    slow = with_drive_limits(MACHINE, velocity=0.1)
    with pytest.raises(ReferenceRefusedError, match=r'leg\d_prismatic: speed .* m/s exceeds 0.100 m/s at t = '):
        check_reference(slow, six_axis_sinusoids(MACHINE).evaluate(times))
    weak = with_drive_limits(MACHINE, effort=30.0)
    with pytest.raises(ReferenceRefusedError, match=r'force .* N exceeds 30.0 N at t = '):
        check_reference(weak, six_axis_sinusoids(MACHINE).evaluate(times))


def test_plan_follows_references_in_turn_whatever_their_order(knots: PlatformMotion) -> None:
    forward, backward = LegServo(MECHANISM, 10**6, UNSUPERVISED), LegServo(MECHANISM, 10**6, UNSUPERVISED)
    forward.add_reference(knots, SECOND, 0)
    forward.add_reference(knots, 20 * SECOND, 0)
    backward.add_reference(knots, 20 * SECOND, 0)
    backward.add_reference(knots, SECOND, 0)
    zero = np.zeros(6)
    for time_ns in range(0, 36 * SECOND, 137 * 10**6):
        assert forward.forces(time_ns, zero, zero).tobytes() == backward.forces(time_ns, zero, zero).tobytes()


def test_forces_do_not_depend_on_when_a_reference_arrived(knots: PlatformMotion) -> None:
    early, late = LegServo(MECHANISM, 10**6, UNSUPERVISED), LegServo(MECHANISM, 10**6, UNSUPERVISED)
    early.add_reference(knots, SECOND, 0)
    zero = np.zeros(6)
    for step in range(3000):
        if step == 777:
            late.add_reference(knots, SECOND, step * 10**6)
        first, second = (servo.forces(step * 10**6, zero, zero) for servo in (early, late))
        assert first.tobytes() == second.tobytes()


def test_hold_keeps_the_pose_of_the_present_joint_positions() -> None:
    servo = LegServo(MECHANISM, 10**6, UNSUPERVISED)
    raised = joint_motion(MECHANISM, _rest(0.03)).positions[0, MECHANISM.drive_columns]
    pose = servo.hold(raised)
    assert pose.position == pytest.approx(MACHINE.home.position + np.array([0.0, 0.0, 0.03]), abs=1e-10)
    weight = inverse_dynamics(MECHANISM, _rest(0.03), friction=False)[0]
    assert servo.forces(0, raised, np.zeros(6)) == pytest.approx(weight, abs=1e-6)


@pytest.mark.parametrize('periods', [2])
@pytest.mark.parametrize(
    'name', [MACHINE.name, *(pytest.param(name, marks=pytest.mark.campaign) for name in ('srs', 'palida'))]
)
def test_lowered_gains_are_stable_over_slow_topics(name: str, periods: int) -> None:
    """Noisy samples at the sensors' rate, forces held for a period and late: the loop of the node leg_controller."""
    machine = MACHINE if name == MACHINE.name else load_machine(name)
    period = 1.0 / machine.leg_sensors.rate
    settings = ServoSettings(feedforward='rigid_body_friction')
    gains = gains_for_delay(machine, machine.servo, 1.5 * period)
    servo = LegServo(machine, round(period * 1e9), settings, gains)
    servo.add_reference(profile('fourier', machine, 8.0, 50.0), SECOND, 0)
    simulation = MujocoSimulation(machine, seed=1)
    forces = simulation.data.ctrl.copy()
    waiting: deque[tuple[int, np.ndarray]] = deque()
    errors = []
    for step in range(10000):
        while waiting and waiting[0][0] <= step:
            forces = waiting.popleft()[1]
        sample = simulation.step(forces)
        if sample is not None and sample.joints is not None:
            command = servo.forces(sample.stamp_ns, sample.joints.positions, sample.joints.velocities)
            waiting.append((step + 1 + periods * round(period * 1e3), command))
            wanted = servo._plan.evaluate(np.array([sample.stamp_ns])).positions[0]
            errors.append(np.abs(wanted - sample.joints.positions).max())
    assert max(errors) < 0.02  # late feed-forward forces cost a centimetre, an unstable loop would cost decimetres
    assert max(errors[-50:]) < 0.005
    assert not servo.saturation_count.any()


def test_commands_are_held_then_time_out() -> None:
    commands = EffortCommands(['a', 'b'], timeout_ns=100)
    assert commands.forces(0) is None
    commands.receive([1.0, 2.0], 10)
    assert commands.forces(110).tolist() == [1.0, 2.0]
    assert commands.forces(111) is None
    assert commands.forces(50) is None  # a time-out stays until the next command


@pytest.mark.parametrize(
    ('values', 'text'), [([1.0], 'has 1 forces, expected 2: a, b'), ([1.0, np.nan], 'command for b is nan')]
)
def test_bad_commands_are_refused_and_the_last_good_one_stays(values: list[float], text: str) -> None:
    commands = EffortCommands(['a', 'b'], timeout_ns=100)
    commands.receive([1.0, 2.0], 0)
    with pytest.raises(CommandError, match=text):
        commands.receive(values, 50)
    assert commands.forces(60).tolist() == [1.0, 2.0]


def test_simulation_holds_its_pose_after_the_last_command() -> None:
    controlled = ControlledSimulation(MACHINE, noise=False, controller='effort', command_timeout=0.05)
    simulation = controlled.simulation
    weight = simulation.data.ctrl.copy()
    for _ in range(200):
        controlled.step()
    home = simulation.joint_positions.copy()
    for step in range(300):  # a little more than the weight: the platform rises
        if step % 10 == 0:
            controlled.receive_command(weight * 1.1)
        controlled.step()
    assert controlled.commanded
    for _ in range(1500):
        controlled.step()
    assert not controlled.commanded
    assert controlled.timeout_count == 1
    assert np.abs(simulation.joint_velocities).max() < 1e-4
    assert (simulation.joint_positions - home).max() > 0.02  # it stayed up there
