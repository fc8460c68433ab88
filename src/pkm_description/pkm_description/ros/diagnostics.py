"""Publish ``/diagnostics`` (REP 107) from plain values."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.node import Node

from pkm_description.ros.clock_watch import ClockWatch
from pkm_description.ros.conversions import stamp
from pkm_description.ros.failed_publishing import FAILED


class Level(IntEnum):
    """Levels of a diagnostic status."""

    OK = 0
    WARN = 1
    ERROR = 2
    STALE = 3


#: by their names without ROS
LEVELS = {'ok': Level.OK, 'warn': Level.WARN, 'error': Level.ERROR}

#: part of the node -> level, message, key-value pairs
Statuses = Mapping[str, tuple[Level, str, Mapping[str, object]]]


def diagnostic_array(node_name: str, statuses: Statuses, time_ns: int) -> DiagnosticArray:
    """Build the message; each status is called ``node: part``; floats are written with six digits."""
    array = DiagnosticArray()
    array.header.stamp = stamp(time_ns)
    for part, (level, message, values) in statuses.items():
        status = DiagnosticStatus()
        status.level = bytes([int(level)])
        status.name = f'{node_name}: {part}'
        status.message = message
        status.hardware_id = node_name
        status.values = [KeyValue(key=key, value=_text(value)) for key, value in values.items()]
        array.status.append(status)
    return array


class DiagnosticsPublisher:
    """Publisher on ``/diagnostics`` for one node.

    Adds a status ``clock`` while several programs set the time, and ``publishing`` once a message could not be
    published.

    Parameters
    ----------
    node : publishes
    publishes_clock : the node publishes ``/clock``, too
    """

    def __init__(self, node: Node, publishes_clock: bool = False) -> None:
        self._node = node
        self._clock_watch = ClockWatch(node, publishes_clock)
        self._clock_problem = ''
        self._publisher = node.create_publisher(DiagnosticArray, '/diagnostics', 10)

    def publish(self, statuses: Statuses, time_ns: int | None = None) -> None:
        """Publish the statuses, stamped with ``time_ns`` or the node's clock."""
        if time_ns is None:
            time_ns = self._node.get_clock().now().nanoseconds
        told = {**statuses, **self._clock_status(), **_publishing_status()}
        self._publisher.publish(diagnostic_array(self._node.get_fully_qualified_name(), told, time_ns))

    def _clock_status(self) -> Statuses:
        before, self._clock_problem = self._clock_problem, self._clock_watch.problem()
        if self._clock_problem:
            return {'clock': (Level.ERROR, self._clock_problem, {})}
        # whoever shows the statuses keeps the last one: it has to be taken back
        return {'clock': (Level.OK, 'one clock', {})} if before else {}


def _publishing_status() -> Statuses:
    if not FAILED.by_topic:
        return {}
    level, text = (Level.WARN, f'messages are lost: {FAILED.last}') if FAILED.is_recent else (Level.OK, 'works again')
    return {'publishing': (level, text, {f'lost on {topic}': count for topic, count in FAILED.by_topic.items()})}


def _text(value: object) -> str:
    return f'{value:.6g}' if isinstance(value, float) else str(value)
