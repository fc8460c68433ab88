"""Serialised messages, from whatever file they come."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import chain
from typing import NamedTuple

from rosbags.interfaces import Qos

from pkm_estimation.bags.unpacking import ZSTD_MARK, CompressionBombError, unpack

#: topic, time of recording [ns], CDR bytes
Message = tuple[str, int, bytes]


class Source(NamedTuple):
    """What one file holds.

    Attributes
    ----------
    read : messages of some topics (None: all) in the order of recording
    counts, types : messages and message type by topic
    warnings : what was lost, one sentence each
    qos : QoS profiles that the recorded publishers offered, by topic
    """

    read: Callable[[Collection[str] | None], Iterator[Message]]
    counts: Mapping[str, int]
    types: Mapping[str, str]
    warnings: list[str]
    qos: Mapping[str, list[Qos]] = {}


def listed_source(messages: list[Message], types: Mapping[str, str], warnings: list[str]) -> Source:
    """The source of messages that are in the memory."""
    counts = Counter(topic for topic, _, _ in messages)

    def read(topics: Collection[str] | None) -> Iterator[Message]:
        return (message for message in messages if topics is None or message[0] in topics)

    return Source(read, counts, types, warnings)


class BagMessages:
    """Serialised messages of an open recording: those of its files, one after the other.

    Attributes
    ----------
    topics : message count by topic
    types : message type by topic, e.g. ``sensor_msgs/msg/Imu``
    qos : QoS profiles offered by the recorded publishers, by topic
    warnings : what was lost, one sentence each
    """

    def __init__(self) -> None:
        self.topics: dict[str, int] = {}
        self.types: dict[str, str] = {}
        self.qos: dict[str, list[Qos]] = {}
        self.warnings: list[str] = []
        self._sources: list[Source] = []

    @property
    def message_count(self) -> int:
        """Messages of all topics."""
        return sum(self.topics.values())

    def add(self, source: Source) -> None:
        """Append what a file holds."""
        self._sources.append(source)
        self.types.update(source.types)
        self.warnings += source.warnings
        for topic in source.types:
            self.topics[topic] = self.topics.get(topic, 0) + source.counts.get(topic, 0)
        for topic, profiles in source.qos.items():
            self.qos.setdefault(topic, []).extend(profiles)

    def read(self, topics: Collection[str] | None = None) -> Iterator[Message]:
        """Topic, time of recording [ns] and CDR bytes in the order of recording."""
        return map(_unpacked, chain.from_iterable(source.read(topics) for source in self._sources))


def _unpacked(message: Message) -> Message:
    """Unpack a compressed message; only metadata.yaml says that they are, and it may be missing."""
    topic, time, data = message
    if data[:4] != ZSTD_MARK:
        return message
    try:
        return topic, time, unpack('zstd', data)
    except CompressionBombError as error:
        raise CompressionBombError(f'a message of {topic}: {error}') from None
    except Exception:  # whoever reads it will say that it is damaged
        return message
