"""Messages of an MCAP file, sound or damaged, in one way: the file is gone through record by record.

The index at the end of a file, which other readers start from, is not needed: an unfinished recording has none, and a
damaged file has one that does not fit.
"""

from __future__ import annotations

import os
import struct
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import ExitStack
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from rosbags.interfaces import Qos
from rosbags.rosbag2.errors import ReaderError
from rosbags.rosbag2.storage_mcap import decompress, get_qos

from pkm_estimation.bags.recorded_data import BagError
from pkm_estimation.bags.sources import Message, Source
from pkm_estimation.bags.unpacking import CompressionBombError, require_bounded

#: opcode and length before each record
_head = struct.Struct('<BQ')
#: of a message: channel, number, times of recording and publication [ns], before its data
_message = struct.Struct('<HIQQ')
_MAGIC = b'\x89MCAP0\r\n'
_SCHEMA, _CHANNEL, _MESSAGE, _CHUNK, _STATISTICS, _DATA_END = 0x03, 0x04, 0x05, 0x06, 0x0B, 0x0F
#: of a chunk: times (2 x 8 bytes), unpacked size, checksum (0: none), length of the name of its compression
_chunk = struct.Struct('<QQQII')


class _Piece(NamedTuple):
    """Records of a chunk, or one that is outside of chunks: where they are, and their first and last time [ns]."""

    begin: int
    size: int
    compression: str
    unpacked: int
    checksum: int
    first: int = 0
    last: int = 0


def mcap_source(path: Path, stack: ExitStack) -> Source:
    """What an MCAP file holds, as far as it can be read.

    Parameters
    ----------
    path : ``.mcap`` file
    stack : closes the file

    Raises
    ------
    BagError
        The file is no MCAP file at all, or unpacks to more than is allowed.

    Notes
    -----
    Records as in the MCAP specification: opcode (1 byte), length (8 bytes), content.
    """
    scan = _Scan(path, _File(stack.enter_context(path.open('rb')).fileno()))
    warnings = scan.run()
    known = {number: entry for number, entry in scan.channels.items() if entry[2] == 'cdr'}
    others = [f'{entry[0]} ({entry[2]})' for entry in scan.channels.values() if entry[2] != 'cdr']
    if others:
        warnings.append(f'left out, as the messages are not in CDR: {", ".join(sorted(others))}')
    counts: Counter[str] = Counter()
    types: dict[str, str] = {}
    qos: dict[str, list[Qos]] = {}
    for number, (topic, schema, _, profiles) in known.items():
        counts[topic] += scan.counts[number]
        types[topic] = scan.schemas.get(schema, '')
        qos.setdefault(topic, []).extend(profiles)

    def read(topics: Collection[str] | None) -> Iterator[Message]:
        wanted = {number: entry[0] for number, entry in known.items() if topics is None or entry[0] in topics}
        for group in _overlapping(scan.pieces):
            found = [
                (wanted[channel], time, content[begin:end])
                for content in map(scan.content, group)
                for channel, time, begin, end in _messages(content)
                if channel in wanted
            ]
            yield from sorted(found, key=itemgetter(1))  # of equal times: by place in the file

    return Source(read, counts, types, warnings, qos)


class _File:
    """Bytes of an open file by place, as ``bytes`` have them."""

    def __init__(self, handle: int) -> None:
        self._handle = handle

    def __len__(self) -> int:
        return os.fstat(self._handle).st_size

    def __getitem__(self, part: slice) -> bytes:
        return os.pread(self._handle, part.stop - part.start, part.start)


class _Scan:
    """One way through a file.

    Attributes
    ----------
    schemas : name of the type by number
    channels : topic, number of the type, encoding and QoS profiles by number
    counts : messages by number of the channel
    pieces : where the messages are
    """

    def __init__(self, path: Path, file: _File) -> None:
        self._path, self._file = path, file
        self._damaged = 0
        self._warnings: list[str] = []
        self.schemas: dict[int, str] = {}
        self.channels: dict[int, tuple[str, int, str, list[Qos]]] = {}
        self.counts: Counter[int] = Counter()
        self.pieces: list[_Piece] = []

    def run(self) -> list[str]:
        """Go through the file; returns what was lost, one sentence each."""
        name, size = self._path.name, len(self._file)
        if self._file[0 : len(_MAGIC)] != _MAGIC:
            raise BagError(f'{self._path}: not an MCAP file (it does not start with the MCAP magic bytes)')
        complete, unpacked, promised = False, 0, None
        for opcode, begin, end in _records(self._file, size, len(_MAGIC)):
            if end > size and not complete:
                self._cut(name, end - begin, size - begin)
            if opcode == _CHUNK and (piece := self._chunk(begin, min(end, size))):
                unpacked += piece.unpacked
                require_bounded(unpacked, size, str(self._path))
                self._look_into(piece)
            elif opcode in (_SCHEMA, _CHANNEL, _MESSAGE) and end <= size:
                whole = end - begin + _head.size
                self._look_into(_Piece(begin - _head.size, whole, '', whole, 0))
            elif opcode == _STATISTICS:
                promised = int.from_bytes(self._file[begin : begin + 8], 'little')
            complete = complete or opcode == _DATA_END
        total = sum(self.counts.values())
        damaged = self._damaged + sum(self.counts[number] for number in self.counts.keys() - self.channels.keys())
        if damaged:
            self._warnings.append(f'{damaged} records of {name} are damaged and left out')
        elif not complete and not self._warnings:
            self._warnings.append(f'{name} ends without the end-of-data record: messages still in memory then are lost')
        elif not self._warnings and (self._file[size - len(_MAGIC) : size] != _MAGIC or promised not in (None, total)):
            self._warnings.append(f'the index of {name} is damaged; all {total} messages could be read without it')
        return self._warnings

    def content(self, piece: _Piece) -> bytes:
        """Unpack a piece, and prove it by its checksum."""
        data = self._file[piece.begin : piece.begin + piece.size]
        return decompress(data, piece.compression, piece.unpacked, piece.checksum)

    def _cut(self, where: str, size: int, left: int) -> None:
        self._warnings.append(f'{where} is cut off: a record of {size} bytes has only {left} left')

    def _chunk(self, begin: int, end: int) -> _Piece | None:
        """The chunk whose record is here, None without its head; a cut-off one has no checksum."""
        data = begin + _chunk.size
        if data > end:
            return None
        _, _, size, checksum, length = _chunk.unpack(self._file[begin:data])
        compression = self._file[data : data + min(length, end - data)].decode(errors='replace')
        data += length + 8
        if not compression and size > end - data:
            size, checksum = max(end - data, 0), 0
        return _Piece(data, end - data, compression, size, checksum) if data < end else None

    def _look_into(self, piece: _Piece) -> None:
        """Note schemas and channels, count messages."""
        try:
            content = self.content(piece)
        except CompressionBombError:
            raise
        except Exception as error:  # each library of compression has errors of its own
            if piece.compression:
                self._warnings.append(f'a {piece.compression} chunk of {piece.unpacked} bytes is lost: {error}')
                return
            self._warnings.append(f'a chunk of {piece.size} bytes is damaged, its numbers may be wrong: {error}')
            piece = piece._replace(unpacked=piece.size, checksum=0)
            content = self.content(piece)
        for opcode, begin, end in _records(content, len(content)):
            if end > len(content):
                self._cut('a chunk', end - begin, len(content) - begin)
            elif opcode in (_SCHEMA, _CHANNEL):
                self._take(opcode, content[begin:end])
        times = []
        for channel, time, _, _ in _messages(content):
            self.counts[channel] += 1
            times.append(time)
        if times:
            self.pieces.append(piece._replace(first=min(times), last=max(times)))

    def _take(self, opcode: int, record: bytes) -> None:
        """Note a schema or channel."""
        try:
            number, schema = struct.unpack_from('<HH', record)
            if opcode == _SCHEMA:
                self.schemas[number] = _text(record, 2)[0]
            else:
                topic, place = _text(record, 4)
                encoding, place = _text(record, place)
                self.channels[number] = (topic, schema, encoding, _qos(record[place + 4 :]))
        except (UnicodeDecodeError, struct.error):
            self._damaged += 1


def _records(content: bytes | _File, size: int, begin: int = 0) -> Iterator[tuple[int, int, int]]:
    """Opcode, begin and end of the content of each record; an incomplete last one ends after the bytes."""
    while begin + _head.size <= size:
        opcode, length = _head.unpack(content[begin : begin + _head.size])
        begin += _head.size
        yield opcode, begin, begin + length
        begin += length


def _messages(content: bytes) -> Iterator[tuple[int, int, int, int]]:
    """Channel, time of recording [ns], begin and end of the data of each whole message."""
    for opcode, begin, end in _records(content, len(content)):
        if opcode == _MESSAGE and begin + _message.size <= end <= len(content):
            channel, _, time, _ = _message.unpack_from(content, begin)
            yield channel, time, begin + _message.size, end


def _overlapping(pieces: list[_Piece]) -> Iterator[list[_Piece]]:
    """Groups of pieces, one after the other in time, each in the order of the file."""
    group: list[_Piece] = []
    end = 0
    for piece in sorted(pieces, key=lambda piece: piece.first):
        if group and piece.first > end:
            yield sorted(group)
            group = []
        group.append(piece)
        end = max(end, piece.last)
    if group:
        yield sorted(group)


def _text(record: bytes, offset: int) -> tuple[str, int]:
    """A text, and the place behind it."""
    (length,) = struct.unpack_from('<I', record, offset)
    return record[offset + 4 : offset + 4 + length].decode(), offset + 4 + length


def _qos(metadata: bytes) -> Any:
    """QoS profiles among the metadata of a channel; none where they cannot be read."""
    try:
        return get_qos(metadata)
    except (ReaderError, UnicodeDecodeError, KeyError, TypeError, ValueError):
        return []
