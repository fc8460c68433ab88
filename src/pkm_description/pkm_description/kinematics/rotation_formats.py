"""Euler and Cardan angles in any order.

A rotation is ``R = R_1(a_1) R_2(a_2) R_3(a_3)``, each about an axis that the rotations before it have turned. Orders of
three different axes are Cardan angles (``'xyz'``: Heimann & Abdellatif), those with equal first and third axis Euler
angles (``'zxz'``: Oh 2003, Eq. 2.9). The angles' rates are not the angular velocity: ``omega = S(angles) rates``.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from pkm_description.arrays import Array
from pkm_description.errors import SingularPoseError
from pkm_description.kinematics.rotation import cross, rotation_about_axis

#: sine or cosine of the second angle from which angle rates are refused: eight digits would be lost
_SINGULAR = 1e-8


def matrix_from_angles(angles: Array, order: str = 'xyz') -> Array:
    """Rotation matrix (..., 3, 3) of angles (..., 3) rad about the axes that ``order`` names."""
    first, second, third = _turns(angles, order)
    return first @ second @ third


def angles_from_matrix(rotation: Array, order: str = 'xyz') -> Array:
    """Angles (..., 3) rad of rotation matrices (..., 3, 3); the second in -90..90 deg (Euler angles 0..180)."""
    _axes(order)
    rotation = np.asarray(rotation, dtype=float)
    angles = Rotation.from_matrix(rotation.reshape(-1, 3, 3)).as_euler(order.upper())
    return np.asarray(angles, dtype=float).reshape(*rotation.shape[:-2], 3)


def angle_rate_matrix(angles: Array, order: str = 'xyz') -> Array:
    """S (..., 3, 3) with angular velocity in base axes = S @ rates of the angles (..., 3)."""
    return np.stack(_turned_axes(angles, order), axis=-1)


def angle_rate_matrix_rate(angles: Array, rates: Array, order: str = 'xyz') -> Array:
    """Time derivative (..., 3, 3) of :func:`angle_rate_matrix` at rates (..., 3) rad/s."""
    first, second, third = _turned_axes(angles, order)
    spin = np.asarray(rates, dtype=float)[..., 0, None] * first
    columns = [np.zeros_like(first), cross(spin, second)]
    spin = spin + np.asarray(rates, dtype=float)[..., 1, None] * second
    return np.stack([*columns, cross(spin, third)], axis=-1)


def angular_motion(angles: Array, rates: Array, second: Array, order: str = 'xyz') -> tuple[Array, Array]:
    """Angular velocity and acceleration (..., 3), base axes, of angles with first and second derivatives (..., 3)."""
    matrix, matrix_rate = angle_rate_matrix(angles, order), angle_rate_matrix_rate(angles, rates, order)
    velocity = (matrix @ rates[..., None])[..., 0]
    return velocity, (matrix @ second[..., None] + matrix_rate @ rates[..., None])[..., 0]


def angle_motion(angles: Array, velocity: Array, acceleration: Array, order: str = 'xyz') -> tuple[Array, Array]:
    """First and second derivatives (..., 3) of the angles from angular velocity and acceleration (..., 3), base axes.

    Raises
    ------
    SingularPoseError
        Where first and third axis are parallel, so that the rates are not determined; names the sample.
    """
    matrix = angle_rate_matrix(angles, order)
    determinant = np.abs(np.linalg.det(matrix))
    if not np.all(determinant > _SINGULAR):
        sample = int(np.argmin(determinant))
        raise SingularPoseError(
            f'sample {sample}: first and third axis of the angles {order!r} are parallel (second angle '
            f'{np.reshape(angles, (-1, 3))[sample, 1]:.6g} rad): their rates are not determined; use another order'
        )
    rates = np.asarray(np.linalg.solve(matrix, velocity[..., None]), dtype=float)
    drift = angle_rate_matrix_rate(angles, rates[..., 0], order) @ rates
    second = np.linalg.solve(matrix, acceleration[..., None] - drift)
    return rates[..., 0], np.asarray(second[..., 0], dtype=float)


def _axes(order: str) -> list[Array]:
    valid = len(order) == 3 and set(order) <= set('xyz') and order[0] != order[1] != order[2]
    if not valid:
        raise ValueError(
            f"order = {order!r}: expected three letters of x, y, z, neighbours different, e.g. 'xyz', 'zxz'"
        )
    return [np.eye(3)['xyz'.index(letter)] for letter in order]


def _turns(angles: Array, order: str) -> list[Array]:
    angles = np.asarray(angles, dtype=float)
    return [rotation_about_axis(axis, angles[..., place]) for place, axis in enumerate(_axes(order))]


def _turned_axes(angles: Array, order: str) -> tuple[Array, Array, Array]:
    """Axes of the three rotations (..., 3) in base axes."""
    first, second, third = _axes(order)
    one, two, _ = _turns(angles, order)
    return np.broadcast_to(first, one.shape[:-1]), one @ second, one @ two @ third
