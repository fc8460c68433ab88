"""Conversion of estimates to ROS messages; numbers are not changed."""

from __future__ import annotations

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import AccelWithCovarianceStamped
from pkm_description.arrays import Array
from pkm_description.errors import KinematicsError
from pkm_description.kinematics import joint_rates
from pkm_description.kinematics.rotation import cross
from pkm_description.machine import Machine
from pkm_description.ros.conversions import vector3
from sensor_msgs.msg import Imu, JointState

from pkm_estimation.stream import EstimatorOutput
from pkm_estimation.stream.innovations import innovation_row

#: covariance (6, 6) that says nothing
UNKNOWN = np.zeros((6, 6))


def imu(time: Time, frame: str, output: EstimatorOutput) -> Imu:
    """``sensor_msgs/Imu`` without biases, IMU axes; no orientation (REP 145: its covariance starts with -1)."""
    message = Imu()
    message.header.stamp = time
    message.header.frame_id = frame
    message.linear_acceleration = vector3(output.inertial.specific_force)
    message.angular_velocity = vector3(output.inertial.angular_rate)
    message.linear_acceleration_covariance = output.inertial.imu_covariance[:3, :3].ravel()
    message.angular_velocity_covariance = output.inertial.imu_covariance[3:, 3:].ravel()
    message.orientation_covariance[0] = -1.0
    return message


def acceleration(time: Time, frame: str, output: EstimatorOutput) -> AccelWithCovarianceStamped:
    """Acceleration of the IMU's point, gravity removed, and angular acceleration, both in IMU axes.

    The angular acceleration lags by the differentiator's lag; while that settles it is zero with variance -1.
    """
    message = AccelWithCovarianceStamped()
    message.header.stamp = time
    message.header.frame_id = frame
    message.accel.accel.linear = vector3(output.inertial.linear_acceleration)
    covariance = np.zeros((6, 6))
    covariance[:3, :3] = output.inertial.imu_covariance[:3, :3]
    if output.angular_acceleration is None:
        covariance[3, 3] = covariance[4, 4] = covariance[5, 5] = -1.0
    else:
        value, covariance[3:, 3:] = output.angular_acceleration
        message.accel.accel.angular = vector3(value)
    message.accel.covariance = covariance.ravel()
    return message


def innovations(time: Time, names: list[str], output: EstimatorOutput) -> JointState:
    """Innovation, standard deviation and NIS of each leg, and the NIS of all, as positions of those names."""
    message = JointState()
    message.header.stamp = time
    message.name = names
    message.position = innovation_row(output).tolist()
    return message


def joint_states(time: Time, machine: Machine, output: EstimatorOutput, point: Array) -> JointState | None:
    """All joints of the legs, passive ones too; ``None`` at a pose where their angles are not defined.

    The estimate is that of the reference point (3,) of the platform.
    Efforts of the actuated joints are those of the measurement, the others NaN (not measured).
    """
    motion, rotation = output.motion, output.motion.rotation_base_platform
    position = motion.position - rotation @ point
    velocity = rotation @ (motion.velocity - cross(motion.angular_velocity, point))
    turning = rotation @ motion.angular_velocity
    try:
        positions, velocities = joint_rates(
            machine, position, rotation, velocity, turning
        )
    except KinematicsError:
        return None
    message = JointState()
    message.header.stamp = time
    message.name = list(machine.joint_names)
    message.position = positions.tolist()
    message.velocity = velocities.tolist()
    efforts = np.full(len(machine.joints), np.nan)
    efforts[machine.drive_columns] = output.efforts
    message.effort = efforts.tolist()
    return message
