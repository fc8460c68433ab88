"""Leg lengths as a function of the state: the measurement model (Miletovic Eq. 20 with Eqs 1 and 25)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pkm_estimation.models.quaternion_products import QUATERNION_PAIRS, ScalarPart, rotation_table

Array = NDArray[np.float64]

_LEFT = np.array([a for a, _ in QUATERNION_PAIRS])
_RIGHT = np.array([b for _, b in QUATERNION_PAIRS])


class _Workspace:
    def __init__(self, count: int, leg_count: int) -> None:
        self.terms = np.ones((4 + len(QUATERNION_PAIRS), count))  # c, 1, products of quaternion components
        self.products = self.terms[4:]
        self.left = np.empty_like(self.products)
        self.quaternion = np.empty((4, count))
        self.vectors = np.empty((3 * leg_count, count))
        self.by_axis = self.vectors.reshape(3, leg_count * count)


class LegLengthModel:
    """Distances between base and platform joint centres, for all points (columns) in one call.

    Parameters
    ----------
    base_points : (L, 3) m, base frame
    platform_points : (L, 3) m, from the point that the state describes (the IMU), platform axes
    """

    def __init__(self, base_points: Array, platform_points: Array) -> None:
        self.leg_count = len(base_points)
        self._scalar_part = ScalarPart()
        # leg vector i of leg l = c_i - b_li + sum_j T_ij a_lj: linear in (c, 1, products of quaternion components)
        table = np.zeros((3, self.leg_count, 4 + len(QUATERNION_PAIRS)))
        for i in range(3):
            table[i, :, i] = 1.0
            table[i, :, 3] = -base_points[:, i]
        rotated_points = np.tensordot(platform_points, rotation_table(), axes=(1, 1))  # (L, 3, pairs)
        table[:, :, 4:] = rotated_points.transpose(1, 0, 2)
        self._table = table.reshape(3 * self.leg_count, -1)
        self._workspaces: dict[int, _Workspace] = {}

    @property
    def outside_unit_sphere(self) -> int:
        """Number of evaluated points with ``q.q > 1`` so far (S3-26)."""
        return self._scalar_part.outside_unit_sphere

    def observe(self, states: Array) -> Array:
        """Leg lengths (L, N) of ``states`` (>= 9, N); only position and attitude are used."""
        count = states.shape[1]
        work = self._workspaces.get(count)
        if work is None:
            work = self._workspaces[count] = _Workspace(count, self.leg_count)
        work.terms[0:3] = states[0:3]
        work.quaternion[0:3] = vector_part = states[6:9]
        self._scalar_part(vector_part, work.quaternion[3:4])
        # mode='clip' only because 'raise' makes take() buffer its output
        work.quaternion.take(_LEFT, 0, work.left, 'clip')
        work.quaternion.take(_RIGHT, 0, work.products, 'clip')
        np.multiply(work.products, work.left, out=work.products)
        np.dot(self._table, work.terms, out=work.vectors)
        np.multiply(work.vectors, work.vectors, out=work.vectors)
        squares: Array = np.add.reduce(work.by_axis, axis=0)
        np.sqrt(squares, out=squares)
        return squares.reshape(self.leg_count, count)
