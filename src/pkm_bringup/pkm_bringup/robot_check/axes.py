"""Which way the axes of an IMU point: the 48 ways to name and sign three axes, and what they mean."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
from pkm_description.arrays import Array

#: (48, 3, 3): measured axes = matrix @ the file's axes; the identity first, then proper rotations, then mirrored
AXES: Array = np.array(
    sorted(
        (
            np.diag(signs)[:, list(order)]
            for order in permutations(range(3))
            for signs in product((1.0, -1.0), repeat=3)
        ),
        key=lambda matrix: (-round(np.linalg.det(matrix)), -np.trace(matrix)),
    )
)


def is_same(left: Array, right: Array) -> bool:
    """Whether two of the matrices, or of their negatives, are the same."""
    return bool((left == right).all())


def is_rotation(matrix: Array) -> bool:
    """Whether a matrix is a rotation and not a mirror image."""
    return bool(np.linalg.det(matrix) > 0.0)


def axes_text(matrix: Array) -> str:
    """Words for measured axes by those of the machine file, e.g. ``x = -y, y = x, z = z``."""
    terms = []
    for name, row in zip('xyz', matrix, strict=True):
        axis = int(np.argmax(np.abs(row)))
        terms.append(f'{name} = {"-" if row[axis] < 0.0 else ""}{"xyz"[axis]}')
    return ', '.join(terms)


def roll_pitch_yaw(rotation: Array) -> tuple[float, float, float]:
    """Angles [rad] of a rotation as URDF and machine files write them: about fixed x, then y, then z."""
    pitch = float(np.arcsin(np.clip(-rotation[2, 0], -1.0, 1.0)))
    if abs(rotation[2, 0]) > 1.0 - 1e-9:  # roll and yaw are about one axis: all is roll
        return float(np.arctan2(-rotation[1, 2], rotation[1, 1])), pitch, 0.0
    return (
        float(np.arctan2(rotation[2, 1], rotation[2, 2])),
        pitch,
        float(np.arctan2(rotation[1, 0], rotation[0, 0])),
    )
