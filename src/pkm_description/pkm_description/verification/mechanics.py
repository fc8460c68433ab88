"""What must hold for every machine with a platform, whatever its numbers: closures, derivatives, power, energy."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

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
from pkm_description.kinematics import joint_positions, leg_motion
from pkm_description.kinematics.chain import chain_pose
from pkm_description.kinematics.leg_motion import close_legs
from pkm_description.machine import Machine
from pkm_description.mechanism import Mechanism
from pkm_description.motion import PlatformMotion
from pkm_description.motion.random_states import random_states
from pkm_description.verification.check import Check, at_least, at_most, relative_error
from pkm_description.verification.neighbours import derivative, shifted

Array = NDArray[np.float64]

#: s, of finite differences
STEP = 1e-4


def checks(machine: Machine, quick: bool) -> Iterator[Check]:
    """Judge kinematics and dynamics of a machine by themselves, at random states around home."""
    mechanism = Mechanism(machine)
    motion = random_states(machine, 40 if quick else 400, seed=3)
    yield from kinematics_checks(mechanism, motion)
    yield from dynamics_checks(mechanism, motion)
    yield from base_parameter_checks(mechanism, random_states(machine, 60 if quick else 200, seed=4))


def kinematics_checks(mechanism: Mechanism, motion: PlatformMotion) -> Iterator[Check]:
    """Closures, and the derivatives of all joint positions, passive ones too."""
    pose = motion.position, motion.rotation_base_platform
    positions = joint_positions(mechanism, *pose)
    anchors = pose[0][:, None] + mechanism.platform_points @ np.swapaxes(pose[1], 1, 2)
    gap = np.linalg.norm(chain_pose(mechanism, positions).tip - anchors, axis=-1)
    yield at_most('closure', 'leg tips lie in the platform joints', 1e-11, gap, 'm')
    legs = leg_motion(mechanism, motion)
    rates = (close_legs(mechanism, *pose).joint_map @ motion.twist[:, None, :, None])[..., 0]
    yield at_most(
        'jacobian', 'joint map x twist = joint velocities, relative', 1e-12, relative_error(rates, legs.velocities)
    )
    after, before = (leg_motion(mechanism, shifted(motion, step)) for step in (STEP, -STEP))
    for what, analytic, numeric in (
        ('velocities', legs.velocities, derivative(after.positions, before.positions, STEP)),
        ('accelerations', legs.accelerations, derivative(after.velocities, before.velocities, STEP)),
    ):
        error = relative_error(numeric, analytic)
        yield at_most('jacobian', f'joint {what} against finite differences, relative', 1e-6, error)


def dynamics_checks(mechanism: Mechanism, motion: PlatformMotion) -> Iterator[Check]:
    """Regressor, energy and power against each other."""
    machine = mechanism.machine
    pose = motion.position, motion.rotation_base_platform
    forces = inverse_dynamics(mechanism, motion, friction=False)
    product = rigid_body_regressor(mechanism, motion, identical_legs=False) @ rigid_body_parameters(machine, False)
    yield at_most(
        'regressor', 'regressor x parameters = inverse dynamics, relative', 1e-10, relative_error(product, forces)
    )
    still = motion.at_rest(pose[0][0], pose[1][0])
    weight = relative_error(inverse_dynamics(mechanism, still, friction=False), gravity_forces(mechanism, *pose)[:1])
    yield at_most('statics', 'gravity forces = inverse dynamics at rest, relative', 1e-10, weight)

    twist = motion.twist
    from_matrix = 0.5 * np.sum(twist * (mass_matrix(mechanism, *pose) @ twist[..., None])[..., 0], axis=1)
    energy = relative_error(from_matrix, kinetic_energy(mechanism, *pose, twist))
    yield at_most('energy', 'energy of the mass matrix = sum over the bodies, relative', 1e-10, energy)

    after, before = (mechanical_energy(mechanism, shifted(motion, step)) for step in (STEP, -STEP))
    rates = leg_motion(mechanism, motion).velocities[..., mechanism.actuated_index]
    power = np.sum(forces * rates, axis=1)
    error = relative_error(derivative(after, before, STEP), power)
    yield at_most('power', 'd(T + V)/dt = power of the drives, relative', 1e-6, error)

    with_friction = inverse_dynamics(mechanism, motion, friction=True)
    found = forward_dynamics(mechanism, *pose, twist, with_friction)
    yield at_most(
        'forward',
        'forward(inverse) gives the acceleration back, relative',
        1e-9,
        relative_error(found, motion.acceleration),
    )


def mechanical_energy(mechanism: Mechanism, motion: PlatformMotion) -> Array:
    """Kinetic and potential energy (N,) J."""
    pose = motion.position, motion.rotation_base_platform
    return kinetic_energy(mechanism, *pose, motion.twist) + potential_energy(mechanism, *pose)


def base_parameter_checks(mechanism: Mechanism, motion: PlatformMotion) -> Iterator[Check]:
    """Minimal parameter sets: how sure their number is, and that they give the same forces."""
    machine = mechanism.machine
    regressor = rigid_body_regressor(mechanism, motion, identical_legs=False)
    base = reduce_parameters(
        regressor.reshape(-1, regressor.shape[-1]), rigid_body_parameter_names(machine, identical_legs=False)
    )
    yield at_least('base', f'gap of the singular values after {len(base)} base parameters', 1e4, base.gap)
    full = rigid_body_parameters(machine, identical_legs=False)
    reduced = base.columns(regressor) @ base.values(full)
    yield at_most(
        'base',
        'base parameters give the forces of all parameters, relative',
        1e-9,
        relative_error(reduced, regressor @ full),
    )
