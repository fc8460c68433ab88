"""Laws for every machine with a platform: closures, derivatives, power, energy."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from pkm_description.arrays import Array
from pkm_description.dynamics import (
    forward_dynamics,
    gravity_forces,
    inverse_dynamics,
    kinetic_energy,
    mass_matrix,
    potential_energy,
    reduce_parameters,
    rigid_body_parameter_names,
    rigid_body_parameters,
    rigid_body_regressor,
)
from pkm_description.dynamics.inverse import drive_force_terms
from pkm_description.kinematics import drive_positions, forward_kinematics, joint_motion, joint_positions
from pkm_description.kinematics.closed_legs import close_legs, closing_points
from pkm_description.kinematics.workspace import random_states
from pkm_description.machine import Machine, PlatformMotion, RigidBody
from pkm_description.machine.machine import with_payload

from verification.check import Check, agree, at_least, at_most, relative_error
from verification.mechanics.momentum import reaction_checks
from verification.mechanics.neighbours import STEP, shifted, smooth_derivative

#: condition number beyond which a finite difference passes a singular pose, and part of the states that may be beyond
_CONDITION, _SINGULAR = 100.0, 0.05


def checks(machine: Machine, quick: bool) -> Iterator[Check]:
    """Kinematics and dynamics of a machine against each other, at random states around home."""
    motion = random_states(machine, 40 if quick else 400, seed=3)
    found = forward_kinematics(machine, drive_positions(machine, motion.position, motion.rotation_base_platform))
    regular = found.condition < _CONDITION
    yield at_most('closure', 'part of the random states that is nearly singular', _SINGULAR, float(np.mean(~regular)))
    motion = motion[regular]
    yield from kinematics_checks(machine, motion)
    yield from dynamics_checks(machine, motion)
    yield from reaction_checks(machine, motion)
    motion = random_states(machine, 60 if quick else 200, seed=4)
    yield from base_parameter_checks(machine, rigid_body_regressor(machine, motion, identical_legs=False))


def kinematics_checks(machine: Machine, motion: PlatformMotion) -> Iterator[Check]:
    """Closures, and the derivatives of all joint positions, passive ones too."""
    pose = motion.position, motion.rotation_base_platform
    positions = joint_positions(machine, *pose)
    own, other = closing_points(machine, positions, *pose)
    gap = np.linalg.norm(own - other, axis=-1)
    yield at_most('closure', 'leg tips lie in the platform joints', 1e-11, gap, 'm')
    found = forward_kinematics(machine, drive_positions(machine, *pose))
    yield at_most('closure', 'forward kinematics gives the position back', 1e-10, found.position - pose[0], 'm')
    turned = found.rotation_base_platform - pose[1]
    yield at_most('closure', 'forward kinematics gives the rotation matrix back', 1e-10, turned)
    legs = joint_motion(machine, motion)
    rates = (close_legs(machine, *pose).joint_map @ motion.twist[..., None])[..., 0]
    yield agree('jacobian', 'joint map x twist = joint velocities', 1e-12, rates, legs.velocities)
    moving = smooth_derivative(lambda step: _joint_state(machine, shifted(machine, motion, step)), STEP)
    for what, analytic, numeric in zip(
        ('velocities', 'accelerations'), (legs.velocities, legs.accelerations), moving, strict=True
    ):
        yield agree('jacobian', f'joint {what} against finite differences', 1e-6, numeric, analytic)



def _joint_state(machine: Machine, motion: PlatformMotion) -> Array:
    """Joint positions and velocities (2, N, J)."""
    legs = joint_motion(machine, motion)
    return np.stack([legs.positions, legs.velocities])


def dynamics_checks(machine: Machine, motion: PlatformMotion) -> Iterator[Check]:
    """Regressor, energy and power against each other."""
    pose = motion.position, motion.rotation_base_platform
    forces = inverse_dynamics(machine, motion, friction=False)
    product = rigid_body_regressor(machine, motion, identical_legs=False) @ rigid_body_parameters(machine, False)
    drives = joint_motion(machine, motion)
    rotors = machine.rotor_inertia[machine.drive_columns] * drives.accelerations[..., machine.drive_columns]
    error = relative_error(product + shared(machine, motion, rotors), forces)
    yield at_most('regressor', 'regressor x parameters + rotors = inverse dynamics, relative', 1e-10, error)
    terms = drive_force_terms(machine, motion, friction=False).total
    yield agree('terms', 'pm + sm + cor + cen + grp + grs + rotors = inverse dynamics', 1e-10, terms, forces)
    zero = np.zeros_like(motion.position)
    still = PlatformMotion(motion.time, *pose, zero, zero, zero, zero)
    difference = inverse_dynamics(machine, still, friction=False) - gravity_forces(machine, *pose)
    # planar machines need no force at rest, so the forces of the motion are the scale
    error = float(np.abs(difference).max() / np.abs(forces).max())
    yield at_most('statics', 'gravity forces = inverse dynamics at rest, relative', 1e-10, error)

    twist = motion.twist
    from_matrix = 0.5 * np.sum(twist * (mass_matrix(machine, *pose) @ twist[..., None])[..., 0], axis=1)
    error = relative_error(from_matrix, kinetic_energy(machine, *pose, twist))
    yield at_most('energy', 'energy of the mass matrix = sum over the bodies, relative', 1e-10, error)

    change = smooth_derivative(lambda step: mechanical_energy(machine, shifted(machine, motion, step)), STEP)
    rates = drives.velocities[..., machine.drive_columns]
    power = np.sum(forces * rates, axis=1)
    yield agree('power', 'd(T + V)/dt = power of the drives', 1e-6, change, power)

    with_friction = inverse_dynamics(machine, motion, friction=True)
    found = forward_dynamics(machine, *pose, twist, with_friction)
    yield agree('forward', 'forward(inverse) gives the acceleration back', 1e-9, found, motion.acceleration)

    yield payload_check(machine, motion)


def shared(machine: Machine, motion: PlatformMotion, forces: Array) -> Array:
    """Forces of the drives (N, A) with the same effect and the least ``sum(force^2 / weight)``.

    Those of redundant drives may brace the machine against itself; with a drive per degree of freedom they are the only
    ones.
    """
    legs = close_legs(machine, motion.position, motion.rotation_base_platform)
    root = np.sqrt(machine.drive_weights or np.ones(machine.actuated_count))
    effect = np.swapaxes(legs.drive_map @ legs.admitted, 1, 2)
    return np.asarray(root * (np.linalg.pinv(effect * root) @ effect @ forces[..., None])[..., 0])


def payload_check(machine: Machine, motion: PlatformMotion) -> Check:
    """A point mass on the platform, as a part of it and as a force from outside."""
    mass, point = 0.2 * machine.platform.mass, np.array([0.3, -0.2, 0.5]) * machine.platform_radius
    loaded = with_payload(machine, RigidBody('payload', mass, point, np.zeros((3, 3))))
    lever = motion.rotation_base_platform @ point
    spin = motion.angular_velocity
    acceleration = (
        motion.linear_acceleration
        + np.cross(motion.angular_acceleration, lever)
        + np.cross(spin, np.cross(spin, lever))
    )
    force = -mass * (acceleration - machine.gravity)
    pushed = inverse_dynamics(
        machine, motion, external_wrench=np.concatenate([force, np.cross(lever, force)], axis=1)
    )
    return agree('payload', 'payload = its force as external wrench', 1e-10, inverse_dynamics(loaded, motion), pushed)


def mechanical_energy(machine: Machine, motion: PlatformMotion) -> Array:
    """Kinetic and potential energy (N,) J."""
    pose = motion.position, motion.rotation_base_platform
    return kinetic_energy(machine, *pose, motion.twist) + potential_energy(machine, *pose)


def base_parameter_checks(machine: Machine, regressor: Array) -> Iterator[Check]:
    """Base parameters of a regressor (N, F, P): how clear their number is, and that they give the same forces."""
    names = rigid_body_parameter_names(machine, identical_legs=False)
    base = reduce_parameters(regressor.reshape(-1, regressor.shape[-1]), names)
    yield at_least('base', f'gap of the singular values after {len(base)} base parameters', 1e4, base.gap)
    full = rigid_body_parameters(machine, identical_legs=False)
    reduced = base.columns(regressor) @ base.values(full)
    yield agree('base', 'base parameters give the forces of all parameters', 1e-9, reduced, regressor @ full)
