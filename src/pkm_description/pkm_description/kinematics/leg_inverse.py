"""Inverse tip Jacobian of a leg, and the directions in which the leg constrains its tip."""

from __future__ import annotations

import numpy as np

from pkm_description.arrays import Array
from pkm_description.errors import SingularPoseError
from pkm_description.kinematics.rotation import cross
from pkm_description.machine import Machine

#: volume of a leg's unit joint directions below which the leg counts as stretched or folded
LEG_SINGULARITY = 1e-9


def leg_inverse(machine: Machine, jacobian: Array) -> tuple[Array, Array]:
    """Invert the tip Jacobians of all legs.

    Parameters
    ----------
    jacobian : (N, L, 3, J), see :func:`pkm_description.kinematics.chain.tip_jacobian`

    Returns
    -------
    inverse : (N, L, J, 3), joint velocities from the tip's velocity (that the leg allows)
    held : (N, L, 3, C), unit directions in which the leg holds its tip; C = 0 but for legs of two joints on a ball

    Raises
    ------
    SingularPoseError
        Naming sample and leg that is stretched or folded.
    """
    if machine.planar:
        inverse, volume = _inverse_2x2(jacobian[..., :2, :])
        held = np.zeros((*jacobian.shape[:2], 3, 0))
    elif machine.joint_count == 3:
        inverse, volume = _inverse_3x3(jacobian)
        held = np.zeros((*jacobian.shape[:2], 3, 0))
    else:
        inverse, normal, volume = _inverse_3x2(jacobian)
        held = normal[..., None]
    size = np.prod(np.sqrt(np.sum(jacobian * jacobian, axis=-2)), axis=-1)
    _check(machine, np.abs(volume) / size)
    return inverse, held


def _check(machine: Machine, relative_volume: Array) -> None:
    regular = relative_volume >= LEG_SINGULARITY
    if regular.all():
        return
    sample, leg = (int(index) for index in np.argwhere(~regular)[0])
    raise SingularPoseError(
        f'sample {sample}: {machine.legs[leg].name} is stretched or folded (relative volume of its joint '
        f'directions {relative_volume[sample, leg]:.3g}): its joints cannot follow the platform'
    )


def _inverse_3x3(matrix: Array) -> tuple[Array, Array]:
    """Inverse and determinant by cross products of the columns; an order faster than ``numpy.linalg.inv``."""
    first, second, third = matrix[..., 0], matrix[..., 1], matrix[..., 2]
    rows = np.stack([cross(second, third), cross(third, first), cross(first, second)], axis=-2)
    determinant = np.sum(first * rows[..., 0, :], axis=-1)
    with np.errstate(divide='ignore', invalid='ignore'):
        return rows / determinant[..., None, None], determinant


def _inverse_2x2(matrix: Array) -> tuple[Array, Array]:
    """Inverse (..., 2, 3), blind to the third direction, and determinant of (..., 2, 2)."""
    a, b, c, d = matrix[..., 0, 0], matrix[..., 0, 1], matrix[..., 1, 0], matrix[..., 1, 1]
    determinant = a * d - b * c
    zero = np.zeros_like(a)
    rows = np.stack([np.stack([d, -b, zero], axis=-1), np.stack([-c, a, zero], axis=-1)], axis=-2)
    with np.errstate(divide='ignore', invalid='ignore'):
        return rows / determinant[..., None, None], determinant


def _inverse_3x2(matrix: Array) -> tuple[Array, Array, Array]:
    """Left inverse (..., 2, 3), unit normal (..., 3) and area of two columns (..., 3, 2)."""
    first, second = matrix[..., 0], matrix[..., 1]
    normal = cross(first, second)
    area = np.sqrt(np.sum(normal * normal, axis=-1))
    with np.errstate(divide='ignore', invalid='ignore'):
        normal = normal / area[..., None]
        # dual basis within the plane of both columns
        rows = np.stack([cross(second, normal), cross(normal, first)], axis=-2) / area[..., None, None]
    return rows, normal, area
