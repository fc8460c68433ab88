"""Subscription of a node to a sensor's topic: what is lost, what cannot be read, and how many messages are held."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from pkm_description.ros.lost_messages import LostMessages
from pkm_description.ros.qos import with_few_held
from pkm_description.ros.serialized import UNREADABLE, TooLongError
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.subscription import Subscription

from pkm_estimation.stream.health import HealthMonitor

if TYPE_CHECKING:
    from rclpy.subscription import MessageInfo  # not in the rclpy of Jazzy

#: ticks after a message that was too long for which few messages are held
_NARROW = 5


class SensorTopic(NamedTuple):
    """A topic.

    Attributes
    ----------
    name : counters begin with it
    kind : of its messages
    topic : its name in ROS
    read : makes a sample with a ``stamp`` of a serialised message
    """

    name: str
    kind: type
    topic: str
    read: Callable[[bytes], Any]


class SensorStream:
    """Subscription that holds few messages while some are too long to be read.

    For each message that it holds the middleware keeps as much memory as the largest ever had: with the usual depth
    gigabytes. How many are held is fixed when a subscription is made, so it is replaced, with its memory.

    Parameters
    ----------
    node : that subscribes
    topic : what to
    qos : profile of the subscription
    hear : is called at each message; where it is counted, ``None``: the node is not active, it is ignored
    take : takes a sample
    """

    def __init__(
        self,
        node: Node,
        topic: SensorTopic,
        qos: QoSProfile,
        hear: Callable[[], HealthMonitor | None],
        take: Callable[[Any], object],
    ) -> None:
        self._node, self._topic, self._qos = node, topic, qos
        self._hear, self._take = hear, take
        self._numbers = LostMessages()
        self._ticks, self._last_stamp = 0, 0
        self._subscription: Subscription[Any] | None = None
        self._listen(qos)

    def close(self) -> None:
        """Subscribe no longer."""
        if self._subscription is not None:
            self._node.destroy_subscription(self._subscription)
            self._subscription = None

    def tick(self) -> None:
        """Hold as many messages as before some ticks after the last one that was too long."""
        if self._ticks:
            self._ticks -= 1
            if not self._ticks:
                self._listen(self._qos)

    def _listen(self, qos: QoSProfile) -> None:
        """Subscribe, in place of the subscription that there is."""

        def receive(data: Any, info: MessageInfo) -> None:
            # one that was replaced is alive to the end of the executor's turn: its successor hears the same messages
            if self._subscription is subscription:
                self._receive(data, info)

        self.close()
        subscription: Subscription[Any] = self._node.create_subscription(
            self._topic.kind, self._topic.topic, receive, qos, raw=True
        )
        self._subscription = subscription

    def _receive(self, data: bytes, info: MessageInfo) -> None:
        health, lost = self._hear(), self._numbers.before(info)
        if health is None:
            return
        name, kind, topic, read = self._topic
        health.count(f'{name}_lost', lost)
        try:
            sample = read(data)
        except UNREADABLE as error:
            if isinstance(error, TooLongError):
                if not self._ticks:
                    self._listen(with_few_held(self._qos))
                self._ticks = _NARROW
            detail = f'{topic}: {len(data)} bytes that are no {kind.__name__}: {error}'
            health.event(self._last_stamp, 'unreadable_message', detail)
            health.count(f'{name}_unreadable')
            return
        if sample.stamp > 0:
            self._last_stamp = sample.stamp
        self._take(sample)
