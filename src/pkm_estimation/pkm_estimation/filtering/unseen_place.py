"""Takes back what noise of the attitude seems to say of the IMU's place on the platform.

The legs see the platform, the state describes the IMU's point, and the place is what lies between them. A direction d
of it (platform axes) shows only where the platform turns, so that ``R d`` changes; else it is a constant error of the
point's position, which nothing else tells. But each correction is linearised at another estimate of R, and so the
noise of the attitude looks like turning. It brings a little information each time, all of it wrong.

So it is counted how far each direction has turned within a few seconds. Where that is not well above the noise of the
attitude, it is known no better than before them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from pkm_description.arrays import Array

from pkm_estimation.filters import KalmanFilter
from pkm_estimation.models import ATTITUDE, POSITION
from pkm_estimation.models.attitude import rotation_of

#: s, over which turning is counted
_WINDOW = 2.0
#: turning counts above so many times the noise of the attitude, by their squares
_ABOVE_NOISE = 100.0


class PlaceMemory(NamedTuple):
    """What has been seen since a moment.

    Attributes
    ----------
    rows : of the place in the state
    time : s since then
    place, covariance : (3,) m, (3, 3) of the place then
    turns : (3, 3) s, integral of the rotation, platform axes to base axes
    noise : rad^2 s, integral of the variance of the attitude about the axis where it is largest
    """

    rows: slice
    time: float
    place: Array
    covariance: Array
    turns: Array
    noise: float

    @classmethod
    def of(cls, rows: slice, state: Array, covariance: Array) -> PlaceMemory:
        """From now on, of a state (n,) and its covariance (n, n)."""
        return cls(rows, 0.0, state[rows].copy(), covariance[rows, rows].copy(), np.zeros((3, 3)), 0.0)

    def after(self, ukf: KalmanFilter, rotation: Array, duration: float) -> PlaceMemory:
        """After ``duration`` s at a rotation (3, 3) from platform axes to base axes."""
        variance = 4.0 * float(ukf.covariance.diagonal()[ATTITUDE].max())
        return self._replace(
            time=self.time + duration, turns=self.turns + duration * rotation, noise=self.noise + duration * variance
        )

    @property
    def is_due(self) -> bool:
        """Whether the time is over."""
        return self.time >= _WINDOW

    def take_back(self, ukf: KalmanFilter) -> None:
        """Know directions of the place that have not turned as before; the platform's pose stays as well known."""
        rows, mean = self.rows, self.turns / self.time
        squares, directions = np.linalg.eigh(np.eye(3) - mean.T @ mean)
        unseen = directions[:, squares < _ABOVE_NOISE * self.noise / self.time]
        lost, mixed = np.linalg.eigh(unseen.T @ (self.covariance - ukf.covariance[rows, rows]) @ unseen)
        for variance, direction in zip(lost, (unseen @ mixed).T, strict=True):
            if variance <= 0.0:
                continue
            shift = np.zeros(len(ukf.state))
            shift[rows] = direction
            # the state's position is the IMU's: it moves along
            shift[POSITION] = rotation_of(ukf.state[ATTITUDE]) @ direction
            ukf.state[:] = ukf.state + (direction @ (self.place - ukf.state[rows])) * shift
            ukf.covariance[:] = ukf.covariance + variance * np.outer(shift, shift)
