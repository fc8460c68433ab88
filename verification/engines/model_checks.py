"""Regressor, mass matrix and forward dynamics of every machine against Pinocchio; other gravity, payload, wrench."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np
from pkm_description.arrays import Array
from pkm_description.dynamics import (
    forward_dynamics,
    inverse_dynamics,
    mass_matrix,
    rigid_body_regressor,
)
from pkm_description.dynamics.open_chain import (
    open_chain_mass_matrix,
    open_chain_regressor,
)
from pkm_description.dynamics.reactions import joint_reactions
from pkm_description.kinematics import joint_motion
from pkm_description.kinematics.workspace import random_joint_states, random_states
from pkm_description.machine import Machine, PlatformMotion, RigidBody
from pkm_description.machine.machine import with_gravity, with_payload

from verification.check import Check, agree, at_most, not_reachable, relative_error
from verification.engines.pinocchio import PinocchioTree, pinocchio_result
from verification.engines.pinocchio_models import (
    drive_regressors,
    forward_motion,
    kinetic_matrices,
    tree_regressor,
)
from verification.engines.projection import EngineMissingError

_LIMIT = 1e-9


def checks(machine: Machine, quick: bool) -> Iterator[Check]:
    """Compare a machine's models with Pinocchio's."""
    compare = closed_machine_checks if machine.has_platform else open_chain_checks
    try:
        yield from compare(machine, 8 if quick else 30)
    except EngineMissingError as error:
        yield not_reachable('Pinocchio', 'regressor, mass matrix, forward dynamics', f'<= {_LIMIT:g}', str(error))


def closed_machine_checks(machine: Machine, samples: int) -> Iterator[Check]:
    """Models of a machine with a platform."""
    motion = random_states(machine, samples, seed=12)
    positions = joint_motion(machine, motion).positions
    ours = rigid_body_regressor(machine, motion, identical_legs=False)
    error = relative_error(ours, drive_regressors(machine, positions, motion))
    yield at_most('Pinocchio', 'regressor of every body, separate legs, relative', _LIMIT, error)
    expected, twists = kinetic_matrices(machine, positions, motion)
    mass = mass_matrix(machine, motion.position, motion.rotation_base_platform)
    found = np.swapaxes(twists, 1, 2) @ mass @ twists
    yield agree('Pinocchio', 'mass matrix on admissible twists', _LIMIT, found, expected)
    yield from forward_checks(machine, motion, positions)
    yield from condition_checks(machine, motion, positions)


def forward_checks(machine: Machine, motion: PlatformMotion, positions: Array) -> Iterator[Check]:
    """Accelerations and constraint forces under given drive forces, which are not those of the motion."""
    forces = inverse_dynamics(machine, motion, friction=False)
    forces = forces * np.random.default_rng(6).uniform(0.5, 1.5, forces.shape)
    expected, _ = forward_motion(machine, positions, motion, forces)
    found = forward_dynamics(
        machine, motion.position, motion.rotation_base_platform, motion.twist, forces, friction=False
    )
    yield agree('Pinocchio', 'forward dynamics', _LIMIT, found, expected)
    moved = dataclasses.replace(motion, linear_acceleration=found[:, :3], angular_acceleration=found[:, 3:])
    if machine.actuated_count > int(machine.model.degrees_of_freedom[0]):
        # reactions are those under the least drive forces
        forces = inverse_dynamics(machine, moved, friction=False)
    _, closing = forward_motion(machine, positions, motion, forces)
    if pinocchio_result(machine, positions[:1], motion[:1]).determined:
        reactions = joint_reactions(machine, moved, friction=False).closure_forces
        what = 'constraint forces of the forward dynamics, relative'
        yield at_most('Pinocchio', what, _LIMIT, relative_error(reactions, closing))


def condition_checks(machine: Machine, motion: PlatformMotion, positions: Array) -> Iterator[Check]:
    """Gravity of any direction and none, a payload, an external wrench."""
    payload = RigidBody('payload', 0.5 * machine.platform.mass, np.array([0.1, -0.05, 0.2]), np.diag([0.3, 0.4, 0.5]))
    variants = {
        'gravity (3, -5, 2) m/s^2': with_gravity(machine, np.array([3.0, -5.0, 2.0])),
        'no gravity': with_gravity(machine, np.zeros(3)),
        'a payload': with_payload(machine, payload),
    }
    for name, variant in variants.items():
        tree = PinocchioTree(variant)
        expected = np.array([tree.drive_forces(positions[sample], motion, sample) for sample in range(len(motion))])
        found = inverse_dynamics(variant, motion, friction=False)
        what = f'inverse dynamics with {name}, relative'
        yield at_most('Pinocchio', what, _LIMIT, relative_error(found, expected))
    wrench = np.random.default_rng(7).normal(size=(len(motion), 6)) * 10.0 * machine.platform.mass
    found = inverse_dynamics(machine, motion, friction=False, external_wrench=wrench)
    tree, rows = PinocchioTree(machine), []
    for sample in range(len(motion)):
        rotation = motion.rotation_base_platform[sample]
        configuration, velocity, acceleration, _ = tree.state(positions[sample], motion, sample)
        torques = tree.tree_torques(configuration, velocity, acceleration)
        torques[tree.free] -= np.concatenate([rotation.T @ wrench[sample, :3], rotation.T @ wrench[sample, 3:]])
        rows.append(tree.project(configuration, torques)[0])
    yield agree('Pinocchio', 'inverse dynamics with an external wrench', _LIMIT, found, np.array(rows))


def open_chain_checks(machine: Machine, samples: int) -> Iterator[Check]:
    """Models of a machine without a platform."""
    tree = PinocchioTree(machine)
    positions, velocities, accelerations = random_joint_states(machine, samples, seed=12)
    states = list(zip(positions, velocities, accelerations, strict=True))
    expected = np.array([tree_regressor(tree, *state) for state in states])
    error = relative_error(open_chain_regressor(machine, positions, velocities, accelerations), expected)
    yield at_most('Pinocchio', 'regressor of every body, relative', _LIMIT, error)
    matrices = [tree.mass_matrix(position) for position in positions]
    error = relative_error(open_chain_mass_matrix(machine, positions), np.array(matrices))
    yield at_most('Pinocchio', 'mass matrix of the joints, relative', _LIMIT, error)
