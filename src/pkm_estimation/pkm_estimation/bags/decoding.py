"""Serialised messages of one topic to arrays."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rosbags.interfaces import Nodetype
from rosbags.serde import SerdeError
from rosbags.typesys import Stores, get_typestore
from rosbags.typesys.store import Typestore

from pkm_estimation.bags.recorded_data import Array, Imu, JointMessage, JointStates, Odometry, Stamps

#: what a serialised message begins with: plain CDR, little endian, and options
_HEADER = 4
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
        _vectors(messages, 'orientation', 'xyzw'),
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
        _vectors(messages, 'pose.pose.orientation', 'xyzw'),
        _vectors(messages, 'twist.twist.linear'),
        _vectors(messages, 'twist.twist.angular'),
        _covariances(messages, 'pose.covariance'),
        _covariances(messages, 'twist.covariance'),
        recorded_at,
        first.header.frame_id,
        first.child_frame_id,
    )


# Messages of one topic that differ in numbers only, decoded all at once.
#
# A recording of a minute holds 60 000 messages of IMU and joints each, all of the same names and lengths: their numbers
# lie at the same places. So the places are found in the first message, and the bytes of all are seen as a table.
def as_table(data: Sequence[bytes], message_type: str, types: Typestore) -> NDArray[np.void] | None:
    """Numbers of N messages as a structured array (N,) with the fields of the message, less its texts.

    ``None`` where the messages differ in more than numbers, or hold what has no place in a table.
    """
    size = len(data[0])
    if data[0][:2] != b'\0\1' or {*map(len, data)} != {size}:
        return None
    places = _Places(data[0], types)
    try:
        row = places.of_message(message_type)
    except (struct.error, TypeError, KeyError):  # who decodes them one by one will say what is wrong
        return None
    if places.end > size:
        return None
    table = np.frombuffer(b''.join(data), dtype=np.uint8).reshape(len(data), size)
    texts = np.array(places.texts, dtype=np.intp)
    if not (table[:, texts] == table[0, texts]).all():
        return None
    numbers = np.ascontiguousarray(table[:, _HEADER : places.end])
    return numbers.view(row)[:, 0]


class _Places:
    """Goes through a message and notes where its numbers are.

    Attributes
    ----------
    end : place behind what was seen so far
    texts : places of the bytes that must be the same in all messages: texts and lengths
    """

    def __init__(self, message: bytes, types: Typestore) -> None:
        self._message, self._types = message, types
        self.end = _HEADER
        self.texts = [*range(_HEADER)]

    def of_message(self, message_type: str) -> np.dtype[np.void]:
        """Structure of a message that begins here."""
        begin = self.end
        names, formats, offsets = [], [], []
        fields: Any = self._types.fielddefs[message_type][1]
        for name, (node, detail) in fields:
            number: Any = None
            if node == Nodetype.NAME:
                offset = self.end
                number = self.of_message(detail)
            elif node == Nodetype.BASE:
                number, offset = self._of_base(detail[0], None)
            else:
                (kind, (item, _)), count = detail
                if kind != Nodetype.BASE:
                    raise TypeError(f'{name}: messages in a sequence')
                number, offset = self._of_base(item, self._length() if node == Nodetype.SEQUENCE else count)
            if number is not None:
                names.append(name)
                formats.append(number)
                offsets.append(offset - begin)
        layout: Any = {'names': names, 'formats': formats, 'offsets': offsets, 'itemsize': self.end - begin}
        return np.dtype(layout)

    def _of_base(self, item: str, count: int | None) -> tuple[Any, int]:
        """Format and place of a number, or of ``count`` of them; texts have none."""
        if item == 'string':
            for _ in range(1 if count is None else count):
                length = self._length()
                self.texts += range(self.end, self.end + length)
                self.end += length
            return None, self.end
        number = np.dtype(item).newbyteorder('<')
        if count != 0:
            self._align(number.itemsize)
        begin = self.end
        self.end += number.itemsize * (1 if count is None else count)
        return (number if count is None else (number, (count,))), begin

    def _length(self) -> int:
        """Length of a text or sequence, which stands before it."""
        self._align(4)
        (length,) = struct.unpack_from('<I', self._message, self.end)
        self.texts += range(self.end, self.end + 4)
        self.end += 4
        return int(length)

    def _align(self, size: int) -> None:
        self.end = _HEADER + -(-(self.end - _HEADER) // size) * size
