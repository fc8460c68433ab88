"""Wait until nodes that are still at work have nothing more to say."""

from __future__ import annotations

import time
from collections.abc import Sequence

from pkm_estimation.bags import BagError
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data

from pkm_bringup.recording.message_classes import message_class

#: s without a message after which a topic counts as silent
_SILENCE = 1.0


class Silence:
    """Listens to topics from now on and says when none of them has had a message for a second.

    Parameters
    ----------
    node : has to be spun
    topics : those without publisher are left out

    """

    def __init__(self, node: Node, topics: Sequence[str]) -> None:
        self._last = time.monotonic()
        self._topics = []
        for topic in topics:
            publishers = node.get_publishers_info_by_topic(node.resolve_topic_name(topic))
            if publishers:
                try:
                    kind = message_class(publishers[0].topic_type)
                except BagError:
                    continue  # nobody here can wait for what is not installed
                node.create_subscription(kind, topic, self._hear, qos_profile_sensor_data, raw=True)
                self._topics.append(topic)

    def _hear(self, _: bytes) -> None:
        self._last = time.monotonic()

    @property
    def has_come(self) -> bool:
        """Whether all is silent; at once if there is nothing to listen to."""
        return not self._topics or time.monotonic() - self._last > _SILENCE
