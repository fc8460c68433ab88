"""What the estimator says about one leg measurement."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pkm_estimation.baseline import BaselineEstimate
from pkm_estimation.filters import Innovation
from pkm_estimation.pipeline.point_motion import PointMotion

Array = NDArray[np.float64]


@dataclass(frozen=True)
class EstimatorOutput:
    """Estimate at the stamp of one leg measurement.

    Attributes
    ----------
    stamp : ns
    started : True for the first estimate of a (re-)start, which is the start pose itself
    motion : pose and twist of the reference point (default: origin of ``platform_link``) with covariances
    specific_force, angular_rate : (3,) m/s^2, rad/s, IMU axes, less the estimated biases
    imu_covariance : (6, 6) of both, IMU axes: sensor noise and uncertainty of the biases
    linear_acceleration : (3,) m/s^2, IMU's point, IMU axes, gravity removed
    angular_acceleration : (3,) rad/s^2 and covariance (3, 3), IMU axes, as late as its differentiator; ``None`` while
        that settles
    accelerometer_bias, gyroscope_bias : (3,) IMU axes
    bias_deviation : (6,) standard deviations of both, IMU axes
    innovation : residual, its standard deviation and NIS; ``None`` for a start from forward kinematics
    state, state_deviation : (n,) the filter's own state (platform axes) and standard deviations
    lengths : (L,) m as measured, NaN where a leg was not used
    efforts : (L,) N as received with the measurement, NaN where absent
    baseline : the conventional estimate of the reference point, ``None`` where it found none
    """

    stamp: int
    started: bool
    motion: PointMotion
    specific_force: Array
    angular_rate: Array
    imu_covariance: Array
    linear_acceleration: Array
    angular_acceleration: tuple[Array, Array] | None
    accelerometer_bias: Array
    gyroscope_bias: Array
    bias_deviation: Array
    innovation: Innovation | None
    state: Array
    state_deviation: Array
    lengths: Array
    efforts: Array
    baseline: BaselineEstimate | None
