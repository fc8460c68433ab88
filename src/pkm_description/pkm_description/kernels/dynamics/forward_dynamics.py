"""Forward dynamics of one sample: how the platform accelerates under given drive forces."""

from __future__ import annotations

import math

from pkm_description.arrays import Array
from pkm_description.kernels.dynamics.energy import copy_mass, kinetic_energy, mass_on_twist, potential_energy
from pkm_description.kernels.dynamics.inverse_dynamics import MOST_LOADS, loads_settled, needed_forces
from pkm_description.kernels.dynamics.newton_euler import (
    add_friction,
    joint_forces,
    loads_of_joints,
    reactions,
    tree_wrenches,
)
from pkm_description.kernels.dynamics.regressor import add_blocks, clear
from pkm_description.kernels.dynamics.state import coast, move_joints
from pkm_description.kernels.friction import friction_of_joints
from pkm_description.kernels.jit import kernel
from pkm_description.kernels.kinematics.closures import factor_constraints, meet_constraints
from pkm_description.kernels.kinematics.drive_map import admitted_twists
from pkm_description.kernels.kinematics.legs import accelerations_of_joints, bias_of_joints
from pkm_description.kernels.kinematics.tree import body_accelerations, map_bodies, mass_of_map
from pkm_description.kernels.linalg import solve_square
from pkm_description.kernels.model import (
    CONSTRAINTS_SINGULAR,
    FRICTION_NOT_SETTLED,
    MASS_SINGULAR,
    MOTION_NOT_FINITE,
    OK,
    Integers,
    ModelData,
    ScratchData,
)


@kernel
def accelerate(
    model: ModelData, scratch: ScratchData, friction: bool, external: Array, forces: Array, sample: int
) -> int:
    """Acceleration of the platform, joints and bodies under a row of drive forces (N, A); the state is coasting.

    ``M a + h = J^T f + K^T lambda`` with ``K a = k``: on the admitted twists N, ``a = N s + p`` with a particular p,
    and ``N^T M N s = N^T (J^T f - h(p))``.
    """
    found = factor_constraints(model, scratch)
    meet_constraints(model, scratch, found)
    _set_acceleration(model, scratch, scratch.held)
    needed_forces(model, scratch, friction, external, sample)
    for i in range(6):
        total = -scratch.wrench[i]
        for a in range(len(model.drive_joint)):
            total += scratch.joint_map[model.drive_joint[a], i] * forces[sample, a]
        scratch.wrench[i] = total
    count = admitted_twists(model, scratch)
    if count != model.degrees_of_freedom[0]:
        scratch.detail[2] = count
        return CONSTRAINTS_SINGULAR
    mass_on_twist(model, scratch)
    admitted, matrix, right = scratch.admitted, scratch.square_2, scratch.vector_2
    for i in range(count):
        total = 0.0
        for m in range(6):
            total += admitted[m, i] * scratch.wrench[m]
        right[i] = total
        for k in range(count):
            total = 0.0
            for m in range(6):
                along = 0.0
                for n in range(6):
                    along += scratch.mass[m, n] * admitted[n, k]
                total += admitted[m, i] * along
            matrix[i, k] = total
    if not solve_square(matrix, scratch.vector, count, right):
        return MASS_SINGULAR
    for m in range(6):
        for i in range(count):
            scratch.held[m] += admitted[m, i] * right[i]
    _set_acceleration(model, scratch, scratch.held)
    return OK


@kernel
def _set_acceleration(model: ModelData, scratch: ScratchData, acceleration: Array) -> None:
    """Let platform (6,), joints and bodies accelerate."""
    platform = len(model.kind)
    for i in range(3):
        scratch.acceleration[platform, i] = acceleration[i]
        scratch.spin_rate[platform, i] = acceleration[3 + i]
    accelerations_of_joints(model, scratch)
    body_accelerations(model, scratch, scratch.joint_accelerations)


@kernel
def forward_dynamics(
    model: ModelData, scratch: ScratchData, start: Array, position: Array, rotation: Array, linear: Array,
    angular: Array, friction: bool, smoothing: float, external: Array, forces: Array, accelerations: Array,
) -> int:  # fmt: skip
    """Accelerations (N, 6) of the platform under drive forces (N, A)."""
    platform = len(model.kind)
    for sample in range(len(position)):
        status = coast(model, scratch, start, position, rotation, linear, angular, sample)
        if status < 0:
            return status
        total = 0.0
        for a in range(len(model.drive_joint)):
            total += forces[sample, a]
        if not math.isfinite(total):
            return MOTION_NOT_FINITE
        bias_of_joints(model, scratch)
        status = _accelerate_with_friction(model, scratch, friction, smoothing, external, forces, sample)
        if status < 0:
            return status
        for i in range(3):
            accelerations[sample, i] = scratch.acceleration[platform, i]
            accelerations[sample, 3 + i] = scratch.spin_rate[platform, i]
    return OK


@kernel
def _accelerate_with_friction(
    model: ModelData, scratch: ScratchData, friction: bool, smoothing: float, external: Array, forces: Array,
    sample: int,
) -> int:  # fmt: skip
    """As :func:`accelerate`, with friction that settles with the forces in the joints."""
    for joint in range(len(model.kind)):
        scratch.loads[joint] = 0.0
    if friction:
        friction_of_joints(model, scratch, smoothing)
    status = accelerate(model, scratch, friction, external, forces, sample)
    if status < 0 or not friction or model.friction_loads[0] == 0:
        return status
    for _ in range(MOST_LOADS):
        for joint in range(len(model.kind)):
            scratch.last_loads[joint] = scratch.loads[joint]
        needed_forces(model, scratch, True, external, sample)
        reactions(model, scratch, forces, sample)
        loads_of_joints(model, scratch)
        friction_of_joints(model, scratch, smoothing)
        status = accelerate(model, scratch, True, external, forces, sample)
        if status < 0 or loads_settled(model, scratch):
            return status
    return FRICTION_NOT_SETTLED


@kernel
def open_chain_forces(
    model: ModelData, scratch: ScratchData, positions: Array, rates: Array, accelerations: Array, friction: bool,
    smoothing: float, block: Integers, forces: Array, energies: Array, masses: Array, regressor: Array,
) -> int:  # fmt: skip
    """Forces, energies, mass matrices and regressors of a motion of the joints (N, J).

    Parameters
    ----------
    block : see :func:`~pkm_description.kernels.dynamics.regressor.add_blocks`
    forces : (N, J) along the joints; friction along them does not change the loads across
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
