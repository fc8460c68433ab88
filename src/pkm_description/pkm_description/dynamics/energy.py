"""Mass matrix and energies of platform and legs."""

from __future__ import annotations

import numpy as np

from pkm_description.arrays import Array, packed
from pkm_description.kernels.dynamics import energy as kernels
from pkm_description.kinematics.arguments import of_poses, of_samples, run_kernel
from pkm_description.kinematics.joint_motion import FROM_HOME, require_legs
from pkm_description.machine import Machine


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


def _energies(
    machine: Machine, position: Array, rotation: Array, twist: Array, masses: Array | None = None
) -> tuple[Array, Array]:
    """Kinetic and potential energy (N,); fills mass matrices (N, 6, 6) where they are wanted."""
    require_legs(machine)
    kinetic, potential = np.empty(len(position)), np.empty(len(position))
    run_kernel(
        machine, kernels.energies, FROM_HOME, packed(position), packed(rotation), packed(twist[:, :3]),
        packed(twist[:, 3:]), kinetic, potential, np.empty((0, 6, 6)) if masses is None else masses,
    )  # fmt: skip
    return kinetic, potential
