"""Regressors, friction, energies and forward dynamics against each other and against the law of energy."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hand_built_machines import heimann_check_robot, turned_link_frames, with_identical_legs
from hypothesis import given, settings
from hypothesis import strategies as st
from pkm_description.dynamics import (
    forward_dynamics,
    friction_parameter_names,
    friction_parameters,
    friction_regressor,
    gravity_forces,
    inverse_dynamics,
    kinetic_energy,
    mass_matrix,
    potential_energy,
    rigid_body_parameter_names,
    rigid_body_parameters,
    rigid_body_regressor,
)
from pkm_description.errors import SingularPoseError
from pkm_description.kinematics import joint_motion
from pkm_description.kinematics.rotation import rotation_exp
from pkm_description.kinematics.workspace import random_states
from pkm_description.machine import Machine, PlatformMotion, RigidBody

Array = np.ndarray


@pytest.fixture(scope='module', params=[heimann_check_robot, turned_link_frames], ids=['heimann', 'turned'])
def machine(request: pytest.FixtureRequest) -> Machine:
    return request.param()


def leg_rates(machine: Machine, motion: PlatformMotion) -> Array:
    return joint_motion(machine, motion).velocities[..., machine.drive_columns]


def with_parameters(machine: Machine, seed: int) -> Machine:
    """Draw new bodies for the whole machine."""
    random = np.random.default_rng(seed)

    def body(old: RigidBody) -> RigidBody:
        root = random.normal(size=(3, 3))
        return RigidBody(old.name, random.uniform(0.1, 50.0), random.normal(size=3), root @ root.T)

    legs = tuple(
        dataclasses.replace(
            leg, joints=tuple(dataclasses.replace(joint, body=body(joint.body)) for joint in leg.joints)
        )
        for leg in machine.legs
    )
    return dataclasses.replace(machine, platform=body(machine.platform), legs=legs)


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_regressor_times_parameters_is_inverse_dynamics(seed: int) -> None:
    machine = with_parameters(heimann_check_robot(), seed)
    motion = random_states(machine, 20, seed=seed)
    forces = inverse_dynamics(machine, motion, friction=False)
    separate = rigid_body_regressor(machine, motion, identical_legs=False) @ rigid_body_parameters(
        machine, False
    )
    assert np.abs(separate - forces).max() < 1e-12 * np.abs(forces).max()

    same = with_identical_legs(machine)
    forces = inverse_dynamics(same, motion, friction=False)
    shared = rigid_body_regressor(same, motion) @ rigid_body_parameters(same)
    assert np.abs(shared - forces).max() < 1e-12 * np.abs(forces).max()


def test_shared_columns_are_sums_of_separate_ones_across_chunks(machine: Machine) -> None:
    motion = random_states(machine, 300)
    separate = rigid_body_regressor(machine, motion, identical_legs=False)
    shared = rigid_body_regressor(machine, motion, identical_legs=True)
    summed = separate[:, :, 10:].reshape(300, 6, 6, 30).sum(axis=2)
    np.testing.assert_allclose(shared[:, :, 10:], summed, atol=1e-11)
    np.testing.assert_allclose(shared[:, :, :10], separate[:, :, :10], atol=0)


def test_names_belong_to_parameters(machine: Machine) -> None:
    values = dict(
        zip(rigid_body_parameter_names(machine, False), rigid_body_parameters(machine, False), strict=True)
    )
    rod = machine.legs[4].joints[2].body
    assert values['leg5_rod.m'] == rod.mass
    assert values['leg5_rod.my'] == pytest.approx(rod.mass * rod.center_of_mass[1])
    assert len(values) == 190
    shared = rigid_body_parameter_names(with_identical_legs(machine))
    assert shared[0] == 'platform_link.m'
    assert shared[10:40:10] == ['leg_cross.m', 'leg_cylinder.m', 'leg_rod.m']
    friction = dict(zip(friction_parameter_names(machine), friction_parameters(machine), strict=True))
    assert friction['leg3_prismatic.coulomb'] == machine.legs[2].joints[2].friction.coulomb
    assert len(friction_parameter_names(machine, 'all')) == len(friction_parameters(machine, 'all')) == 36


def test_legs_that_differ_are_not_shared(machine: Machine) -> None:
    with pytest.raises(ValueError, match='use identical_legs=False'):
        rigid_body_parameters(machine, identical_legs=True)


def relative_rank(regressor: Array) -> tuple[int, float]:
    """Rank of column-normalised regressor rows, and the gap after the last singular value that counts."""
    stacked = regressor.reshape(-1, regressor.shape[-1])
    norms = np.linalg.norm(stacked, axis=0)
    used = norms > 1e-9 * norms.max()
    values = np.linalg.svd(stacked[:, used] / norms[used], compute_uv=False)
    rank = int(np.sum(values > 1e-6 * values[0]))
    return rank, float(values[rank - 1] / values[rank]) if rank < len(values) else np.inf


@pytest.mark.parametrize(
    ('identical', 'rings', 'rank'),
    [(False, True, 88), (False, False, 82), (True, True, 23), (True, False, 22)],
)
def test_ranks_of_the_check_robot(identical: bool, rings: bool, rank: int) -> None:
    """Ranks of hexapods with three bodies per leg (R4-11)."""
    machine = heimann_check_robot()
    regressor = rigid_body_regressor(machine, random_states(machine, 80, seed=8), identical)
    if not rings:
        ring_columns = [
            name.split('.')[0].endswith('_cross')
            for name in rigid_body_parameter_names_of(machine, identical)
        ]
        regressor = regressor[..., ~np.array(ring_columns)]
    found, gap = relative_rank(regressor)
    assert found == rank
    assert gap > 1e4


def rigid_body_parameter_names_of(machine: Machine, identical: bool) -> list[str]:
    machine = with_identical_legs(machine) if identical else machine
    return rigid_body_parameter_names(machine, identical)


def state_after(motion: PlatformMotion, time: float) -> PlatformMotion:
    """States a short time later, exact to second order (position) and first order (velocity)."""
    turn = motion.angular_velocity * time + motion.angular_acceleration * time**2 / 2
    return dataclasses.replace(
        motion,
        position=motion.position + motion.linear_velocity * time + motion.linear_acceleration * time**2 / 2,
        rotation_base_platform=rotation_exp(turn) @ motion.rotation_base_platform,
        linear_velocity=motion.linear_velocity + motion.linear_acceleration * time,
        angular_velocity=motion.angular_velocity + motion.angular_acceleration * time,
    )


def test_power_balance(machine: Machine) -> None:
    """d(T + V)/dt = drive power - friction losses."""
    motion = random_states(machine, 30, seed=21)
    step = 1e-5

    def energy(time: float) -> Array:
        state = state_after(motion, time)
        pose = state.position, state.rotation_base_platform
        return kinetic_energy(machine, *pose, state.twist) + potential_energy(machine, *pose)

    change = (energy(step) - energy(-step)) / (2 * step)
    legs = joint_motion(machine, motion)
    losses = np.sum(
        machine.viscous * legs.velocities**2 + machine.coulomb * np.abs(legs.velocities), axis=1
    )
    power = np.sum(
        inverse_dynamics(machine, motion) * legs.velocities[..., machine.drive_columns], axis=1
    )
    assert np.abs(power - losses - change).max() < 1e-7 * np.abs(power).max()


def test_friction_power(machine: Machine) -> None:
    """Friction's drive forces do exactly the work that is lost in all joints, active and passive (R4-18)."""
    motion = random_states(machine, 50, seed=2)
    legs = joint_motion(machine, motion)
    share = friction_regressor(machine, legs, 'all') @ friction_parameters(machine, 'all')
    losses = np.sum(
        machine.viscous * legs.velocities**2 + machine.coulomb * np.abs(legs.velocities), axis=1
    )
    np.testing.assert_allclose(np.sum(share * leg_rates(machine, motion), axis=1), losses, rtol=1e-10)
    with_friction, without = (
        inverse_dynamics(machine, motion, friction=choice) for choice in (True, False)
    )
    np.testing.assert_allclose(with_friction - without, share, atol=1e-10 * np.abs(share).max())


def test_actuated_friction_acts_on_its_own_leg(machine: Machine) -> None:
    motion = random_states(machine, 20, seed=2)
    legs = joint_motion(machine, motion)
    regressor = friction_regressor(machine, legs)
    everything = friction_regressor(machine, legs, 'all').reshape(20, 6, 18, 2)
    np.testing.assert_allclose(regressor, everything[:, :, machine.drive_columns].reshape(20, 6, 12), atol=1e-11)
    smooth = friction_regressor(machine, legs, sign_smoothing=0.1)[:, 0, 1]
    np.testing.assert_allclose(smooth, np.tanh(legs.velocities[:, 2] / 0.1), atol=0)
    with pytest.raises(ValueError, match="choose 'actuated', 'all' or 'class'"):
        friction_regressor(machine, legs, 'some')  # type: ignore[arg-type]


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), friction=st.booleans())
def test_forward_dynamics_inverts_inverse_dynamics(seed: int, friction: bool) -> None:
    machine = heimann_check_robot()
    motion = random_states(machine, 20, seed=seed)
    forces = inverse_dynamics(machine, motion, friction=friction)
    pose = motion.position, motion.rotation_base_platform
    found = forward_dynamics(machine, *pose, motion.twist, forces, friction=friction)
    assert np.abs(found - motion.acceleration).max() < 1e-9 * np.abs(motion.acceleration).max()


def test_mass_matrix_is_the_energy_metric(machine: Machine) -> None:
    motion = random_states(machine, 30)
    pose = motion.position, motion.rotation_base_platform
    mass = mass_matrix(machine, *pose)
    np.testing.assert_allclose(mass, np.swapaxes(mass, 1, 2), atol=1e-10)
    assert np.linalg.eigvalsh(mass).min() > 0.0
    quadratic = 0.5 * np.sum(motion.twist * (mass @ motion.twist[..., None])[..., 0], axis=1)
    np.testing.assert_allclose(kinetic_energy(machine, *pose, motion.twist), quadratic, rtol=1e-12)


def test_gravity_forces_are_the_slope_of_potential_energy(machine: Machine) -> None:
    motion = random_states(machine, 30, seed=6)
    step = 1e-6
    ahead, behind = (
        potential_energy(
            machine,
            motion.position + sign * step * motion.linear_velocity,
            rotation_exp(sign * step * motion.angular_velocity) @ motion.rotation_base_platform,
        )
        for sign in (1.0, -1.0)
    )
    power = np.sum(
        gravity_forces(machine, motion.position, motion.rotation_base_platform)
        * leg_rates(machine, motion),
        1,
    )
    np.testing.assert_allclose(
        (ahead - behind) / (2 * step), power, rtol=1e-6, atol=1e-6 * np.abs(power).max()
    )


def test_energy_is_conserved_without_drives() -> None:
    """A falling machine without friction keeps its energy (classical Runge-Kutta on the rotation group)."""
    machine = heimann_check_robot()
    home = machine.home
    position, rotation = home.position[None], home.rotation_base_platform[None]
    twist = np.array([[0.1, -0.2, 0.6, 0.3, 0.2, -0.3]])
    step, nothing = 2e-4, np.zeros((1, 6))

    def total() -> float:
        return float(
            (
                kinetic_energy(machine, position, rotation, twist)
                + potential_energy(machine, position, rotation)
            )[0]
        )

    def slope(moved: Array, speed: Array) -> tuple[Array, Array]:
        pose = position + moved[:, :3], rotation_exp(moved[:, 3:]) @ rotation
        # the rotation vector of one step is small: its rate is the angular velocity up to the order of the
        # method
        rate = speed.copy()
        rate[:, 3:] -= 0.5 * np.cross(moved[:, 3:], speed[:, 3:])
        rate[:, 3:] += np.cross(moved[:, 3:], np.cross(moved[:, 3:], speed[:, 3:])) / 12.0
        return rate, forward_dynamics(machine, *pose, speed, nothing, friction=False)

    start = total()
    for _ in range(150):
        still = np.zeros((1, 6))
        r1, a1 = slope(still, twist)
        r2, a2 = slope(step / 2 * r1, twist + step / 2 * a1)
        r3, a3 = slope(step / 2 * r2, twist + step / 2 * a2)
        r4, a4 = slope(step * r3, twist + step * a3)
        moved = step / 6 * (r1 + 2 * r2 + 2 * r3 + r4)
        position = position + moved[:, :3]
        rotation = rotation_exp(moved[:, 3:]) @ rotation
        twist = twist + step / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
    assert abs(total() - start) < 1e-9 * abs(start)
    assert np.abs(position - home.position).max() > 0.01  # it did move


def test_singular_drives_are_named() -> None:
    machine = heimann_check_robot()
    motion = random_states(machine, 200)
    # platform in the plane of the base joints: no leg can lift
    motion.position[150], motion.rotation_base_platform[150] = np.zeros(3), np.eye(3)
    for attempt in (gravity_forces, lambda m, p, r: rigid_body_regressor(m, motion)):
        with pytest.raises(SingularPoseError, match='sample 150: the Jacobian of the drives is singular'):
            attempt(machine, motion.position, motion.rotation_base_platform)
