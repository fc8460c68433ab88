"""Failures of an IMU as data, for simulated signals."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, pi

import numpy as np
from pkm_description.arrays import Array

#: what can be wrong with all samples of an interval
IMU_FAULTS = ('frozen', 'zeros', 'clipped', 'swapped_axes', 'upside_down', 'in_g', 'in_deg_per_s', 'gravity_removed')
_STANDARD_GRAVITY = 9.80665


@dataclass(frozen=True)
class ImuFault:
    """A failure of the IMU.

    Attributes
    ----------
    kind : one of :data:`IMU_FAULTS`: the sample before is repeated; zeros; clipped at the ranges; axes exchanged in a
        circle; turned half about x; specific force in g; angular rate in deg/s; acceleration instead of specific force
    begin, end : s after the first sample
    ranges : m/s^2, rad/s, at which samples are clipped
    """

    kind: str
    begin: float = 0.0
    end: float = inf
    ranges: tuple[float, float] = (inf, inf)

    def __post_init__(self) -> None:
        if self.kind not in IMU_FAULTS:
            raise ValueError(f'kind = {self.kind!r}: must be one of {", ".join(IMU_FAULTS)}')
        if not self.begin < self.end:
            raise ValueError(f'begin = {self.begin}, end = {self.end}: must begin before it ends')
        if not min(self.ranges) > 0.0:
            raise ValueError(f'ranges = {self.ranges!r}: must be positive')

    def apply(self, signals: Array, elapsed: Array, gravity: Array) -> Array:
        """Signals with this failure.

        Parameters
        ----------
        signals : (N, 6) specific force and angular rate, IMU axes
        elapsed : (N,) s after the first sample
        gravity : (N, 3) m/s^2, IMU axes
        """
        rows = (elapsed >= self.begin) & (elapsed < self.end)
        result = signals.copy()
        if not rows.any():
            return result
        force, rate = signals[rows, :3], signals[rows, 3:]
        if self.kind == 'frozen':
            result[rows] = signals[rows][0]
        elif self.kind == 'zeros':
            result[rows] = 0.0
        elif self.kind == 'clipped':
            limits = np.repeat(self.ranges, 3)
            result[rows] = np.clip(signals[rows], -limits, limits)
        elif self.kind == 'swapped_axes':
            result[rows] = signals[rows][:, [1, 2, 0, 4, 5, 3]]
        elif self.kind == 'upside_down':
            result[rows] = signals[rows] * np.tile([1.0, -1.0, -1.0], 2)
        elif self.kind == 'in_g':
            result[rows, :3] = force / _STANDARD_GRAVITY
        elif self.kind == 'in_deg_per_s':
            result[rows, 3:] = rate * 180.0 / pi
        else:
            result[rows, :3] = force + gravity[rows]
        return result
