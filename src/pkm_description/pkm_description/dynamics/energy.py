"""Mass matrix, energies, and forward dynamics: how the platform accelerates under given drive forces."""

from __future__ import annotations

import numpy as np

from pkm_description.arrays import Array, packed
from pkm_description.dynamics.inverse import bodies_exist
from pkm_description.errors import InfeasibleMachineError
from pkm_description.kernels.dynamics.energy import energies
from pkm_description.kernels.dynamics.forward_dynamics import forward_dynamics as accelerations_of_samples
from pkm_description.kinematics.arguments import (
    of_poses,
    of_samples,
    packed_wrench,
    poses,
    require_machine,
    run_kernel,
)
from pkm_description.kinematics.closed_legs import close_legs
from pkm_description.kinematics.joint_motion import FROM_HOME, require_legs, start_of
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
        machine, energies, FROM_HOME, packed(position), packed(rotation), packed(twist[:, :3]),
        packed(twist[:, 3:]), kinetic, potential, np.empty((0, 6, 6)) if masses is None else masses,
    )  # fmt: skip
    return kinetic, potential


def require_definite(machine: Machine, position: Array, rotation_base_platform: Array) -> None:
    """Refuse poses (N, 3) m, (N, 3, 3) where some admitted motion has no positive kinetic energy.

    Least squares can give a body a negative mass (Mata et al. 2008, Table 5). Inverse dynamics goes on with it; forward
    dynamics would push such a machine against its own forces, faster and faster. Machines whose bodies can exist pass
    without a look at the poses.

    Raises
    ------
    InfeasibleMachineError
        Naming the sample and the least eigenvalue of the mass matrix over the largest.
    """
    if bodies_exist(machine):
        return
    legs = close_legs(machine, position, rotation_base_platform)
    basis = np.nan_to_num(legs.admitted)
    reduced = np.swapaxes(basis, 1, 2) @ mass_matrix(machine, position, rotation_base_platform) @ basis
    values = np.linalg.eigvalsh(reduced)
    bad = np.flatnonzero(~(values[:, 0] > 0.0))
    if len(bad):
        sample = int(bad[0])
        part = values[sample, 0] / max(abs(values[sample, 0]), values[sample, -1])
        raise InfeasibleMachineError(
            f'{machine.name}: the mass matrix is not positive definite in sample {sample} (least eigenvalue '
            f'{part:.3g} of the largest): its bodies cannot exist, and it cannot be simulated; identify it with '
            'physical constraints, or look at the masses and inertias of its file'
        )


def forward_dynamics(
    machine: Machine,
    position: Array,
    rotation_base_platform: Array,
    twist: Array,
    forces: Array,
    friction: bool = True,
    sign_smoothing: float = 0.0,
    external_wrench: Array | None = None,
    start: Array | None = None,
) -> Array:
    """Platform acceleration (N, 6) [linear, angular], base axes: solves ``M a + h = J^T f + K^T lambda``, ``K a = k``.

    The constraint rows K are those of legs and plane that hold the platform, see ``ClosedLegs.constraints``; a
    hexapod has none, and in overconstrained machines some repeat others. Defined in singular poses of the drives too,
    unlike the inverse dynamics, and for machines with fewer drives than degrees of freedom. Friction at exactly zero
    velocity is zero: sticking is not modelled.

    Parameters
    ----------
    position, rotation_base_platform : (N, 3) m, (N, 3, 3); or one sample without the first axis, like all others
    twist : (N, 6), base axes
    forces : (N, A) N or N m, of the drives
    friction, sign_smoothing, external_wrench, start : as in :func:`pkm_description.dynamics.inverse_dynamics`

    Raises
    ------
    KinematicsError
        A pose or velocity that the machine does not admit.
    SingularPoseError
        Where the legs leave the platform another number of freedoms than at home; names the sample.
    ConvergenceError
        Friction that depends on the load does not settle with the reactions (a joint that locks itself).
    InfeasibleMachineError
        Bodies that cannot exist leave a motion without inertia.
    """
    require_machine(machine)
    require_legs(machine)
    position, rotation_base_platform, single = poses(position, rotation_base_platform)
    count = len(position)
    require_definite(machine, position, rotation_base_platform)
    wrench = packed_wrench(external_wrench, count)
    twist, forces = of_samples('twist', twist, count, 6), of_samples('forces', forces, count, machine.actuated_count)
    accelerations = np.empty((count, 6))
    run_kernel(
        machine, accelerations_of_samples, start_of(machine, start), packed(position), packed(rotation_base_platform),
        packed(twist[:, :3]), packed(twist[:, 3:]), bool(friction), float(sign_smoothing), wrench, packed(forces),
        accelerations,
    )  # fmt: skip
    return np.asarray(accelerations[0]) if single else accelerations
