"""Convert single rotations between matrix, Euler angles and quaternion, by ``transforms3d``.

The suite's own functions of whole batches, which messages of fast streams use as well, stand in
:mod:`pkm_description.kinematics.rotation`. Quaternions are xyzw as in ROS; ``transforms3d`` writes wxyz, and this
module is the only place that converts the order.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from transforms3d.euler import euler2mat, mat2euler
from transforms3d.quaternions import mat2quat, quat2mat

from pkm_description.arrays import Array


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
