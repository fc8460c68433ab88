"""The filter of Miletovic et al. 2017 for one machine: start, prediction, correction, and motion of any point."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pkm_description.kinematics.rotation import quaternion_from_matrix, skew
from pkm_description.machine.model import Pose

from pkm_estimation.filters import INTEGRATORS, Innovation, ScaledUnscentedTransform, UnscentedKalmanFilter
from pkm_estimation.models import (
    ACCELEROMETER_BIAS,
    ATTITUDE,
    GYROSCOPE_BIAS,
    POSITION,
    STATE_SIZE,
    VELOCITY,
    EstimatorGeometry,
    InertialProcess,
    LegLengthModel,
)
from pkm_estimation.pipeline.config import EstimatorConfig

Array = NDArray[np.float64]


@dataclass(frozen=True)
class PointMotion:
    """Motion of a point of the platform.

    Attributes
    ----------
    position : (3,) m, base axes
    orientation : (4,) quaternion xyzw, platform axes in base axes
    rotation_base_platform : (3, 3)
    velocity, angular_velocity : (3,) m/s, rad/s, platform axes
    pose_covariance : (6, 6) of position and rotation about base axes
    twist_covariance : (6, 6) of velocity and angular velocity, platform axes
    """

    position: Array
    orientation: Array
    rotation_base_platform: Array
    velocity: Array
    angular_velocity: Array
    pose_covariance: Array
    twist_covariance: Array


class PlatformFilter:
    """UKF whose state describes the IMU's point (Miletovic Eq. 25); IMU samples are given in platform axes.

    Parameters
    ----------
    geometry : joint centres, IMU mounting, gravity; in any frames
    imu_covariance : (6, 6) of one IMU sample, specific force and angular rate in platform axes
    length_covariance : (L, L) m^2
    config : settings
    """

    def __init__(
        self, geometry: EstimatorGeometry, imu_covariance: Array, length_covariance: Array, config: EstimatorConfig
    ) -> None:
        self.geometry, self.config = geometry, config
        self.process = InertialProcess(geometry.gravity, INTEGRATORS[config.integrator])
        self.legs = LegLengthModel(geometry.base_points, geometry.platform_points_from_imu)
        self.imu_covariance = config.noise_inflation * config.q_scale * imu_covariance
        self.length_covariance = config.noise_inflation * config.r_scale * length_covariance
        self._imu_noise_factor: Array = np.linalg.cholesky(self.imu_covariance).astype(float)
        self._lever_matrix = skew(geometry.imu_position)
        transform = ScaledUnscentedTransform(STATE_SIZE, config.alpha, config.beta, config.kappa)
        self.ukf = UnscentedKalmanFilter(transform, np.zeros(STATE_SIZE), np.eye(STATE_SIZE))

    @property
    def state(self) -> Array:
        """State (15,), see :mod:`pkm_estimation.models.inertial_process`."""
        return self.ukf.state

    @property
    def covariance(self) -> Array:
        """Covariance of the state (15, 15)."""
        return self.ukf.covariance

    @property
    def outside_unit_sphere(self) -> int:
        """How many sigma points had ``q.q > 1`` so far."""
        return self.process.outside_unit_sphere + self.legs.outside_unit_sphere

    def start_at(self, pose: Pose) -> None:
        """Start from a known pose of the platform origin, at rest, biases unknown (S3-33)."""
        config = self.config
        rotation = pose.rotation_base_platform
        state = np.zeros(STATE_SIZE)
        state[POSITION] = pose.position + rotation @ self.geometry.imu_position
        state[ATTITUDE] = quaternion_from_matrix(rotation)[:3]
        self._start(state, config.start_position_deviation, config.start_attitude_deviation)

    def start_as_printed(self) -> None:
        """Start from the paper's far-off state (Miletovic 3.7)."""
        config = self.config
        state = np.zeros(STATE_SIZE)
        state[POSITION] = config.printed_start_position
        self._start(state, config.printed_start_position_deviation, config.printed_start_attitude_deviation)

    def _start(self, state: Array, position_deviation: float, attitude_deviation: float) -> None:
        config, deviation = self.config, np.zeros(STATE_SIZE)
        deviation[POSITION] = position_deviation
        deviation[ATTITUDE] = attitude_deviation
        deviation[VELOCITY] = config.start_velocity_deviation
        deviation[ACCELEROMETER_BIAS] = config.start_accelerometer_bias_deviation
        deviation[GYROSCOPE_BIAS] = config.start_gyroscope_bias_deviation
        self.ukf.state = state
        self.ukf.covariance = np.diag(deviation**2)

    def predict(self, imu_start: Array, imu_end: Array, duration: float, imu_interval: float) -> None:
        """Move on by ``duration`` seconds with IMU samples (6,) at both ends.

        ``imu_interval`` is the time between two IMU samples. One sample's error acts that long, so the noise is
        ``duration * imu_interval * G Q G^T``: the printed ``dt^2 G Q G^T`` where both are equal, and the same growth of
        the covariance where an interval is divided.
        """
        process = self.process
        noise = process.noise_factor(self.ukf.state, self._imu_noise_factor, (duration * imu_interval) ** 0.5)
        self.ukf.predict(lambda points: process.propagate(points, imu_start, imu_end, duration), noise)

    def update(self, lengths: Array, used: NDArray[np.intp] | None = None) -> Innovation:
        """Correct with leg lengths (L,), or with those of the legs ``used``; raises CovarianceError."""
        return self.ukf.update(self.legs.observe, lengths, self.length_covariance, used)

    def point_motion(self, imu: Array, point: Array | None = None) -> PointMotion:
        """Pose and twist of a point (3,) of the platform (default: origin) with the IMU sample (6,) of now (Eq. 29).

        The angular rate is the sample less its bias, so the twist's covariance contains the sample's noise, too (taken
        as independent of the state: the last prediction saw half of this sample, over one short interval).
        """
        state, covariance = self.ukf.state, self.ukf.covariance
        arm_matrix, arm = self._lever_matrix, self.geometry.imu_position  # from the point to the IMU
        if point is not None:
            arm = arm - point
            arm_matrix = skew(arm)
        q = state[ATTITUDE]
        e0 = max(1e-9, 1.0 - float(q @ q)) ** 0.5
        q_matrix, outer = skew(q), np.outer(q, q)
        rotation = (2.0 * e0 * e0 - 1.0) * np.eye(3) + 2.0 * outer + 2.0 * e0 * q_matrix
        base_arm = rotation @ arm
        omega = imu[3:] - state[GYROSCOPE_BIAS]

        jacobian = np.zeros((12, STATE_SIZE))  # position, rotation about base axes, velocity, angular velocity
        # the inverse of Q(q), turned to base axes: rotation about base axes per change of q
        rotation_by_q = 2.0 * (e0 * np.eye(3) + q_matrix + outer / e0)
        jacobian[0:3, POSITION] = jacobian[6:9, VELOCITY] = np.eye(3)
        jacobian[0:3, ATTITUDE] = skew(base_arm) @ rotation_by_q
        jacobian[3:6, ATTITUDE] = rotation_by_q
        jacobian[6:9, GYROSCOPE_BIAS] = -arm_matrix
        jacobian[9:12, GYROSCOPE_BIAS] = -np.eye(3)
        total = jacobian @ covariance @ jacobian.T
        rate_noise = np.concatenate([arm_matrix, np.eye(3)])
        total[6:, 6:] += rate_noise @ self.imu_covariance[3:, 3:] @ rate_noise.T
        return PointMotion(
            state[POSITION] - base_arm,
            np.array([*q, e0]),
            rotation,
            state[VELOCITY] + arm_matrix @ omega,  # V - omega x arm
            omega,
            total[:6, :6],
            total[6:, 6:],
        )
