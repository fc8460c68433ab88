"""A message that cannot be published, as under overload, is counted and told in ``/diagnostics``; the node goes on."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

import rclpy
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.publisher import Publisher

#: s after a failure for which it is warned of
_RECENT = 10.0


class FailedPublishing:
    """Failures of this process.

    Attributes
    ----------
    by_topic : how many messages of each topic could not be published
    last : topic and reason of the latest
    """

    def __init__(self) -> None:
        self.by_topic: Counter[str] = Counter()
        self.last = ''
        self._time = 0.0

    def add(self, topic: str, error: Exception) -> None:
        """Count a failure."""
        self.by_topic[topic] += 1
        self.last, self._time = f'{topic}: {error}', time.monotonic()

    @property
    def is_recent(self) -> bool:
        """Whether there was a failure a moment ago."""
        return bool(self.by_topic) and time.monotonic() - self._time < _RECENT


#: of all nodes of this process
FAILED = FailedPublishing()


def survive_failed_publishing() -> None:
    """Count messages that cannot be published from now on, in place of an error that ends the node.

    rclpy has no hook for that, and a node publishes in many places: the method of its class is replaced.
    """
    original: Any = Publisher.publish
    if getattr(original, 'survives', False):
        return

    def publish(self: Any, message: Any) -> None:
        try:
            original(self, message)
        except rclpy_implementation.RCLError as error:
            if not rclpy.ok():  # this is how a node ends
                raise
            FAILED.add(self.topic_name, error)

    publish.survives = True  # type: ignore[attr-defined]
    Publisher.publish = publish  # type: ignore[assignment]
