"""Positions and Jacobian of the drives of any machine: inverse kinematics."""

from __future__ import annotations

from typing import overload

import numpy as np

from pkm_description.arrays import Array
from pkm_description.errors import ArgumentError
from pkm_description.kinematics.arguments import of_poses, require_machine
from pkm_description.kinematics.leg_lengths import length_jacobian
from pkm_description.kinematics.leg_motion import close_legs, joint_positions
from pkm_description.kinematics.overall_jacobian import actuated_jacobian
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
    return np.asarray(joints[..., machine.actuated_index])


@of_poses
def drive_jacobian(machine: Machine, position: Array, rotation_base_platform: Array) -> Array:
    """Jacobian (N, A, 6) of the drives: their rates = jacobian @ [velocity of the platform origin, angular velocity].

    For struts the row of a drive is ``[n_i, (R p_i) x n_i]`` with the strut's unit vector n_i (Heimann &
    Abdellatif); for other legs the driven joint's row of the inverse of the leg's tip Jacobian.

    Parameters
    ----------
    position : (N, 3) or (3,) m, platform origin in the base frame
    rotation_base_platform : (N, 3, 3) or (3, 3)

    Raises
    ------
    KinematicsError
        A pose that the legs do not reach, or where a leg is singular; names the sample.
    """
    if machine.drives_are_struts:
        return length_jacobian(machine, position, rotation_base_platform)
    return actuated_jacobian(machine, close_legs(machine, position, rotation_base_platform))
