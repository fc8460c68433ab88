"""Leg lengths as a function of the state: the measurement model (Miletovic Eq. 20 with Eqs 1 and 25)."""

from __future__ import annotations

import numpy as np
from numpy import multiply, sqrt
from pkm_description.arrays import Array

from pkm_estimation.models.attitude import QUATERNION_PAIRS, ScalarPart, rotation_table
from pkm_estimation.models.leg_model import LegModel

# rows of the factors: c, V (unused, but copied along with its neighbours), (q, e0), 1
_P, _ONE = 6, 10
_TERMS = [(row, _ONE) for row in (0, 1, 2, _ONE)] + [(_P + a, _P + b) for a, b in QUATERNION_PAIRS]
_FACTORS = np.array([left for left, _ in _TERMS] + [right for _, right in _TERMS])


class _Workspace:
    """Arrays (and views of them) for one number of points."""

    def __init__(self, count: int, leg_count: int) -> None:
        self.rows = np.ones((11, count))
        self.states = self.rows[0:9]
        self.scalar_part = ScalarPart(self.rows[6:9], self.rows[9:10])
        self.factors = np.empty((2 * len(_TERMS), count))
        self.terms, self.right = self.factors[: len(_TERMS)], self.factors[len(_TERMS) :]
        self.vectors = np.empty((3 * leg_count, count))


class LegLengthModel(LegModel):
    """Distances between base and platform joint centres, for all points (columns) in one call.

    Parameters
    ----------
    base_points : (L, 3) m, base frame
    platform_points : (L, 3) m, from the point that the state describes (the IMU), platform axes
    lengths_at_zero : (L,) m, of legs whose drives are at zero; default: lengths themselves are measured
    """

    def __init__(self, base_points: Array, platform_points: Array, lengths_at_zero: Array | float = 0.0) -> None:
        self.leg_count = len(base_points)
        self._lengths_at_zero = lengths_at_zero
        self._base_points, self._platform_points = base_points, platform_points
        self.set_chart(np.eye(3))
        # x^2 + y^2 + z^2 of each leg; a product is faster than two additions
        self._sum_of_squares = np.kron(np.ones((1, 3)), np.eye(self.leg_count))
        self._workspaces: dict[int, _Workspace] = {}

    def set_chart(self, rotation: Array) -> None:
        """Take positions and attitudes in the axes of a chart; ``rotation`` (3, 3) maps them to base axes."""
        base_points = self._base_points @ rotation
        # leg vector i of leg l = c_i - b_li + sum_j T_ij a_lj: linear in (c, 1, products of quaternion components)
        table = np.zeros((3, self.leg_count, len(_TERMS)))
        for i in range(3):
            table[i, :, i] = 1.0
            table[i, :, 3] = -base_points[:, i]
        rotated_points = np.tensordot(self._platform_points, rotation_table(), axes=(1, 1))  # (L, 3, pairs)
        table[:, :, 4:] = rotated_points.transpose(1, 0, 2)
        self._table = table.reshape(3 * self.leg_count, -1)

    @property
    def outside_unit_sphere(self) -> int:
        """Number of evaluated points with ``q.q > 1`` so far (S3-26)."""
        return sum(work.scalar_part.outside_unit_sphere for work in self._workspaces.values())

    def measured(self, drive_positions: Array) -> Array:
        """Leg lengths (L,) m by the positions of the drives (L,) m."""
        return drive_positions + self._lengths_at_zero

    def observe(self, states: Array) -> Array:
        """Leg lengths (L, N) of ``states`` (>= 9, N); only position and attitude are used."""
        count = states.shape[1]
        work = self._workspaces.get(count)
        if work is None:
            work = self._workspaces[count] = _Workspace(count, self.leg_count)
        work.states[:] = states[0:9]
        work.scalar_part.update()
        # mode='clip' only because 'raise' makes take() buffer its output
        work.rows.take(_FACTORS, 0, work.factors, 'clip')
        multiply(work.terms, work.right, work.terms)
        self._table.dot(work.terms, work.vectors)
        multiply(work.vectors, work.vectors, work.vectors)
        lengths: Array = self._sum_of_squares.dot(work.vectors)
        return sqrt(lengths, lengths)
