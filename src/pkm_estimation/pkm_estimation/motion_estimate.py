"""Poses and twists of the platform over time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array

Stamps = NDArray[np.int64]


@dataclass(frozen=True)
class MotionEstimate:
    """N poses and twists of ``platform_link`` in ``base_link``.

    Attributes
    ----------
    stamps : (N,) ns
    position : (N, 3) m
    orientation : (N, 4) quaternion xyzw
    linear_velocity, angular_velocity : (N, 3) m/s, rad/s, platform axes
    pose_covariance, twist_covariance : (N, 6, 6); zero where none is given (twist of the baseline)
    """

    stamps: Stamps
    position: Array
    orientation: Array
    linear_velocity: Array
    angular_velocity: Array
    pose_covariance: Array
    twist_covariance: Array

    def __len__(self) -> int:
        return len(self.stamps)

    @property
    def duration(self) -> float:
        """From the first to the last [s]; a clock that was reset does not take away what was before."""
        return float(np.diff(self.stamps).clip(0).sum()) * 1e-9
