"""Regressor, mass matrix and constrained forward dynamics of a machine by Pinocchio alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from pkm_description.arrays import Array
from pkm_description.machine import Machine, PlatformMotion

from verification.engines.pinocchio import PinocchioTree

#: Pinocchio's places of m, mx, my, mz, Ixx, Ixy, Ixz, Iyy, Iyz, Izz
_ORDER = np.array([0, 1, 2, 3, 4, 5, 7, 6, 8, 9])


def tree_regressor(tree: PinocchioTree, configuration: Array, velocity: Array, acceleration: Array) -> Array:
    """Regressor (nv, P) of the open tree, bodies and parameters in the library's order: platform, then the legs."""
    columns = tree.pin.computeJointTorqueRegressor(tree.model, tree.data, configuration, velocity, acceleration)
    bodies = np.array(columns).reshape(tree.model.nv, -1, 10)[..., _ORDER]
    order = [joint - 1 for joint in tree.ids]
    bodies = bodies[:, [tree.model.njoints - 2, *order] if tree.machine.has_platform else order]
    return bodies.reshape(tree.model.nv, -1)


def drive_regressors(machine: Machine, joint_positions: Array, motion: PlatformMotion) -> Array:
    """Regressors (N, A, P) of the drive forces."""
    tree, result = PinocchioTree(machine), []
    for sample in range(len(motion)):  # Pinocchio takes one sample at a time
        configuration, velocity, acceleration, _ = tree.state(joint_positions[sample], motion, sample)
        torques = tree_regressor(tree, configuration, velocity, acceleration)
        result.append(tree.project(configuration, torques)[0])
    return np.array(result)


def kinetic_matrices(machine: Machine, joint_positions: Array, motion: PlatformMotion) -> tuple[Array, Array]:
    """Mass matrices (N, D, D) on admissible twists, and those twists (N, 6, D): an orthonormal basis."""
    tree = PinocchioTree(machine)
    masses, bases = [], []
    for sample in range(len(motion)):
        rotation = motion.rotation_base_platform[sample]
        configuration = tree.configuration(joint_positions[sample], motion.position[sample], rotation)
        jacobian = tree.closure_jacobian(configuration)
        to_body = np.kron(np.eye(2), rotation.T)
        moving = np.setdiff1d(tree.places, tree.idle)
        legs, platform = jacobian[:, moving], jacobian[:, tree.free] @ to_body
        rates = -np.linalg.pinv(legs) @ platform
        left_open = platform + legs @ rates
        _, values, directions = np.linalg.svd(left_open)
        basis = directions[np.sum(values >= 1e-9 * max(1.0, values[0])) :].T
        every = np.zeros((tree.model.nv, 6))
        every[moving], every[tree.free] = rates, to_body
        tree_rates = every @ basis
        masses.append(tree_rates.T @ tree.mass_matrix(configuration) @ tree_rates)
        bases.append(basis)
    return np.array(masses), np.array(bases)


def forward_motion(
    machine: Machine, joint_positions: Array, motion: PlatformMotion, forces: Array
) -> tuple[Array, Array]:
    """Platform accelerations (N, 6), and forces (N, K, 3) of the legs on what they hold, under drive forces.

    Machines whose closures are all balls: Pinocchio's own constraint dynamics. Others: mass matrix, forces and
    constraints of Pinocchio in one linear system.
    """
    tree = PinocchioTree(machine)
    balls = all(cut.closure.kind == 'ball' for cut in tree.closures) and not len(tree.idle)
    solve = _constraint_dynamics if balls and not machine.planar and _has_mass(machine) else _linear_system
    accelerations, closing = [], []
    for sample in range(len(motion)):
        configuration, velocity, second, _ = tree.state(joint_positions[sample], motion, sample)
        drive = np.zeros(tree.model.nv)
        drive[tree.driven] = forces[sample]
        found, forces_of_legs = solve(tree, configuration, velocity, drive, second)
        rotation, spin = motion.rotation_base_platform[sample], motion.angular_velocity[sample]
        own = found[tree.free]
        linear = rotation @ own[:3] + np.cross(spin, motion.linear_velocity[sample])
        accelerations.append(np.concatenate([linear, rotation @ own[3:]]))
        closing.append(-forces_of_legs)
    return np.array(accelerations), np.array(closing)


def _has_mass(machine: Machine) -> bool:
    """Whether the open tree's mass matrix has an inverse, which Pinocchio's solver needs."""
    return all(joint.body.mass > 0.0 for joint in machine.joints)


def _constraint_dynamics(
    tree: PinocchioTree, configuration: Array, velocity: Array, drive: Array, _: Array
) -> tuple[Array, Array]:
    """Tree accelerations (nv,) and forces on the legs' bodies (K, 3), base axes, by Pinocchio's solver."""
    pin, model = tree.pin, tree.model
    model.armature = tree.rotors
    joints = pin.StdVec_RigidConstraintModel()
    for cut in tree.closures:
        first, second = model.frames[cut.tip], model.frames[cut.anchor]
        joints.append(
            pin.RigidConstraintModel(
                pin.ContactType.CONTACT_3D, model, first.parentJoint, first.placement, second.parentJoint,
                second.placement, pin.ReferenceFrame.LOCAL,
            )
        )  # fmt: skip
    states = pin.StdVec_RigidConstraintData()
    for joint in joints:
        states.append(joint.createData())
    data = model.createData()
    try:
        pin.initConstraintDynamics(model, data, joints, states)
    except TypeError:  # Pinocchio 3
        pin.initConstraintDynamics(model, data, joints)
    accuracy = pin.ProximalSettings(1e-14, 0.0, 10)
    accelerations = pin.constraintDynamics(model, data, configuration, velocity, drive, joints, states, accuracy)
    turns: list[Any] = [data.oMi[joint.joint1_id].rotation @ joint.joint1_placement.rotation for joint in joints]
    forces = np.array([turn @ state.contact_force.linear for turn, state in zip(turns, states, strict=True)])
    model.armature = np.zeros(model.nv)
    return np.array(accelerations), forces


def _linear_system(
    tree: PinocchioTree, configuration: Array, velocity: Array, drive: Array, admissible: Array
) -> tuple[Array, Array]:
    """The same by ``M a + h = u + J^T lambda, J a = J a_admissible``; idle joints are held, too."""
    jacobian = tree.closure_jacobian(configuration)
    fixed = np.vstack([jacobian, np.eye(tree.model.nv)[tree.idle]])
    count, rows = tree.model.nv, len(fixed)
    system = np.zeros((count + rows, count + rows))
    system[:count, :count] = tree.mass_matrix(configuration)
    system[:count, count:], system[count:, :count] = -fixed.T, fixed
    bias = tree.pin.nonLinearEffects(tree.model, tree.data, configuration, velocity)
    right = np.concatenate([drive - bias, fixed @ admissible])
    dependent = np.linalg.matrix_rank(fixed, tol=1e-9 * np.linalg.norm(fixed, 2)) < rows
    solution = np.linalg.lstsq(system, right, rcond=1e-12)[0] if dependent else np.linalg.solve(system, right)
    tree.closure_jacobian(configuration)
    return solution[:count], tree.closure_wrenches(solution[count : count + len(jacobian)])[0]
