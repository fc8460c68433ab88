"""What is left of the platform's pose error once constants are known to a covariance, rigid frames taken out."""

from __future__ import annotations

import numpy as np
from pkm_description.arrays import Array
from pkm_description.machine import Machine

from pkm_estimation.calibration.static_poses import LegRows


class PoseErrors:
    """Pose errors by constants of the geometry, less what other frames of base and platform explain.

    Where the base frame is, and the platform's, no measurement of an instrument with frames of its own can tell.

    Parameters
    ----------
    machine : with tolerances, the units of the constants
    position, rotation : (N, 3), (N, 3, 3) poses at which errors are looked at
    """

    def __init__(self, machine: Machine, position: Array, rotation: Array) -> None:
        count, radius = len(position), machine.platform_radius
        _, by_twist, by_constants = LegRows(machine).at(position, rotation)
        self._scale = np.array([1.0, 1.0, 1.0, radius, radius, radius])
        twists = -np.linalg.pinv(by_twist) @ by_constants * self._scale[:, None]
        frames = np.zeros((count, 6, 12))
        frames[:, :3, :3] = frames[:, 3:, 3:6] = np.eye(3)
        frames[:, 0, 4], frames[:, 0, 5] = position[:, 2], -position[:, 1]
        frames[:, 1, 3], frames[:, 1, 5] = -position[:, 2], position[:, 0]
        frames[:, 2, 3], frames[:, 2, 4] = position[:, 1], -position[:, 0]
        frames[:, :3, 6:9] = frames[:, 3:, 9:] = rotation
        basis, sizes, _ = np.linalg.svd((frames * self._scale[:, None]).reshape(6 * count, 12), full_matrices=False)
        self._frames = basis[:, sizes > 1e-9 * sizes[0]]
        self._rows = self._without_frames(twists.reshape(6 * count, -1))
        self._count = count

    def _without_frames(self, rows: Array) -> Array:
        return np.asarray(rows - self._frames @ (self._frames.T @ rows))

    def deviation(self, covariance: Array) -> tuple[float, float]:
        """Root mean square of the error, m and rad, of constants with covariance (p, p), in their units."""
        squares = np.einsum('ip,pq,iq->i', self._rows, covariance, self._rows).reshape(self._count, 6)
        return self._told(squares)

    def size(self, deviations: Array) -> tuple[float, float]:
        """The same of constants that are off by (p,), to first order."""
        return self._told((self._rows @ deviations).reshape(self._count, 6) ** 2)

    def _told(self, squares: Array) -> tuple[float, float]:
        position, turn = (float(part.sum(axis=1).mean()) ** 0.5 for part in (squares[:, :3], squares[:, 3:]))
        return position, turn / float(self._scale[5])
