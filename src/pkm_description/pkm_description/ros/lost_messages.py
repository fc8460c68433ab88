"""Counts messages that the middleware has lost, by the numbers that their publishers give them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: publishers of a topic that are remembered
_REMEMBERED = 64


class LostMessages:
    """Follows the sequence numbers of a topic's publishers.

    The event ``message_lost`` of rclpy does not tell what was replaced in a full queue.
    """

    def __init__(self) -> None:
        self._last: dict[bytes, int] = {}

    def before(self, info: Mapping[str, Any]) -> int:
        """How many messages of the same publisher were lost before this one, whose info rclpy gives; 0 if unknown."""
        number, gid = info.get('publication_sequence_number'), info.get('publisher_gid')
        if number is None or gid is None:
            return 0
        publisher = gid['data']
        last = self._last.get(publisher)
        if last is None:
            if len(self._last) >= _REMEMBERED:
                self._last.clear()
            self._last[publisher] = number
            return 0
        if number <= last:  # it was sent again
            return 0
        self._last[publisher] = number
        lost: int = number - last - 1
        return lost
