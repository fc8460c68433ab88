"""When a replay waits for its subscribers: publishing more would push out what they have not taken yet."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Protocol

from rclpy.duration import Duration

#: messages of a topic after which all of them must have arrived, and s of a recording whose messages may be on the way
#: in any case: Fast DDS asks its readers every 3 s what has arrived, and a replay is to be as fast as the machine was
_LEAST, _ON_THE_WAY = 400, 4.0
#: s after which a subscriber that takes nothing is no longer waited for
_LONGEST_HOLD = 5.0


class Acknowledging(Protocol):
    """What is asked of a publisher."""

    def wait_for_all_acked(self, timeout: Duration) -> bool:
        """Whether all reliable subscribers have everything."""
        ...


class Congestion:
    """Counts what is on the way.

    Parameters
    ----------
    rates : messages of each topic per recorded second
    """

    def __init__(self, rates: Mapping[str, float]) -> None:
        self._most = {topic: max(_LEAST, math.ceil(_ON_THE_WAY * rate)) for topic, rate in rates.items()}
        self._counts = dict.fromkeys(rates, 0)
        self._held_since: float | None = None

    def depth(self, topic: str) -> int:
        """Messages that a publisher must keep."""
        return 2 * self._most[topic]

    def holds(self, topic: str, publisher: Acknowledging, now: float) -> bool:
        """Whether the next message of a topic has to wait, at ``now`` [s]; if not, it counts as published."""
        self._counts[topic] += 1
        if self._counts[topic] < self._most[topic]:
            return False
        if publisher.wait_for_all_acked(Duration(nanoseconds=1)):
            self._counts[topic] = 0
            self._held_since = None
            return False
        self._held_since = self._held_since or now
        return now - self._held_since < _LONGEST_HOLD
