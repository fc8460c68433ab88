"""Serialised messages of one topic to arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rosbags.serde import SerdeError
from rosbags.typesys import Stores, get_typestore

from pkm_estimation.bags.recorded_data import Acceleration, Array, Imu, JointMessage, JointStates, Odometry, Stamps

# The types used here have the same definition from Jazzy to Lyrical.
TYPESTORE = get_typestore(Stores.ROS2_JAZZY)


def _messages(data: Sequence[bytes], message_type: str) -> list[Any]:
    messages: list[Any] = []
    for item in data:
        try:
            messages.append(TYPESTORE.deserialize_cdr(item, message_type))
        except SerdeError as error:
            raise ValueError(f'message {len(messages)} cannot be read: {error}') from None
    return messages


def _stamps(messages: Sequence[Any]) -> Stamps:
    return np.array(
        [item.header.stamp.sec * 10**9 + item.header.stamp.nanosec for item in messages], dtype=np.int64
    )


def _vectors(items: Sequence[Any]) -> Array:
    return np.array([(item.x, item.y, item.z) for item in items], dtype=float)


def _quaternions(items: Sequence[Any]) -> Array:
    return np.array([(item.x, item.y, item.z, item.w) for item in items], dtype=float)


def _covariances(items: Sequence[NDArray[np.float64]]) -> Array:
    return np.array(items, dtype=float).reshape(-1, 6, 6)


def joint_states(recorded_at: Stamps, data: Sequence[bytes], as_recorded: bool = False) -> JointStates:
    """Decode ``sensor_msgs/JointState``.

    Raises ValueError if names change or lengths do not fit, unless ``as_recorded`` keeps such messages apart.
    """
    messages = _messages(data, 'sensor_msgs/msg/JointState')
    names = tuple(messages[0].name)
    unlike: dict[int, JointMessage] = {}
    for index, message in enumerate(messages):
        trouble = _unlike(message, names, index)
        if trouble and not as_recorded:
            raise ValueError(trouble)
        if trouble or (as_recorded and len(message.position) < len(names)):
            unlike[index] = JointMessage(tuple(message.name), message.position, message.effort)

    def rows(field: str) -> Array:
        values = np.full((len(messages), len(names)), np.nan)
        for index, message in enumerate(messages):
            row = getattr(message, field)
            if len(row) and index not in unlike:
                values[index] = row
        return values

    return JointStates(
        _stamps(messages), recorded_at, names, rows('position'), rows('velocity'), rows('effort'), unlike
    )


def _unlike(message: Any, names: tuple[str, ...], index: int) -> str:
    """In what a message differs from one with these names and as many numbers, or none."""
    if tuple(message.name) != names:
        return f'joint names change: message 0 has {list(names)}, message {index} has {list(message.name)}'
    for field in ('position', 'velocity', 'effort'):
        count = len(getattr(message, field))
        if count not in (0, len(names)):
            return f'message {index} has {len(names)} names and {count} entries of {field}'
    return ''


def imu(recorded_at: Stamps, data: Sequence[bytes]) -> Imu:
    """Decode ``sensor_msgs/Imu``."""
    messages = _messages(data, 'sensor_msgs/msg/Imu')
    return Imu(
        _stamps(messages),
        recorded_at,
        messages[0].header.frame_id,
        _vectors([item.linear_acceleration for item in messages]),
        _vectors([item.angular_velocity for item in messages]),
        _quaternions([item.orientation for item in messages]),
    )


def odometry(recorded_at: Stamps, data: Sequence[bytes]) -> Odometry:
    """Decode ``nav_msgs/Odometry``."""
    messages = _messages(data, 'nav_msgs/msg/Odometry')
    return Odometry(
        _stamps(messages),
        _vectors([item.pose.pose.position for item in messages]),
        _quaternions([item.pose.pose.orientation for item in messages]),
        _vectors([item.twist.twist.linear for item in messages]),
        _vectors([item.twist.twist.angular for item in messages]),
        _covariances([item.pose.covariance for item in messages]),
        _covariances([item.twist.covariance for item in messages]),
        recorded_at,
        messages[0].header.frame_id,
        messages[0].child_frame_id,
    )


def acceleration(recorded_at: Stamps, data: Sequence[bytes]) -> Acceleration:
    """Decode ``geometry_msgs/AccelWithCovarianceStamped``."""
    messages = _messages(data, 'geometry_msgs/msg/AccelWithCovarianceStamped')
    return Acceleration(
        _stamps(messages),
        recorded_at,
        messages[0].header.frame_id,
        _vectors([item.accel.accel.linear for item in messages]),
        _vectors([item.accel.accel.angular for item in messages]),
        _covariances([item.accel.covariance for item in messages]),
    )
