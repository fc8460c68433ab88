"""Conversions between numbers and ROS messages: stamps, vectors, rotations; also reads rosbags' message objects."""

from __future__ import annotations

from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point, Quaternion, Transform, TransformStamped, Vector3
from numpy.typing import ArrayLike
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import Imu, JointState

from pkm_description.arrays import Array
from pkm_description.joint_states import JointOrder, JointStateReader
from pkm_description.kinematics.rotation import quaternion_from_matrix
from pkm_description.machine import Machine
from pkm_description.ros.serialized import read_joint_state


def nanoseconds(stamp: Any) -> int:
    """Nanoseconds of a ``builtin_interfaces/Time`` (of rclpy or of rosbags); no float ever holds a stamp."""
    return int(stamp.sec) * 1_000_000_000 + int(stamp.nanosec)


def stamp(time_ns: int) -> Time:
    """``builtin_interfaces/Time`` of nanoseconds."""
    seconds, rest = divmod(int(time_ns), 1_000_000_000)
    return Time(sec=seconds, nanosec=rest)


def vector3(values: ArrayLike) -> Vector3:
    """``geometry_msgs/Vector3`` of three numbers."""
    x, y, z = np.asarray(values, dtype=float).tolist()
    return Vector3(x=x, y=y, z=z)


def point(values: ArrayLike) -> Point:
    """``geometry_msgs/Point`` of three numbers."""
    x, y, z = np.asarray(values, dtype=float).tolist()
    return Point(x=x, y=y, z=z)


def quaternion(xyzw: ArrayLike) -> Quaternion:
    """``geometry_msgs/Quaternion`` of x, y, z, w."""
    x, y, z, w = np.asarray(xyzw, dtype=float).tolist()
    return Quaternion(x=x, y=y, z=z, w=w)


def quaternion_of_rotation(rotation: Array) -> Quaternion:
    """``geometry_msgs/Quaternion`` of a rotation matrix (3, 3)."""
    return quaternion(quaternion_from_matrix(rotation))


def array3(message: Any) -> Array:
    """Three numbers (3,) of a Point or Vector3."""
    return np.array([message.x, message.y, message.z], dtype=float)


def array4(message: Any) -> Array:
    """x, y, z, w (4,) of a Quaternion."""
    return np.array([message.x, message.y, message.z, message.w], dtype=float)


def transform_stamped(
    time_ns: int, parent: str, child: str, position: ArrayLike, rotation: Array
) -> TransformStamped:
    """``geometry_msgs/TransformStamped`` of a pose: position (3,) m, rotation parent <- child (3, 3)."""
    message = TransformStamped()
    message.header.stamp = stamp(time_ns)
    message.header.frame_id = parent
    message.child_frame_id = child
    message.transform = Transform(translation=vector3(position), rotation=quaternion_of_rotation(rotation))
    return message


class StandardStreams:
    """Converts serialised messages of a machine's driver.

    Parameters
    ----------
    machine : with its driver
    """

    def __init__(self, machine: Machine) -> None:
        self._reader = JointStateReader.of_drives(machine)
        self._imu = machine.driver.imu

    def joint_state(self, data: bytes) -> JointState:
        """Joint state of the drives that the message has: their names in the machine file, its order and SI units.

        Raises
        ------
        JointStateError
            There are more or fewer values than names, or a joint is named twice.
        struct.error, ValueError, RuntimeError
            The bytes are no joint state.
        """
        reading = read_joint_state(data)
        order = self._reader.order(reading.names)
        message = JointState()
        message.header.stamp = stamp(reading.stamp)
        message.name = [order.wanted[joint] for joint in order.joints]
        message.position = self._values(order, reading.positions, 'position')
        message.velocity = self._values(order, reading.velocities, 'velocity', reading.positions)
        message.effort = self._values(order, reading.efforts, 'effort')
        return message

    def _values(self, order: JointOrder, values: Array, quantity: str, at: Array | None = None) -> list[float]:
        """Values of the joints that are there; none, if the message has none."""
        if not len(values):
            return []
        return order.by_joint(values, quantity, at)[order.joints].tolist()

    def imu(self, data: bytes) -> Imu:
        """IMU sample in m/s^2 and rad/s; frame, orientation and stamp stay.

        Raises
        ------
        RuntimeError
            The bytes are no IMU message.
        """
        message: Imu = deserialize_message(data, Imu)
        force, rate = message.linear_acceleration, message.angular_velocity
        force.x, force.y, force.z = self._imu.specific_force(array3(force)).tolist()
        rate.x, rate.y, rate.z = self._imu.angular_rate(array3(rate)).tolist()
        # a negative first entry says that there is no such measurement, zeros that nothing is known
        for covariance, scale in (
            (message.linear_acceleration_covariance, self._imu.acceleration_scale),
            (message.angular_velocity_covariance, self._imu.rate_scale),
        ):
            covariance[:] = np.where(covariance[0] < 0.0, covariance, covariance * scale**2)
        return message
