"""Errors of an estimate relative to ground truth, and consistency of the filter's covariance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.errors import PkmError
from scipy.spatial.transform import Rotation

from pkm_estimation.motion_estimate import MotionEstimate
from pkm_estimation.offline.result import EstimationResult

#: part of the largest variance below which a direction counts as blocked
_BLOCKED = 1e-4


@dataclass(frozen=True)
class MotionErrors:
    """Root-mean-square errors, each (3,).

    Attributes
    ----------
    position : m, base axes
    velocity, angular_velocity : m/s, rad/s, platform axes
    attitude : vector part of the error quaternion, platform axes (half the angle in rad)
    """

    position: Array
    velocity: Array
    attitude: Array
    angular_velocity: Array


@dataclass(frozen=True)
class ErrorTable:
    """Estimate and baseline against truth on the same samples.

    Attributes
    ----------
    samples : compared samples
    settling : s that were left out after the first estimate
    estimate, baseline : errors; the baseline's are NaN where there is none
    nis_mean : mean normalised innovation squared after settling
    in_band : (L,) part of the innovations within two standard deviations, NaN for legs that were not used
    """

    samples: int
    settling: float
    estimate: MotionErrors
    baseline: MotionErrors
    nis_mean: float
    in_band: Array

    def text(self) -> str:
        """Table as text."""
        lines = [f'{"rms error":<27}{"unit":<8}{"estimate x, y, z":>30}{"baseline x, y, z":>32}']
        for name, unit, scale in (
            ('position', 'um', 1e6),
            ('velocity', 'mm/s', 1e3),
            ('attitude', '1e-6', 1e6),
            ('angular_velocity', 'mrad/s', 1e3),
        ):
            ours, theirs = (_numbers(scale * getattr(errors, name)) for errors in (self.estimate, self.baseline))
            lines.append(f'{name.replace("_", " "):<27}{unit:<8}{ours:>30}{theirs:>32}')
        return '\n'.join([*lines, self.note()])

    def note(self) -> str:
        """What was compared, and what the innovations say."""
        band = 100.0 * self.in_band[np.isfinite(self.in_band)]
        within = f'{band.min():.1f}-{band.max():.1f} %' if len(band) else 'there are none'
        return (
            f'{self.samples} samples after {self.settling:g} s of settling; mean NIS {self.nis_mean:.2f}; '
            f'innovations within 2 sigma: {within}'
        )


def error_table(result: EstimationResult, truth: MotionEstimate, settling: float = 20.0) -> ErrorTable:
    """Compare an estimate and its baseline with the truth at equal stamps.

    Parameters
    ----------
    result : estimate
    truth : recorded ground truth, twist in platform axes
    settling : s after the first estimate that are left out

    Raises
    ------
    PkmError
        If no estimate after settling has the stamp of a truth sample.
    """
    begin = int(result.motion.stamps[0]) + round(settling * 1e9)
    end = int(result.motion.stamps[-1])
    ours, true = matching(result.motion.stamps, truth.stamps, begin, end)
    if not len(ours):
        held = f'truth from {truth.stamps[0]} to {truth.stamps[-1]} ns' if len(truth) else 'truth holds no pose'
        raise PkmError(
            f'no truth sample has the stamp of an estimate from {begin} to {end} ns: {held}; record longer than '
            f'{settling:g} s, or take a shorter settling time'
        )
    theirs, true_theirs = matching(result.baseline.stamps, truth.stamps, begin, end)
    judged = (result.motion.stamps >= begin) & (result.motion.stamps <= end) & np.isfinite(result.nis)
    ratio = np.abs(result.innovation[judged] / result.innovation_std[judged])
    seen = np.isfinite(ratio)
    return ErrorTable(
        len(ours),
        settling,
        motion_errors(result.motion, ours, truth, true),
        motion_errors(result.baseline, theirs, truth, true_theirs),
        float(result.nis[judged].mean()) if judged.any() else float('nan'),
        np.sum(seen & (ratio <= 2.0), axis=0) / np.where(seen.any(axis=0), seen.sum(axis=0), np.nan),
    )


def poses_of_truth(truth: MotionEstimate, point: Sequence[float]) -> MotionEstimate:
    """Recorded truth of a point (3,) of the platform, without what is no pose: a tracker that lost sight of it."""
    norm = np.linalg.norm(truth.orientation, axis=1)
    numbers = np.hstack([truth.position, truth.linear_velocity, truth.angular_velocity])
    there = (norm > 0.5) & np.isfinite(numbers).all(axis=1)
    rows = {entry.name: getattr(truth, entry.name)[there] for entry in fields(MotionEstimate)}
    return motion_of_point(MotionEstimate(**rows), point)


def motion_of_point(motion: MotionEstimate, point: Sequence[float]) -> MotionEstimate:
    """The motion of another point (3,) of the platform, in ``platform_link``; the covariances stay the origin's."""
    arm = np.asarray(point, dtype=float)
    if not arm.any():
        return motion
    return replace(
        motion,
        position=motion.position + Rotation.from_quat(motion.orientation).apply(arm),
        linear_velocity=motion.linear_velocity + np.cross(motion.angular_velocity, arm),
    )


def matching(
    stamps: NDArray[np.int64], others: NDArray[np.int64], begin: int, end: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Indices into both where the stamps are equal and lie from ``begin`` to ``end`` [ns]."""
    _, left, right = np.intersect1d(stamps, others, return_indices=True)
    inside = (stamps[left] >= begin) & (stamps[left] <= end)
    return left[inside], right[inside]


def motion_errors(
    estimate: MotionEstimate, rows: NDArray[np.intp], truth: MotionEstimate, true_rows: NDArray[np.intp]
) -> MotionErrors:
    """Errors of the rows of an estimate against those of the truth; NaN if there are none."""
    if not len(rows):
        return MotionErrors(*(np.full(3, np.nan) for _ in range(4)))
    return MotionErrors(
        _rms(estimate.position[rows] - truth.position[true_rows]),
        _rms(estimate.linear_velocity[rows] - truth.linear_velocity[true_rows]),
        _rms(attitude_error(truth.orientation[true_rows], estimate.orientation[rows])),
        _rms(estimate.angular_velocity[rows] - truth.angular_velocity[true_rows]),
    )


def attitude_error(truth: Array, estimate: Array) -> Array:
    """Vector part (N, 3) of ``truth^-1 * estimate`` of quaternions (N, 4) xyzw; sign of the shorter turn."""
    turned = Rotation.from_quat(truth).inv() * Rotation.from_quat(estimate)
    vector_part: Array = turned.as_quat(canonical=True)[:, :3]
    return vector_part


def pose_error_squared(
    estimate: MotionEstimate, rows: NDArray[np.intp], truth: MotionEstimate, true_rows: NDArray[np.intp]
) -> Array:
    """``e^T P^-1 e`` (M,) of the poses, 6 expected of right claims; both as in ``nav_msgs``: base axes.

    Directions in which a machine cannot move, where no error is claimed, do not count, nor are they expected: the sum
    is scaled to six.
    """
    turned = Rotation.from_quat(estimate.orientation[rows]) * Rotation.from_quat(truth.orientation[true_rows]).inv()
    errors = np.hstack([estimate.position[rows] - truth.position[true_rows], turned.as_rotvec()])
    covariance = estimate.pose_covariance[rows]
    deviations = np.sqrt(np.maximum(covariance.diagonal(axis1=1, axis2=2), np.finfo(float).tiny))
    values, vectors = np.linalg.eigh(covariance / (deviations[:, :, None] * deviations[:, None, :]))
    along = np.squeeze(np.swapaxes(vectors, 1, 2) @ (errors / deviations)[:, :, None], axis=2)
    free = values > _BLOCKED * values.max(axis=1, keepdims=True)
    squares = np.sum(np.where(free, along**2 / np.where(free, values, 1.0), 0.0), axis=1)
    result: Array = 6.0 * squares / free.sum(axis=1)
    return result


def _rms(errors: Array) -> Array:
    result: Array = np.sqrt(np.mean(errors**2, axis=0))
    return result


def _numbers(values: Array) -> str:
    return ', '.join(f'{value:.3g}' for value in values)
