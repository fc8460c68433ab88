"""Topics that are looked at from time to time: no callback per message, so that a viewer costs little beside 1 kHz."""

from __future__ import annotations

from typing import Any

from pkm_description.ros.qos import LATCHED_QOS
from pkm_description.ros.serialized import UNREADABLE, read_stamp
from rclpy.callback_groups import CallbackGroup
from rclpy.node import Node
from rclpy.qos import HistoryPolicy, QoSProfile, ReliabilityPolicy

#: messages between two looks that are kept: 0.2 s of a stream at 1 kHz
_KEPT = 200


class NeverExecuted(CallbackGroup):
    """Group whose members no executor looks at: their messages wait until somebody takes them."""

    def can_execute(self, entity: Any) -> bool:
        """Never."""
        return False

    def beginning_execution(self, entity: Any) -> bool:
        """Never."""
        return False

    def ending_execution(self, entity: Any) -> None:
        """Nothing has begun."""


class PolledTopics:
    """Subscriptions that exist while they are wanted; messages stay serialised until they are needed.

    Parameters
    ----------
    node : in whose namespace the topics are
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._group = NeverExecuted()
        self._wanted: dict[str, tuple[type, QoSProfile]] = {}
        self._subscriptions: dict[str, Any] = {}

    def want(self, kind: type, topic: str, latched: bool = False) -> None:
        """Subscribe to a topic whenever :meth:`open` is called."""
        stream = QoSProfile(
            history=HistoryPolicy.KEEP_LAST, depth=_KEPT, reliability=ReliabilityPolicy.BEST_EFFORT
        )
        self._wanted[topic] = (kind, LATCHED_QOS if latched else stream)

    def open(self) -> None:
        """Subscribe, if that has not been done yet."""
        if self._subscriptions:
            return
        for topic, (kind, qos) in self._wanted.items():
            self._subscriptions[topic] = self._node.create_subscription(
                kind, topic, _nobody, qos, callback_group=self._group, raw=True
            )

    def close(self) -> None:
        """Unsubscribe: who publishes only to subscribers stops."""
        for subscription in self._subscriptions.values():
            self._node.destroy_subscription(subscription)
        self._subscriptions.clear()

    def take(self, topic: str) -> list[bytes]:
        """Serialised messages of a topic since the last look, in order, the last 200 of them."""
        subscription = self._subscriptions[topic]
        taken: list[bytes] = []
        with subscription.handle:
            while (message := subscription.handle.take_message(subscription.msg_type, True)) is not None:
                taken.append(bytes(message[0]))
        return taken


class StampedMessages:
    """The last messages of one topic by stamp [ns], to find those of equal stamps."""

    def __init__(self) -> None:
        self._by_stamp: dict[int, bytes] = {}

    def add(self, messages: list[bytes]) -> None:
        """Add serialised messages that begin with a header; a clock that was set back forgets those before."""
        for data in messages:
            try:
                stamp = read_stamp(data)
            except UNREADABLE:
                continue
            if self._by_stamp and stamp < next(reversed(self._by_stamp)):
                self._by_stamp.clear()
            self._by_stamp[stamp] = data
        while len(self._by_stamp) > 10 * _KEPT:
            del self._by_stamp[next(iter(self._by_stamp))]

    def newest(self, *others: StampedMessages) -> int | None:
        """Newest stamp [ns] that this and all others have."""
        for stamp in reversed(self._by_stamp):
            if all(stamp in other._by_stamp for other in others):
                return stamp
        return None

    def at(self, stamp: int | None) -> bytes | None:
        """Message of a stamp."""
        return None if stamp is None else self._by_stamp.get(stamp)

    def __bool__(self) -> bool:
        return bool(self._by_stamp)


def _nobody(_message: bytes) -> None:
    """Callback that is never called."""


