"""Serialised messages of one topic to arrays, and back."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rosbags.serde import SerdeError
from rosbags.typesys import Stores, get_typestore

from pkm_estimation.bags.recorded_data import Array, Imu, JointMessage, JointStates, Odometry, Stamps

# The types used here have the same definition from Jazzy to Lyrical.
TYPESTORE = get_typestore(Stores.ROS2_JAZZY)
#: where a serialised message has its stamp, behind the header of CDR (plain, little endian)
_STAMP, _PLAIN = slice(4, 12), b'\0\1'
#: a number none of whose bytes is zero
(_FULL,) = struct.unpack('<d', b'\1' * 8)


def joint_states(recorded_at: Stamps, data: Sequence[bytes], as_recorded: bool = False) -> JointStates:
    """Decode ``sensor_msgs/JointState``.

    Raises ValueError if names change or lengths do not fit, unless ``as_recorded`` keeps such messages apart.
    """
    kind = 'sensor_msgs/msg/JointState'
    table = as_table(data, kind)
    if table is not None and not _unlike(table[0], tuple(table[0].name), 0) and len(table[0].position):
        first, stamps, rows = table
        lengths = [len(part) for part in (first.position, first.velocity, first.effort)]
        none = np.full((len(data), len(first.name)), np.nan)
        parts = np.split(rows, np.cumsum(lengths)[:2], axis=1)
        position, velocity, effort = (part if count else none for part, count in zip(parts, lengths, strict=True))
        return JointStates(stamps, recorded_at, tuple(first.name), position, velocity, effort)
    messages = _one_by_one(data, kind)
    names = tuple(messages[0].name)
    unlike: dict[int, JointMessage] = {}
    position, velocity, effort = np.full((3, len(messages), len(names)), np.nan)
    for index, message in enumerate(messages):
        trouble = _unlike(message, names, index)
        if trouble and not as_recorded:
            raise ValueError(trouble)
        if trouble or (as_recorded and len(message.position) < len(names)):
            unlike[index] = JointMessage(tuple(message.name), message.position, message.effort)
            continue
        for values, row in ((position, message.position), (velocity, message.velocity), (effort, message.effort)):
            if len(row):
                values[index] = row
    return JointStates(_stamps(messages), recorded_at, names, position, velocity, effort, unlike)


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
    first, stamps, rows = _rows(data, 'sensor_msgs/msg/Imu')
    stated = np.concatenate([rows[:, 28:37], rows[:, 16:25]], axis=1)
    if (stated == stated[0]).all():  # takes no memory where they are all the same
        stated = np.broadcast_to(stated[0].copy(), stated.shape)
    force, rate, turn = rows[:, 25:28], rows[:, 13:16], rows[:, :4]
    return Imu(stamps, recorded_at, first.header.frame_id, force.copy(), rate.copy(), turn.copy(), stated)


def odometry(recorded_at: Stamps, data: Sequence[bytes]) -> Odometry:
    """Decode ``nav_msgs/Odometry``."""
    first, stamps, rows = _rows(data, 'nav_msgs/msg/Odometry')
    position, orientation, pose, linear, angular, twist = np.split(rows, [3, 7, 43, 46, 49], axis=1)
    return Odometry(
        stamps, position, orientation, linear, angular, pose.reshape(-1, 6, 6), twist.reshape(-1, 6, 6), recorded_at,
        first.header.frame_id, first.child_frame_id,
    )  # fmt: skip


def _rows(data: Sequence[bytes], message_type: str) -> tuple[Any, Stamps, Array]:
    """The first message, stamps (N,) [ns] and numbers (N, D) of all, in the order of their fields."""
    table = as_table(data, message_type)
    if table is not None:
        return table
    messages = _one_by_one(data, message_type)
    return messages[0], _stamps(messages), np.array([np.concatenate([*_numbers(message)]) for message in messages])


def as_table(data: Sequence[bytes], message_type: str) -> tuple[Any, Stamps, Array] | None:
    """What :func:`_rows` gives, of messages that differ in numbers only, decoded all at once; ``None`` of others.

    A recording of a minute holds 60 000 messages of IMU and joints each, all of the same names and lengths: their
    numbers lie at the same places. These are the bytes that change when other numbers are put into the first message.
    """
    try:
        first = TYPESTORE.deserialize_cdr(data[0], message_type)
    except (SerdeError, struct.error):  # who decodes them one by one will say what is wrong
        return None
    blank, is_number = _places(first, message_type)
    size = len(data[0])
    if data[0][:2] != _PLAIN or {*map(len, data)} != {size} or len(blank) > size:
        return None
    is_text = blank != 0  # and lengths; what fills up may be anything
    is_text[_STAMP] = False
    table = np.frombuffer(b''.join(data), dtype=np.uint8).reshape(len(data), size)[:, : len(blank)]
    if not (table[:, is_text] == table[0, is_text]).all():
        return None
    seconds, rest = np.ascontiguousarray(table[:, _STAMP]).view('<u4').astype(np.int64).T
    numbers = np.ascontiguousarray(table[:, is_number]).view('<f8').astype(float)
    return first, seconds.astype(np.int32) * np.int64(10**9) + rest, numbers


def encoded(message: Any, message_type: str, stamps: Stamps, rows: Array) -> list[bytes]:
    """Serialised messages like one, with other stamps (N,) [ns] and numbers (N, D), in the order of its fields."""
    blank, is_number = _places(message, message_type)
    table = np.tile(blank, (len(rows), 1))
    table[:, _STAMP] = np.stack(np.divmod(stamps, 10**9), axis=1).astype('<i4').view(np.uint8)
    table[:, is_number] = np.ascontiguousarray(rows, dtype='<f8').view(np.uint8)
    return [row.tobytes() for row in table]


def _places(message: Any, message_type: str) -> tuple[NDArray[np.uint8], NDArray[np.bool_]]:
    """A serialised message with zeros as its numbers, and which of its bytes are those."""
    blank, full = (
        np.frombuffer(bytes(TYPESTORE.serialize_cdr(_filled(message, number), message_type)), dtype=np.uint8)
        for number in (0.0, _FULL)
    )
    return blank, blank != full


def _filled(part: Any, number: float) -> Any:
    """A message, or a part of one, with all its numbers replaced."""
    if isinstance(part, float):
        return number
    if isinstance(part, np.ndarray):
        return np.full_like(part, number)
    if is_dataclass(part) and not isinstance(part, type):
        return type(part)(*(_filled(getattr(part, item.name), number) for item in fields(part) if item.init))
    return part


def _numbers(part: Any) -> list[Array]:
    """All numbers of a message but its stamp, field by field."""
    if isinstance(part, float | np.ndarray):
        return [np.atleast_1d(part)]
    if is_dataclass(part):
        return [found for item in fields(part) for found in _numbers(getattr(part, item.name))]
    return []


def _stamps(messages: Sequence[Any]) -> Stamps:
    stamps = [message.header.stamp for message in messages]
    return np.array([stamp.sec * 10**9 + stamp.nanosec for stamp in stamps], dtype=np.int64)


def _one_by_one(data: Sequence[bytes], message_type: str) -> list[Any]:
    messages: list[Any] = []
    for item in data:
        try:
            messages.append(TYPESTORE.deserialize_cdr(item, message_type))
        except SerdeError as error:
            raise ValueError(f'message {len(messages)} cannot be read: {error}') from None
    return messages
