"""Dynamics of machines of every kind: the same quantity by two ways that share little."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from graph_machines import FOLDER, NAMES
from hand_built_machines import heimann_check_robot, turned_link_frames
from other_machines import CLOSED
from pkm_description.arrays import Array
from pkm_description.dynamics import (
    DriveDynamics,
    base_parameters,
    forward_dynamics,
    friction_parameters,
    friction_regressor,
    gravity_forces,
    inverse_dynamics,
    joint_reactions,
    kinetic_energy,
    machine_parameters,
    mass_matrix,
    potential_energy,
    rigid_body_parameter_names,
    rigid_body_parameters,
    rigid_body_regressor,
)
from pkm_description.dynamics.body_blocks import identical_leg_groups
from pkm_description.dynamics.inverse import drive_force_terms
from pkm_description.dynamics.parameters import rotor_parameters, rotor_regressor
from pkm_description.errors import KinematicsError
from pkm_description.kinematics import joint_motion, motion_from_drives
from pkm_description.kinematics.closed_legs import close_legs
from pkm_description.kinematics.drive_map import twist_per_drive
from pkm_description.kinematics.rotation import rotation_exp
from pkm_description.kinematics.workspace import random_states
from pkm_description.loading import load_machine
from pkm_description.machine import JointFriction, Machine, PlatformMotion
from pkm_description.machine.machine import with_friction, with_joints

#: built in tests: general bodies, all different
BUILT = CLOSED | {'heimann': heimann_check_robot, 'turned': turned_link_frames}


@pytest.fixture(scope='module', params=[*NAMES, *BUILT])
def machine(request: pytest.FixtureRequest) -> Machine:
    """With friction and rotors in all joints."""
    name = request.param
    machine = BUILT[name]() if name in BUILT else load_machine(FOLDER / name / 'machine.yaml')
    rubbing = with_friction(machine, lambda joint: JointFriction.viscous_coulomb(0.3, 0.2))
    return with_joints(rubbing, lambda joint: dataclasses.replace(joint, rotor_inertia=0.02 * joint.actuated))


@pytest.fixture(scope='module')
def motion(machine: Machine) -> PlatformMotion:
    return random_states(machine, 4, seed=2, turn=0.1, move=0.05)


def assert_close(found: Array, expected: Array, tolerance: float = 1e-9) -> None:
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=tolerance * max(1e-6, np.abs(expected).max()))


def test_power_of_the_drives_changes_the_energy(machine: Machine, motion: PlatformMotion) -> None:
    drives = machine.drive_columns
    joints = joint_motion(machine, motion)
    at, rates, second = (values[:, drives] for values in (joints.positions, joints.velocities, joints.accelerations))

    def energy(step: float) -> Array:
        if machine.actuated_count > machine.degrees_of_freedom:  # redundant drives must fit together: free platforms
            moved = motion_of(machine, motion, step)
        else:
            places = at + step * rates + 0.5 * step**2 * second
            moved = motion_from_drives(machine, motion.time, places, rates + step * second, second)
        pose = moved.position, moved.rotation_base_platform
        return kinetic_energy(machine, *pose, moved.twist) + potential_energy(machine, *pose)

    step = 1e-4
    power = np.sum(inverse_dynamics(machine, motion, friction=False) * rates, axis=1)
    assert_close(power, (energy(step) - energy(-step)) / (2.0 * step), 1e-5)


def motion_of(machine: Machine, motion: PlatformMotion, step: float) -> PlatformMotion:
    """The motion of a free platform a short time later, to second order."""
    turn = rotation_exp(step * motion.angular_velocity + 0.5 * step**2 * motion.angular_acceleration)
    return dataclasses.replace(
        motion,
        position=motion.position + step * motion.linear_velocity + 0.5 * step**2 * motion.linear_acceleration,
        rotation_base_platform=turn @ motion.rotation_base_platform,
        linear_velocity=motion.linear_velocity + step * motion.linear_acceleration,
        angular_velocity=motion.angular_velocity + step * motion.angular_acceleration,
    )


def test_regressors_give_the_inverse_dynamics(machine: Machine, motion: PlatformMotion) -> None:
    joints = joint_motion(machine, motion)
    bodies = rigid_body_regressor(machine, motion, identical_legs=False) @ rigid_body_parameters(machine, False)
    rotors = rotor_regressor(machine, joints) @ rotor_parameters(machine)
    assert_close(bodies + rotors, inverse_dynamics(machine, motion, friction=False))
    rub = friction_regressor(machine, joints, 'all') @ friction_parameters(machine, 'all')
    assert_close(bodies + rotors + rub, inverse_dynamics(machine, motion))
    assert_close(drive_force_terms(machine, motion).total, inverse_dynamics(machine, motion))


def test_shared_columns_are_sums(machine: Machine, motion: PlatformMotion) -> None:
    every = rigid_body_regressor(machine, motion, identical_legs=False)
    shared = rigid_body_regressor(machine, motion)
    names, few = rigid_body_parameter_names(machine, False), rigid_body_parameter_names(machine)
    groups = {body: name for name, bodies in identical_leg_groups(machine).items() for body in bodies}
    total = np.zeros_like(shared)
    for column, name in enumerate(names):
        body, _, parameter = name.rpartition('.')
        total[..., few.index(f'{groups.get(body, body)}.{parameter}')] += every[..., column]
    assert_close(shared, total, 1e-13)


def test_forward_dynamics_inverts_inverse_dynamics(machine: Machine, motion: PlatformMotion) -> None:
    pushed = np.array([3.0, -2.0, 5.0, 0.4, -0.3, 0.2])
    pose = motion.position, motion.rotation_base_platform
    for friction in (True, False):
        forces = inverse_dynamics(machine, motion, friction, external_wrench=pushed)
        found = forward_dynamics(machine, *pose, motion.twist, forces, friction, external_wrench=pushed)
        assert_close(found, motion.acceleration, 1e-8)


def test_mass_matrix_is_the_slope_of_the_forces(machine: Machine, motion: PlatformMotion) -> None:
    """And of the kinetic energy; twists that the legs admit."""
    legs = close_legs(machine, motion.position, motion.rotation_base_platform)
    mass = mass_matrix(machine, motion.position, motion.rotation_base_platform)
    energy = kinetic_energy(machine, motion.position, motion.rotation_base_platform, motion.twist)
    assert_close(0.5 * np.einsum('ni,nij,nj->n', motion.twist, mass, motion.twist), energy)
    assert_close(mass, np.swapaxes(mass, 1, 2), 1e-12)
    assert np.linalg.eigvalsh(mass).min() > 0.0
    forces = inverse_dynamics(machine, motion, friction=False)
    for column in np.moveaxis(legs.admitted, 2, 0):
        faster = dataclasses.replace(
            motion,
            linear_acceleration=motion.linear_acceleration + column[:, :3],
            angular_acceleration=motion.angular_acceleration + column[:, 3:],
        )
        change = inverse_dynamics(machine, faster, friction=False) - forces
        needed = (np.swapaxes(legs.admitted, 1, 2) @ mass @ column[..., None])[..., 0]
        given = (np.swapaxes(legs.drive_map @ legs.admitted, 1, 2) @ change[..., None])[..., 0]
        assert_close(given, needed, 1e-8)


def test_reactions_hold_every_body(machine: Machine, motion: PlatformMotion) -> None:
    """Along the joints drive less friction and rotor; on the platform Newton's law; for the base the whole weight."""
    reactions = joint_reactions(machine, motion)
    assert_close(reactions.drive_forces, inverse_dynamics(machine, motion))
    joints, legs = joint_motion(machine, motion), close_legs(machine, motion.position, motion.rotation_base_platform)
    rotations, _ = legs.body_poses()
    along = np.zeros_like(joints.positions)
    for place, joint in enumerate(machine.joints):
        wrench = reactions.joint_forces if joint.kind == 'prismatic' else reactions.joint_moments
        along[:, place] = np.sum(rotations[:, place] @ joint.axis * wrench[:, place], axis=1)
    applied = -machine.viscous * joints.velocities - machine.coulomb * np.sign(joints.velocities)
    applied -= machine.rotor_inertia * joints.accelerations
    applied[:, machine.drive_columns] += reactions.drive_forces
    # joints of an idle freedom, a rod that turns about itself, are held: they carry what their body needs
    moving = np.sort(machine.model.column_joint)
    assert_close(along[:, moving], applied[:, moving], 1e-7)
    lever = motion.rotation_base_platform @ machine.platform.center_of_mass
    spin = motion.angular_velocity
    inner = np.cross(motion.angular_acceleration, lever) + np.cross(spin, np.cross(spin, lever))
    needed = machine.platform.mass * (motion.linear_acceleration + inner - machine.gravity)
    on_platform = [place for place, one in enumerate(machine.closures) if one.other == machine.platform.name]
    found = reactions.closure_forces[:, on_platform].sum(axis=1)
    if machine.planar:
        found = found + reactions.constraint_multipliers[:, -3, None] * [0.0, 0.0, 1.0]
    assert_close(found, needed, 1e-7)


def test_gravity_forces_are_inverse_dynamics_at_rest(machine: Machine, motion: PlatformMotion) -> None:
    held = gravity_forces(machine, motion.position, motion.rotation_base_platform)
    rest = np.zeros_like(motion.position)
    still = dataclasses.replace(
        motion, linear_velocity=rest, angular_velocity=rest, linear_acceleration=rest, angular_acceleration=rest
    )
    np.testing.assert_allclose(held, inverse_dynamics(machine, still), atol=1e-9)


def test_base_parameters_give_the_forces_of_other_states(machine: Machine, motion: PlatformMotion) -> None:
    base = base_parameters(machine, {}, friction='all', rotors=True)
    assert base.gap > 1e4
    joints = joint_motion(machine, motion)
    columns = [
        rigid_body_regressor(machine, motion, identical_legs=False),
        friction_regressor(machine, joints, 'all'),
        rotor_regressor(machine, joints),
    ]
    values = base.values(machine_parameters(machine, {}, friction='all', rotors=True))
    assert_close(base.columns(np.concatenate(columns, axis=-1)) @ values, inverse_dynamics(machine, motion), 1e-7)


def test_redundant_drives_have_the_least_weighted_forces() -> None:
    machine = load_machine(FOLDER / 'octopod_8ups' / 'machine.yaml')
    weights = np.linspace(1.0, 3.0, 8)
    machine = dataclasses.replace(machine, drive_weights=tuple(weights))
    motion = random_states(machine, 3, seed=5)
    forces = inverse_dynamics(machine, motion)
    legs = close_legs(machine, motion.position, motion.rotation_base_platform)
    # forces that the platform does not feel: of any such addition the weighted square sum grows
    for sample, jacobian in enumerate(legs.drive_map):
        hidden = np.linalg.svd(jacobian.T)[2][6:]
        np.testing.assert_allclose(hidden @ (forces[sample] / weights), 0.0, atol=1e-9 * np.abs(forces).max())
    assert twist_per_drive(legs).shape == (3, 6, 8)


def test_too_few_drives_are_refused() -> None:
    machine = load_machine(FOLDER / 'four_rrr' / 'machine.yaml')
    passive = with_joints(machine, lambda joint: dataclasses.replace(joint, actuated=False))
    lazy = dataclasses.replace(machine, legs=(*passive.legs[:2], *machine.legs[2:]), drive_weights=())
    motion = PlatformMotion.at_rest(machine.home.position, machine.home.rotation_base_platform)
    with pytest.raises(KinematicsError, match='2 drives for 3 degrees of freedom'):
        inverse_dynamics(lazy, motion)
    with pytest.raises(KinematicsError, match='0 drives for 3 degrees of freedom'):
        DriveDynamics(dataclasses.replace(passive, drive_weights=()))
    forces = np.zeros((1, 2))
    pose = motion.position, motion.rotation_base_platform
    assert np.isfinite(forward_dynamics(lazy, *pose, np.zeros((1, 6)), forces)).all()
