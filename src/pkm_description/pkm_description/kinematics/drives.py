"""Positions and Jacobian of the drives of any machine: inverse kinematics."""

from __future__ import annotations

from typing import overload

import numpy as np

from pkm_description.arrays import Array, packed
from pkm_description.errors import ArgumentError
from pkm_description.kernels.joint_motion import drive_jacobians
from pkm_description.kinematics.arguments import poses, require_machine, require_ok
from pkm_description.kinematics.joint_motion import joint_positions, require_legs
from pkm_description.kinematics.leg_lengths import length_jacobian
from pkm_description.machine import Machine, PlatformMotion


@overload
def drive_positions(machine: Machine, position: PlatformMotion) -> Array: ...


@overload
def drive_positions(machine: Machine, position: Array, rotation_base_platform: Array) -> Array: ...


def drive_positions(
    machine: Machine, position: Array | PlatformMotion, rotation_base_platform: Array | None = None
) -> Array:
    """Positions (N, A) [m, rad] of the driven joints along a motion or at platform poses.

    Parameters
    ----------
    position : a motion of N samples, or positions (N, 3) or (3,) m
    rotation_base_platform : (N, 3, 3) or (3, 3), with positions

    Raises
    ------
    KinematicsError
        As :func:`pkm_description.kinematics.joint_positions`.
    """
    require_machine(machine)
    if isinstance(position, PlatformMotion):
        joints = joint_positions(machine, position.position, position.rotation_base_platform)
    elif rotation_base_platform is None:
        raise ArgumentError('drive_positions takes a PlatformMotion, or positions and rotations')
    else:
        joints = joint_positions(machine, position, rotation_base_platform)
    return np.asarray(joints[..., machine.drive_columns])


def drive_jacobian(machine: Machine, position: Array, rotation_base_platform: Array) -> Array:
    """Jacobian (N, A, 6) of the drives: their rates = jacobian @ [velocity of the platform origin, angular velocity].

    For struts the row of a drive is ``[n_i, (R p_i) x n_i]`` with the strut's unit vector n_i (Heimann &
    Abdellatif); for other legs the driven joint's row of the map from the platform's twist to the joints' rates.

    Parameters
    ----------
    position : (N, 3) or (3,) m, platform origin in the base frame
    rotation_base_platform : (N, 3, 3) or (3, 3)

    Raises
    ------
    KinematicsError
        A pose that the legs do not reach, or where a leg is singular; names the sample.
    """
    require_machine(machine)
    position, rotation, single = poses(position, rotation_base_platform)
    require_legs(machine)
    if machine.drives_are_struts:
        jacobian = length_jacobian(machine, position, rotation)
    else:
        data, scratch = machine.scratch
        jacobian = np.empty((len(position), machine.actuated_count, 6))
        status = drive_jacobians(machine.compiled_model, scratch, packed(position), packed(rotation), jacobian)
        if status < 0:
            require_ok(machine, status, data.detail)
    return np.asarray(jacobian[0]) if single else jacobian
