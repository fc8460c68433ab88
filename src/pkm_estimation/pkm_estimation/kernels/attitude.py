"""Rotations as three row vectors: of a quaternion's vector part, and of a rotation vector."""

from __future__ import annotations

from math import cos, sin, sqrt

from pkm_description.arrays import Array
from pkm_description.kernels.jit import kernel
from pkm_description.kernels.model import Integers
from pkm_description.kernels.vectors import Vector, dot

Rotation = tuple[Vector, Vector, Vector]

IDENTITY: Rotation = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


@kernel
def triple(points: Array, point: int, start: int) -> Vector:
    """Three neighbouring states of a point (row)."""
    return points[point, start], points[point, start + 1], points[point, start + 2]


@kernel
def scalar_part(q: Vector, outside: Integers) -> float:
    """``e0 = sqrt(1 - q.q) >= 0`` (Eq. 12); 0 where ``q.q > 1``, and ``outside`` (1,) counts that."""
    square = 1.0 - dot(q, q)
    if square < 0.0:
        outside[0] += 1
        return 0.0
    return sqrt(square)


@kernel
def rotation(q: Vector, e0: float) -> Rotation:
    """``T_ba``, platform axes to base axes: the transpose of Eq. 4."""
    x, y, z = q
    return (
        (x * x + e0 * e0 - y * y - z * z, 2.0 * (x * y - z * e0), 2.0 * (x * z + y * e0)),
        (2.0 * (x * y + z * e0), y * y + e0 * e0 - x * x - z * z, 2.0 * (y * z - x * e0)),
        (2.0 * (x * z - y * e0), 2.0 * (y * z + x * e0), z * z + e0 * e0 - x * x - y * y),
    )


@kernel
def exponential(v: Vector) -> Rotation:
    """Rotation by a rotation vector (Rodrigues), exact down to zero."""
    x, y, z = v
    angle = sqrt(dot(v, v))
    half_sinc = sin(0.5 * angle) / (0.5 * angle) if angle > 0.0 else 1.0
    s, c = half_sinc * cos(0.5 * angle), 0.5 * half_sinc * half_sinc
    return (
        (1.0 - c * (y * y + z * z), c * x * y - s * z, c * x * z + s * y),
        (c * x * y + s * z, 1.0 - c * (x * x + z * z), c * y * z - s * x),
        (c * x * z - s * y, c * y * z + s * x, 1.0 - c * (x * x + y * y)),
    )


@kernel
def turn(r: Rotation, a: Vector) -> Vector:
    """``R a``."""
    return dot(r[0], a), dot(r[1], a), dot(r[2], a)


@kernel
def turn_back(r: Rotation, a: Vector) -> Vector:
    """``R^T a``."""
    return (
        r[0][0] * a[0] + r[1][0] * a[1] + r[2][0] * a[2],
        r[0][1] * a[0] + r[1][1] * a[1] + r[2][1] * a[2],
        r[0][2] * a[0] + r[1][2] * a[1] + r[2][2] * a[2],
    )


@kernel
def product(r: Rotation, s: Rotation) -> Rotation:
    """``R S``."""
    return turn_back(s, r[0]), turn_back(s, r[1]), turn_back(s, r[2])


@kernel
def attitudes(
    states: Array, start: int, charts: Array, quaternions: Array, least_square: float, rotations: Array,
    orientations: Array, by_q: Array,
) -> None:  # fmt: skip
    """Attitudes of N states, q from column ``start`` on, seen from charts (N, 3, 3) with quaternions (N, 4) xyzw.

    Writes rotations (N, 3, 3) from platform to base axes, the same as quaternions (N, 4) xyzw with w >= 0, and rotation
    about base axes per change of q (N, 3, 3). ``1 - q.q`` counts as ``least_square`` at least.
    """
    for k in range(len(states)):
        q = triple(states, k, start)
        x, y, z = q
        square = dot(q, q)
        e0 = sqrt(max(least_square, 1.0 - square))
        norm = square + e0 * e0  # 1 but for the guard of e0
        s, c, over = 2.0 * e0 / norm, 2.0 / norm, 2.0 / e0
        in_chart = (
            (1.0 - c * (y * y + z * z), c * x * y - s * z, c * x * z + s * y),
            (c * x * y + s * z, 1.0 - c * (x * x + z * z), c * y * z - s * x),
            (c * x * z - s * y, c * y * z + s * x, 1.0 - c * (x * x + y * y)),
        )
        slope = (
            (2.0 * e0 + over * x * x, over * x * y - 2.0 * z, over * x * z + 2.0 * y),
            (over * x * y + 2.0 * z, 2.0 * e0 + over * y * y, over * y * z - 2.0 * x),
            (over * x * z - 2.0 * y, over * y * z + 2.0 * x, 2.0 * e0 + over * z * z),
        )
        for i in range(3):
            row = charts[k, i, 0], charts[k, i, 1], charts[k, i, 2]
            rotations[k, i, 0], rotations[k, i, 1], rotations[k, i, 2] = turn_back(in_chart, row)
            by_q[k, i, 0], by_q[k, i, 1], by_q[k, i, 2] = turn_back(slope, row)
        a, b, d, w = quaternions[k, 0], quaternions[k, 1], quaternions[k, 2], quaternions[k, 3]
        real = w * e0 - a * x - b * y - d * z
        size = sqrt(norm) if real >= 0.0 else -sqrt(norm)
        orientations[k, 0] = (w * x + e0 * a + b * z - d * y) / size
        orientations[k, 1] = (w * y + e0 * b + d * x - a * z) / size
        orientations[k, 2] = (w * z + e0 * d + a * y - b * x) / size
        orientations[k, 3] = real / size
