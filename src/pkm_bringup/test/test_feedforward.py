"""PID with feed-forward: friction of any law, integral term with anti-windup, limits, settings."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from changed_machines import translation, with_drive_limits
from pkm_bringup.control import (
    AxisControllers,
    LegReference,
    LegServo,
    ReferenceRefusedError,
    ServoSettings,
    check_reference,
)
from pkm_bringup.simulation import ControlledSimulation, Encoder, track
from pkm_description.dynamics import gravity_forces, inverse_dynamics
from pkm_description.errors import ConfigurationError
from pkm_description.friction_laws import Sign, friction_law
from pkm_description.kinematics import forward_kinematics, joint_motion
from pkm_description.kinematics.rotation import angles_from_matrix
from pkm_description.loading import load_machine
from pkm_description.machine import Joint, JointFriction, ServoGains
from pkm_description.machine.machine import with_friction
from pkm_description.motion.circles import CirclePath
from pkm_description.motion.profiles import profile

PALIDA = load_machine('palida')

LAWS: dict[str, dict[str, Any]] = {
    'viscous and Coulomb': {'law': 'viscous_coulomb', 'viscous': 3.0, 'coulomb': 2.0},
    'Stribeck': {'law': 'stribeck', 'viscous': 3.0, 'coulomb': 2.0, 'static': 3.0, 'stribeck_velocity': 0.02},
    'asymmetric': {
        'law': 'asymmetric', 'viscous_positive': 3.0, 'viscous_negative': 5.0, 'coulomb_positive': 2.0,
        'coulomb_negative': 1.0,
    },
    'load': {
        'law': 'load_dependent_stribeck', 'viscous': 3.0, 'coulomb_coefficient': 0.04, 'static_coefficient': 0.05,
        'stribeck_velocity': 0.02,
    },
}  # fmt: skip


@pytest.mark.parametrize(
    ('law', 'name'),
    [
        ('Stribeck', 'palida'), ('asymmetric', 'palida'), ('load', 'palida'), ('Stribeck', 'valencia_3rps'),
        ('load', 'valencia_3rps'), ('viscous and Coulomb', 'khalifa_3prr'),
    ],
)  # fmt: skip
def test_friction_between_knots_is_that_of_the_inverse_dynamics(law: str, name: str) -> None:
    """Any law, in active and passive joints, from knots at 50 Hz, against the inverse dynamics of every sample."""
    band = 0.004

    def friction(joint: Joint) -> JointFriction:
        found = friction_law({**LAWS[law]})
        size = 1.0 if joint.kind == 'prismatic' else 0.02
        return JointFriction(found.with_linear_parameters(size * found.linear_parameters()))

    machine = with_friction(load_machine(name), friction)
    motion = profile('drives', machine, 6.0, 50.0, seed=4)
    reference = LegReference(machine, motion, 0, 'rigid_body_friction', band)
    dense = profile('drives', machine, 6.0, 400.0, seed=4)
    with_band = with_friction(
        machine, lambda joint: JointFriction(joint.friction.law.with_sign(Sign('dead_band', band)))
    )
    expected = inverse_dynamics(with_band, dense) - inverse_dynamics(machine, dense, friction=False)
    without = LegReference(machine, motion, 0, 'rigid_body')
    times = np.round(dense.time * 1e9).astype(np.int64)
    found = reference.evaluate(times).forces - without.evaluate(times).forces
    assert np.abs(expected).max() > 0.02
    assert np.sqrt(np.mean((found - expected) ** 2)) < 0.01 * np.sqrt(np.mean(expected**2))


def test_sign_comes_from_the_desired_velocity_with_a_dead_band() -> None:
    """R4-22: a drive that moves the other way gets the same friction force; inside of the band it is in proportion."""
    machine = with_friction(PALIDA, lambda joint: JointFriction.viscous_coulomb(0.0, 5.0 * joint.actuated))
    motion = profile('drives', machine, 6.0, 50.0)
    times = np.arange(0, 6 * 10**9, 10**7, dtype=np.int64)
    for band in (0.0, 0.01):
        reference, bare = (
            LegReference(machine, motion, 0, mode, band) for mode in ('rigid_body_friction', 'rigid_body')
        )
        rates = reference.evaluate(times).rates
        friction = reference.evaluate(times).forces - bare.evaluate(times).forces
        wanted = 5.0 * (np.clip(rates / band, -1.0, 1.0) if band else np.sign(rates))
        assert friction == pytest.approx(wanted, abs=1e-9)


def test_stages_contain_each_other() -> None:
    motion = profile('fourier', PALIDA, 8.0, 50.0)
    times = np.round(motion.time * 1e9).astype(np.int64)
    forces = {
        mode: LegReference(PALIDA, motion, 0, mode).evaluate(times).forces
        for mode in ('none', 'gravity', 'rigid_body', 'rigid_body_friction')
    }
    assert not forces['none'].any()
    weight = gravity_forces(PALIDA, motion.position, motion.rotation_base_platform)
    assert forces['gravity'] == pytest.approx(weight, abs=1e-9)
    assert forces['rigid_body'] == pytest.approx(inverse_dynamics(PALIDA, motion, friction=False), abs=1e-9)
    moving = np.abs(joint_motion(PALIDA, motion).velocities[:, PALIDA.drive_columns]) > 2e-3
    whole = inverse_dynamics(PALIDA, motion)
    assert np.abs(forces['rigid_body_friction'] - whole)[moving].max() < 1e-6


def _axes(integral_rate: float = 0.0, **options: Any) -> AxisControllers:
    return AxisControllers(ServoGains(1000.0, 50.0), np.array([10.0, 20.0]), 1e-3, integral_rate, **options)


def test_integral_grows_with_the_error_and_stays_on_restart() -> None:
    axes, error, zero = _axes(2.0), np.array([1e-3, -2e-3]), np.zeros(2)
    for step in range(1001):
        forces = axes.forces(step * 10**6, zero, error, zero)
    assert axes.integral == pytest.approx(2.0 * 1000.0 * error)  # one second
    assert forces == pytest.approx(1000.0 * error + axes.integral)
    axes.restart()
    assert axes.integral == pytest.approx(2000.0 * error)


@pytest.mark.parametrize('source', ['measured', 'positions'])
def test_pid_with_quantised_sensors_removes_a_standing_error(source: str) -> None:
    """A platform heavier than believed sags with PD and comes back with the integral term."""
    heavy = replace(PALIDA, platform=replace(PALIDA.platform, mass=PALIDA.platform.mass + 3.0))
    errors = {}
    for rate in (0.0, 10.0):
        settings = ServoSettings(integral_rate=rate, rate_source=source, rate_cutoff=150.0)
        encoder = Encoder(PALIDA.leg_sensors, 1, 2e-5)
        without_friction = with_friction(heavy, lambda joint: JointFriction.viscous_coulomb(5.0 * joint.actuated, 0.0))
        controlled = ControlledSimulation(without_friction, settings=settings, belief=PALIDA, encoder=encoder)
        home = controlled.simulation.joint_positions.copy()
        for _ in range(2000):
            controlled.step()
        errors[rate] = np.abs(controlled.simulation.joint_positions - home).max()
    assert errors[0.0] > 1e-4
    assert errors[10.0] < 2e-5


@pytest.mark.parametrize(
    ('limits', 'text'),
    [
        (('150', 'x'), 'expected numbers'),
        (('150', '150'), '2 numbers; give one, or one for each of 6 drives: leg1_prismatic'),
        (('300',), 'leg1_prismatic needs a number above 0 and at most 200, the limit in the machine file'),
        (('100', '100', '0', '100', '100', '100'), 'leg3_prismatic needs a number above 0'),
    ],
)
def test_force_limits_that_do_not_fit_are_refused(limits: tuple[str, ...], text: str) -> None:
    with pytest.raises(ConfigurationError, match=text):
        LegServo(PALIDA, 10**6, ServoSettings(force_limits=limits))


def test_force_limits_hold_axis_by_axis() -> None:
    limits = ('10', '20', '30', '40', '50', '60')
    servo = LegServo(PALIDA, 10**6, ServoSettings(force_limits=limits, tracking_error_limit=-1.0))
    assert servo.forces(7, np.full(6, -1.0), np.zeros(6)).tolist() == [10.0, 20.0, 30.0, 40.0, 50.0, 60.0]
    assert servo.saturation_count.tolist() == [1] * 6


def test_gains_come_from_the_settings_if_they_are_there() -> None:
    assert ServoSettings().gains(PALIDA) == PALIDA.servo
    assert ServoSettings(stiffness=5.0, damping=2.0).gains(PALIDA) == ServoGains(5.0, 2.0)
    assert ServoSettings(damping=2.0).gains(PALIDA) == ServoGains(PALIDA.servo.stiffness, 2.0)


def test_limits_between_distant_knots_are_checked_before_motion() -> None:
    """R4-05: knots one second apart at home, with accelerations that carry the platform away between them."""
    home, count = PALIDA.home, 3
    acceleration = np.zeros((count, 3))
    acceleration[1] = [0.0, 0.0, 5.0]  # within the force limits at the knot; more than a decimetre away from it
    motion = translation(np.arange(float(count)), home)
    check_reference(PALIDA, motion)
    moved = replace(motion, linear_acceleration=acceleration)
    narrow = with_drive_limits(PALIDA, lower=0.24, upper=0.26)
    LegServo(narrow, 10**6).add_reference(motion, 0, 0)
    with pytest.raises(ReferenceRefusedError, match=r'position .* m (exceeds|is below) .* at t = [01]\.\d*[1-9]'):
        LegServo(narrow, 10**6).add_reference(moved, 0, 0)


def test_simulated_friction_law_is_the_one_that_is_fed_forward() -> None:
    """Stribeck drives: forces of the law fit a plant with the law, not one with the nearest viscous friction."""
    law = friction_law({'law': 'stribeck', 'viscous': 18.0, 'coulomb': 6.0, 'static': 14.0, 'stribeck_velocity': 0.06})
    machine = with_friction(PALIDA, lambda joint: JointFriction(law, 3.0) if joint.actuated else joint.friction)
    motion = CirclePath(PALIDA.home, speed=0.4, turns=0.5, approach=0.5).sample(100.0)
    errors = {}
    for laws in (False, True):
        settings = ServoSettings(feedforward='rigid_body_friction')
        controlled = ControlledSimulation(machine, noise=False, settings=settings, friction_laws=laws)
        reference = controlled.add_reference(motion, 0)
        largest = np.zeros(6)
        while controlled.simulation.time_ns < reference.end_ns:
            controlled.step()
            largest = np.maximum(largest, np.abs(controlled.servo.tracking_error))
        errors[laws] = largest.max()
    assert errors[True] < 0.3 * errors[False]


def test_feedforward_stages_reduce_the_errors_of_every_drive() -> None:
    """R4-42 in short, on MuJoCo with friction, noise and encoders of 20 um; in full: ``./pkm verify heimann``."""
    circle = CirclePath(PALIDA.home, turns=0.5, approach=0.5)
    motion = circle.sample(100.0)
    records = [
        track(PALIDA, motion, ServoSettings(feedforward=mode), seed=3)
        for mode in ('none', 'rigid_body', 'rigid_body_friction')
    ]
    rms = [record.rms(circle.on_circle) for record in records]
    assert (rms[0] > rms[1]).all()
    assert (rms[1] > rms[2]).all()
    assert (rms[0] > 5.0 * rms[2]).all()
    time, position, angles = records[1].platform_errors(step=20)
    desired = circle.evaluate(time)
    there = forward_kinematics(PALIDA, records[1].actual[::20]).require()
    assert position == pytest.approx(desired.position - there.position, abs=1e-7)
    assert angles == pytest.approx(-angles_from_matrix(there.rotation_base_platform), abs=1e-6)
