"""Dynamics of open chains, such as a pendulum on a cart.

Coordinates are the positions of the J joints; forces act in every joint, driven or not.
"""

from __future__ import annotations

import numpy as np

from pkm_description.arrays import Array, packed
from pkm_description.dynamics.body_blocks import body_blocks
from pkm_description.errors import KinematicsError
from pkm_description.kernels import forward_dynamics as kernels
from pkm_description.kinematics.arguments import columns as columns_of
from pkm_description.kinematics.arguments import of_samples, require_machine, require_ok
from pkm_description.machine import Machine


def open_chain_forces(
    machine: Machine,
    positions: Array,
    velocities: Array,
    accelerations: Array,
    friction: bool = True,
    sign_smoothing: float = 0.0,
) -> Array:
    """Joint forces and torques (N, J) that a motion of the joints needs.

    Parameters
    ----------
    positions, velocities, accelerations : (N, J), m or rad and time derivatives
    friction, sign_smoothing : as in :func:`pkm_description.dynamics.inverse_dynamics`
    """
    return _evaluated(machine, positions, velocities, accelerations, friction, sign_smoothing)[0]


def open_chain_loads(machine: Machine, positions: Array, velocities: Array, accelerations: Array) -> Array:
    """Forces across the joints (N, J) [N] during a motion, which friction along the joints does not change."""
    return _evaluated(machine, positions, velocities, accelerations)[1]


def open_chain_regressor(
    machine: Machine, positions: Array, velocities: Array, accelerations: Array
) -> Array:
    """Regressor (N, J, 10 J): joint forces without friction and rotors, of ``rigid_body_parameters`` leg by leg."""
    joints = len(machine.joints)
    regressor = np.empty((len(positions), joints, 10 * joints))
    _evaluated(machine, positions, velocities, accelerations, regressor=regressor)
    return regressor


def open_chain_mass_matrix(machine: Machine, positions: Array) -> Array:
    """Mass matrices (N, J, J), rotors included."""
    joints = len(machine.joints)
    masses = np.empty((len(positions), joints, joints))
    still = np.zeros(np.shape(positions))
    _evaluated(machine, positions, still, still, masses=masses)
    return masses


def open_chain_energy(machine: Machine, positions: Array, velocities: Array) -> tuple[Array, Array]:
    """Kinetic and potential energy, (N,) J each."""
    energies = _evaluated(machine, positions, velocities, np.zeros(np.shape(positions)))[2]
    return energies[:, 0], energies[:, 1]


def open_chain_accelerations(
    machine: Machine,
    positions: Array,
    velocities: Array,
    forces: Array,
    friction: bool = True,
    sign_smoothing: float = 0.0,
) -> Array:
    """Joint accelerations (N, J) under joint forces (N, J); passive joints get 0.

    Raises
    ------
    ConvergenceError
        Friction that depends on the load does not settle with the forces in the joints.
    """
    positions, velocities, forces = _joints(machine, positions, ('velocities', velocities), ('forces', forces))
    data, scratch = machine.scratch
    accelerations = np.empty_like(positions)
    status = kernels.open_chain_accelerations(
        machine.compiled_model, scratch, positions, velocities, forces, bool(friction), float(sign_smoothing),
        accelerations,
    )  # fmt: skip
    if status < 0:
        require_ok(machine, status, data.detail)
    return accelerations


def _joints(machine: Machine, positions: Array, *others: tuple[str, Array]) -> list[Array]:
    """Check and pack arrays (N, J) of an open chain."""
    require_machine(machine)
    if machine.has_platform:
        raise KinematicsError(f'{machine.name} has a platform: use the functions of pkm_description.dynamics')
    joints = len(machine.joints)
    positions = columns_of('positions', positions, joints, 'joint')
    found = [packed(positions)]
    for name, values in others:
        found.append(packed(of_samples(name, values, len(positions), joints)))
    return found


def _evaluated(
    machine: Machine, positions: Array, velocities: Array, accelerations: Array, friction: bool = False,
    sign_smoothing: float = 0.0, masses: Array | None = None, regressor: Array | None = None,
) -> tuple[Array, Array, Array]:  # fmt: skip
    """Forces, loads (N, J) and energies (N, 2); fills the others, see the kernel."""
    positions, velocities, accelerations = _joints(
        machine, positions, ('velocities', velocities), ('accelerations', accelerations)
    )
    data, scratch = machine.scratch
    forces, loads, energies = np.empty_like(positions), np.empty_like(positions), np.empty((len(positions), 2))
    block, _ = body_blocks(machine, False)
    nothing = np.empty((0, 0, 0))
    status = kernels.open_chain_forces(
        machine.compiled_model, scratch, positions, velocities, accelerations, bool(friction), float(sign_smoothing),
        block, forces, loads, energies, nothing if masses is None else masses,
        nothing if regressor is None else regressor,
    )  # fmt: skip
    if status < 0:
        require_ok(machine, status, data.detail)
    return forces, loads, energies
