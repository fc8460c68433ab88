"""The unscented filter with process noise among the sigma points (21 dimensions): another form of the same filter."""

from __future__ import annotations

import numpy as np
from pkm_description.arrays import Array
from pkm_estimation.filters import ScaledUnscentedTransform
from pkm_estimation.models import STATE_SIZE
from pkm_estimation.stream import PlatformFilter

from verification.miletovic_2017.scenario import INTERVAL

_INPUTS = 6
_TRANSFORM = ScaledUnscentedTransform(STATE_SIZE + _INPUTS)
_MEAN = np.r_[_TRANSFORM.centre_mean_weight, np.full(2 * _TRANSFORM.size, _TRANSFORM.weight)]
_COVARIANCE = np.r_[_TRANSFORM.centre_covariance_weight, np.full(2 * _TRANSFORM.size, _TRANSFORM.weight)]


def predict_augmented(filter_: PlatformFilter, imu_start: Array, imu_end: Array) -> None:
    """Predict over one interval with sigma points of state and input noise; the printed filter's chart only."""
    joint = np.zeros((_TRANSFORM.size, _TRANSFORM.size))
    joint[:STATE_SIZE, :STATE_SIZE] = filter_.ukf.covariance
    joint[STATE_SIZE:, STATE_SIZE:] = filter_.imu_covariance
    spread = np.sqrt(_TRANSFORM.spread) * np.linalg.cholesky(joint)
    centre = np.concatenate([filter_.ukf.state, np.zeros(_INPUTS)])
    points = centre + np.vstack([np.zeros(_TRANSFORM.size), spread.T, -spread.T])
    moved = points[:, :STATE_SIZE].copy()
    # each point has an input of its own, which the process model takes one at a time; equal inputs go together
    filter_.process.propagate(moved, imu_start, imu_end, INTERVAL)
    for row in np.flatnonzero(np.any(points[:, STATE_SIZE:] != 0.0, axis=1)):
        noise = points[row, STATE_SIZE:]
        one = points[row : row + 1, :STATE_SIZE].copy()
        moved[row] = filter_.process.propagate(one, imu_start + noise, imu_end + noise, INTERVAL)[0]
    mean = moved[0] + _MEAN @ (moved - moved[0])
    filter_.ukf.state = mean
    filter_.ukf.covariance = (moved - mean).T * _COVARIANCE @ (moved - mean)
