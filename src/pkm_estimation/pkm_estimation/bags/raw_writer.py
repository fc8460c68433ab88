"""Write serialised messages to a bag that ``ros2 bag info/play`` can read."""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from pkm_description.writing import unwritable
from rosbags.interfaces import Connection, Qos
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys.store import Typestore

from pkm_estimation.bags.decoding import TYPESTORE
from pkm_estimation.bags.errors import BagError

STORAGES = {'mcap': StoragePlugin.MCAP, 'sqlite3': StoragePlugin.SQLITE3}


class RawBagWriter:
    """A bag directory that takes CDR bytes per topic.

    Parameters
    ----------
    path : directory to make; must not exist
    storage : ``'mcap'`` or ``'sqlite3'``
    typestore : message definitions of the types to be written

    Raises
    ------
    BagError
        Unknown storage, or the directory exists already: nothing is ever overwritten. From every method, if the disk is
        full or the place is not ours; the bag is closed then, and what was written before can be read.
    """

    def __init__(self, path: str | Path, storage: str = 'mcap', typestore: Typestore = TYPESTORE) -> None:
        if storage not in STORAGES:
            raise BagError(f'storage {storage!r} is unknown; choose one of {", ".join(STORAGES)}')
        self.path = Path(path)
        self.typestore = typestore
        if self.path.exists():
            raise BagError(
                f'{self.path} exists already and is not overwritten; choose another output or move it away'
            )
        self._writer = Writer(self.path, version=9, storage_plugin=STORAGES[storage])
        self._connections: dict[str, Connection] = {}
        self.counts: dict[str, int] = {}
        self._closed = False
        #: messages that a crash would take, and chunks of MCAP that are in the file
        self._at_risk = self._chunks = 0
        with self._writing():
            self._writer.open()

    def add_topic(self, topic: str, message_type: str, qos: Sequence[Qos] = ()) -> None:
        """Register a topic with its type and the QoS profiles that its publishers offer."""
        with self._writing():
            self._connections[topic] = self._writer.add_connection(
                topic, message_type, typestore=self.typestore, offered_qos_profiles=list(qos)
            )
        self.counts[topic] = 0

    def write(self, topic: str, time: int, data: bytes) -> None:
        """Append one message, recorded at ``time`` [ns]."""
        if topic not in self._connections:
            raise BagError(f'{self.path}: topic {topic} was not added before writing')
        if self._closed:
            raise BagError(f'{self.path}: is closed')
        self._at_risk += 1
        self.counts[topic] += 1
        with self._writing():
            self._writer.write(self._connections[topic], time, data)
        chunks = len(getattr(self._writer.storage, 'chunks', ()))
        if chunks > self._chunks:
            self._at_risk, self._chunks = 0, chunks

    def flush(self) -> None:
        """Make what was written so far survive the end of the process."""
        if self._closed:
            return
        storage: Any = self._writer.storage
        connection = getattr(storage, 'conn', None)
        stream = getattr(storage, 'bio', None)
        with self._writing():
            if connection is not None:  # sqlite3 keeps one transaction open till the end otherwise
                connection.commit()
                self._at_risk = 0
            if stream is not None:
                if storage.chunk.msgs:  # a chunk is in the memory until it has a megabyte: seconds of a slow sensor
                    storage.close_chunk()
                stream.flush()
                self._at_risk, self._chunks = 0, len(storage.chunks)

    def close(self) -> None:
        """Write index and metadata; harmless when already closed."""
        if not self._closed:
            with self._writing():
                self._writer.close()
            self._closed = True

    @property
    def closed(self) -> bool:
        """Whether nothing can be written any more."""
        return self._closed

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Close the bag as it is where it cannot be written, and say so."""
        try:
            yield
        except (OSError, sqlite3.Error) as error:
            self._closed = True
            self._abandon()
            if isinstance(error, sqlite3.Error):
                error = OSError(errno.ENOSPC if 'full' in str(error) else errno.EIO, str(error))
            total = sum(self.counts.values())
            lost = f'; the recording ends after {total} messages, at most the last {self._at_risk} are lost'
            raise BagError(f'{unwritable(self.path, error)}{lost if total else ""}') from None

    def _abandon(self) -> None:
        """Keep what is in the file; a file of metadata that is not whole is none."""
        storage = self._writer.storage
        connection = getattr(storage, 'conn', None)
        with suppress(OSError, sqlite3.Error):
            if connection is not None and connection.in_transaction:  # sqlite may have rolled it back already
                connection.commit()
                self._at_risk = 0
        with suppress(OSError, sqlite3.Error):
            self._writer.abort()
        with suppress(OSError):
            self.path.joinpath('metadata.yaml.tmp').unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
