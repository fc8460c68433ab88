"""Messages of storage files: of a sound MCAP file chunk by chunk, of damaged MCAP and sqlite3 files what is left."""

from __future__ import annotations

import shutil
import sqlite3
import struct
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import closing
from operator import attrgetter, itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory

from rosbags.rosbag2 import Reader
from rosbags.rosbag2.storage_mcap import ChunkInfo, McapReader, decompress

from pkm_estimation.bags.recorded_data import BagError
from pkm_estimation.bags.unpacking import require_bounded

#: opcode and length before each record
_head = struct.Struct('<BQ')
#: of a message: channel, number, times of recording and publication [ns], before its data
_message = struct.Struct('<HIQQ')

#: topic, time of recording [ns], data
Message = tuple[str, int, bytes]
_MAGIC = b'\x89MCAP0\r\n'
_SCHEMA, _CHANNEL, _MESSAGE, _CHUNK, _DATA_END = 0x03, 0x04, 0x05, 0x06, 0x0F


def recover_mcap(path: Path) -> tuple[list[tuple[str, int, bytes]], dict[str, str], list[str]]:
    """Gather what a damaged MCAP file still holds.

    Returns
    -------
    messages : (topic, time of recording [ns], CDR bytes)
    types : message type by topic
    warnings : what was lost

    Raises
    ------
    BagError
        If the file is no MCAP file at all, or unpacks to more than is allowed.

    Notes
    -----
    Record layout from the MCAP specification: opcode (1 byte), length (8 bytes), content. The index at the
    end, which ordinary readers start from, is not needed.
    """
    content = path.read_bytes()
    if not content.startswith(_MAGIC):
        raise BagError(f'{path}: not an MCAP file (it does not start with the MCAP magic bytes)')
    schemas: dict[int, str] = {}
    channels: dict[int, tuple[str, str]] = {}
    messages: list[tuple[str, int, bytes]] = []
    warnings: list[str] = []
    complete, damaged, unpacked = False, 0, 0
    for opcode, record in _complete(content, len(_MAGIC), warnings, path.name):
        if opcode == _DATA_END:
            complete = True
            break
        inner = [(opcode, record)]
        if opcode == _CHUNK:
            chunk = _chunk_content(record, warnings)
            unpacked += len(chunk)
            require_bounded(unpacked, len(content), str(path))
            inner = list(_complete(chunk, 0, warnings, 'a chunk'))
        for kind, content_of_record in inner:
            try:
                _take(kind, content_of_record, schemas, channels, messages)
            except (KeyError, UnicodeDecodeError, struct.error):
                damaged += 1
    if damaged:
        warnings.append(f'{damaged} records of {path.name} are damaged and left out')
    if complete and not warnings:
        warnings.append(
            f'the index of {path.name} is damaged; all {len(messages)} messages could be read without it'
        )
    elif not warnings:
        warnings.append(
            f'{path.name} ends without the end-of-data record: messages still in memory then are lost'
        )
    return messages, dict(channels.values()), warnings


def _records(content: bytes, begin: int = 0) -> Iterator[tuple[int, int, int]]:
    """Opcode, begin and end of the content of each record; an incomplete last one ends after the bytes."""
    while begin + _head.size <= len(content):
        opcode, length = _head.unpack_from(content, begin)
        begin += _head.size
        yield opcode, begin, begin + length
        begin += length


def _complete(content: bytes, offset: int, warnings: list[str], where: str) -> Iterator[tuple[int, bytes]]:
    """Yield opcode and content, of an incomplete last chunk too; any incomplete record is reported."""
    for opcode, begin, end in _records(content, offset):
        if end > len(content):
            left = len(content) - begin
            warnings.append(f'{where} is cut off: a record of {end - begin} bytes has only {left} left')
        if end <= len(content) or opcode == _CHUNK:
            yield opcode, content[begin:end]


def _chunk_content(record: bytes, warnings: list[str]) -> bytes:
    """Unpack a chunk; of an incomplete one what can be had."""
    if len(record) < 32:
        return b''
    size, checksum, name_length = struct.unpack_from('<QII', record, 16)
    compression = record[32 : 32 + name_length].decode(errors='replace')
    data = record[40 + name_length :]
    if not compression:
        return data
    try:
        return decompress(data, compression, size, checksum)
    except Exception as error:  # each library of compression has errors of its own
        warnings.append(f'a {compression} chunk of {size} bytes is lost: {error}')
        return b''


def _take(
    opcode: int,
    record: bytes,
    schemas: dict[int, str],
    channels: dict[int, tuple[str, str]],
    messages: list[tuple[str, int, bytes]],
) -> None:
    """Note a schema or channel, or append a message."""
    if opcode == _SCHEMA:
        schemas[struct.unpack_from('<H', record)[0]] = _string(record, 2)
    elif opcode == _CHANNEL:
        channel, schema = struct.unpack_from('<HH', record)
        channels[channel] = (_string(record, 4), schemas.get(schema, ''))
    elif opcode == _MESSAGE:
        channel, _, time, _ = _message.unpack_from(record)
        messages.append((channels[channel][0], time, record[_message.size :]))


def _string(record: bytes, offset: int) -> str:
    (length,) = struct.unpack_from('<I', record, offset)
    return record[offset + 4 : offset + 4 + length].decode()


# Messages of a sound MCAP file, chunk by chunk: ten times as fast as one by one.
#
# A chunk is taken from the file at once, and its records are found by their lengths (MCAP specification: opcode, 1
# byte, length, 8 bytes, content).
def chunked_files(reader: Reader) -> list[McapReader] | None:
    """MCAP files of a bag with an index of their chunks, ``None`` where there are others."""
    storages = getattr(reader.storage, 'storages', [reader.storage])  # those of a directory, or the file itself
    files = [file for file in storages if isinstance(file, McapReader) and file.chunks]
    return files if len(files) == len(storages) else None


def messages(file: McapReader, topics: Collection[str] | None) -> Iterator[list[Message]]:
    """Messages of some topics (None: all), by time, as many at once as chunks have.

    Raises
    ------
    BagError, rosbags.rosbag2.ReaderError
        A chunk is damaged.
    """
    wanted = {item.id: item.topic for item in file.connections if topics is None or item.topic in topics}
    for chunks in _overlapping(file.chunks):
        found: list[Message] = []
        for chunk in chunks:
            content = _content(file, chunk)
            found += [
                (wanted[channel], time, content[begin:end])
                for channel, time, begin, end in _placed(content)
                if channel in wanted
            ]
        found.sort(key=itemgetter(1))  # of equal times: by place in the file
        yield found


def counts(file: McapReader) -> Counter[str]:
    """Messages by topic that the chunks hold, whatever the index says of them; raises as :func:`messages`."""
    topics = {item.id: item.topic for item in file.connections}
    found: Counter[int] = Counter()
    for chunk in file.chunks:
        found.update(channel for channel, *_ in _placed(_content(file, chunk)))
    return Counter({topics[channel]: count for channel, count in found.items() if channel in topics})


def _overlapping(chunks: list[ChunkInfo]) -> Iterator[list[ChunkInfo]]:
    """Groups of chunks, one after the other in time, each in the order of the file."""
    group: list[ChunkInfo] = []
    end = 0
    for chunk in sorted(chunks, key=attrgetter('message_start_time')):
        if group and chunk.message_start_time > end:
            yield sorted(group, key=attrgetter('chunk_start_offset'))
            group = []
        group.append(chunk)
        end = max(end, chunk.message_end_time)
    yield sorted(group, key=attrgetter('chunk_start_offset'))


def _content(file: McapReader, chunk: ChunkInfo) -> bytes:
    """Unpack a chunk, and prove it by its checksum.

    It consists of times (2 x 8 bytes), size (8), checksum (4; 0: none), name of the compression, length (8), data.
    """
    assert file.bio is not None
    file.bio.seek(chunk.chunk_start_offset + 9 + 24)
    (checksum,) = struct.unpack('<I', file.bio.read(4))
    file.bio.seek(4 + len(chunk.compression) + 8, 1)
    data = file.bio.read(chunk.compressed_size)
    return decompress(data, chunk.compression, chunk.uncompressed_size, checksum)


def _placed(content: bytes) -> Iterator[tuple[int, int, int, int]]:
    """Channel, time of recording [ns], begin and end of the data of each message of a chunk."""
    for opcode, begin, end in _records(content):
        if end > len(content):
            raise BagError(
                f'a record of {end - begin} bytes is longer than what is left of its chunk, {len(content) - begin}'
            )
        if opcode == _MESSAGE:
            channel, _, time, _ = _message.unpack_from(content, begin)
            yield channel, time, begin + _message.size, end


_TOPICS = 'SELECT id, name, type FROM topics'
SIDECARS = ('-journal', '-wal', '-shm')


def recover_sqlite3(path: Path) -> tuple[list[tuple[str, int, bytes]], dict[str, str], list[str]]:
    """Gather what a damaged ``.db3`` file still holds; see :func:`recover_mcap` for what is returned.

    Notes
    -----
    A copy is read together with its journals, so that sqlite can roll an unfinished transaction back without
    touching the recording.
    """
    warnings: list[str] = []
    messages: list[tuple[str, int, bytes]] = []
    with TemporaryDirectory() as folder:
        copy = Path(folder, 'bag.db3')
        shutil.copyfile(path, copy)
        for ending in SIDECARS:
            if (journal := path.with_name(path.name + ending)).exists():
                shutil.copyfile(journal, copy.with_name(copy.name + ending))
                warnings.append(
                    f'{journal.name} is there: the recorder did not close the bag, its last messages are lost'
                )
        _pad(copy, warnings)
        with closing(sqlite3.connect(copy)) as database:
            try:
                rows = database.execute(_TOPICS)
                topics = {key: (name, kind) for key, name, kind in rows if isinstance(name, str)}
            except sqlite3.DatabaseError as error:
                raise BagError(
                    f'{path}: not a bag that can be read, nothing could be recovered: {error}'
                ) from error
            for topic, time, data in _rows(database, set(topics), warnings):
                messages.append((topics[topic][0], time, data))
    messages.sort(key=lambda item: item[1])
    return messages, dict(topics.values()), warnings


def _pad(path: Path, warnings: list[str]) -> None:
    """Fill a cut-off file with zeros to the size in its header: sqlite refuses to open it otherwise."""
    with path.open('r+b') as file:
        header = file.read(32)
        if len(header) < 32 or not header.startswith(b'SQLite format 3\0'):
            return
        page_size = int.from_bytes(header[16:18], 'big')
        named = int.from_bytes(header[28:32], 'big') * (65536 if page_size == 1 else page_size)
        present = file.seek(0, 2)
        if present < named:
            file.truncate(named)
            warnings.append(f'the file is cut off: {named - present} of {named} bytes are lost')


def _rows(
    database: sqlite3.Connection, topics: set[int], warnings: list[str]
) -> Iterator[tuple[int, int, bytes]]:
    """Yield topic, time, data in the order of writing up to the first unreadable page."""
    count, reason = 0, ''
    try:
        for topic, time, data in database.execute('SELECT topic_id, timestamp, data FROM messages ORDER BY id'):
            # newer versions of sqlite give empty columns where older ones refuse the page
            if topic not in topics or not isinstance(time, int) or not isinstance(data, bytes):
                reason = 'a row without topic, time or data'
                break
            yield topic, time, data
            count += 1
    except sqlite3.DatabaseError as error:
        reason = str(error)
    if reason:
        warnings.append(f'the file is damaged after {count} messages ({reason}); what follows is lost')
