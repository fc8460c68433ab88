"""Read and write serialised messages of fast streams without message objects.

rclpy makes about ten Python objects for a ``sensor_msgs/Imu`` and copies numbers one by one: 0.03 to 0.06 ms a message.
The serialised form (CDR, as it goes over the wire) is a row of bytes in which the numbers lie one after another:
four bytes that name the representation, the stamp, texts with their lengths, then doubles at multiples of eight.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

import numpy as np
from nav_msgs.msg import Odometry
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import Imu, JointState

from pkm_description.arrays import Array

#: bytes that name the representation; what else is counted from their end
_START = 4
_STAMP = struct.Struct('=iI')
_AFTER_STAMP = _START + _STAMP.size
_COUNT = struct.Struct('=I')
#: of an Imu, after orientation and its covariance: angular velocity, linear acceleration, each before its covariance
_RATE_AND_FORCE = struct.Struct('=104x24d')
_ODOMETRY_NUMBERS = 7 + 36 + 6 + 36
#: the representation of this computer's messages, and its name alone
OWN_REPRESENTATION = bytes(serialize_message(Imu())[:_START])
_NAME = OWN_REPRESENTATION[:2]
_NOTHING = np.empty(0)
#: stamps from here on [ns] have no place in a message
_END_OF_TIME = 2**31 * 10**9
#: what reading raises at bytes that are no message of the kind
UNREADABLE = (struct.error, ValueError, RuntimeError)
#: bytes of a sample that is read: a thousand joints with short names have fewer, more would take the time of others
LONGEST_SAMPLE = 2**16


class TooLongError(ValueError):
    """A message has more bytes than are read of a sample."""


class ImuReading(NamedTuple):
    """What is measured in a ``sensor_msgs/Imu``: stamp [ns], angular rate, specific force; and its frame.

    ``covariances`` (18,) of specific force, then of angular rate, row by row, as the driver states them.
    """

    stamp: int
    angular_rate: tuple[float, ...]
    specific_force: tuple[float, ...]
    frame: str
    covariances: tuple[float, ...]


class JointReading(NamedTuple):
    """A ``sensor_msgs/JointState``: stamp [ns], names, and arrays; its frame."""

    stamp: int
    names: tuple[str, ...]
    positions: Array
    velocities: Array
    efforts: Array
    frame: str


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


class OdometryWriter:
    """Writes ``nav_msgs/Odometry`` between two frames in serialised form."""

    def __init__(self, frame: str, child_frame: str) -> None:
        message = Odometry(child_frame_id=child_frame)
        message.header.frame_id = frame
        self._texts = bytes(serialize_message(message))[_AFTER_STAMP : -8 * _ODOMETRY_NUMBERS]

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
        parts = (position, orientation, pose_covariance, velocity, angular_velocity, twist_covariance)
        numbers = np.concatenate([part.ravel() for part in parts])
        return OWN_REPRESENTATION + coded_stamp(time) + self._texts + numbers.tobytes()


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
