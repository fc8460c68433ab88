"""Where a filter starts: deviations of all states, and how they hang together."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from pkm_estimation.models import ACCELEROMETER_BIAS, ATTITUDE, GYROSCOPE_BIAS, POSITION, VELOCITY
from pkm_estimation.models.attitude_chart import rotation_of
from pkm_estimation.models.extra_states import StateLayout
from pkm_estimation.pipeline.config import EstimatorConfig

Array = NDArray[np.float64]


def start_deviation(
    config: EstimatorConfig, layout: StateLayout, position_deviation: float, attitude_deviation: float
) -> Array:
    """Standard deviations (n,) of independent causes of error at the start."""
    deviation = np.zeros(layout.size)
    deviation[POSITION] = position_deviation
    deviation[ATTITUDE] = attitude_deviation
    deviation[VELOCITY] = config.start_velocity_deviation
    deviation[ACCELEROMETER_BIAS] = config.start_accelerometer_bias_deviation
    deviation[GYROSCOPE_BIAS] = config.start_gyroscope_bias_deviation
    extra = {
        'leg_offsets': config.leg_offset_deviation,
        'imu_delay': config.imu_delay_deviation,
        'imu_rotation': config.imu_rotation_deviation,
        'imu_position': config.imu_position_deviation,
    }
    for name, rows in layout.groups.items():
        deviation[rows] = extra[name]
    return deviation


def start_spread(layout: StateLayout, state: Array, observe: Callable[[Array], Array]) -> Array:
    """How the start errs (n, n) by the pose's own errors and by the constants that it was computed with.

    The start pose is the platform's, but the state's position is the IMU's, whose place is not known exactly. And legs
    with offsets gave another pose.

    Parameters
    ----------
    state : (n,) at the start
    observe : the measurement model, leg lengths (L, N) of states (n, N)
    """
    spread = np.eye(layout.size)
    if layout.imu_position is not None:
        spread[POSITION, layout.imu_position] = rotation_of(state[ATTITUDE])
    if layout.leg_offsets is not None:
        pose = [*range(POSITION.start, POSITION.stop), *range(ATTITUDE.start, ATTITUDE.stop)]
        step = 1e-6 * np.eye(layout.size)[:, pose]
        lengths = observe(np.hstack([state[:, None] + step, state[:, None] - step]))
        slope = (lengths[:, :6] - lengths[:, 6:]) / 2e-6
        spread[np.ix_(pose, range(layout.leg_offsets.start, layout.leg_offsets.stop))] = -np.linalg.pinv(slope)
    return spread
