"""Rejected messages of a node: logged, and counted for /diagnostics."""

from __future__ import annotations

import time

from rclpy.node import Node

#: s of wall time for which a rejection shows as a warning; after so much quiet the next one is logged at once
_RECENT = 10.0
#: s between the first two warnings of a topic, and at most
_FIRST, _LONGEST = 1.0, 300.0


class Rejections:
    """Counts rejected messages and keeps the latest reason.

    Attributes
    ----------
    count : so far
    last : text of the latest
    """

    def __init__(self, node: Node) -> None:
        self._logger = node.get_logger()
        self._last_time = -_RECENT
        self._latest: dict[str, float] = {}
        self._due: dict[str, tuple[float, float]] = {}
        self.count = 0
        self.last = ''

    def add(self, topic: str, error: Exception) -> None:
        """Note a rejection; what goes on and on is logged at intervals that double, for each topic by itself."""
        now = time.monotonic()
        self.count += 1
        self.last, self._last_time = f'{topic}: {error}', now
        due, interval = self._due.get(topic, (now, _FIRST))
        if now - self._latest.get(topic, now) > _RECENT:
            due, interval = now, _FIRST
        self._latest[topic] = now
        if now >= due:
            self._due[topic] = now + interval, min(2.0 * interval, _LONGEST)
            self._logger.warning(f'rejected {self.last} (the next one in {interval:.0f} s, if it goes on)')

    def recent(self) -> bool:
        """Whether there was one in the last ten seconds."""
        return time.monotonic() - self._last_time < _RECENT
