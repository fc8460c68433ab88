"""Write serialised messages to a bag that ``ros2 bag info/play`` can read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

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
        Unknown storage, or the directory exists already: nothing is ever overwritten.
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
        self._writer.open()
        self._connections: dict[str, Connection] = {}
        self.counts: dict[str, int] = {}
        self._closed = False

    def add_topic(self, topic: str, message_type: str, qos: Sequence[Qos] = ()) -> None:
        """Register a topic with its type and the QoS profiles that its publishers offer."""
        self._connections[topic] = self._writer.add_connection(
            topic, message_type, typestore=self.typestore, offered_qos_profiles=list(qos)
        )
        self.counts[topic] = 0

    def write(self, topic: str, time: int, data: bytes) -> None:
        """Append one message, recorded at ``time`` [ns]."""
        if topic not in self._connections:
            raise BagError(f'{self.path}: topic {topic} was not added before writing')
        self._writer.write(self._connections[topic], time, data)
        self.counts[topic] += 1

    def flush(self) -> None:
        """Make what was written so far survive a crash, as far as the storage can."""
        storage = self._writer.storage
        connection = getattr(storage, 'conn', None)
        if connection is not None:  # sqlite3 keeps one transaction open till the end otherwise
            connection.commit()
        stream = getattr(storage, 'bio', None)
        if stream is not None:
            stream.flush()

    def close(self) -> None:
        """Write index and metadata; harmless when already closed."""
        if not self._closed:
            self._closed = True
            self._writer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
