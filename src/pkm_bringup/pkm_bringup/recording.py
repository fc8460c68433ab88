"""A recording in progress: adds topics and messages, and always closes its bag."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from importlib import import_module
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from ament_index_python.packages import PackageNotFoundError, get_package_share_directory
from pkm_description.driver import STANDARD_DRIVER, Driver
from pkm_estimation.bags import BagError, RawBagWriter
from pkm_estimation.bags.messages import open_bag
from rclpy.qos import QoSDurabilityPolicy, QoSHistoryPolicy, QoSProfile, QoSReliabilityPolicy
from rclpy.subscription import Subscription
from rosbags.interfaces import Qos, QosDurability, QosHistory, QosLiveliness, QosReliability, QosTime
from rosbags.typesys import Stores, get_types_from_msg, get_typestore
from rosbags.typesys.store import Typestore


class PlayedMessage(NamedTuple):
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


class BagRecording:
    """Writes serialised messages; topics can be added at any time.

    Parameters
    ----------
    path, storage : as for :class:`pkm_estimation.bags.RawBagWriter`; the bag directory must not exist

    Notes
    -----
    A message that arrives before the (simulated) clock runs, at time 0, is kept back and written with the
    first time that the clock shows, so that replay does not wait through the years between.
    """

    def __init__(self, path: str | Path, storage: str = 'mcap') -> None:
        self._writer = RawBagWriter(path, storage, get_typestore(Stores.ROS2_JAZZY))  # which learns others
        self._early: list[tuple[str, bytes]] = []
        self.closed = False

    @property
    def path(self) -> Path:
        """Directory of the bag."""
        return self._writer.path

    @property
    def counts(self) -> dict[str, int]:
        """Messages so far by topic."""
        counts = dict(self._writer.counts)
        for topic, _ in self._early:
            counts[topic] += 1
        return counts

    def add_topic(self, topic: str, message_type: str, qos: Sequence[Qos] = ()) -> None:
        """Take up a topic; raises BagError if the type's definition is not to be found."""
        learn_type(self._writer.typestore, message_type)
        self._writer.add_topic(topic, message_type, qos)

    def add_message(self, topic: str, time: int, data: bytes) -> None:
        """Write CDR bytes received at ``time`` [ns]; ignored once the recording is closed.

        Raises
        ------
        BagError
            It cannot be written; the recording is closed, and what was written before can be read.
        """
        if self.closed:
            return
        if time <= 0:
            self._early.append((topic, data))
            return
        try:
            self._write_early(time)
            self._writer.write(topic, time, data)
        except BagError:
            self.closed = self._writer.closed
            raise

    def flush(self) -> None:
        """Make what was written so far survive the end of the process; raises as :meth:`add_message`."""
        try:
            self._writer.flush()
        finally:
            self.closed = self.closed or self._writer.closed

    def close(self) -> str:
        """Close the bag (once) and return one line that says what it holds."""
        if not self.closed:
            try:
                self._write_early(0)
                self._writer.close()
            finally:
                self.closed = True
        counts = self.counts
        return f'{sum(counts.values())} messages on {len(counts)} topics in {self.path}'

    def _write_early(self, time: int) -> None:
        if self._early:
            for topic, data in self._early:
                self._writer.write(topic, time, data)
            self._early.clear()


def learn_type(store: Typestore, message_type: str) -> None:
    """Add a type that is not among the standard ones, with all it is made of, from its installed package.

    Raises
    ------
    BagError
        If the package or its ``.msg`` file is not installed.
    """
    if message_type in store.types:
        return
    package, _, name = message_type.split('/')
    try:
        path = Path(get_package_share_directory(package), 'msg', f'{name}.msg')
        definition = path.read_text(encoding='utf-8')
    except (PackageNotFoundError, OSError) as error:
        raise BagError(
            f'{message_type}: its definition is not installed, so it cannot be recorded: {error}'
        ) from error
    found = get_types_from_msg(definition, message_type)
    for field_types in found.values():
        for needed in sorted(_referenced(field_types[1])):
            learn_type(store, needed)
    store.register({kind: definition for kind, definition in found.items() if kind not in store.types})


def _referenced(fields: object) -> set[str]:
    """Names of message types in rosbags' nested field descriptions."""
    if isinstance(fields, str):
        return {fields} if fields.count('/') == 2 else set()
    if isinstance(fields, list | tuple):
        return set().union(*(_referenced(item) for item in fields)) if fields else set()
    return set()


def in_order_of_sending(subscriptions: Sequence[Subscription[Any]]) -> Iterator[tuple[int, Any]]:
    """Take all that waits, as place of the subscription and message.

    Topic after topic would tear samples apart that belong together: who reads the recording in its order would get
    seconds of one sensor before the first sample of the other.
    """
    streams = [_waiting(place, subscription) for place, subscription in enumerate(subscriptions)]
    for _, place, message in heapq.merge(*streams, key=itemgetter(0)):
        yield place, message


def _waiting(place: int, subscription: Subscription[Any]) -> Iterator[tuple[int, int, Any]]:
    """What waits in one subscription, with the time of sending [ns]."""
    with subscription.handle:
        while (found := subscription.handle.take_message(subscription.msg_type, subscription.raw)) is not None:
            message, info = found
            yield info['source_timestamp'], place, message


def message_class(message_type: str) -> type:
    """Return the class of e.g. ``sensor_msgs/msg/Imu``; raises BagError if its package is not installed."""
    package, _, name = message_type.split('/')
    try:
        return getattr(import_module(f'{package}.msg'), name)
    except (ImportError, AttributeError) as error:
        raise BagError(f'message type {message_type} is not installed: {error}') from error


def matching_qos(offered: Sequence[Any], depth: int) -> QoSProfile:
    """Strongest quality of service that all of these have, profiles of rclpy or of a bag; reliable if there is none."""
    best_effort = any(one.reliability.name == 'BEST_EFFORT' for one in offered)
    latched = bool(offered) and all(one.durability.name == 'TRANSIENT_LOCAL' for one in offered)
    return QoSProfile(
        history=QoSHistoryPolicy.KEEP_LAST,
        depth=depth,
        reliability=QoSReliabilityPolicy.BEST_EFFORT if best_effort else QoSReliabilityPolicy.RELIABLE,
        durability=QoSDurabilityPolicy.TRANSIENT_LOCAL if latched else QoSDurabilityPolicy.VOLATILE,
    )


def offered_qos(profile: Any) -> Qos:
    """Convert an ``rclpy.qos.QoSProfile`` from the graph to what the bag's metadata holds.

    Policies are matched by name; what the graph does not tell (the history) stays unknown.
    """
    return Qos(
        history=QosHistory.__members__.get(profile.history.name, QosHistory.UNKNOWN),
        depth=profile.depth,
        reliability=QosReliability.__members__.get(profile.reliability.name, QosReliability.UNKNOWN),
        durability=QosDurability.__members__.get(profile.durability.name, QosDurability.UNKNOWN),
        deadline=_time(profile.deadline.nanoseconds),
        lifespan=_time(profile.lifespan.nanoseconds),
        liveliness=QosLiveliness.__members__.get(profile.liveliness.name, QosLiveliness.UNKNOWN),
        liveliness_lease_duration=_time(profile.liveliness_lease_duration.nanoseconds),
        avoid_ros_namespace_conventions=bool(profile.avoid_ros_namespace_conventions),
    )


def _time(nanoseconds: int) -> QosTime:
    return QosTime(nanoseconds // 10**9, nanoseconds % 10**9)
