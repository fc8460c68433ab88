"""Serialised messages of one topic to arrays."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rosbags.serde import SerdeError
from rosbags.typesys import Stores, get_typestore

from pkm_estimation.bags.alike import as_table
from pkm_estimation.bags.recorded_data import Acceleration, Array, Imu, JointMessage, JointStates, Odometry, Stamps

# The types used here have the same definition from Jazzy to Lyrical.
TYPESTORE = get_typestore(Stores.ROS2_JAZZY)


Messages = list[Any] | NDArray[np.void]


def _messages(data: Sequence[bytes], message_type: str) -> tuple[Any, Messages]:
    """The first message, and all of them: as a table if they are alike, else one by one."""
    table = as_table(data, message_type, TYPESTORE)
    if table is not None:
        return TYPESTORE.deserialize_cdr(data[0], message_type), table
    messages = _one_by_one(data, message_type)
    return messages[0], messages


def _one_by_one(data: Sequence[bytes], message_type: str) -> list[Any]:
    messages: list[Any] = []
    for item in data:
        try:
            messages.append(TYPESTORE.deserialize_cdr(item, message_type))
        except SerdeError as error:
            raise ValueError(f'message {len(messages)} cannot be read: {error}') from None
    return messages


def _column(messages: Messages, path: str) -> NDArray[Any]:
    """A field of all messages (N, ...), e.g. ``header.stamp.sec``."""
    if isinstance(messages, list):
        return np.array(list(map(attrgetter(path), messages)))
    column: NDArray[Any] = messages
    for name in path.split('.'):
        column = column[name]
    return column


def _stamps(messages: Messages) -> Stamps:
    seconds, rest = (_column(messages, f'header.stamp.{name}').astype(np.int64) for name in ('sec', 'nanosec'))
    return seconds * 10**9 + rest


def _vectors(messages: Messages, path: str, axes: str = 'xyz') -> Array:
    return np.stack([_column(messages, f'{path}.{axis}') for axis in axes], axis=1).astype(float)


def _quaternions(messages: Messages, path: str) -> Array:
    return _vectors(messages, path, 'xyzw')


def _covariances(messages: Messages, path: str) -> Array:
    return _column(messages, path).astype(float).reshape(-1, 6, 6)


def joint_states(recorded_at: Stamps, data: Sequence[bytes], as_recorded: bool = False) -> JointStates:
    """Decode ``sensor_msgs/JointState``.

    Raises ValueError if names change or lengths do not fit, unless ``as_recorded`` keeps such messages apart.
    """
    first, messages = _messages(data, 'sensor_msgs/msg/JointState')
    names = tuple(first.name)
    unlike: dict[int, JointMessage] = {}
    if not isinstance(messages, list) and (_unlike(first, names, 0) or len(first.position) < len(names)):
        messages = _one_by_one(data, 'sensor_msgs/msg/JointState')
    for index, message in enumerate(messages if isinstance(messages, list) else []):
        trouble = _unlike(message, names, index)
        if trouble and not as_recorded:
            raise ValueError(trouble)
        if trouble or (as_recorded and len(message.position) < len(names)):
            unlike[index] = JointMessage(tuple(message.name), message.position, message.effort)

    def rows(field: str) -> Array:
        values = np.full((len(messages), len(names)), np.nan)
        if not isinstance(messages, list):
            if len(getattr(first, field)):
                values[:] = messages[field]
            return values
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
    first, messages = _messages(data, 'sensor_msgs/msg/Imu')
    return Imu(
        _stamps(messages),
        recorded_at,
        first.header.frame_id,
        _vectors(messages, 'linear_acceleration'),
        _vectors(messages, 'angular_velocity'),
        _quaternions(messages, 'orientation'),
        _stated_covariances(messages),
    )


def _stated_covariances(messages: Messages) -> Array:
    """Of specific force and angular rate (N, 18); takes no memory where they are all the same."""
    force, rate = (_column(messages, f'{name}_covariance') for name in ('linear_acceleration', 'angular_velocity'))
    if all((numbers == numbers[0]).all() for numbers in (force, rate)):
        return np.broadcast_to(np.concatenate([force[0], rate[0]]), (len(force), 18))
    return np.concatenate([force, rate], axis=1)


def odometry(recorded_at: Stamps, data: Sequence[bytes]) -> Odometry:
    """Decode ``nav_msgs/Odometry``."""
    first, messages = _messages(data, 'nav_msgs/msg/Odometry')
    return Odometry(
        _stamps(messages),
        _vectors(messages, 'pose.pose.position'),
        _quaternions(messages, 'pose.pose.orientation'),
        _vectors(messages, 'twist.twist.linear'),
        _vectors(messages, 'twist.twist.angular'),
        _covariances(messages, 'pose.covariance'),
        _covariances(messages, 'twist.covariance'),
        recorded_at,
        first.header.frame_id,
        first.child_frame_id,
    )


def acceleration(recorded_at: Stamps, data: Sequence[bytes]) -> Acceleration:
    """Decode ``geometry_msgs/AccelWithCovarianceStamped``."""
    first, messages = _messages(data, 'geometry_msgs/msg/AccelWithCovarianceStamped')
    return Acceleration(
        _stamps(messages),
        recorded_at,
        first.header.frame_id,
        _vectors(messages, 'accel.accel.linear'),
        _vectors(messages, 'accel.accel.angular'),
        _covariances(messages, 'accel.covariance'),
    )
