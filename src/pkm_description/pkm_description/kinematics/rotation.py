"""Rotation matrices, quaternions and rotation vectors, batched over any leading axes.

Rotation matrices map vectors from the rotated frame to the reference frame. Quaternions are xyzw with w >= 0,
Euler angles are roll, pitch, yaw in the z-y-x convention, ``R = Rz(yaw) @ Ry(pitch) @ Rx(roll)``.

Angles in any order: a rotation is ``R = R_1(a_1) R_2(a_2) R_3(a_3)``, each about an axis that the rotations before it
have turned. Orders of three different axes are Cardan angles (``'xyz'``: Heimann & Abdellatif), those with equal first
and third axis Euler angles (``'zxz'``: Oh 2003, Eq. 2.9). The angles' rates are not the angular velocity:
``omega = S(angles) rates``.
"""

from __future__ import annotations

from math import cos, inf, sin, sqrt

import numpy as np

from pkm_description.arrays import Array


def cross(left: Array, right: Array) -> Array:
    """Cross product along the last axis (..., 3), broadcasting; much faster than ``numpy.cross``."""
    x1, y1, z1 = left[..., 0], left[..., 1], left[..., 2]
    x2, y2, z2 = right[..., 0], right[..., 1], right[..., 2]
    result = np.empty(np.broadcast_shapes(left.shape, right.shape))
    np.subtract(y1 * z2, z1 * y2, out=result[..., 0])
    np.subtract(z1 * x2, x1 * z2, out=result[..., 1])
    np.subtract(x1 * y2, y1 * x2, out=result[..., 2])
    return result


def skew(vector: Array) -> Array:
    """Matrix (..., 3, 3) with ``skew(v) @ w = v x w`` of vectors (..., 3)."""
    vector = np.asarray(vector, dtype=float)
    if vector.ndim == 1:  # in plain numbers: a third of the time
        x, y, z = vector.tolist()
        return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    result = np.zeros((*vector.shape, 3))
    result[..., 0, 1], result[..., 0, 2] = -vector[..., 2], vector[..., 1]
    result[..., 1, 0], result[..., 1, 2] = vector[..., 2], -vector[..., 0]
    result[..., 2, 0], result[..., 2, 1] = -vector[..., 1], vector[..., 0]
    return result


def rotated(rotation: Array, vectors: Array) -> Array:
    """Vectors (..., n) turned by matrices (..., n, n), each by its own; both broadcast."""
    return (rotation @ vectors[..., None])[..., 0]


def rotation_exp(vector: Array) -> Array:
    """Rotation matrix (..., 3, 3) of rotation vectors (..., 3) rad (Rodrigues), exact down to zero angle."""
    vector = np.asarray(vector, dtype=float)
    if vector.ndim == 1:
        return _exp_of_one(vector)
    half_angle = 0.5 * np.sqrt(np.sum(vector * vector, axis=-1))[..., None, None]
    # numpy.sinc(x) = sin(pi x) / (pi x) has no 0/0, so no branch for small angles is needed
    half_sinc = np.sinc(half_angle / np.pi)
    generator = skew(vector)
    return (
        np.eye(3) + half_sinc * np.cos(half_angle) * generator + 0.5 * half_sinc**2 * (generator @ generator)
    )


def _exp_of_one(vector: Array) -> Array:
    """The same of a single vector (3,), in plain numbers: several times faster."""
    x, y, z = vector.tolist()
    angle = sqrt(x * x + y * y + z * z)
    half_sinc = sin(0.5 * angle) / (0.5 * angle) if angle > 0.0 else 1.0
    s, v = half_sinc * cos(0.5 * angle), 0.5 * half_sinc * half_sinc
    xx, yy, zz = v * x * x, v * y * y, v * z * z
    xy, xz, yz = v * x * y, v * x * z, v * y * z
    x, y, z = s * x, s * y, s * z
    return np.array(
        [[1.0 - yy - zz, xy - z, xz + y], [xy + z, 1.0 - xx - zz, yz - x], [xz - y, yz + x, 1.0 - xx - yy]]
    )


def rotation_about_axis(axis: Array, angle: Array) -> Array:
    """Rotation matrix (..., 3, 3) about unit vectors (..., 3) by ``angle`` (...) rad; both broadcast."""
    axis, angle = np.asarray(axis, dtype=float), np.asarray(angle, dtype=float)
    generator = skew(axis)
    sine, versine = np.sin(angle)[..., None, None], (1.0 - np.cos(angle))[..., None, None]
    return np.eye(3) + sine * generator + versine * (generator @ generator)


def quaternion_from_matrix(rotation: Array) -> Array:
    """Unit quaternion xyzw (..., 4) with w >= 0 of rotation matrices (..., 3, 3).

    The matrix 4 q q^T is linear in the rotation; its row with the largest diagonal entry gives the
    quaternion without cancellation for every angle (Shepperd 1978).
    """
    r = np.asarray(rotation, dtype=float)
    if r.ndim == 2:
        return _quaternion_of_one(r)
    outer = np.empty((*r.shape[:-2], 4, 4))
    d0, d1, d2 = r[..., 0, 0], r[..., 1, 1], r[..., 2, 2]
    outer[..., 0, 0], outer[..., 1, 1] = 1.0 + d0 - d1 - d2, 1.0 - d0 + d1 - d2
    outer[..., 2, 2], outer[..., 3, 3] = 1.0 - d0 - d1 + d2, 1.0 + d0 + d1 + d2
    outer[..., 0, 1] = outer[..., 1, 0] = r[..., 1, 0] + r[..., 0, 1]
    outer[..., 0, 2] = outer[..., 2, 0] = r[..., 2, 0] + r[..., 0, 2]
    outer[..., 1, 2] = outer[..., 2, 1] = r[..., 2, 1] + r[..., 1, 2]
    outer[..., 0, 3] = outer[..., 3, 0] = r[..., 2, 1] - r[..., 1, 2]
    outer[..., 1, 3] = outer[..., 3, 1] = r[..., 0, 2] - r[..., 2, 0]
    outer[..., 2, 3] = outer[..., 3, 2] = r[..., 1, 0] - r[..., 0, 1]
    row = np.argmax(np.diagonal(outer, axis1=-2, axis2=-1), axis=-1)
    quaternion = np.take_along_axis(outer, row[..., None, None], axis=-2)[..., 0, :]
    quaternion /= np.linalg.norm(quaternion, axis=-1, keepdims=True)
    return np.where(quaternion[..., 3:] < 0.0, -quaternion, quaternion)


def _quaternion_of_one(rotation: Array) -> Array:
    """The same of a single matrix (3, 3): in plain numbers a tenth of the time, which real-time users feel."""
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = rotation.tolist()
    diagonal = 1.0 + xx - yy - zz, 1.0 - xx + yy - zz, 1.0 - xx - yy + zz, 1.0 + xx + yy + zz
    row = diagonal.index(max(diagonal))
    if row == 3:
        x, y, z, w = zy - yz, xz - zx, yx - xy, diagonal[3]
    elif row == 0:
        x, y, z, w = diagonal[0], yx + xy, zx + xz, zy - yz
    elif row == 1:
        x, y, z, w = yx + xy, diagonal[1], zy + yz, xz - zx
    else:
        x, y, z, w = zx + xz, zy + yz, diagonal[2], yx - xy
    scale = sqrt(x * x + y * y + z * z + w * w)
    if w < 0.0:
        scale = -scale
    return np.array([x, y, z, w]) / scale


def matrix_from_quaternion(quaternion: Array) -> Array:
    """Rotation matrix (..., 3, 3) of quaternions xyzw (..., 4), which need not be normalised.

    Raises
    ------
    ValueError
        All components are zero, or one is not finite.
    """
    quaternion = np.asarray(quaternion, dtype=float)
    # one in plain numbers: several times faster
    x, y, z, w = quaternion.tolist() if quaternion.ndim == 1 else np.moveaxis(quaternion, -1, 0)
    square = x * x + y * y + z * z + w * w
    if not (0.0 < square < inf if quaternion.ndim == 1 else np.all((square > 0.0) & (square < inf))):
        raise ValueError(f'quaternion {quaternion.tolist()} (x, y, z, w) is no rotation')
    x2, y2, z2 = 2.0 * x / square, 2.0 * y / square, 2.0 * z / square
    xx, yy, zz, xy, xz, yz = x * x2, y * y2, z * z2, x * y2, x * z2, y * z2
    wx, wy, wz = w * x2, w * y2, w * z2
    rows = np.array(
        [[1.0 - yy - zz, xy - wz, xz + wy], [xy + wz, 1.0 - xx - zz, yz - wx], [xz - wy, yz + wx, 1.0 - xx - yy]]
    )
    return rows if quaternion.ndim == 1 else np.moveaxis(rows, (0, 1), (-2, -1)).copy()


def rotation_log(rotation: Array) -> Array:
    """Rotation vector (..., 3) rad, angle in [0, pi], of rotation matrices (..., 3, 3)."""
    quaternion = quaternion_from_matrix(rotation)
    vector, scalar = quaternion[..., :3], quaternion[..., 3:]
    norm = np.linalg.norm(vector, axis=-1, keepdims=True)
    small = norm < 1e-8
    factor = np.where(small, 2.0, 2.0 * np.arctan2(norm, scalar) / np.where(small, 1.0, norm))
    return factor * vector


def matrix_from_rpy(rpy: Array) -> Array:
    """Rotation matrix (..., 3, 3) of roll, pitch, yaw (..., 3) rad, z-y-x convention."""
    return matrix_from_angles(np.asarray(rpy, dtype=float)[..., ::-1], 'zyx')


def rpy_from_matrix(rotation: Array) -> Array:
    """Roll, pitch, yaw (..., 3) rad, z-y-x convention, |pitch| <= pi/2, of rotation matrices (..., 3, 3).

    Near a pitch of 90 degrees roll and yaw are hardly determined by themselves; roll is taken from what yaw leaves
    over, so that the three together give the rotation back to rounding.
    """
    r = np.asarray(rotation, dtype=float)
    pitch = np.arctan2(0.0 - r[..., 2, 0], np.hypot(r[..., 0, 0], r[..., 1, 0]))
    yaw = np.arctan2(r[..., 1, 0], r[..., 0, 0])
    sine, cosine = np.sin(yaw), np.cos(yaw)
    roll = np.arctan2(sine * r[..., 0, 2] - cosine * r[..., 1, 2], cosine * r[..., 1, 1] - sine * r[..., 0, 1])
    return np.stack([roll, pitch, yaw], axis=-1)


def matrix_from_angles(angles: Array, order: str = 'xyz') -> Array:
    """Rotation matrix (..., 3, 3) of angles (..., 3) rad about the axes that ``order`` names."""
    first, second, third = _turns(angles, order)
    return first @ second @ third


def angles_from_matrix(rotation: Array, order: str = 'xyz') -> Array:
    """Angles (..., 3) rad of rotation matrices (..., 3, 3); the second in -90..90 deg (Euler angles 0..180)."""
    from scipy.spatial.transform import Rotation  # late: everything imports this module

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
