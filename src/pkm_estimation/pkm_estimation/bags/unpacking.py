"""Compressed parts of recordings: unpacked up to a bound, so that a small file cannot fill the memory or the disk.

``rosbags`` unpacks whatever comes. Its table of decompressors is given bounded ones, by which it, and this suite, read.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from lz4.frame import LZ4FrameDecompressor
from rosbags.rosbag2 import storage_mcap

from pkm_estimation.bags.recorded_data import BagError

#: bytes that one chunk or message may become; recorders write chunks of some megabytes
LARGEST_PIECE = 2**30
#: a file may grow so many times; a hundred is seldom reached by numbers of sensors
LARGEST_GROWTH = 1000
#: bytes that each file may become, however small it is
ALWAYS_ALLOWED = 2**30
#: what a text compressed by zstd begins with; a serialised message begins with zero
ZSTD_MARK = b'\x28\xb5\x2f\xfd'


#: the module that rosbags has: of Python itself, or its backport
_zstd: Any = storage_mcap.zstd
_DECOMPRESSORS: dict[str, Any] = {'zstd': _zstd.ZstdDecompressor, 'lz4': LZ4FrameDecompressor}


class CompressionBombError(BagError):
    """Compressed data that would fill the memory."""


def unpacked_bound(size: int) -> int:
    """Bytes that a file of ``size`` bytes may become."""
    return max(ALWAYS_ALLOWED, LARGEST_GROWTH * size)


def require_bounded(unpacked: int, size: int, where: str) -> None:
    """Refuse a file that says itself that it becomes too large.

    Raises
    ------
    CompressionBombError
    """
    bound = unpacked_bound(size)
    if unpacked > bound:
        raise CompressionBombError(
            f'{where}: its {size} bytes claim to unpack to {unpacked}, more than the {bound} that are allowed; it is '
            'damaged, or made to fill the memory'
        )


def unpack(kind: str, data: bytes, expected: int = 0) -> bytes:
    """Unpack one piece.

    Parameters
    ----------
    kind : ``'zstd'`` or ``'lz4'``
    data : whole frames
    expected : bytes that it must become, 0 if nobody knows

    Raises
    ------
    CompressionBombError
        It becomes more than was said, or more than :data:`LARGEST_PIECE`.
    """
    bound = min(expected or LARGEST_PIECE, LARGEST_PIECE)
    if expected > LARGEST_PIECE:
        raise CompressionBombError(f'a piece claims to unpack to {expected} bytes, more than {LARGEST_PIECE}')
    whole = b''
    while True:
        decompressor = _DECOMPRESSORS[kind]()
        part = decompressor.decompress(data, bound - len(whole) + 1)
        whole = whole + part if whole else part
        if len(whole) > bound:
            raise CompressionBombError(f'{len(data)} compressed bytes become more than the {bound} that are allowed')
        if not decompressor.eof:
            raise ValueError('compressed data end too early')
        data = decompressor.unused_data or b''
        if not data:
            return whole


def unpack_file(packed: Path, target: Path) -> None:
    """Unpack a storage file that was compressed as a whole.

    Raises
    ------
    BagError
        It grows too large (:class:`CompressionBombError`), is damaged, or there is no room for it.
    """
    bound = unpacked_bound(packed.stat().st_size)
    try:
        with _zstd.open(packed, 'rb') as source, target.open('wb') as file:
            for start in range(0, bound, 2**22):
                part = source.read(2**22)
                file.write(part)
                if not part:
                    return
                if start + len(part) >= bound:
                    break
    except OSError as error:
        raise BagError(f'{packed}: cannot be unpacked to {target.parent}: {error.strerror or error}') from None
    except (EOFError, _zstd.ZstdError):
        raise BagError(f'{packed}: is damaged and cannot be unpacked; try: unzstd {packed.name}') from None
    raise CompressionBombError(f'{packed}: unpacks to more than {bound} bytes; it is damaged, or made to fill the disk')


for _kind in _DECOMPRESSORS:
    storage_mcap.DECOMPRESSORS[_kind] = partial(unpack, _kind)
