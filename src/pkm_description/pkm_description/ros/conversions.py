"""Conversions between numbers and ROS messages: stamps, vectors, rotations; also reads rosbags' message objects."""

from __future__ import annotations

from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point, Quaternion, Transform, TransformStamped, Vector3
from numpy.typing import ArrayLike

from pkm_description.arrays import Array
from pkm_description.kinematics.rotation import quaternion_from_matrix


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
    # not by transforms3d, which takes ten times as long: nodes send many frames, up to a thousand times a second
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
