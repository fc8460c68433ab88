"""Motion of any point of the platform from the filter's state, with covariances (Miletovic et al. 2017, Eq. 29)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from pkm_description.kinematics.rotation import quaternion_from_matrix, rotation_exp, skew

from pkm_estimation.models import ACCELEROMETER_BIAS, ATTITUDE, GYROSCOPE_BIAS, POSITION, VELOCITY
from pkm_estimation.models.attitude_chart import scalar_part

if TYPE_CHECKING:
    from pkm_estimation.pipeline.platform_filter import PlatformFilter

Array = NDArray[np.float64]

_IDENTITY = np.eye(3)


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


def point_motion(filter_: PlatformFilter, imu: Array, point: Array | None = None) -> PointMotion:
    """Pose and twist of a point (3,) of the platform (default: origin) with the IMU sample (6,) of now (Eq. 29).

    The angular rate is the sample less its bias, so the twist's covariance contains the sample's noise, too (taken
    as independent of the state: the last prediction saw half of this sample, over one short interval).
    """
    layout, state, covariance = filter_.layout, filter_.ukf.state, filter_.ukf.covariance
    place, mounting = filter_.geometry.imu_position, _IDENTITY
    if layout.imu_position is not None:
        place = place + state[layout.imu_position]
    if layout.imu_rotation is not None:
        mounting = rotation_exp(state[layout.imu_rotation])
    arm = place if point is None else place - point  # from the point to the IMU
    arm_matrix = skew(arm)
    q = state[ATTITUDE]
    e0 = scalar_part(q)
    rotation, imu_point, velocity = filter_.rotation, filter_.imu_point, state[VELOCITY]
    omega = mounting @ (imu[3:] - state[GYROSCOPE_BIAS])
    lag: Array | None = None
    if layout.imu_delay is not None:  # the state lags by the rest of the delay: move on by it
        rest = state.item(layout.imu_delay.start)
        force = mounting @ (imu[:3] - state[ACCELEROMETER_BIAS])
        acceleration = force + rotation.T @ filter_.geometry.gravity
        change = acceleration - np.cross(omega, velocity)
        lag = np.concatenate([rotation @ velocity, rotation @ omega, change, np.zeros(3)])
        imu_point = imu_point + rest * lag[:3] + 0.5 * rest**2 * (rotation @ acceleration)
        rotation, velocity = rotation @ rotation_exp(rest * omega), velocity + rest * lag[6:9]
    base_arm = rotation @ arm

    jacobian = np.zeros((12, layout.size))  # position, rotation about base axes, velocity, angular velocity
    # the inverse of Q(q), turned to base axes: rotation about base axes per change of q
    rotation_by_q = filter_.chart.dot(_twice_inverse_rate_matrix(q, e0))
    jacobian[0:3, POSITION], jacobian[6:9, VELOCITY] = filter_.chart, _IDENTITY
    jacobian[0:3, ATTITUDE] = skew(base_arm) @ rotation_by_q
    jacobian[3:6, ATTITUDE] = rotation_by_q
    jacobian[6:9, GYROSCOPE_BIAS] = -arm_matrix @ mounting
    jacobian[9:12, GYROSCOPE_BIAS] = -mounting
    if layout.imu_position is not None:
        jacobian[0:3, layout.imu_position] = -rotation
        jacobian[6:9, layout.imu_position] = -skew(omega)
    if layout.imu_rotation is not None:  # to first order in the correction of the mounting
        jacobian[6:9, layout.imu_rotation] = -arm_matrix @ skew(omega)
        jacobian[9:12, layout.imu_rotation] = -skew(omega)
    if lag is not None:
        jacobian[:, layout.imu_delay] = lag[:, None]
        jacobian[0:3, layout.imu_delay] -= np.cross(lag[3:6], base_arm)[:, None]
    total = jacobian.dot(covariance).dot(jacobian.T)
    rate_noise = -jacobian[6:, GYROSCOPE_BIAS]  # a bias is a sample's error that stays
    total[6:, 6:] += rate_noise.dot(filter_.imu_covariance[3:, 3:]).dot(rate_noise.T)
    return PointMotion(
        imu_point - base_arm,
        quaternion_from_matrix(rotation),
        rotation,
        velocity + arm_matrix @ omega,  # V - omega x arm
        omega,
        total[:6, :6],
        total[6:, 6:],
    )


def _twice_inverse_rate_matrix(q: Array, e0: float) -> Array:
    """``2 (e0 I + skew(q) + q q^T / e0)`` (3, 3) in plain numbers: numpy takes longer to begin than to compute it."""
    x, y, z = (2.0 * q).tolist()
    half = 0.5 / e0
    xx, yy, zz, xy, xz, yz = half * x * x, half * y * y, half * z * z, half * x * y, half * x * z, half * y * z
    e = 2.0 * e0
    return np.array([[e + xx, xy - z, xz + y], [xy + z, e + yy, yz - x], [xz - y, yz + x, e + zz]])
