"""Initial state and covariance of the filter: standard deviations of all states and their correlation."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from pkm_description.arrays import Array

from pkm_estimation.config import EstimatorConfig
from pkm_estimation.filters import CovarianceError, Innovation, KalmanFilter
from pkm_estimation.models import ACCELEROMETER_BIAS, ATTITUDE, GYROSCOPE_BIAS, POSE, POSITION, VELOCITY
from pkm_estimation.models.extra_states import StateLayout
from pkm_estimation.models.inertial_process import rotation_of
from pkm_estimation.models.leg_model import LegModel

#: number of points around the mean of a broad prior that are tried, and their distance in prior standard deviations
_BEGINS, _BEGIN_SPREAD = 40, 1.5


def start_std(
    config: EstimatorConfig, layout: StateLayout, position_std: float, attitude_std: float
) -> Array:
    """Standard deviations (n,) of independent causes of error at the start."""
    std = np.zeros(layout.size)
    std[POSITION] = position_std
    std[ATTITUDE] = attitude_std
    std[VELOCITY] = config.start_velocity_std
    std[ACCELEROMETER_BIAS] = config.start_accelerometer_bias_std
    std[GYROSCOPE_BIAS] = config.start_gyroscope_bias_std
    extra = {
        'leg_offsets': config.leg_offset_std,
        'imu_delay': config.imu_delay_std,
        'imu_rotation': config.imu_rotation_std,
        'imu_position': config.imu_position_std,
    }
    for name, rows in layout.groups.items():
        std[rows] = extra[name]
    return std


def start_spread(layout: StateLayout, state: Array, observe: Callable[[Array], Array]) -> Array:
    """Jacobian (n, n) of the errors at the start by independent errors of pose and constants.

    The start pose is that of the platform, but the state holds the position of the IMU, which is not known exactly on
    the platform. Leg offsets change the pose that forward kinematics finds.

    Parameters
    ----------
    state : (n,) at the start
    observe : the measurement model, what drives and constraints measure (N, A + K) at points (N, n)
    """
    spread = np.eye(layout.size)
    if layout.imu_position is not None:
        spread[POSITION, layout.imu_position] = rotation_of(state[ATTITUDE])
    if layout.leg_offsets is not None:
        _, slope = slopes_by_pose(state, observe)
        drives = layout.leg_offsets.stop - layout.leg_offsets.start
        spread[np.ix_(POSE, range(layout.leg_offsets.start, layout.leg_offsets.stop))] = (
            -np.linalg.pinv(slope)[:, :drives]
        )
    return spread


def slopes_by_pose(state: Array, observe: Callable[[Array], Array]) -> tuple[Array, Array]:
    """Points (13, n) that were observed, the first at a state (n,), and slopes (m, 6) by the pose there."""
    step = 1e-6 * np.eye(len(state))[POSE]
    points = np.vstack([state, state + step, state - step])
    measured = observe(points)
    return points, (measured[1:7] - measured[7:]).T / 2e-6


def start_sensitivity(state: Array, legs: LegModel) -> Array:
    """Sensitivity (n, p) of a start by forward kinematics to the geometry: what is measured stays what it is.

    Parameters
    ----------
    state : (n,) at the start
    legs : the measurement model
    """
    points, slope = slopes_by_pose(state, legs.observe)
    sensitivity = np.zeros((len(state), legs.constant_count))
    sensitivity[POSE] = -np.linalg.pinv(slope) @ legs.slopes_by_constants(points)
    return sensitivity


def likeliest_update(
    ukf: KalmanFilter,
    update_from: Callable[[Array], Innovation],
    is_home_mode: Callable[[], bool],
) -> Innovation | None:
    """First update from a broad prior: the most likely pose on the home assembly mode.

    Up to 40 poses have the same leg lengths. The update is iterated from the prior mean and from points around it; of
    the results on the home mode the one with the greatest posterior density is kept in ``ukf``.

    Parameters
    ----------
    ukf : filter with the prior
    update_from : iterates the update of ``ukf``, linearised first at a state (n,); raises CovarianceError
    is_home_mode : whether the current state of ``ukf`` is on the home assembly mode

    Returns
    -------
    The innovation, or ``None`` if no explanation was found; then ``ukf`` holds the prior again
    """
    prior = ukf.estimate
    mean, covariance, _ = prior
    precision = np.linalg.inv(covariance)
    std = np.sqrt(covariance[POSE, POSE])
    begins = [mean]
    # beyond the mean: points drawn from the prior, always the same ones
    for draw in np.random.default_rng(0).normal(size=(_BEGINS, len(POSE))):
        point = mean.copy()
        point[POSE] += _BEGIN_SPREAD * draw * std
        begins.append(point)
    best, best_cost = None, np.inf
    for begin in begins:
        ukf.estimate = prior
        try:
            innovation = update_from(begin)
        except CovarianceError:
            continue
        shift = ukf.state - mean
        cost = float(shift @ precision @ shift)
        if cost < best_cost and is_home_mode():
            best, best_cost = (ukf.estimate, innovation), cost
        if best is not None and begin is mean:
            break  # the update from the mean converged: no need to try other points
    ukf.estimate, found = best or (prior, None)
    return found
