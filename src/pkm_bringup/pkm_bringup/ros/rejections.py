"""Rejected messages of a node: logged, and counted for /diagnostics."""

from __future__ import annotations

import time

from rclpy.node import Node

#: s of wall time for which a rejection shows as a warning
_RECENT = 10.0


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
        self._last_logged: dict[str, float] = {}
        self.count = 0
        self.last = ''

    def add(self, topic: str, error: Exception) -> None:
        """Note a rejection; logs at most one a second for each topic."""
        now = time.monotonic()
        self.count += 1
        self.last, self._last_time = f'{topic}: {error}', now
        if now - self._last_logged.get(topic, -1.0) >= 1.0:
            self._last_logged[topic] = now
            self._logger.warning(f'rejected {self.last}')

    def recent(self) -> bool:
        """Whether there was one in the last ten seconds."""
        return time.monotonic() - self._last_time < _RECENT
