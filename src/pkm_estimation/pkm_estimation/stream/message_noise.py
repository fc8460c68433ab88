"""Noise of the IMU as its messages state it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from pkm_description.arrays import Array
from pkm_description.kernels.model import Integers

from pkm_estimation.models.imu_frame import ImuFrame
from pkm_estimation.stream.health import HealthMonitor

#: numbers of the covariance of one sensor
_NUMBERS = 9


class MessageNoise:
    """Takes the covariances of the first message of the IMU for all: no driver measures the noise of each sample.

    What changes later is told. So the noise does not depend on which topic comes first.

    Parameters
    ----------
    frame : gets the noise
    tell : takes its covariance (6, 6), platform axes
    health : gets the events ``imu_covariance_missing`` and ``imu_covariance_changed``
    """

    def __init__(self, frame: ImuFrame, tell: Callable[[Array], None], health: HealthMonitor) -> None:
        self._frame, self._tell, self._health = frame, tell, health
        self._first: Array | None = None

    def take(self, stamp: int, covariances: Sequence[float] | Array | None) -> None:
        """Take what the message of a stamp [ns] states: of specific force, then of angular rate, row by row (18,)."""
        self.take_all(np.array([stamp]), None if covariances is None else np.asarray(covariances, dtype=float)[None])

    def take_all(self, stamps: Integers, covariances: Array | None) -> None:
        """Take what messages (N,) state, see :meth:`take`; ``None``: nothing."""
        if not len(stamps):
            return
        rows = np.full((len(stamps), 2 * _NUMBERS), np.nan) if covariances is None else covariances
        if self._first is None:
            self._first = rows[0].copy()
            self._begin(stamps.item(0), rows[0])
        for other in np.flatnonzero(~((rows == self._first) | (np.isnan(rows) & np.isnan(self._first))).all(axis=1)):
            detail = 'the covariances of the IMU messages change; those of the first one are used for all'
            self._health.event(stamps.item(other), 'imu_covariance_changed', detail)

    def _begin(self, stamp: int, numbers: Array) -> None:
        stated = stated_covariance(numbers)
        missing = [
            name
            for name, part in (('linear_acceleration_covariance', 0), ('angular_velocity_covariance', 3))
            if np.isnan(stated[part, part])
        ]
        if missing:
            detail = f'the first message states no {" and no ".join(missing)}: noise as in the machine file'
            self._health.event(stamp, 'imu_covariance_missing', detail)
        self._frame.take_stated(stated)
        self._tell(self._frame.noise_covariance)


def stated_covariance(numbers: Array) -> Array:
    """Covariance (6, 6) by the 18 numbers of a ``sensor_msgs/Imu``, specific force first.

    NaN where the message states none: zeros (unknown), -1 (no such sensor), or what is no covariance.
    """
    covariance = np.zeros((6, 6))
    for part in range(2):
        block = numbers[part * _NUMBERS : (part + 1) * _NUMBERS].reshape(3, 3)
        rows = slice(3 * part, 3 * part + 3)
        covariance[rows, rows] = block if _is_covariance(block) else np.nan
    return covariance


def _is_covariance(block: Array) -> bool:
    if not np.isfinite(block).all() or not np.allclose(block, block.T, rtol=1e-6, atol=0.0):
        return False
    return bool(np.linalg.eigvalsh(block)[0] > 0.0)
