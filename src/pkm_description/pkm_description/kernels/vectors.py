"""Vectors of three numbers as tuples, so that kernels read like the equations and allocate nothing."""

from __future__ import annotations

from pkm_description.arrays import Array
from pkm_description.kernels.jit import kernel

Vector = tuple[float, float, float]


@kernel
def vector(rows: Array, index: int) -> Vector:
    """Row of an array (N, 3)."""
    return rows[index, 0], rows[index, 1], rows[index, 2]


@kernel
def store(rows: Array, index: int, value: Vector) -> None:
    """Write a row of an array (N, 3)."""
    rows[index, 0] = value[0]
    rows[index, 1] = value[1]
    rows[index, 2] = value[2]


@kernel
def plus(a: Vector, b: Vector) -> Vector:
    """Sum ``a + b``."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@kernel
def minus(a: Vector, b: Vector) -> Vector:
    """Difference ``a - b``."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@kernel
def times(factor: float, a: Vector) -> Vector:
    """Multiple ``factor a``."""
    return factor * a[0], factor * a[1], factor * a[2]


@kernel
def dot(a: Vector, b: Vector) -> float:
    """Scalar product ``a . b``."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@kernel
def cross(a: Vector, b: Vector) -> Vector:
    """Vector product ``a x b``."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@kernel
def turned(rotations: Array, index: int, a: Vector) -> Vector:
    """Vector in base axes of one in body axes: ``R a``; rotations (N, 3, 3)."""
    return (
        rotations[index, 0, 0] * a[0] + rotations[index, 0, 1] * a[1] + rotations[index, 0, 2] * a[2],
        rotations[index, 1, 0] * a[0] + rotations[index, 1, 1] * a[1] + rotations[index, 1, 2] * a[2],
        rotations[index, 2, 0] * a[0] + rotations[index, 2, 1] * a[1] + rotations[index, 2, 2] * a[2],
    )


@kernel
def turned_back(rotations: Array, index: int, a: Vector) -> Vector:
    """Vector in body axes of one in base axes: ``R^T a``; rotations (N, 3, 3)."""
    return (
        rotations[index, 0, 0] * a[0] + rotations[index, 1, 0] * a[1] + rotations[index, 2, 0] * a[2],
        rotations[index, 0, 1] * a[0] + rotations[index, 1, 1] * a[1] + rotations[index, 2, 1] * a[2],
        rotations[index, 0, 2] * a[0] + rotations[index, 1, 2] * a[1] + rotations[index, 2, 2] * a[2],
    )
