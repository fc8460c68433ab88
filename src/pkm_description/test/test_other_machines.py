"""Closures, motions, dynamics and reactions of machines that are no 6-UPS hexapods."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from closing_points import closing_gap
from drive_motions import TIME, drive_motion, home_drives
from other_machines import CLOSED, three_rps
from pkm_description.arrays import Array
from pkm_description.dynamics import (
    forward_dynamics,
    gravity_forces,
    inverse_dynamics,
    kinetic_energy,
    potential_energy,
    rigid_body_parameters,
    rigid_body_regressor,
)
from pkm_description.dynamics.parameters import rotor_parameters, rotor_regressor
from pkm_description.dynamics.reactions import joint_reactions
from pkm_description.errors import ConvergenceError, KinematicsError, SingularPoseError
from pkm_description.kinematics import (
    drive_positions,
    forward_kinematics,
    joint_motion,
    joint_positions,
)
from pkm_description.kinematics.closed_legs import body_poses
from pkm_description.machine import Machine, PlatformMotion
from scipy.spatial.transform import Rotation


@pytest.fixture(scope='module', params=list(CLOSED))
def machine(request: pytest.FixtureRequest) -> Machine:
    return CLOSED[request.param]()


def test_freedom(machine: Machine) -> None:
    assert machine.degrees_of_freedom == machine.actuated_count == len(machine.legs)


def test_loops_are_closed_and_drives_are_where_they_were_told(machine: Machine) -> None:
    motion = drive_motion(machine, TIME)
    positions = joint_positions(machine, motion.position, motion.rotation_base_platform)
    assert closing_gap(machine, positions, motion.position, motion.rotation_base_platform) < 2e-12
    drives = positions[:, machine.drive_columns]
    again = forward_kinematics(machine, drives).require()
    np.testing.assert_allclose(again.position, motion.position, atol=1e-11)
    np.testing.assert_allclose(again.joint_positions, positions, atol=1e-11)
    np.testing.assert_allclose(again.rotation_base_platform, motion.rotation_base_platform, atol=1e-11)


def test_velocities_and_accelerations_are_time_derivatives(machine: Machine) -> None:
    step = 1e-4
    before, now, after = (drive_motion(machine, TIME + shift) for shift in (-step, 0.0, step))
    np.testing.assert_allclose(now.linear_velocity, (after.position - before.position) / (2 * step), atol=1e-6)
    turned = after.rotation_base_platform @ np.swapaxes(before.rotation_base_platform, 1, 2)
    spin = Rotation.from_matrix(turned).as_rotvec() / (2 * step)
    np.testing.assert_allclose(now.angular_velocity, spin, atol=1e-6)
    np.testing.assert_allclose(now.acceleration, (after.twist - before.twist) / (2 * step), atol=1e-5)
    joints = [joint_motion(machine, motion) for motion in (before, now, after)]
    slope = (joints[2].positions - joints[0].positions) / (2 * step)
    np.testing.assert_allclose(joints[1].velocities, slope, atol=1e-5)
    slope = (joints[2].velocities - joints[0].velocities) / (2 * step)
    np.testing.assert_allclose(joints[1].accelerations, slope, atol=1e-4)


def test_power_of_the_drives_changes_the_energy(machine: Machine) -> None:
    step = 1e-4
    motion = drive_motion(machine, TIME)

    def energy(shift: float) -> Array:
        m = drive_motion(machine, TIME + shift)
        pose = m.position, m.rotation_base_platform
        return kinetic_energy(machine, *pose, m.twist) + potential_energy(machine, *pose)

    rates = joint_motion(machine, motion).velocities[..., machine.drive_columns]
    power = np.sum(inverse_dynamics(machine, motion, friction=False) * rates, axis=1)
    np.testing.assert_allclose(power, (energy(step) - energy(-step)) / (2 * step), rtol=1e-6, atol=1e-4)


def test_forward_dynamics_inverts_inverse_dynamics(machine: Machine) -> None:
    motion = drive_motion(machine, TIME)
    pushed = np.array([30.0, -20.0, 50.0, 4.0, -3.0, 2.0])
    forces = inverse_dynamics(machine, motion, external_wrench=pushed)
    pose = motion.position, motion.rotation_base_platform
    acceleration = forward_dynamics(machine, *pose, motion.twist, forces, external_wrench=pushed)
    np.testing.assert_allclose(acceleration, motion.acceleration, atol=1e-9)


def test_regressor_and_rotors_give_the_inverse_dynamics(machine: Machine) -> None:
    motion = drive_motion(machine, TIME)
    regressor = rigid_body_regressor(machine, motion, identical_legs=False)
    rotors = rotor_regressor(machine, joint_motion(machine, motion)) @ rotor_parameters(machine)
    forces = inverse_dynamics(machine, motion, friction=False)
    np.testing.assert_allclose(regressor @ rigid_body_parameters(machine, False) + rotors, forces, atol=1e-9)


def test_gravity_forces_are_inverse_dynamics_at_rest(machine: Machine) -> None:
    motion = drive_motion(machine, TIME)
    for sample in range(0, len(TIME), 5):
        rest = PlatformMotion.at_rest(motion.position[sample], motion.rotation_base_platform[sample])
        held = gravity_forces(machine, rest.position, rest.rotation_base_platform)
        np.testing.assert_allclose(held, inverse_dynamics(machine, rest), atol=1e-9)


def centers_of_mass(machine: Machine, motion: PlatformMotion) -> Array:
    """Centres of mass (N, J, 3) m of the leg bodies."""
    rotations, origins = body_poses(machine, joint_motion(machine, motion).positions)
    own = np.array([joint.body.center_of_mass for joint in machine.joints])
    return origins + (rotations @ own[..., None])[..., 0]


def test_reactions_balance_every_body(machine: Machine) -> None:
    """Newton-Euler for the platform alone and for the whole machine, by sums that do not use the projection."""
    motion = drive_motion(machine, TIME)
    reactions = joint_reactions(machine, motion)
    np.testing.assert_allclose(reactions.drive_forces, inverse_dynamics(machine, motion), atol=1e-8)
    plane = np.zeros((len(TIME), 3))
    if machine.planar:
        plane[:, 2] = reactions.constraint_multipliers[:, -3]

    lever = motion.rotation_base_platform @ machine.platform.center_of_mass
    swing = np.cross(motion.angular_acceleration, lever)
    centripetal = np.cross(motion.angular_velocity, np.cross(motion.angular_velocity, lever))
    platform = machine.platform.mass * (motion.linear_acceleration + swing + centripetal - machine.gravity)
    np.testing.assert_allclose(reactions.closure_forces.sum(axis=1) + plane, platform, atol=1e-8)

    # accelerations of the centres of mass by fourth-order differences of their places
    step, weights = 4e-4, np.array([-1.0, 16.0, -30.0, 16.0, -1.0]) / 12.0
    places = [centers_of_mass(machine, drive_motion(machine, TIME + shift * step)) for shift in range(-2, 3)]
    acceleration = np.tensordot(weights, places, 1) / step**2
    masses = np.array([joint.body.mass for joint in machine.joints])
    total = platform + np.sum(masses[:, None] * (acceleration - machine.gravity), axis=1)
    roots = [part.start for part in machine.leg_slices]
    np.testing.assert_allclose(reactions.joint_forces[:, roots].sum(axis=1) + plane, total, atol=1e-3)


def test_driven_joints_feel_drive_minus_friction_and_rotor(machine: Machine) -> None:
    motion = drive_motion(machine, TIME)
    reactions = joint_reactions(machine, motion)
    legs = joint_motion(machine, motion)
    rotations, _ = body_poses(machine, legs.positions)
    applied = np.zeros_like(legs.positions)
    applied[:, machine.drive_columns] = reactions.drive_forces
    for place, joint in enumerate(machine.joints):
        wrench = reactions.joint_forces if joint.kind == 'prismatic' else reactions.joint_moments
        along = np.sum(rotations[:, place] @ joint.axis * wrench[:, place], axis=-1)
        speed = legs.velocities[:, place]
        own = machine.viscous[place] * speed + machine.coulomb[place] * np.sign(speed)
        own = own + machine.rotor_inertia[place] * legs.accelerations[:, place]
        np.testing.assert_allclose(along, applied[:, place] - own, atol=1e-8)


def test_motion_that_the_legs_forbid_is_refused() -> None:
    machine = three_rps()
    home = machine.home
    with pytest.raises(KinematicsError, match='sample 0: leg[23] misses its platform joint .*motion_from_drives'):
        drive_positions(machine, home.position[None] + [0.02, 0.0, 0.0], home.rotation_base_platform[None])
    rest = PlatformMotion.at_rest(home.position, home.rotation_base_platform)
    sideways = dataclasses.replace(rest, linear_velocity=np.array([[0.0, 0.1, 0.0]]))
    with pytest.raises(KinematicsError, match='sample 0: .* does not admit this velocity'):
        inverse_dynamics(machine, sideways)


def test_unreachable_and_singular_drives_are_named() -> None:
    machine = three_rps()
    drives = np.tile(home_drives(machine), (3, 1))
    drives[1, 0] += 2.0
    drives[2, 2] = np.nan
    result = forward_kinematics(machine, drives)
    assert result.trusted.tolist() == [True, False, False]
    with pytest.raises((ConvergenceError, SingularPoseError), match='sample 1'):
        result.require()


def test_planar_machines_stay_in_their_plane() -> None:
    machine = CLOSED['planar 3-PRR']()
    home = machine.home
    with pytest.raises(KinematicsError, match='moves in a plane'):
        drive_positions(machine, home.position[None] + [0.0, 0.0, 0.01], home.rotation_base_platform[None])
