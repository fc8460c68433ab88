"""Messages of one topic that differ in numbers only, decoded all at once.

A recording of a minute holds 60 000 messages of IMU and joints each, all of the same names and lengths: their numbers
lie at the same places. So the places are found in the first message, and the bytes of all are seen as a table.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rosbags.interfaces import Nodetype
from rosbags.typesys.store import Typestore

#: what a serialised message begins with: plain CDR, little endian, and options
_HEADER = 4


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
