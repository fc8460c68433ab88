"""The rotation matrix as a linear function of products of quaternion components.

The quaternion is written ``p = (q, e0) = (ex, ey, ez, e0)``. Every entry of the rotation matrix is a fixed linear
combination of the ten products ``p[a] p[b]``; with them the models need one elementwise product and one matrix
product for all sigma points together.
"""

from __future__ import annotations

import numpy as np
from numpy import multiply, sqrt
from pkm_description.arrays import Array

#: ``cross(a, b)[i] = LEVI_CIVITA[i, j, k] a[j] b[k]``
LEVI_CIVITA: Array = np.zeros((3, 3, 3))
for _i, _j, _k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
    LEVI_CIVITA[_i, _j, _k], LEVI_CIVITA[_i, _k, _j] = 1.0, -1.0

#: index of the scalar part in ``p``
SCALAR = 3
#: the ten pairs (a, b), a <= b, of :func:`rotation_table`
QUATERNION_PAIRS = [(a, b) for a in range(4) for b in range(a, 4)]

_MINUS_SQUARES_PLUS_ONE = np.array([[-1.0, -1.0, -1.0, 1.0]])


def rotation_table() -> Array:
    """Coefficients ``T[i, j, n]`` with ``rotation[i, j] = sum_n T[i, j, n] p[a_n] p[b_n]``, pairs as above.

    ``rotation = (e0^2 - q.q) I + 2 q q^T + 2 e0 [q]x`` maps platform axes to base axes (transpose of Miletovic Eq. 4).
    """
    full = np.zeros((3, 3, 4, 4))
    for i in range(3):
        full[i, i, SCALAR, SCALAR] += 1.0
        for k in range(3):
            full[i, i, k, k] -= 1.0
        for j in range(3):
            full[i, j, min(i, j), max(i, j)] += 2.0
            full[i, j, :3, SCALAR] -= 2.0 * LEVI_CIVITA[i, j]
    return np.stack([full[:, :, a, b] for a, b in QUATERNION_PAIRS], axis=-1)


class ScalarPart:
    """``e0 = sqrt(1 - q.q) >= 0`` (Miletovic Eq. 12) for many quaternions; 0 where ``q.q > 1``.

    Parameters
    ----------
    vector_part : (3, N), read by :meth:`update`
    scalar_part : (1, N), written by it

    Attributes
    ----------
    outside_unit_sphere : how many had ``q.q > 1`` so far; these get ``e0 = 0``
    """

    def __init__(self, vector_part: Array, scalar_part: Array) -> None:
        self.outside_unit_sphere = 0
        self._vector_part, self._scalar_part = vector_part, scalar_part
        self._terms = np.ones((4, vector_part.shape[1]))
        self._squares = self._terms[0:3]

    def update(self) -> None:
        """Compute the scalar parts of the present vector parts."""
        out = self._scalar_part
        multiply(self._vector_part, self._vector_part, self._squares)
        _MINUS_SQUARES_PLUS_ONE.dot(self._terms, out)
        if not out.item(out.argmin()) >= 0.0:  # argmin is several times faster than min here, and finds NaN too
            self.outside_unit_sphere += int(np.count_nonzero(out < 0.0))
            np.maximum(out, 0.0, out=out)
        sqrt(out, out)
