"""Publish ``/diagnostics`` (REP 107), and what they count: lost messages, failed publishing, two clocks."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from enum import IntEnum
from typing import Any

import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.clock import JumpThreshold
from rclpy.duration import Duration
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.time_source import USE_SIM_TIME_NAME

from pkm_description.ros.conversions import stamp

#: publishers of a topic that are remembered
_REMEMBERED = 64
#: s after a failure for which it is warned of
_RECENT = 10.0
CLOCK = '/clock'
REMEDY = 'start all of them but one with publish_clock:=false (rosbag2: without --clock)'

#: jumps back between two questions that no bag in a loop makes
_JUMPS_OF_TWO_CLOCKS = 5


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


class ClockWatch:
    """Watches ``/clock`` for a node that takes its time from there, or that publishes it.

    Parameters
    ----------
    node : whose clock it is
    publishes : the node publishes ``/clock`` itself
    """

    def __init__(self, node: Node, publishes: bool = False) -> None:
        self._node, self._publishes = node, publishes
        self._jumps, self._said = 0, False
        backwards = JumpThreshold(min_forward=None, min_backward=Duration(nanoseconds=-1), on_clock_change=False)
        # kept: the clock forgets a callback whose handle is gone
        self._handle = node.get_clock().create_jump_callback(backwards, post_callback=self._count_jump)

    def _count_jump(self, _: object) -> None:
        self._jumps += 1

    def problem(self) -> str:
        """Say that there are two clocks, how they show, and what to do; empty if there is one at most.

        To be asked about once a second. The log says it, too, when it begins.
        """
        problem = self._problem()
        if problem and not self._said:
            self._node.get_logger().error(problem)
        self._said = bool(problem)
        return problem

    def _problem(self) -> str:
        jumps, self._jumps = self._jumps, 0
        if not self._publishes and not self._node.get_parameter(USE_SIM_TIME_NAME).value:
            return ''
        if self._node.count_publishers(CLOCK) > 1:
            owners = sorted(
                f'{item.node_namespace.rstrip("/")}/{item.node_name}'
                for item in self._node.get_publishers_info_by_topic(CLOCK)
            )
            return f'{len(owners)} programs publish {CLOCK}: {", ".join(owners)}; {REMEDY}'
        if jumps >= _JUMPS_OF_TWO_CLOCKS:
            return f'{CLOCK} jumped back {jumps} times within a second or so, as if two programs set it; {REMEDY}'
        return ''


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
        return number - last - 1
