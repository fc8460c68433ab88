"""Schedule of the messages of a bag for replay."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pkm_description.driver import STANDARD_DRIVER, Driver
from pkm_estimation.bags import BagError
from pkm_estimation.bags.messages import open_bag
from rosbags.interfaces import Qos


@dataclass(frozen=True)
class PlayedMessage:
    """One message due for publication: topic (after remapping), recorded time [ns] and CDR bytes."""

    topic: str
    time: int
    data: bytes


class Playback:
    """A bag as a schedule.

    Parameters
    ----------
    path : bag directory or file
    topics : only these (names in the bag); empty for all
    remap : names in the bag to names to publish on
    rate : speed, 2.0 is twice as fast as recorded
    start_offset : s to skip at the beginning
    exclude : not these (names in the bag); the bag need not have them
    namespaces : from and to: topics below the first are published below the second, others are not played unless they
        are named in ``topics``, ``remap`` or ``also``; default: every topic as recorded
    also : topics (names in the bag, if it has them) to play although they lie in another namespace
    driver : of the machine; says how to read CSV files

    Attributes
    ----------
    types : message type by published topic
    qos : offered QoS profiles by published topic
    warnings : what the bag has lost

    Raises
    ------
    BagError
        Not a bag, nothing left to play, a named topic or namespace that the bag has not, a rate that is not positive.
    """

    def __init__(
        self,
        path: str | Path,
        topics: Collection[str] = (),
        remap: Mapping[str, str] | None = None,
        rate: float = 1.0,
        start_offset: float = 0.0,
        exclude: Collection[str] = (),
        namespaces: tuple[str, str] | None = None,
        also: Collection[str] = (),
        driver: Driver = STANDARD_DRIVER,
    ) -> None:
        if not rate > 0.0 or not start_offset >= 0.0:
            raise BagError(f'rate = {rate} must be positive and start_offset = {start_offset} s not negative')
        self.rate = rate
        names = dict(remap or {})
        with open_bag(path, driver, namespaces[0] if namespaces else '') as bag:
            missing = sorted((set(topics) | set(names)) - set(bag.topics))
            if missing:
                raise BagError(
                    f'{path}: has no topic {", ".join(missing)}; it holds {", ".join(sorted(bag.topics))}'
                )
            if namespaces is not None:
                names = {topic: topic for topic in (*topics, *also)} | _moved(path, bag.topics, namespaces) | names
            wanted = {topic for topic, count in bag.topics.items() if count and topic not in exclude}
            if topics:
                wanted &= set(topics)
            if namespaces is not None:
                wanted &= set(names)
            self.types = {names.get(topic, topic): bag.types[topic] for topic in wanted}
            self.qos: dict[str, list[Qos]] = {
                names.get(topic, topic): bag.qos.get(topic, []) for topic in wanted
            }
            self.warnings = list(bag.warnings)
            played = [
                PlayedMessage(names.get(topic, topic), time, data) for topic, time, data in bag.read(wanted)
            ]
        if not played:
            raise BagError('; '.join([f'{path}: no messages to play', *self.warnings]))
        first = played[0].time + round(start_offset * 1e9)
        self._messages = [message for message in played if message.time >= first]
        if not self._messages:
            length = (played[-1].time - played[0].time) * 1e-9
            raise BagError(
                f'{path}: start_offset = {start_offset} s is beyond its end, it is {length:.3f} s long'
            )
        self.start_time, self.end_time = first, self._messages[-1].time

    def __len__(self) -> int:
        return len(self._messages)

    def __iter__(self) -> Iterator[PlayedMessage]:
        return iter(self._messages)

    @property
    def rates(self) -> dict[str, float]:
        """Messages of each published topic per recorded second."""
        counts = Counter(message.topic for message in self._messages)
        duration = max((self.end_time - self.start_time) * 1e-9, 1.0)
        return {topic: counts[topic] / duration for topic in self.types}

    def due_after(self, time: int) -> float:
        """Seconds from the start of the replay until a recorded time [ns] is due."""
        return (time - self.start_time) * 1e-9 / self.rate


def _moved(path: str | Path, topics: Collection[str], namespaces: tuple[str, str]) -> dict[str, str]:
    """New names of the topics that lie in a namespace."""
    before, after = ('/' + name.strip('/') + '/' if name.strip('/') else '/' for name in namespaces)
    found = {topic: after + topic.removeprefix(before) for topic in topics if topic.startswith(before)}
    if not found:
        raise BagError(f'{path}: has no topic below {before}; it holds {", ".join(sorted(topics))}')
    return found
