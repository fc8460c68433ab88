"""Simulated samples as sensor messages."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from builtin_interfaces.msg import Time
from nav_msgs.msg import Odometry
from pkm_description.arrays import Array
from pkm_description.driver_streams import DriverStreams
from pkm_description.kinematics.rotation import quaternion_from_matrix
from pkm_description.machine import Machine
from pkm_description.ros.frames import Frames
from sensor_msgs.msg import Imu, JointState

from pkm_bringup.simulation import ImuSample, JointSample, TruthSample


class SampleMessages:
    """Builds messages of one machine; what never changes (names, frames, covariances) is prepared once.

    Parameters
    ----------
    machine : names, driver and IMU data
    frames : frame ids of the headers
    noise : whether the sensors are noisy; covariances say so (REP 145: zero would mean unknown)

    """

    def __init__(self, machine: Machine, frames: Frames, noise: bool) -> None:
        self._streams = DriverStreams(machine)
        self._drive_names = machine.driver.joint_names or machine.actuated_joint_names
        self._frames = frames
        self._accelerometer_covariance = _covariance(machine.imu.accelerometer_noise, noise)
        self._gyroscope_covariance = _covariance(machine.imu.gyroscope_noise, noise)

    def joint_state(self, stamp: Time, sample: JointSample, missing: Collection[int] = ()) -> JointState:
        """Positions, velocities and efforts of the drives, as the driver publishes them; not of ``missing`` legs."""
        shown = self._streams.joint_states(sample.positions, sample.velocities, sample.efforts)
        columns = [list(shown.names), *(values.tolist() for values in shown[1:])]
        if missing:
            lost = {self._drive_names[leg] for leg in missing}
            there = [place for place, name in enumerate(shown.names) if name not in lost]
            columns = [[values[place] for place in there] for values in columns]
        message = JointState()
        message.header.stamp = stamp
        message.name, message.position, message.velocity, message.effort = columns
        return message

    def imu(self, stamp: Time, sample: ImuSample) -> Imu:
        """Specific force and angular rate; no orientation, which REP 145 marks by -1."""
        message = Imu()
        message.header.stamp = stamp
        message.header.frame_id = self._frames.imu
        force, rate = message.linear_acceleration, message.angular_velocity
        specific_force, angular_rate = self._streams.imu(sample.specific_force, sample.angular_rate)
        force.x, force.y, force.z = specific_force.tolist()
        rate.x, rate.y, rate.z = angular_rate.tolist()
        message.orientation_covariance[0] = -1.0
        message.linear_acceleration_covariance = self._accelerometer_covariance
        message.angular_velocity_covariance = self._gyroscope_covariance
        return message

    def odometry(self, stamp: Time, sample: TruthSample) -> Odometry:
        """True pose in base_link, twist in platform_link axes; covariances are zero."""
        message = Odometry()
        message.header.stamp = stamp
        message.header.frame_id, message.child_frame_id = self._frames.base, self._frames.platform
        position, orientation = message.pose.pose.position, message.pose.pose.orientation
        position.x, position.y, position.z = sample.position.tolist()
        quaternion = quaternion_from_matrix(sample.rotation_base_platform)
        orientation.x, orientation.y, orientation.z, orientation.w = quaternion.tolist()
        to_platform = sample.rotation_base_platform.T
        linear, angular = message.twist.twist.linear, message.twist.twist.angular
        linear.x, linear.y, linear.z = (to_platform @ sample.linear_velocity).tolist()
        angular.x, angular.y, angular.z = (to_platform @ sample.angular_velocity).tolist()
        return message


def _covariance(std: Array, noise: bool) -> Array:
    """Row-major 3 x 3 covariance; a noise-free sensor gets a tiny one, because zeros mean unknown."""
    variance = std**2 if noise else np.full(3, 1e-18)
    return np.diag(variance).ravel()
