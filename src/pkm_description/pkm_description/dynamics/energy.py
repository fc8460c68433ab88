"""Mass matrix and energies of platform and legs; the energy model: the drives' work changes the energy."""

from __future__ import annotations

import numpy as np

from pkm_description.arrays import Array, packed
from pkm_description.dynamics.body_blocks import Groups, body_blocks
from pkm_description.kernels.dynamics import energy as kernels
from pkm_description.kinematics.arguments import of_poses, of_samples, require_machine_and_motion, run_kernel
from pkm_description.kinematics.joint_motion import FROM_HOME, require_legs
from pkm_description.machine import Machine, PlatformMotion


@of_poses
def mass_matrix(machine: Machine, position: Array, rotation_base_platform: Array) -> Array:
    """Mass matrix (N, 6, 6) of the machine in the platform twist, base axes, at poses (N, 3) m, (N, 3, 3)."""
    masses = np.empty((len(position), 6, 6))
    _energies(machine, position, rotation_base_platform, np.zeros((len(position), 6)), masses=masses)
    return masses


@of_poses
def kinetic_energy(machine: Machine, position: Array, rotation_base_platform: Array, twist: Array) -> Array:
    """Kinetic energy (N,) J at poses (N, 3) m, (N, 3, 3) with platform twists (N, 6), base axes."""
    twist = of_samples('twist', twist, len(position), 6)
    return _energies(machine, position, rotation_base_platform, twist)[0]


@of_poses
def potential_energy(machine: Machine, position: Array, rotation_base_platform: Array) -> Array:
    """Energy (N,) J in gravity at poses (N, 3) m, (N, 3, 3), zero for all mass at the base origin."""
    return _energies(machine, position, rotation_base_platform, np.zeros((len(position), 6)))[1]


def energy_regressor(
    machine: Machine, motion: PlatformMotion, identical_legs: bool = True, groups: Groups | None = None
) -> Array:
    """Regressor (N, P): kinetic plus potential energy [J] without rotors = regressor @ ``rigid_body_parameters``.

    Parameters
    ----------
    motion : N samples; accelerations do not matter
    identical_legs, groups : as in :func:`pkm_description.dynamics.rigid_body_regressor`
    """
    require_machine_and_motion(machine, motion)
    block, count = body_blocks(machine, identical_legs, groups)
    columns = np.zeros((len(motion), 10 * count))
    _energies(machine, motion.position, motion.rotation_base_platform, motion.twist, block, columns=columns)
    return columns


_NO_BLOCK = np.zeros(0, dtype=np.int64)


def _energies(
    machine: Machine, position: Array, rotation: Array, twist: Array, block: np.ndarray = _NO_BLOCK,
    masses: Array | None = None, columns: Array | None = None,
) -> tuple[Array, Array]:  # fmt: skip
    """Kinetic and potential energy (N,); fills the arrays of the kernel :func:`.energies`."""
    require_legs(machine)
    kinetic, potential = np.empty(len(position)), np.empty(len(position))
    run_kernel(
        machine, kernels.energies, FROM_HOME, packed(position), packed(rotation), packed(twist[:, :3]), packed(twist[:,
        3:]), block, kinetic, potential, np.empty((0, 6, 6)) if masses is None else masses, np.empty((0, 0)) if columns
        is None else columns,
    )  # fmt: skip
    return kinetic, potential


# The energy (integral) model: the work of the drives is the change of the machine's energy.
#
# One scalar equation per step, without accelerations: the change of the machine's energy is the work of the drives
# less friction (Oh 2003, Eqs. 2.56 and 2.57, after Bhattacharya, Hatwal & Ghosh).
def energy_equations(
    machine: Machine, motion: PlatformMotion, drive_positions: Array, forces: Array, identical_legs: bool = True
) -> tuple[Array, Array]:
    """Equations of the integral model between neighbouring samples of one motion.

    Parameters
    ----------
    motion : N samples, close together
    drive_positions : (N, A) m or rad
    forces : (N, A), of the drives less friction and rotors: their work goes into the rigid bodies

    Returns
    -------
    differences : (N - 1, P), ``differences @ parameters = work``
    work : (N - 1,) J, by the trapezoidal rule (the left end alone, as printed, is a hundred times worse)
    """
    regressor = energy_regressor(machine, motion, identical_legs)
    work = np.sum(0.5 * (forces[1:] + forces[:-1]) * np.diff(drive_positions, axis=0), axis=1)
    return np.diff(regressor, axis=0), work
