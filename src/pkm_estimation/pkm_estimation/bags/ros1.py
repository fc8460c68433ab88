"""Bags of ROS 1 (``.bag``): their messages as those of ROS 2."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import ExitStack
from pathlib import Path

from rosbags.convert.converter import is_same_wireformat
from rosbags.rosbag1 import Reader, ReaderError
from rosbags.serde import SerdeError
from rosbags.typesys import Stores, get_typestore

from pkm_estimation.bags.decoding import TYPESTORE
from pkm_estimation.bags.recorded_data import BagError

#: messages of the last ROS 1
_ROS1 = get_typestore(Stores.ROS1_NOETIC)


class Ros1Bag:
    """Messages of a ROS 1 bag whose type ROS 2 has, too.

    Parameters
    ----------
    path : ``.bag`` file
    stack : closes the file

    Attributes
    ----------
    topics : message count by topic
    types : message type by topic, in ROS 2's spelling
    warnings : topics that are left out

    Raises
    ------
    BagError
        The file cannot be read.
    """

    def __init__(self, path: Path, stack: ExitStack) -> None:
        self._path = path
        try:
            self._reader = stack.enter_context(Reader(path))
        except (ReaderError, OSError, ValueError) as error:
            raise BagError(f'{path}: not a ROS 1 bag, or damaged ({error}); try: rosbag reindex {path.name}') from None
        self.topics: dict[str, int] = {}
        self.types: dict[str, str] = {}
        left_out = set()
        for connection in self._reader.connections:
            if _converts(connection.msgtype):
                topic = _absolute(connection.topic)
                self.topics[topic] = self.topics.get(topic, 0) + connection.msgcount
                self.types[topic] = connection.msgtype
            else:
                left_out.add(f'{connection.topic} ({connection.msgtype})')
        self.warnings = [f'left out, as ROS 2 has another message: {", ".join(sorted(left_out))}'] if left_out else []

    def read(self, topics: Collection[str] | None) -> Iterator[tuple[str, int, bytes]]:
        """Yield topic, time of recording [ns] and CDR bytes in the order of recording."""
        wanted = self.topics if topics is None else set(topics) & set(self.topics)
        connections = [item for item in self._reader.connections if _absolute(item.topic) in wanted]
        if not connections:
            return
        for connection, time, data in self._reader.messages(connections):
            try:
                message = bytes(TYPESTORE.ros1_to_cdr(data, connection.msgtype))
            except SerdeError as error:
                raise BagError(f'{self._path}: a message of {connection.topic} cannot be read: {error}') from None
            yield _absolute(connection.topic), time, message


def _converts(kind: str) -> bool:
    """Whether a type is the same in both; headers differ by their counter, which is left out."""
    return kind in _ROS1.fielddefs and kind in TYPESTORE.fielddefs and is_same_wireformat(_ROS1, TYPESTORE, kind, kind)


def _absolute(topic: str) -> str:
    return topic if topic.startswith('/') else f'/{topic}'
