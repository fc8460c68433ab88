"""Inverse dynamics: drive forces of a motion, and forces that hold the machine at rest."""

from __future__ import annotations

import numpy as np

from pkm_description.arrays import Array, packed
from pkm_description.kernels import inverse_dynamics as kernels
from pkm_description.kinematics.arguments import (
    of_poses,
    require_machine_and_motion,
    require_platform,
    require_wrench,
)
from pkm_description.kinematics.drive_map import require_drives
from pkm_description.kinematics.failures import require_ok
from pkm_description.kinematics.joint_motion import FROM_HOME, packed_motion, start_of
from pkm_description.machine import Machine, PlatformMotion

#: no wrench of the surroundings, for all samples
_NO_WRENCH = np.zeros((1, 6))


def inverse_dynamics(
    machine: Machine,
    motion: PlatformMotion,
    friction: bool = True,
    sign_smoothing: float = 0.0,
    external_wrench: Array | None = None,
    start: Array | None = None,
) -> Array:
    """Drive forces (N, A) [N, N m] that produce a motion; positive pushes the joint towards larger positions.

    Newton-Euler's equations of all bodies, projected onto the drives by virtual power (Heimann & Abdellatif, Eqs. 1
    and 3). With more drives than degrees of freedom the forces are those with the least sum of squares, weighted by the
    machine's ``drive_weights``.

    Parameters
    ----------
    motion : N samples
    friction : add the friction of all joints, active and passive, as the machine file gives it
    sign_smoothing : velocity of a tanh in place of the sign of Coulomb friction; 0 keeps the sign
    external_wrench : (N, 6) or (6,) N and N m, what the surroundings do to the platform: force, and moment about the
        platform's origin, base axes
    start : see :func:`pkm_description.kinematics.joint_positions`

    Raises
    ------
    SingularPoseError
        Where the drives do not determine the platform's motion; names the sample.
    KinematicsError
        A motion that the machine does not admit, or a machine with fewer drives than degrees of freedom.
    ConvergenceError
        Friction that depends on the load does not settle with it; only where passive joints rub.
    """
    wrench = require_dynamics(machine, motion, external_wrench)
    data, scratch = machine.scratch
    forces = np.empty((len(motion), machine.actuated_count))
    status = kernels.inverse_dynamics(
        machine.compiled_model, scratch, start_of(machine, start), *packed_motion(motion), bool(friction),
        float(sign_smoothing), wrench, forces,
    )  # fmt: skip
    if status < 0:
        require_ok(machine, status, data.detail)
    return forces


def require_dynamics(machine: Machine, motion: PlatformMotion, external_wrench: Array | None = None) -> Array:
    """Check the arguments of a function of motion and drive forces; returns the wrench as kernels take it."""
    require_machine_and_motion(machine, motion)
    require_platform(machine, 'open_chain_forces')
    require_drives(machine)
    return packed_wrench(external_wrench, len(motion))


def packed_wrench(external_wrench: Array | None, count: int) -> Array:
    """Wrench of the surroundings as kernels take it: one (1, 6) for all samples, or (N, 6); raises ShapeError."""
    if external_wrench is None:
        return _NO_WRENCH
    require_wrench(external_wrench, count)
    return packed(external_wrench).reshape(-1, 6)


@of_poses
def gravity_forces(machine: Machine, position: Array, rotation_base_platform: Array) -> Array:
    """Drive forces (N, A) [N, N m] that hold the machine still at poses (N, 3) m, (N, 3, 3) or one, without friction.

    Raises
    ------
    SingularPoseError
        Where no drive forces can hold the platform; names the sample.
    """
    require_platform(machine, 'open_chain_forces')
    require_drives(machine)
    data, scratch = machine.scratch
    forces = np.empty((len(position), machine.actuated_count))
    still = np.zeros((len(position), 3))
    status = kernels.inverse_dynamics(
        machine.compiled_model, scratch, FROM_HOME, packed(position), packed(rotation_base_platform), still, still,
        still, still, False, 0.0, _NO_WRENCH, forces,
    )  # fmt: skip
    if status < 0:
        require_ok(machine, status, data.detail)
    return forces
