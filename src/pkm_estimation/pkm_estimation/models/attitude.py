"""The attitude as the vector part q of a quaternion: rotation matrices of it, and the chart that it is seen from.

The vector part describes attitudes up to half a turn, and is a good coordinate for sigma points only near zero. So a
filter keeps ``R = R_chart R(q)`` with small q and moves the chart along: an atlas in place of one map. Positions are
expressed in the chart's axes, so that within a chart all equations are those of Miletovic et al. 2017, with gravity and
base joints seen from the chart.
"""

from __future__ import annotations

import numpy as np
from pkm_description.arrays import Array
from pkm_description.kinematics.rotation import matrix_from_quaternion, skew

#: ``cross(a, b)[i] = LEVI_CIVITA[i, j, k] a[j] b[k]``
LEVI_CIVITA: Array = np.zeros((3, 3, 3))
for _i, _j, _k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
    LEVI_CIVITA[_i, _j, _k], LEVI_CIVITA[_i, _k, _j] = 1.0, -1.0

#: least square of a scalar part, which is guarded away from zero
LEAST_SQUARE = 1e-9


def rotation_of(vector_part: Array) -> Array:
    """Rotation matrix (3, 3) of a quaternion's vector part (3,); its scalar part is not negative."""
    return matrix_from_quaternion(np.array([*vector_part.tolist(), scalar_part(vector_part)]))


def rotations_of(vector_parts: Array) -> tuple[Array, int]:
    """Rotation matrices (N, 3, 3) of quaternions' vector parts (N, 3), and how many had ``q.q > 1`` (S3-26)."""
    rest = 1.0 - np.sum(vector_parts * vector_parts, axis=1, keepdims=True)
    quaternions = np.concatenate([vector_parts, np.sqrt(np.maximum(rest, 0.0))], axis=1)
    return matrix_from_quaternion(quaternions), int(np.count_nonzero(rest < 0.0))


def scalar_part(vector_part: Array) -> float:
    """Scalar part of a unit quaternion, guarded away from zero."""
    return max(LEAST_SQUARE, 1.0 - float(vector_part @ vector_part)) ** 0.5


def move_chart(
    chart: Array, state: Array, covariance: Array, carried: Array, position: slice, attitude: slice
) -> tuple[Array, Array]:
    """Move the chart to the present attitude: afterwards the state's quaternion is zero.

    Changes ``state`` (n,), ``covariance`` (n, n) and ``carried`` (n, c), covariances of the state with other things, in
    place. The transport is exact for the mean and linear in the
    deviations: ``q' = q_mean^-1 q``.

    Returns
    -------
    (3, 3) rotation of the new chart, and (n, n) what maps deviations of the state
    """
    mean = state[attitude].copy()
    scalar = scalar_part(mean)
    rotation = rotation_of(mean)
    transport = np.eye(len(state))
    transport[position, position] = rotation.T
    transport[attitude, attitude] = scalar * np.eye(3) - skew(mean) + np.outer(mean, mean) / scalar
    state[position] = rotation.T @ state[position]
    state[attitude] = 0.0
    moved = transport @ covariance @ transport.T
    covariance[:] = 0.5 * (moved + moved.T)
    carried[:] = transport @ carried
    return chart @ rotation, transport
