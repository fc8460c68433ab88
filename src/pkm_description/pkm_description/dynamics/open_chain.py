"""Dynamics of open chains, such as a pendulum on a cart.

Coordinates are the positions of the J joints; forces act in every joint, driven or not.
"""

from __future__ import annotations

import numpy as np

from pkm_description.arrays import Array, packed
from pkm_description.dynamics.body_blocks import body_blocks
from pkm_description.errors import KinematicsError
from pkm_description.kernels.dynamics import forward_dynamics as kernels
from pkm_description.kinematics.arguments import columns, of_samples, require_machine, run_kernel
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
    energies = _evaluated(machine, positions, velocities, np.zeros(np.shape(positions)))[1]
    return energies[:, 0], energies[:, 1]


def _evaluated(
    machine: Machine, positions: Array, velocities: Array, accelerations: Array, friction: bool = False,
    sign_smoothing: float = 0.0, masses: Array | None = None, regressor: Array | None = None,
) -> tuple[Array, Array]:  # fmt: skip
    """Forces (N, J) and energies (N, 2); fills the others, see the kernel."""
    require_machine(machine)
    if machine.has_platform:
        raise KinematicsError(f'{machine.name} has a platform: use the functions of pkm_description.dynamics')
    joints = len(machine.joints)
    positions = packed(columns('positions', positions, joints, 'joint'))
    velocities = packed(of_samples('velocities', velocities, len(positions), joints))
    accelerations = packed(of_samples('accelerations', accelerations, len(positions), joints))
    forces, energies = np.empty_like(positions), np.empty((len(positions), 2))
    block, _ = body_blocks(machine, False)
    nothing = np.empty((0, 0, 0))
    run_kernel(
        machine, kernels.open_chain_forces, positions, velocities, accelerations, bool(friction), float(sign_smoothing),
        block, forces, energies, nothing if masses is None else masses,
        nothing if regressor is None else regressor,
    )  # fmt: skip
    return forces, energies
