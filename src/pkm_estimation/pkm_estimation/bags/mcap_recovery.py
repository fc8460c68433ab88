"""Read an MCAP file that was not closed or was cut off: record by record, as far as it goes."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

from rosbags.rosbag2.storage_mcap import decompress

from pkm_estimation.bags.unpacking import BagError, require_bounded

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
    for opcode, record in _records(content, len(_MAGIC), warnings, path.name):
        if opcode == _DATA_END:
            complete = True
            break
        inner = [(opcode, record)]
        if opcode == _CHUNK:
            chunk = _chunk_content(record, warnings)
            unpacked += len(chunk)
            require_bounded(unpacked, len(content), str(path))
            inner = list(_records(chunk, 0, warnings, 'a chunk'))
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


def _records(content: bytes, offset: int, warnings: list[str], where: str) -> Iterator[tuple[int, bytes]]:
    """Yield opcode and content, of an incomplete last chunk too; any incomplete record is reported."""
    while offset + 9 <= len(content):
        opcode, length = content[offset], struct.unpack_from('<Q', content, offset + 1)[0]
        record = content[offset + 9 : offset + 9 + length]
        if len(record) < length:
            warnings.append(f'{where} is cut off: a record of {length} bytes has only {len(record)} left')
            if opcode == _CHUNK:
                yield opcode, record
            return
        yield opcode, record
        offset += 9 + length


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
        channel, _, time = struct.unpack_from('<HIQ', record)
        messages.append((channels[channel][0], time, record[22:]))


def _string(record: bytes, offset: int) -> str:
    (length,) = struct.unpack_from('<I', record, offset)
    return record[offset + 4 : offset + 4 + length].decode()
