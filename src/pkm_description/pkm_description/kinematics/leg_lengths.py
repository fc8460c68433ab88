"""Leg lengths and length Jacobian of machines with struts."""

from __future__ import annotations

import numpy as np

from pkm_description.arrays import Array, packed
from pkm_description.errors import KinematicsError
from pkm_description.kernels.struts import strut_jacobians, strut_lengths
from pkm_description.kinematics.arguments import poses, require_machine
from pkm_description.machine import Machine


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
    require_machine(machine)
    require_struts(machine)
    position, rotation, single = poses(position, rotation_base_platform)
    lengths = np.empty((len(position), machine.leg_count))
    strut_lengths(machine.compiled_model, packed(position), packed(rotation), lengths)
    return lengths[0] if single else lengths


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
    require_machine(machine)
    require_struts(machine)
    position, rotation, single = poses(position, rotation_base_platform)
    jacobian = np.empty((len(position), machine.leg_count, 6))
    strut_jacobians(machine.compiled_model, packed(position), packed(rotation), jacobian)
    return jacobian[0] if single else jacobian
