"""Write joint states and frames of fast streams in serialised form, see :mod:`pkm_description.ros.serialized`.

All that does not change from message to message, names above all, is written once.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np

from pkm_description.arrays import Array
from pkm_description.ros.serialized import OWN_REPRESENTATION, coded_stamp

#: no limit in a joint state says how often its frame may change
_REMEMBERED = 16
_STAMP_SIZE, _NUMBER_SIZE = 8, 8
#: numbers of a transform: translation, quaternion
_NUMBERS = 7


class _Bytes(bytearray):
    """A message that grows, aligned from the end of the bytes that name the representation."""

    def align(self, size: int) -> int:
        """Go on at a multiple of ``size``; returns that place among all bytes."""
        self.extend(b'\0' * ((len(OWN_REPRESENTATION) - len(self)) % size))
        return len(self)

    def length(self, number: int) -> None:
        self.align(4)
        self.extend(struct.pack('=I', number))

    def text(self, words: str) -> None:
        coded = words.encode() + b'\0'
        self.length(len(coded))
        self.extend(coded)

    def room(self, size: int, alignment: int) -> int:
        """Leave ``size`` bytes free; returns their place."""
        place = self.align(alignment)
        self.extend(bytes(size))
        return place

    def numbers(self, values: Array | None) -> None:
        """Append a sequence of doubles, an empty one for None."""
        self.length(0 if values is None else len(values))
        if values is not None and len(values):  # nothing is aligned for no number
            self.align(_NUMBER_SIZE)
            self.extend(np.asarray(values, dtype=float).tobytes())


class JointStateWriter:
    """Writes ``sensor_msgs/JointState`` of the same joints, without efforts.

    Parameters
    ----------
    names : of J joints
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._names = tuple(names)
        self._heads: dict[str, bytes] = {}

    def __call__(self, time: int, frame: str, positions: Array, velocities: Array | None) -> bytes:
        """Return the message of ``time`` [ns] with positions and velocities (J,), the latter only where known."""
        message = _Bytes(OWN_REPRESENTATION + coded_stamp(time))
        message.extend(self._head(frame))
        for values in (positions, velocities, None):
            message.numbers(values)
        return bytes(message)

    def _head(self, frame: str) -> bytes:
        """Frame and names, as they follow the stamp."""
        if frame not in self._heads:
            if len(self._heads) >= _REMEMBERED:
                self._heads.clear()
            message = _Bytes(OWN_REPRESENTATION + bytes(_STAMP_SIZE))
            start = len(message)
            message.text(frame)
            message.length(len(self._names))
            for name in self._names:
                message.text(name)
            self._heads[frame] = bytes(message[start:])
        return self._heads[frame]


class FramesWriter:
    """Writes ``tf2_msgs/TFMessage`` of the same frames.

    Parameters
    ----------
    frames : K pairs, parent and child
    """

    def __init__(self, frames: Sequence[tuple[str, str]]) -> None:
        message, stamps, numbers = _Bytes(OWN_REPRESENTATION), list[int](), list[int]()
        message.length(len(frames))
        for parent, child in frames:
            stamps.append(message.room(_STAMP_SIZE, 4))
            message.text(parent)
            message.text(child)
            numbers.append(message.room(_NUMBERS * _NUMBER_SIZE, _NUMBER_SIZE))
        self._bytes = np.frombuffer(bytes(message), np.uint8).copy()
        self._stamps = np.add.outer(np.array(stamps, dtype=int), np.arange(_STAMP_SIZE))
        self._numbers = np.add.outer(np.array(numbers, dtype=int), np.arange(_NUMBERS * _NUMBER_SIZE))

    def __call__(self, time: int, numbers: Array) -> bytes:
        """Return the message of ``time`` [ns]; translation and quaternion (x, y, z, w) of all frames, (K, 7)."""
        self._bytes[self._stamps] = np.frombuffer(coded_stamp(time), np.uint8)
        self._bytes[self._numbers] = np.ascontiguousarray(numbers, dtype=float).view(np.uint8)
        return self._bytes.tobytes()
