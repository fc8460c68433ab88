"""A recording in progress: adds topics and messages, and always closes its bag."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from importlib import import_module
from operator import itemgetter
from pathlib import Path
from typing import Any

from ament_index_python.packages import PackageNotFoundError, get_package_share_directory
from pkm_estimation.bags import BagError, RawBagWriter
from rclpy.subscription import Subscription
from rosbags.interfaces import Qos, QosDurability, QosHistory, QosLiveliness, QosReliability, QosTime
from rosbags.typesys import Stores, get_types_from_msg, get_typestore
from rosbags.typesys.store import Typestore


class BagRecording:
    """Writes serialised messages; topics can be added at any time.

    Parameters
    ----------
    path, storage : as for :class:`pkm_estimation.bags.RawBagWriter`; the bag directory must not exist
    flush_every : messages after which what was written is made safe against a crash

    Notes
    -----
    A message that arrives before the (simulated) clock runs, at time 0, is kept back and written with the
    first time that the clock shows, so that replay does not wait through the years between.
    """

    def __init__(self, path: str | Path, storage: str = 'mcap', flush_every: int = 5000) -> None:
        self._writer = RawBagWriter(path, storage, message_definitions())
        self._flush_every = flush_every
        self._unflushed = 0
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
            self._unflushed += 1
            if self._unflushed >= self._flush_every:
                self._writer.flush()
                self._unflushed = 0
        except BagError:
            self.closed = self._writer.closed
            raise

    def flush(self) -> None:
        """Make what was written so far survive the end of the process; raises as :meth:`add_message`."""
        try:
            self._writer.flush()
        finally:
            self.closed = self.closed or self._writer.closed
        self._unflushed = 0

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


def message_definitions() -> Typestore:
    """Make a store of the standard types; :func:`learn_type` adds others."""
    return get_typestore(Stores.ROS2_JAZZY)


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
