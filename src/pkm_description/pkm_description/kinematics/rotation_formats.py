"""Single rotations in other formats by ``transforms3d``, and Euler and Cardan angles in any order.

The suite's own functions of whole batches, which messages of fast streams use as well, stand in
:mod:`pkm_description.kinematics.rotation`. Quaternions are xyzw as in ROS; ``transforms3d`` writes wxyz, and this
module is the only place that converts the order.

Angles in any order: a rotation is ``R = R_1(a_1) R_2(a_2) R_3(a_3)``, each about an axis that the rotations before it
have turned. Orders of three different axes are Cardan angles (``'xyz'``: Heimann & Abdellatif), those with equal first
and third axis Euler angles (``'zxz'``: Oh 2003, Eq. 2.9). The angles' rates are not the angular velocity:
``omega = S(angles) rates``.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation
from transforms3d.euler import euler2mat, mat2euler
from transforms3d.quaternions import mat2quat, quat2mat

from pkm_description.arrays import Array
from pkm_description.errors import SingularPoseError
from pkm_description.kinematics.rotation import cross, rotation_about_axis

#: sine or cosine of the second angle from which angle rates are refused: eight digits would be lost
_SINGULAR = 1e-8


def rotation_from_rpy(rpy: ArrayLike) -> Array:
    """Rotation matrix (3, 3) of roll, pitch, yaw (3,) rad about the fixed axes x, y, z in this order, as in URDF."""
    roll, pitch, yaw = np.asarray(rpy, dtype=float).tolist()
    rotation: Array = euler2mat(roll, pitch, yaw, 'sxyz')
    return rotation


def rpy_from_rotation(rotation: ArrayLike) -> Array:
    """Roll, pitch, yaw (3,) rad, |pitch| <= pi/2, of a rotation matrix (3, 3).

    Near a pitch of 90 degrees roll and yaw are hardly determined by themselves; roll is taken from what pitch and yaw
    leave over, so that the three together give the rotation back to rounding.
    """
    # transforms3d asks NumPy 2 for an array without a copy, which it refuses for anything but float arrays
    rotation = np.asarray(rotation, dtype=float)
    _, pitch, yaw = mat2euler(rotation, 'sxyz')
    rest = euler2mat(0.0, pitch, yaw, 'sxyz').T @ rotation
    return np.array([np.arctan2(rest[2, 1], rest[1, 1]), pitch, yaw])


def rotation_from_quaternion(xyzw: ArrayLike) -> Array:
    """Rotation matrix (3, 3) of a quaternion x, y, z, w (4,), which need not be a unit quaternion.

    Raises
    ------
    ValueError
        All components are zero, or one is not finite.
    """
    x, y, z, w = np.asarray(xyzw, dtype=float).tolist()
    # transforms3d takes what is no rotation for none at all
    if not 1e-12 < math.hypot(x, y, z, w) < math.inf:
        raise ValueError(f'quaternion {[x, y, z, w]} (x, y, z, w) is no rotation')
    rotation: Array = quat2mat([w, x, y, z])
    return rotation


def quaternion_from_rotation(rotation: ArrayLike) -> Array:
    """Unit quaternion x, y, z, w (4,) with w >= 0 of a rotation matrix (3, 3)."""
    w, x, y, z = (mat2quat(np.asarray(rotation, dtype=float)) + 0.0).tolist()  # no -0.0
    return np.array([x, y, z, w])


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
