"""Energy model, shares of the drive forces, payloads, and time derivatives of Jacobians."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hand_built_machines import heimann_check_robot, random_body, turned_link_frames, with_identical_legs
from other_machines import CLOSED, cart_with_pendulum
from pkm_description.dynamics import inverse_dynamics, kinetic_energy, potential_energy, rigid_body_parameters
from pkm_description.dynamics.energy_model import energy_equations, energy_regressor
from pkm_description.dynamics.terms import drive_force_terms
from pkm_description.kinematics import drive_positions, leg_motion
from pkm_description.kinematics.jacobian_rates import drive_jacobian_rate, joint_map_rate
from pkm_description.kinematics.leg_motion import close_legs
from pkm_description.kinematics.overall_jacobian import actuated_jacobian
from pkm_description.machine.model import RigidBody
from pkm_description.machine.variants import joined, with_gravity, with_payload
from pkm_description.mechanism import Mechanism
from test_other_machines import TIME, drive_motion

BUILDERS = {'6-UPS': turned_link_frames, **CLOSED}


@pytest.fixture(scope='module', params=list(BUILDERS))
def mechanism(request: pytest.FixtureRequest) -> Mechanism:
    return Mechanism(BUILDERS[request.param]())


def without_rotors(mechanism: Mechanism) -> Mechanism:
    legs = tuple(
        dataclasses.replace(
            leg, joints=tuple(dataclasses.replace(joint, rotor_inertia=0.0) for joint in leg.joints)
        )
        for leg in mechanism.machine.legs
    )
    return Mechanism(dataclasses.replace(mechanism.machine, legs=legs))


def test_energy_is_linear_in_the_parameters(mechanism: Mechanism) -> None:
    mechanism = without_rotors(mechanism)
    motion = drive_motion(mechanism, TIME)
    pose = motion.position, motion.rotation_base_platform
    energy = kinetic_energy(mechanism, *pose, motion.twist) + potential_energy(mechanism, *pose)
    columns = energy_regressor(mechanism, motion, identical_legs=False)
    np.testing.assert_allclose(columns @ rigid_body_parameters(mechanism.machine, False), energy, rtol=1e-12)


def test_energy_of_identical_legs_shares_columns() -> None:
    machine = with_identical_legs(heimann_check_robot())
    mechanism = Mechanism(machine)
    motion = drive_motion(mechanism, TIME)
    shared = energy_regressor(mechanism, motion) @ rigid_body_parameters(machine)
    separate = energy_regressor(mechanism, motion, False) @ rigid_body_parameters(machine, False)
    np.testing.assert_allclose(shared, separate, rtol=1e-12)


def test_work_of_the_drives_is_the_change_of_energy(mechanism: Mechanism) -> None:
    mechanism = without_rotors(mechanism)
    error = []
    for step in (2e-3, 1e-3):
        motion = drive_motion(mechanism, np.arange(0.0, 0.4, step))
        drives = drive_positions(mechanism, motion.position, motion.rotation_base_platform)
        forces = inverse_dynamics(mechanism, motion, friction=False)
        differences, work = energy_equations(mechanism, motion, drives, forces, identical_legs=False)
        error.append(np.abs(differences @ rigid_body_parameters(mechanism.machine, False) - work).max() / step)
    assert error[1] == pytest.approx(error[0] / 4, rel=0.05)  # trapezoidal rule: second order


def test_terms_add_up(mechanism: Mechanism) -> None:
    motion = drive_motion(mechanism, TIME)
    terms = drive_force_terms(mechanism, motion)
    np.testing.assert_allclose(terms.total, inverse_dynamics(mechanism, motion), atol=1e-9)


def test_terms_scale_as_they_should(mechanism: Mechanism) -> None:
    """Twice as fast: velocity products and inertia four times, weight the same."""
    motion = drive_motion(mechanism, TIME)
    names = ['linear_velocity', 'angular_velocity', 'linear_acceleration', 'angular_acceleration']
    faster = dataclasses.replace(
        motion, **{name: getattr(motion, name) * (2 if 'velocity' in name else 4) for name in names}
    )
    slow, fast = (drive_force_terms(mechanism, m, friction=False) for m in (motion, faster))
    for name in ('pm', 'sm', 'cor', 'cen', 'rotor'):
        np.testing.assert_allclose(getattr(fast, name), 4 * getattr(slow, name), atol=1e-9)
    for name in ('grp', 'grs'):
        np.testing.assert_allclose(getattr(fast, name), getattr(slow, name), atol=1e-9)
    weightless = Mechanism(with_gravity(mechanism.machine, np.zeros(3)))
    floating = drive_force_terms(weightless, motion, friction=False)
    np.testing.assert_allclose(floating.total, slow.total - slow.grp - slow.grs, atol=1e-9)


def test_jacobian_rates_are_time_derivatives(mechanism: Mechanism) -> None:
    step = 1e-5

    def jacobian(shift: float) -> np.ndarray:
        motion = drive_motion(mechanism, TIME + shift)
        return close_legs(mechanism, motion.position, motion.rotation_base_platform).joint_map

    motion = drive_motion(mechanism, TIME)
    rate = joint_map_rate(mechanism, motion)
    np.testing.assert_allclose(rate, (jacobian(step) - jacobian(-step)) / (2 * step), atol=1e-6)
    legs = close_legs(mechanism, motion.position, motion.rotation_base_platform)
    driven = leg_motion(mechanism, motion).accelerations[..., mechanism.actuated_index]
    sums = actuated_jacobian(mechanism, legs) @ motion.acceleration[..., None]
    sums = sums + drive_jacobian_rate(mechanism, motion) @ motion.twist[..., None]
    np.testing.assert_allclose(sums[..., 0], driven, atol=1e-9)


def test_payload_adds_its_own_forces(mechanism: Mechanism) -> None:
    random = np.random.default_rng(3)
    payload = random_body('payload', 7.0, 0.2, random)
    loaded = Mechanism(with_payload(mechanism.machine, payload))
    alone = dataclasses.replace(mechanism.machine, platform=payload)
    empty = RigidBody('platform_link', 0.0, np.zeros(3), np.zeros((3, 3)))
    bare = dataclasses.replace(mechanism.machine, platform=empty)
    motion = drive_motion(mechanism, TIME)
    forces = [
        inverse_dynamics(Mechanism(m) if not isinstance(m, Mechanism) else m, motion, friction=False)
        for m in (loaded, mechanism, alone, bare)
    ]
    np.testing.assert_allclose(forces[0], forces[1] + forces[2] - forces[3], atol=1e-9)


def test_joined_bodies_keep_their_parameters() -> None:
    random = np.random.default_rng(4)
    first, second = random_body('a', 3.0, 0.3, random), random_body('b', 5.0, 0.2, random)
    np.testing.assert_allclose(joined(first, second).parameters, first.parameters + second.parameters, atol=1e-12)


def test_variants_refuse_what_makes_no_sense() -> None:
    with pytest.raises(ValueError, match='three numbers'):
        with_gravity(heimann_check_robot(), np.zeros(2))
    with pytest.raises(ValueError, match='open chain'):
        with_payload(cart_with_pendulum(), random_body('load', 1.0, 0.1, np.random.default_rng(0)))
