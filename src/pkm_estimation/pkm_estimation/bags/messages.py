"""The raw messages of a bag, whatever its storage."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from rosbags.rosbag2 import Reader, ReaderError

from pkm_estimation.bags.errors import BagError


class BagMessages:
    """Serialised messages of an open bag in the order of recording.

    Attributes
    ----------
    topics : message count by topic
    types : message type by topic, e.g. ``sensor_msgs/msg/Imu``
    warnings : what was lost, one sentence each
    """

    def __init__(self, reader: Reader, warnings: tuple[str, ...] = ()) -> None:
        self._reader = reader
        self.warnings = warnings
        self.topics: dict[str, int] = {}
        self.types: dict[str, str] = {}
        for connection in reader.connections:
            self.topics[connection.topic] = self.topics.get(connection.topic, 0) + connection.msgcount
            self.types[connection.topic] = connection.msgtype

    @property
    def message_count(self) -> int:
        """Messages of all topics."""
        return sum(self.topics.values())

    def __iter__(self) -> Iterator[tuple[str, int, bytes]]:
        """Yield topic, time of recording [ns] and CDR bytes."""
        for connection, time, data in self._reader.messages():
            yield connection.topic, time, data

    def collect(self, topics: Mapping[str, object]) -> dict[str, list[tuple[int, bytes]]]:
        """Gather (time of recording, CDR bytes) of the given topics; topics that the bag lacks are left out."""
        connections = [connection for connection in self._reader.connections if connection.topic in topics]
        found: dict[str, list[tuple[int, bytes]]] = {connection.topic: [] for connection in connections}
        if connections:
            for connection, time, data in self._reader.messages(connections):
                found[connection.topic].append((time, data))
        return found


@contextmanager
def open_bag(path: str | Path) -> Iterator[BagMessages]:
    """Open a bag directory, ``.mcap`` or ``.db3`` file.

    Raises
    ------
    BagError
        If there is nothing at ``path`` or it is not a bag.
    """
    path = Path(path)
    if not path.exists():
        raise BagError(f'{path}: there is no such file or directory')
    try:
        with Reader(path) as reader:
            yield BagMessages(reader)
    except (ReaderError, FileNotFoundError) as error:
        raise BagError(f'{path}: not a readable bag: {error}') from error
