"""Read and write serialised messages of fast streams without message objects.

rclpy makes about ten Python objects for a ``sensor_msgs/Imu`` and copies numbers one by one: 0.03 to 0.06 ms a message.
The serialised form (CDR, as it goes over the wire) is a row of bytes in which the numbers lie one after another:
four bytes that name the representation, the stamp, texts with their lengths, then doubles at multiples of eight.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import TransformStamped
from nav_msgs.msg import Odometry
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import Imu, JointState
from std_msgs.msg import Header
from tf2_msgs.msg import TFMessage

from pkm_description.arrays import Array
from pkm_description.driver import ImuReading
from pkm_description.joint_states import JointReading

#: no limit in a joint state says how often its frame may change
_REMEMBERED = 16
#: numbers of a transform: translation, quaternion
_NUMBERS = 7
#: bytes that name the representation; what else is counted from their end
_START = 4
_STAMP, _NUMBER = struct.Struct('=iI'), struct.Struct('=d')
_AFTER_STAMP = _START + _STAMP.size
_COUNT = struct.Struct('=I')
#: of an Imu, after orientation and its covariance: angular velocity, linear acceleration, each before its covariance
_RATE_AND_FORCE = struct.Struct('=104x24d')
_ODOMETRY_NUMBERS = 7 + 36 + 6 + 36
#: the representation of this computer's messages, and its name alone
OWN_REPRESENTATION = bytes(serialize_message(Imu())[:_START])
_NAME = OWN_REPRESENTATION[:2]
_NOTHING, _NOWHERE = np.empty(0), np.empty(0, dtype=int)
#: stamp [ns] and number by which the places of stamps and numbers are found in a serialised message
_MARKED, _MARK = 1_234_567_890_987_654_321, 1.2345678901234567e-300
#: stamps from here on [ns] have no place in a message
_END_OF_TIME = 2**31 * 10**9
#: what reading raises at bytes that are no message of the kind
UNREADABLE = (struct.error, ValueError, RuntimeError)
#: bytes of a sample that is read: a thousand joints with short names have fewer, more would take the time of others
LONGEST_SAMPLE = 2**16


class TooLongError(ValueError):
    """A message has more bytes than are read of a sample."""


def read_stamp(data: bytes) -> int:
    """Stamp [ns] of any serialised message that begins with a header."""
    seconds, rest = _STAMP.unpack_from(data, _START)
    time = int(seconds * 10**9 + rest)
    if time >= _END_OF_TIME:  # nanoseconds beyond a second at the last second
        raise ValueError(f'stamp of {seconds} s and {rest} ns')
    return time


def with_stamp(data: bytes, time: int) -> bytes:
    """Return the same serialised message with another stamp [ns]."""
    return data[:_START] + coded_stamp(time) + data[_AFTER_STAMP:]


def read_imu(data: bytes) -> ImuReading:
    """Read a serialised ``sensor_msgs/Imu``."""
    _require_short(data)
    data = _in_own_representation(data, Imu)
    length, at = _read_count(data, _AFTER_STAMP)
    numbers = _RATE_AND_FORCE.unpack_from(data, _aligned(at + length, 8))
    frame, covariances = _text(data[at : at + length]), numbers[15:] + numbers[3:12]
    return ImuReading(read_stamp(data), numbers[:3], numbers[12:15], frame, covariances)


def read_joint_state(data: bytes) -> JointReading:
    """Read a serialised ``sensor_msgs/JointState``."""
    _require_short(data)
    data = _in_own_representation(data, JointState)
    length, at = _read_count(data, _AFTER_STAMP)
    frame, at = _text(data[at : at + length]), at + length
    count, at = _read_count(data, at)
    names = []
    for _ in range(count):
        length, at = _read_count(data, at)
        names.append(_text(data[at : at + length]))
        at += length
    arrays = []
    for _ in range(3):
        count, at = _read_count(data, at)
        if count:  # nothing is aligned for no number
            at = _aligned(at, 8)
        arrays.append(np.frombuffer(data, np.float64, count, at) if count else _NOTHING)
        at += 8 * count
    positions, velocities, efforts = arrays
    return JointReading(read_stamp(data), tuple(names), positions, velocities, efforts, frame)


class _Template:
    """A message that rclpy serialises once, and whose stamps and numbers are then exchanged.

    Parameters
    ----------
    message : with :data:`_MARKED` as all stamps
    runs : number that stands first in a row of doubles of the message, and how many there are, row by row
    """

    def __init__(self, message: Any, runs: Sequence[tuple[float, int]]) -> None:
        data = bytes(serialize_message(message))
        self._bytes = np.frombuffer(data, np.uint8).copy()
        stamps = [found.start() for found in re.finditer(re.escape(coded_stamp(_MARKED)), data)]
        firsts = [(data.index(_NUMBER.pack(mark)), count * _NUMBER.size) for mark, count in runs]
        self._stamps = np.add.outer(np.array(stamps, dtype=int), np.arange(_STAMP.size))
        self._numbers = np.concatenate([np.arange(first, first + size) for first, size in firsts] or [_NOWHERE])

    def __call__(self, time: int, *numbers: Array) -> bytes:
        """Return the message of ``time`` [ns] with other numbers, in the order of the rows."""
        self._bytes[self._stamps] = np.frombuffer(coded_stamp(time), np.uint8)
        flat = np.concatenate([np.asarray(part, dtype=float).ravel() for part in numbers])
        self._bytes[self._numbers] = flat.view(np.uint8)
        return self._bytes.tobytes()


def _header(frame: str) -> Header:
    seconds, rest = divmod(_MARKED, 10**9)
    return Header(stamp=Time(sec=seconds, nanosec=rest), frame_id=frame)


class OdometryWriter:
    """Writes ``nav_msgs/Odometry`` between two frames in serialised form."""

    def __init__(self, frame: str, child_frame: str) -> None:
        message = Odometry(header=_header(frame), child_frame_id=child_frame)
        message.pose.pose.position.x = _MARK
        self._template = _Template(message, [(_MARK, _ODOMETRY_NUMBERS)])

    def __call__(
        self,
        time: int,
        position: Array,
        orientation: Array,
        pose_covariance: Array,
        velocity: Array,
        angular_velocity: Array,
        twist_covariance: Array,
    ) -> bytes:
        """Return the message of ``time`` [ns]: position (3,), quaternion (4,), velocities (3,), covariances (6, 6)."""
        return self._template(
            time, position, orientation, pose_covariance, velocity, angular_velocity, twist_covariance
        )


class JointStateWriter:
    """Writes ``sensor_msgs/JointState`` of the same joints, without efforts.

    Parameters
    ----------
    names : of J joints
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._names = tuple(names)
        self._templates: dict[tuple[str, bool], _Template] = {}

    def __call__(self, time: int, frame: str, positions: Array, velocities: Array | None) -> bytes:
        """Return the message of ``time`` [ns] with positions and velocities (J,), the latter only where known."""
        numbers = (positions,) if velocities is None else (positions, velocities)
        key = frame, velocities is not None
        if key not in self._templates:
            if len(self._templates) >= _REMEMBERED:
                self._templates.clear()
            count = len(self._names)
            rows = [[mark] * count for mark in (_MARK, 2.0 * _MARK)[: len(numbers)]]
            message = JointState(header=_header(frame), name=self._names, position=rows[0])
            message.velocity = rows[1] if len(rows) > 1 else []
            self._templates[key] = _Template(message, [(row[0], count) for row in rows] if count else [])
        return self._templates[key](time, *numbers)


class FramesWriter:
    """Writes ``tf2_msgs/TFMessage`` of the same frames.

    Parameters
    ----------
    frames : K pairs, parent and child
    """

    def __init__(self, frames: Sequence[tuple[str, str]]) -> None:
        message = TFMessage()
        for number, (parent, child) in enumerate(frames, start=1):
            frame = TransformStamped(header=_header(parent), child_frame_id=child)
            frame.transform.translation.x = number * _MARK
            message.transforms.append(frame)
        self._template = _Template(message, [(number * _MARK, _NUMBERS) for number in range(1, len(frames) + 1)])

    def __call__(self, time: int, numbers: Array) -> bytes:
        """Return the message of ``time`` [ns]; translation and quaternion (x, y, z, w) of all frames, (K, 7)."""
        return self._template(time, numbers)


def coded_stamp(time: int) -> bytes:
    """Eight bytes of a stamp [ns]."""
    return _STAMP.pack(*divmod(time, 10**9))


def _require_short(data: bytes) -> None:
    if len(data) > LONGEST_SAMPLE:
        raise TooLongError(f'longer than the {LONGEST_SAMPLE} bytes that are read of a sample')


def _in_own_representation(data: bytes, kind: type) -> bytes:
    """Bytes from a computer or middleware with another order or alignment are written anew."""
    return data if data.startswith(_NAME) else bytes(serialize_message(deserialize_message(data, kind)))


def _text(data: bytes) -> str:
    # up to the zero at its end, and whatever bytes there are: as rclpy does
    return data.partition(b'\0')[0].decode(errors='replace')


def _read_count(data: bytes, at: int) -> tuple[int, int]:
    """Length of a text or a sequence, and where its content begins."""
    at = _aligned(at, _COUNT.size)
    (count,) = _COUNT.unpack_from(data, at)
    return count, at + _COUNT.size


def _aligned(at: int, size: int) -> int:
    """Return the next multiple of ``size`` after the start."""
    return at + (_START - at) % size
