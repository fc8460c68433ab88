"""Estimates as messages; every number is copied as it is."""

from __future__ import annotations

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import AccelWithCovarianceStamped
from nav_msgs.msg import Odometry
from numpy.typing import NDArray
from pkm_description.errors import KinematicsError
from pkm_description.kinematics import leg_motion
from pkm_description.mechanism import Mechanism
from pkm_description.motion import PlatformMotion
from pkm_description.ros.conversions import point, quaternion, vector3
from sensor_msgs.msg import Imu, JointState

from pkm_estimation.pipeline import EstimatorOutput

Array = NDArray[np.float64]

BASE_FRAME, PLATFORM_FRAME = 'base_link', 'platform_link'


def odometry(
    time: Time,
    position: Array,
    orientation: Array,
    velocity: Array,
    angular_velocity: Array,
    pose_covariance: Array,
    twist_covariance: Array | None,
) -> Odometry:
    """``nav_msgs/Odometry``: pose in ``base_link``, twist in ``platform_link``; covariance 0 means unknown."""
    message = Odometry()
    message.header.stamp = time
    message.header.frame_id, message.child_frame_id = BASE_FRAME, PLATFORM_FRAME
    message.pose.pose.position = point(position)
    message.pose.pose.orientation = quaternion(orientation)
    message.pose.covariance = pose_covariance.ravel()
    message.twist.twist.linear = vector3(velocity)
    message.twist.twist.angular = vector3(angular_velocity)
    if twist_covariance is not None:
        message.twist.covariance = twist_covariance.ravel()
    return message


def imu(time: Time, frame: str, output: EstimatorOutput) -> Imu:
    """``sensor_msgs/Imu`` without biases, IMU axes; no orientation (REP 145: its covariance starts with -1)."""
    message = Imu()
    message.header.stamp = time
    message.header.frame_id = frame
    message.linear_acceleration = vector3(output.specific_force)
    message.angular_velocity = vector3(output.angular_rate)
    message.linear_acceleration_covariance = output.imu_covariance[:3, :3].ravel()
    message.angular_velocity_covariance = output.imu_covariance[3:, 3:].ravel()
    message.orientation_covariance[0] = -1.0
    return message


def acceleration(time: Time, frame: str, output: EstimatorOutput) -> AccelWithCovarianceStamped:
    """Acceleration of the IMU's point in IMU axes, gravity removed; angular acceleration is not known (variance -1)."""
    message = AccelWithCovarianceStamped()
    message.header.stamp = time
    message.header.frame_id = frame
    message.accel.accel.linear = vector3(output.linear_acceleration)
    covariance = np.zeros((6, 6))
    covariance[:3, :3] = output.imu_covariance[:3, :3]
    covariance[3, 3] = covariance[4, 4] = covariance[5, 5] = -1.0
    message.accel.covariance = covariance.ravel()
    return message


def joint_states(time: Time, mechanism: Mechanism, output: EstimatorOutput) -> JointState | None:
    """All joints of the legs, passive ones too; ``None`` at a pose where their angles are not defined.

    Efforts of the actuated joints are those of the measurement, the others NaN (not measured).
    """
    motion, rotation = output.motion, output.motion.rotation_base_platform
    zero = np.zeros((1, 3))
    sample = PlatformMotion(
        np.zeros(1),
        motion.position[None],
        rotation[None],
        (rotation @ motion.velocity)[None],
        (rotation @ motion.angular_velocity)[None],
        zero,  # accelerations are not needed for positions and velocities
        zero,
    )
    try:
        legs = leg_motion(mechanism, sample)
    except KinematicsError:
        return None
    message = JointState()
    message.header.stamp = time
    message.name = list(mechanism.joint_names)
    message.position = legs.positions[0].ravel().tolist()
    message.velocity = legs.velocities[0].ravel().tolist()
    efforts = np.full(legs.positions[0].shape, np.nan)
    efforts[:, mechanism.actuated_index] = output.efforts
    message.effort = efforts.ravel().tolist()
    return message
