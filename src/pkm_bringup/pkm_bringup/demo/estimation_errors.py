"""Errors of estimated odometry and biases against truth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_estimation.bags import Imu, Odometry

Stamps = NDArray[np.int64]


@dataclass(frozen=True)
class EstimationErrors:
    """Errors at N common stamps.

    Attributes
    ----------
    stamps : (N,) ns
    position : (N, 3) m, base axes
    velocity : (N, 3) m/s, platform axes
    angular_velocity : (N, 3) rad/s, platform axes
    attitude : (N, 3) vector part of the error quaternion (half the rotation angle, for small errors)
    """

    stamps: Stamps
    position: Array
    velocity: Array
    angular_velocity: Array
    attitude: Array

    def __len__(self) -> int:
        return len(self.stamps)

    def between(self, start: float, end: float) -> EstimationErrors:
        """Keep stamps from ``start`` to ``end`` s, both included."""
        keep = within(self.stamps, start, end)
        return EstimationErrors(**{name: getattr(self, name)[keep] for name in self.__dataclass_fields__})


def within(stamps: Stamps, start: float, end: float) -> NDArray[np.bool_]:
    """Mask of stamps [ns] from ``start`` to ``end`` s, both included."""
    return (stamps >= round(start * 1e9)) & (stamps <= round(end * 1e9))


def estimation_errors(truth: Odometry, estimate: Odometry) -> EstimationErrors:
    """Compare two odometry streams at the stamps that both have."""
    stamps, at_truth, at_estimate = np.intersect1d(truth.stamps, estimate.stamps, return_indices=True)
    return EstimationErrors(
        stamps,
        estimate.position[at_estimate] - truth.position[at_truth],
        estimate.linear_velocity[at_estimate] - truth.linear_velocity[at_truth],
        estimate.angular_velocity[at_estimate] - truth.angular_velocity[at_truth],
        attitude_error(truth.orientation[at_truth], estimate.orientation[at_estimate]),
    )


def attitude_error(truth: Array, estimate: Array) -> Array:
    """Vector part (N, 3) of ``truth^-1 * estimate`` of quaternions (N, 4) xyzw; sign of the shorter turn."""
    vector, scalar = -truth[:, :3], truth[:, 3:]
    product = scalar * estimate[:, :3] + estimate[:, 3:] * vector + np.cross(vector, estimate[:, :3])
    real = scalar * estimate[:, 3:] - np.sum(vector * estimate[:, :3], axis=1, keepdims=True)
    return product * np.where(real < 0.0, -1.0, 1.0)


def estimated_biases(raw: Imu, corrected: Imu) -> tuple[Stamps, Array, Array]:
    """Biases that the estimator took off: stamps (N,) ns, (N, 3) m/s^2 and (N, 3) rad/s."""
    stamps, at_raw, at_corrected = np.intersect1d(raw.stamps, corrected.stamps, return_indices=True)
    return (
        stamps,
        raw.specific_force[at_raw] - corrected.specific_force[at_corrected],
        raw.angular_rate[at_raw] - corrected.angular_rate[at_corrected],
    )


def worst_axis_rms(errors: Array) -> float:
    """Root mean square per axis of (N, 3), the largest of the three; NaN without samples."""
    return float(np.sqrt(np.mean(errors**2, axis=0)).max()) if len(errors) else float('nan')
