"""Message stamps as integer nanoseconds, because a float is not precise enough."""

from __future__ import annotations

from typing import Any

from builtin_interfaces.msg import Time


def nanoseconds(stamp: Any) -> int:
    """Nanoseconds of a ``builtin_interfaces/Time`` (of rclpy or of rosbags)."""
    return int(stamp.sec) * 1_000_000_000 + int(stamp.nanosec)


def stamp(time_ns: int) -> Time:
    """``builtin_interfaces/Time`` of nanoseconds."""
    seconds, rest = divmod(int(time_ns), 1_000_000_000)
    return Time(sec=seconds, nanosec=rest)
