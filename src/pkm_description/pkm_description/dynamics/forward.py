"""Forward dynamics: how the platform accelerates under given drive forces."""

from __future__ import annotations

import numpy as np

from pkm_description.arrays import Array, packed
from pkm_description.dynamics.inverse import packed_wrench, require_definite
from pkm_description.kernels.dynamics import forward_dynamics as kernels
from pkm_description.kinematics.arguments import of_samples, poses, require_machine, run_kernel
from pkm_description.kinematics.joint_motion import require_legs, start_of
from pkm_description.machine import Machine


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
        machine, kernels.forward_dynamics, start_of(machine, start), packed(position), packed(rotation_base_platform),
        packed(twist[:, :3]), packed(twist[:, 3:]), bool(friction), float(sign_smoothing), wrench, packed(forces),
        accelerations,
    )  # fmt: skip
    return np.asarray(accelerations[0]) if single else accelerations
