"""Result of an offline estimation: arrays over all estimates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array

from pkm_estimation.motion_estimate import MotionEstimate
from pkm_estimation.stream.health import HealthReport


@dataclass(frozen=True)
class EstimationResult:
    """N estimates of a whole recording, one per measurement of the drives; arrays have the leading axis N.

    The first estimates are uncertain until velocity and biases have converged, see ``motion.twist_covariance`` and
    ``bias_std``. ``nis`` shows whether the filter is consistent: its mean is the number of legs if the noise is that of
    the machine file, and many times larger if the model is wrong.

    Attributes
    ----------
    motion : by the filter: ``stamps`` (N,) ns, ``position`` (N, 3) m, ``orientation`` (N, 4) xyzw, ``linear_velocity``,
        ``angular_velocity`` (N, 3) in platform axes, ``pose_covariance``, ``twist_covariance`` (N, 6, 6)
    baseline : the same by forward kinematics and differentiation, without the IMU; M <= N samples with stamps
    started : (N,) True where the filter (re-)started
    accelerometer_bias, gyroscope_bias : (N, 3) m/s^2, rad/s, IMU axes
    bias_std : (N, 6) their standard deviations
    drive_positions : (N, L) m or rad, as measured; NaN for legs without a usable position
    innovation, innovation_std : (N, L) m, NaN at starts and for legs that were not used
    nis : (N,) normalised innovation squared, NaN at starts
    specific_force, angular_rate, linear_acceleration : (N, 3) IMU axes, bias-corrected
    angular_acceleration : (N, 3) rad/s^2, IMU axes, with the differentiator's lag; NaN while that settles
    state, state_std : (N, n) the filter's own states and standard deviations; of an IMU delay the whole one
    extra_states : columns of the further states that were estimated, by name
    by_legs_alone : (N,) True where the IMU was left out: specific force and rate are then the legs', biases NaN
    mode_unknown : (N,) True where the assembly mode was in doubt: the pose is the likeliest, its covariance covers all
    health : counters and events of the whole run
    is_smoothed : whether motion, biases, states and corrected samples take later measurements into account, too;
        innovations, ``nis`` and what ``health`` says are the filter's
    """

    motion: MotionEstimate
    baseline: MotionEstimate
    started: NDArray[np.bool_]
    accelerometer_bias: Array
    gyroscope_bias: Array
    bias_std: Array
    drive_positions: Array
    innovation: Array
    innovation_std: Array
    nis: Array
    specific_force: Array
    angular_rate: Array
    linear_acceleration: Array
    angular_acceleration: Array
    state: Array
    state_std: Array
    by_legs_alone: NDArray[np.bool_]
    mode_unknown: NDArray[np.bool_]
    extra_states: dict[str, slice]
    health: HealthReport
    is_smoothed: bool = False

    def __len__(self) -> int:
        return len(self.motion)
