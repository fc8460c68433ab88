"""Positions and Jacobian of the drives of any machine: inverse kinematics; leg lengths of struts."""

from __future__ import annotations

from collections.abc import Callable
from typing import overload

import numpy as np

from pkm_description.arrays import Array, packed
from pkm_description.errors import ArgumentError, KinematicsError
from pkm_description.kernels.joint_motion import drive_jacobians
from pkm_description.kernels.rods import strut_jacobians, strut_lengths
from pkm_description.kinematics.arguments import poses, require_machine, require_ok
from pkm_description.kinematics.joint_motion import joint_positions, require_legs
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


def leg_vectors(machine: Machine, position: Array, rotation_base_platform: Array) -> tuple[Array, Array]:
    """Leg vectors and platform levers, both in base axes.

    Parameters
    ----------
    position : (N, 3) m, platform origin in the base frame
    rotation_base_platform : (N, 3, 3)

    Returns
    -------
    vectors : (N, L, 3) m, from base joint to platform joint
    levers : (N, L, 3) m, from platform origin to platform joint
    """
    levers = machine.platform_points @ np.swapaxes(rotation_base_platform, -1, -2)
    return position[..., None, :] + levers - machine.base_points, levers


def require_struts(machine: Machine) -> None:
    """Refuse machines whose drives are not the lengths of struts: with them these functions would be wrong."""
    if not machine.drives_are_struts:
        raise KinematicsError(
            f'{machine.name}: its drives are not the lengths of struts on universal joints; drive_positions, '
            'drive_jacobian and forward_kinematics serve every machine'
        )


def leg_lengths(machine: Machine, position: Array, rotation_base_platform: Array) -> Array:
    """Distance between base and platform joint of every leg, (N, L) m (Miletovic et al. 2017, Eq. 1).

    Parameters
    ----------
    position : (N, 3) or (3,) m, platform origin in the base frame
    rotation_base_platform : (N, 3, 3) or (3, 3)

    Raises
    ------
    KinematicsError
        A machine whose drives are not the lengths of struts.
    ShapeError
        Positions and rotations of other shapes.
    """
    return _of_struts(strut_lengths, machine, position, rotation_base_platform)


def length_jacobian(machine: Machine, position: Array, rotation_base_platform: Array) -> Array:
    """Jacobian (N, L, 6): leg rates = J @ [velocity of the platform origin, angular velocity], base axes.

    Row i is ``[n_i, (R p_i) x n_i]`` with the leg's unit vector n_i (the derivative of Miletovic et al. 2017,
    Eq. 1).

    Parameters
    ----------
    position : (N, 3) or (3,) m, platform origin in the base frame
    rotation_base_platform : (N, 3, 3) or (3, 3)

    Raises
    ------
    KinematicsError
        A machine whose drives are not the lengths of struts.
    ShapeError
        Positions and rotations of other shapes.
    """
    return _of_struts(strut_jacobians, machine, position, rotation_base_platform, 6)


def _of_struts(
    kernel: Callable[..., object], machine: Machine, position: Array, rotation_base_platform: Array, *columns: int
) -> Array:
    """What a kernel says of each strut, (N, L, ...) or of one pose (L, ...)."""
    require_machine(machine)
    require_struts(machine)
    position, rotation, single = poses(position, rotation_base_platform)
    values = np.empty((len(position), machine.leg_count, *columns))
    kernel(machine.compiled_model, packed(position), packed(rotation), values)
    return values[0] if single else values
