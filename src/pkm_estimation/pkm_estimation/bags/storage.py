"""What a storage file holds, sound, damaged or unfinished: all is read that can be.

A reader that trusts an index has to be told when not to. So the index is only compared with what is there.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import struct
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, closing
from functools import partial
from io import BytesIO
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO

from rosbags.interfaces import Qos
from rosbags.rosbag2.errors import ReaderError
from rosbags.rosbag2.metadata import parse_qos
from rosbags.rosbag2.storage_mcap import decompress, get_qos, read_bytes, read_string

from pkm_estimation.bags.recorded_data import BagError
from pkm_estimation.bags.sources import Message, Source
from pkm_estimation.bags.unpacking import CompressionBombError, require_bounded

#: endings of the journals of a transaction
SIDECARS = ('-journal', '-wal', '-shm')

_MAGIC = b'\x89MCAP0\r\n'
_SCHEMA, _CHANNEL, _MESSAGE, _CHUNK, _STATISTICS, _DATA_END = 0x03, 0x04, 0x05, 0x06, 0x0B, 0x0F
#: opcode and length before each record
_head = struct.Struct('<BQ')
#: of a message: channel, number, times of recording and publication [ns], before its data
_message = struct.Struct('<HIQQ')
#: of a chunk: times (2 x 8 bytes), unpacked size, checksum (0: none)
_chunk = struct.Struct('<QQQI')


def mcap_source(path: Path) -> Source:
    """What an MCAP file holds, record by record.

    Raises
    ------
    BagError
        The file is no MCAP file at all, or unpacks to more than is allowed.

    Notes
    -----
    Records as in the MCAP specification: opcode (1 byte), length (8 bytes), content.
    """
    name, size = path.name, path.stat().st_size
    schemas: dict[int, str] = {}
    channels: dict[int, tuple[str, int, str, list[Qos]]] = {}
    counted: Counter[int] = Counter()
    warnings: list[str] = []
    damaged, complete, promised = 0, False, None
    with path.open('rb') as file:
        if file.read(len(_MAGIC)) != _MAGIC:
            raise BagError(f'{path}: not an MCAP file (it does not start with the MCAP magic bytes)')
        for opcode, record in _records_of_file(file, path, size, warnings):
            complete = complete or opcode == _DATA_END
            try:
                if opcode == _SCHEMA:
                    schemas[int.from_bytes(record[:2], 'little')] = read_string(BytesIO(record[2:]))
                elif opcode == _CHANNEL:
                    number, schema = struct.unpack_from('<HH', record)
                    rest = BytesIO(record[4:])
                    topic, encoding = read_string(rest), read_string(rest)
                    channels[number] = topic, schema, encoding, _read_qos(get_qos, read_bytes(rest))
                elif opcode == _MESSAGE:
                    counted[_message.unpack_from(record)[0]] += 1
                elif opcode == _STATISTICS:
                    promised = int.from_bytes(record[:8], 'little')
            except (ReaderError, UnicodeDecodeError, struct.error):
                damaged += 1
        file.seek(max(size - len(_MAGIC), 0))
        has_end = file.read() == _MAGIC
    total = sum(counted.values())
    damaged += sum(counted[number] for number in counted.keys() - channels.keys())
    if damaged:
        warnings.append(f'{damaged} records of {name} are damaged and left out')
    elif not complete and not warnings:
        warnings.append(f'{name} ends without the end-of-data record: messages still in memory then are lost')
    elif not warnings and (not has_end or promised not in (None, total)):
        warnings.append(f'the index of {name} is damaged; all {total} messages could be read without it')
    known = {number: entry for number, entry in channels.items() if entry[2] == 'cdr'}
    others = [f'{entry[0]} ({entry[2]})' for entry in channels.values() if entry[2] != 'cdr']
    if others:
        warnings.append(f'left out, as the messages are not in CDR: {", ".join(sorted(others))}')
    counts: Counter[str] = Counter()
    types: dict[str, str] = {}
    qos: dict[str, list[Qos]] = {}
    for number, (topic, schema, _, profiles) in known.items():
        counts[topic] += counted[number]
        types[topic] = schemas.get(schema, '')
        qos.setdefault(topic, []).extend(profiles)

    def read(topics: Collection[str] | None) -> Iterator[Message]:
        found = []
        with path.open('rb') as file:
            file.seek(len(_MAGIC))
            for opcode, record in _records_of_file(file, path, size, []):
                if opcode == _MESSAGE and len(record) >= _message.size:
                    channel, _, time, _ = _message.unpack_from(record)
                    topic = known[channel][0] if channel in known else None
                    if topic is not None and (topics is None or topic in topics):
                        found.append((topic, time, record[_message.size :]))
        yield from sorted(found, key=itemgetter(1))  # of equal times: by place in the file

    return Source(read, counts, types, warnings, qos)


def _records_of_file(file: BinaryIO, path: Path, size: int, warnings: list[str]) -> Iterator[tuple[int, bytes]]:
    """Opcode and content of each whole record, also of those inside of chunks; ``warnings``: what is lost is added."""
    unpacked, complete = 0, False
    for opcode, record, missing in _records(file, size):
        if missing and not complete:
            total = len(record) + missing
            warnings.append(f'{path.name} is cut off: a record of {total} bytes has only {len(record)} left')
        complete = complete or opcode == _DATA_END
        if opcode == _CHUNK and len(record) >= _chunk.size + 12:
            unpacked += _chunk.unpack_from(record)[2]
            require_bounded(unpacked, size, str(path))
            content = _unpacked(record, missing > 0, warnings)
            for inner, part, lacks in _records(BytesIO(content), len(content)):
                if not lacks:
                    yield inner, part
        elif not missing:
            yield opcode, record


def _records(file: BinaryIO, size: int) -> Iterator[tuple[int, bytes, int]]:
    """Opcode, content, and how many bytes of it are missing, of each record of a file of ``size`` bytes."""
    while len(head := file.read(_head.size)) == _head.size:
        opcode, length = _head.unpack(head)
        content = file.read(min(length, size - file.tell()))
        yield opcode, content, length - len(content)


def _unpacked(record: bytes, is_cut: bool, warnings: list[str]) -> bytes:
    """Unpack what a chunk, or the begin of one, holds."""
    _, _, size, checksum = _chunk.unpack_from(record)
    begin = _chunk.size + 12 + int.from_bytes(record[_chunk.size : _chunk.size + 4], 'little')
    compression, data = record[_chunk.size + 4 : begin - 8].decode(errors='replace'), record[begin:]
    if is_cut and not compression:
        return data
    try:
        return decompress(data, compression, size, checksum)
    except CompressionBombError:
        raise
    except Exception as error:  # each library of compression has errors of its own
        if compression:
            warnings.append(f'a {compression} chunk of {size} bytes is lost: {error}')
            return b''
        warnings.append(f'a chunk of {len(data)} bytes is damaged, its numbers may be wrong: {error}')
        return data


def _read_qos(read: Callable[[Any], list[Qos]], stated: bytes | str) -> list[Qos]:
    """QoS profiles that a topic states, by a function of the library; none where they cannot be read."""
    try:
        return read(stated)
    except (ReaderError, UnicodeDecodeError, KeyError, TypeError, ValueError):
        return []


def sqlite_source(path: Path, stack: ExitStack) -> Source:
    """What a ``.db3`` file holds, up to the first page that cannot be read.

    Parameters
    ----------
    path : the file
    stack : removes a copy, which is read where a transaction is unfinished or the file is cut off: so sqlite can roll
        back without touching the recording

    Raises
    ------
    BagError
        Nothing of the file can be read.
    """
    warnings: list[str] = []
    named, present = _size_in_header(path), path.stat().st_size
    journals = [journal for ending in SIDECARS if (journal := path.with_name(path.name + ending)).exists()]
    connect = partial(sqlite3.connect, f'{path.absolute().as_uri()}?immutable=1', uri=True)
    if journals or present < named:
        copy = Path(stack.enter_context(TemporaryDirectory()), path.name)
        for file in (path, *journals):
            shutil.copyfile(file, copy.with_name(file.name))
        warnings += [
            f'{journal.name} is there: the recorder did not close the bag, its last messages are lost'
            for journal in journals
        ]
        if present < named:  # sqlite refuses to open it otherwise
            os.truncate(copy, named)
            warnings.append(f'the file is cut off: {named - present} of {named} bytes are lost')
        connect = partial(sqlite3.connect, copy)
    try:
        with closing(connect()) as database:
            database.row_factory = sqlite3.Row
            topics = {row['id']: dict(row) for row in database.execute('SELECT * FROM topics') if row['name']}
    except sqlite3.DatabaseError as error:
        raise BagError(f'{path}: not a bag that can be read, nothing could be recovered: {error}') from error
    counted = Counter(number for number, _, _ in _rows(connect, warnings))
    lost = sum(counted[number] for number in counted.keys() - topics.keys())
    if lost:
        warnings.append(f'{lost} messages belong to no topic and are left out')
    counts: Counter[str] = Counter()
    types: dict[str, str] = {}
    qos: dict[str, list[Qos]] = {}
    for number, row in topics.items():
        counts[row['name']] += counted[number]
        types[row['name']] = row['type']
        qos.setdefault(row['name'], []).extend(_read_qos(parse_qos, row.get('offered_qos_profiles', '')))

    def read(wanted: Collection[str] | None) -> Iterator[Message]:
        names = {number: row['name'] for number, row in topics.items() if wanted is None or row['name'] in wanted}
        found = [(names[number], time, data) for number, time, data in _rows(connect, []) if number in names]
        yield from sorted(found, key=itemgetter(1))

    return Source(read, counts, types, warnings, qos)


def _size_in_header(path: Path) -> int:
    """Bytes that a database says it has; 0 if it says nothing."""
    with path.open('rb') as file:
        header = file.read(32)
    if len(header) < 32 or not header.startswith(b'SQLite format 3\0'):
        return 0
    page_size = int.from_bytes(header[16:18], 'big')
    return int.from_bytes(header[28:32], 'big') * (65536 if page_size == 1 else page_size)


def _rows(connect: Callable[[], sqlite3.Connection], warnings: list[str]) -> Iterator[tuple[int, int, bytes]]:
    """Yield topic, time, data in the order of writing up to the first unreadable page."""
    count, reason = 0, ''
    with closing(connect()) as database:
        try:
            for topic, time, data in database.execute('SELECT topic_id, timestamp, data FROM messages ORDER BY id'):
                # newer versions of sqlite give empty columns where older ones refuse the page
                if not isinstance(topic, int) or not isinstance(time, int) or not isinstance(data, bytes):
                    reason = 'a row without topic, time or data'
                    break
                yield topic, time, data
                count += 1
        except sqlite3.DatabaseError as error:
            reason = str(error)
    if reason:
        warnings.append(f'the file is damaged after {count} messages ({reason}); what follows is lost')
