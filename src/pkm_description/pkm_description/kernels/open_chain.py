"""Dynamics of open chains: trees of joints without closures, whose coordinates are the joints."""

from __future__ import annotations

import math

from pkm_description.arrays import Array
from pkm_description.kernels.body_map import map_bodies, mass_of_map
from pkm_description.kernels.dynamics import add_friction, joint_forces, tree_wrenches
from pkm_description.kernels.energy import copy_mass, kinetic_energy, potential_energy
from pkm_description.kernels.friction import friction_of_joints
from pkm_description.kernels.inverse_dynamics import MOST_LOADS, loads_settled
from pkm_description.kernels.jit import kernel
from pkm_description.kernels.linalg import solve_square
from pkm_description.kernels.model import Integers, ModelData, ScratchData
from pkm_description.kernels.reactions import loads_of_joints
from pkm_description.kernels.regressor import add_blocks, clear
from pkm_description.kernels.state import move_joints
from pkm_description.kernels.status import FRICTION_NOT_SETTLED, MASS_SINGULAR, MOTION_NOT_FINITE, OK
from pkm_description.kernels.tree import body_accelerations


@kernel
def open_chain_forces(
    model: ModelData, scratch: ScratchData, positions: Array, rates: Array, accelerations: Array, friction: bool,
    smoothing: float, block: Integers, forces: Array, loads: Array, energies: Array, masses: Array, regressor: Array,
) -> int:  # fmt: skip
    """Forces, energies, mass matrices and regressors of a motion of the joints (N, J).

    Parameters
    ----------
    block : see :func:`~pkm_description.kernels.regressor.add_blocks`
    forces, loads : (N, J) along and across the joints; friction along them does not change the loads
    energies : (N, 2) J, kinetic and potential
    masses : (N, J, J), or (0, J, J): not wanted
    regressor : (N, J, P) of the joint forces, or (0, J, P): not wanted
    """
    joints = len(model.kind)
    for sample in range(len(positions)):
        status = move_joints(model, scratch, positions, rates, accelerations, sample)
        if status < 0:
            return status
        tree_wrenches(model, scratch)
        joint_forces(model, scratch)
        loads_of_joints(model, scratch)
        if friction:
            friction_of_joints(model, scratch, smoothing)
            add_friction(model, scratch)
        for joint in range(joints):
            forces[sample, joint] = scratch.joint_forces[joint]
            loads[sample, joint] = scratch.loads[joint]
        energies[sample, 0] = kinetic_energy(model, scratch)
        energies[sample, 1] = potential_energy(model, scratch)
        if len(masses) + len(regressor):
            map_bodies(model, scratch, scratch.unit, scratch.unit, joints)
        if len(masses):
            mass_of_map(model, scratch, scratch.unit, joints)
            copy_mass(scratch, masses, sample)
        if len(regressor):
            clear(regressor, sample)
            add_blocks(model, scratch, block, joints, regressor, sample)
    return OK


@kernel
def open_chain_accelerations(
    model: ModelData, scratch: ScratchData, positions: Array, rates: Array, forces: Array, friction: bool,
    smoothing: float, accelerations: Array,
) -> int:  # fmt: skip
    """Joint accelerations (N, J) under joint forces (N, J)."""
    joints = len(model.kind)
    for sample in range(len(positions)):
        status = move_joints(model, scratch, positions, rates, rates, sample)
        if status < 0:
            return status
        total = 0.0
        for joint in range(joints):
            total += forces[sample, joint]
            scratch.loads[joint] = 0.0
            scratch.friction[joint] = 0.0
        if not math.isfinite(total):
            return MOTION_NOT_FINITE
        if friction:
            friction_of_joints(model, scratch, smoothing)
        status = _accelerate(model, scratch, forces, sample)
        if status < 0:
            return status
        if friction and model.friction_loads[0]:
            status = _settle(model, scratch, smoothing, forces, sample)
            if status < 0:
                return status
        for joint in range(joints):
            accelerations[sample, joint] = scratch.joint_accelerations[joint]
    return OK


@kernel
def _accelerate(model: ModelData, scratch: ScratchData, forces: Array, sample: int) -> int:
    """Accelerations of joints and bodies under joint forces and ``scratch.friction``."""
    joints = len(model.kind)
    for joint in range(joints):
        scratch.joint_accelerations[joint] = 0.0
    body_accelerations(model, scratch, scratch.joint_rates, scratch.joint_accelerations)
    tree_wrenches(model, scratch)
    joint_forces(model, scratch)
    map_bodies(model, scratch, scratch.unit, scratch.unit, joints)
    mass_of_map(model, scratch, scratch.unit, joints)
    for joint in range(joints):
        left = forces[sample, joint] - scratch.joint_forces[joint]
        scratch.joint_accelerations[joint] = left - scratch.friction[joint]
    if not solve_square(scratch.mass, scratch.vector, joints, scratch.joint_accelerations):
        return MASS_SINGULAR
    body_accelerations(model, scratch, scratch.joint_rates, scratch.joint_accelerations)
    return OK


@kernel
def _settle(model: ModelData, scratch: ScratchData, smoothing: float, forces: Array, sample: int) -> int:
    """Iterate friction and the forces across the joints that it depends on."""
    for _ in range(MOST_LOADS):
        for joint in range(len(model.kind)):
            scratch.last_loads[joint] = scratch.loads[joint]
        tree_wrenches(model, scratch)
        loads_of_joints(model, scratch)
        friction_of_joints(model, scratch, smoothing)
        status = _accelerate(model, scratch, forces, sample)
        if status < 0:
            return status
        if loads_settled(model, scratch):
            return OK
    return FRICTION_NOT_SETTLED
