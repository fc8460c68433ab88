"""Node that replays a bag, without rosbag2: the recorded bytes at the recorded intervals, and ``/clock``."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pkm_description.driver import IMU_TOPIC, JOINT_TOPIC
from pkm_description.errors import JointStateError
from pkm_description.machine import Machine
from pkm_description.ros.conversions import StandardStreams, stamp
from pkm_description.ros.diagnostics import CLOCK, DiagnosticsPublisher, Level
from pkm_description.ros.node_main import StreamExecutor, run_node
from pkm_description.ros.parameters import declare_machine, declare_settings
from pkm_description.ros.serialized import UNREADABLE
from pkm_description.settings import Settings, setting
from pkm_estimation.bags import BagError
from rclpy.client import Client
from rclpy.clock import Clock, ClockType
from rclpy.duration import Duration
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import qos_profile_sensor_data
from rosgraph_msgs.msg import Clock as ClockMessage
from std_srvs.srv import Trigger

from pkm_bringup.recording import Playback, matching_qos, message_class
from pkm_bringup.ros.service_calls import ServiceError, answer_of

#: messages of a topic after which all of them must have arrived, and s of a recording whose messages may be on the way
#: in any case: Fast DDS asks its readers every 3 s what has arrived, and a replay is to be as fast as the machine was
_LEAST, _ON_THE_WAY = 400, 4.0
#: s after which a subscriber that takes nothing is no longer waited for
_LONGEST_HOLD = 5.0
#: s without a message after which a topic counts as silent
_SILENCE = 1.0
#: messages published in one go before the executor gets its turn
_BATCH = 200

#: s between the last subscriber's arrival and the first message; that nodes get to take what they have received before
#: a service is called, which would overtake messages
_SETTLING, _BEFORE_SERVICE = 0.5, 1.0

#: s between looks at what is due while it plays, and while it waits for subscribers or results: nodes that start or
#: compute need the processor
_PLAYING, _WAITING = 1e-3, 0.05


@dataclass(frozen=True)
class PlayerSettings(Settings):
    """What is played, how fast, and which subscribers are awaited."""

    bag: str = setting('', 'bag directory or file')
    rate: float = setting(1.0, 'speed; 1 is as recorded', 1e-3, 1e3)
    loop: bool = setting(False, 'start again at the end (the clock jumps back)')
    start_offset: float = setting(0.0, 'skip this much at the beginning [s]', 0.0, 1e9)
    from_namespace: str = setting(
        '', "play topics below this namespace of the bag, '/' for all, below the node's own; empty: all, as recorded"
    )
    topics: tuple[str, ...] = setting([''], 'topics to play, named as in the bag; empty: all')
    exclude: tuple[str, ...] = setting([''], 'topics not to play')
    wait_for_topics: tuple[str, ...] = setting([''], 'topics that need a subscriber; empty: all')
    remap: tuple[str, ...] = setting([''], "topics to rename, entries of the form 'from:=to'")
    wait_for_nodes: tuple[str, ...] = setting([''], "nodes that must subscribe, entries of the form 'topic node'")
    publish_clock: bool = setting(True, 'set the time on /clock')
    clock_rate: float = setting(200.0, 'most messages on /clock per recorded second', 1e-3, 1e4)
    convert: bool = setting(
        False, "publish the driver's streams converted, as joint_states and imu/data_raw, in place of its own"
    )
    wait_for_subscribers: float = setting(
        0.0, 'longest wait until every topic has a subscriber [s]', 0.0, 3600.0
    )
    wait_for_results: tuple[str, ...] = setting(
        [''], 'topics of nodes that may still be at work at the end: it comes when they are silent for a second'
    )
    services_at_end: tuple[str, ...] = setting(
        [''], 'std_srvs/Trigger services to call after the last message, e.g. identification/identify'
    )
    longest_service: float = setting(600.0, 'longest wait for an answer of one of them [s]', 1.0, 86400.0)


class PlayerNode(Node):
    """Publishes each message when it is due by the machine's clock, and the recorded time on ``/clock``."""

    def __init__(self) -> None:
        super().__init__('player')
        machine = declare_machine(self)
        settings = declare_settings(self, PlayerSettings)
        bag, rate = settings.bag, settings.rate
        awaited = [machine.driver.topic(topic) for topic in settings.wait_for_topics]
        self._loop, self._patience = settings.loop, settings.wait_for_subscribers
        if not bag:
            raise BagError("parameter 'bag' is empty: name the bag to play")
        self._playback = Playback(
            bag,
            self._in_bag(settings.topics, settings.from_namespace),
            dict(_pairs('remap', settings.remap, ':=', 'from:=to')),
            rate,
            settings.start_offset,
            # of two clocks nobody knows which counts
            [*self._in_bag(settings.exclude, settings.from_namespace), CLOCK],
            (settings.from_namespace, self.get_namespace()) if settings.from_namespace else None,
            # a driver may publish under an absolute name
            [topic for topic in awaited if topic.startswith('/')],
            machine.driver,
        )
        for warning in self._playback.warnings:
            self.get_logger().warning(f'{bag}: {warning}')
        self._conversions = self._conversions_of(machine) if settings.convert else {}
        self._congestion = Congestion(self._playback.rates)
        qos = {
            topic: matching_qos(offered, self._congestion.depth(topic))
            for topic, offered in self._playback.qos.items()
        }
        self._publishers_by_topic: dict[str, Publisher] = {
            topic: self.create_publisher(message_class(kind), self._played_as(topic), qos[topic])
            for topic, kind in self._playback.types.items()
        }
        self._awaited = self._resolved(awaited) or list(self._publishers_by_topic)
        self._awaited_nodes: dict[str, set[str]] = {}
        for topic, node in _pairs('wait_for_nodes', settings.wait_for_nodes, ' ', 'topic node'):
            self._awaited_nodes.setdefault(self.resolve_topic_name(machine.driver.topic(topic)), set()).add(node)
        self._at_end = [name for name in settings.services_at_end if name]
        self._longest_service = settings.longest_service
        self._results = [topic for topic in settings.wait_for_results if topic]
        self._clock_interval = round(1e9 / settings.clock_rate)
        self._clock_publisher = self.create_publisher(ClockMessage, CLOCK, 10) if settings.publish_clock else None
        self._diagnostics = DiagnosticsPublisher(self, publishes_clock=settings.publish_clock)
        self._time, self._last_clock = self._playback.start_time, -self._clock_interval
        self._doing = 'waits for subscribers'
        length = (self._playback.end_time - self._playback.start_time) * 1e-9
        self.get_logger().info(f'{bag}: {len(self._playback)} messages, {length:.1f} s at rate {rate:g}')
        self.create_timer(1.0, self._report, clock=Clock(clock_type=ClockType.STEADY_TIME))
        self._executor = StreamExecutor()
        self._executor.add_node(self)

    def run(self) -> None:
        """Play, then wait for the results and call the services; ends with SystemExit, code 0 if all went well."""
        self._wait_for_subscribers()
        self._play()
        while self._loop:
            self._play()
        for publisher in self._publishers_by_topic.values():  # every reliable subscriber gets everything
            publisher.wait_for_all_acked(Duration(seconds=2))
        self.get_logger().info('end of the bag')
        self._wait_for_results()
        try:
            for service in self._at_end:
                self._call(service)
        except ServiceError as error:
            self.get_logger().error(str(error))
            raise SystemExit(1) from None
        raise SystemExit(0)

    def _serve(self, seconds: float) -> None:
        """Serve what comes in; a shutdown ends the node."""
        self._executor.serve(seconds)
        if not self.context.ok():
            raise ExternalShutdownException

    def _conversions_of(self, machine: Machine) -> dict[str, tuple[str, Callable[[bytes], Any]]]:
        """Of the driver's topics: the suite's topic, and what makes its messages."""
        streams, driver = StandardStreams(machine), machine.driver
        return {
            self.resolve_topic_name(driver.joint_topic): (self.resolve_topic_name(JOINT_TOPIC), streams.joint_state),
            self.resolve_topic_name(driver.imu_topic): (self.resolve_topic_name(IMU_TOPIC), streams.imu),
        }

    def _played_as(self, topic: str) -> str:
        return self._conversions[topic][0] if topic in self._conversions else topic

    def _publish(self, topic: str, data: bytes) -> None:
        """Publish a recorded message, converted where that was asked for; what cannot be converted is left out."""
        message: Any = data
        if topic in self._conversions:
            try:
                message = self._conversions[topic][1](data)
            except (JointStateError, *UNREADABLE) as error:
                self.get_logger().warning(f'{topic}: {error}', throttle_duration_sec=5.0)
                return
        self._publishers_by_topic[topic].publish(message)

    def _resolved(self, topics: Sequence[str]) -> list[str]:
        return [self.resolve_topic_name(topic) for topic in topics if topic]

    def _in_bag(self, topics: Sequence[str], namespace: str) -> list[str]:
        """Names in the bag: relative ones are below ``namespace``, or below the node's own if there is none."""
        if not namespace:
            return self._resolved(topics)
        below = f'/{namespace.strip("/")}'.rstrip('/')
        return [topic if topic.startswith('/') else f'{below}/{topic}' for topic in topics if topic]

    def _wait_for_subscribers(self) -> None:
        """Wait until all topics have had subscribers for a moment, so that those can connect their own topics, too."""
        # results, too: a recorder must not miss the first ones
        topics = dict.fromkeys([*self._publishers_by_topic, *self._resolved(self._results)])
        began, heard_since = time.monotonic(), None
        while self._patience:
            deaf = [topic for topic in topics if not self._is_heard(topic)]
            now = time.monotonic()
            if deaf and now - began >= self._patience:
                missing = ', '.join(sorted(deaf))
                self.get_logger().warning(f'no subscriber on {missing} after {now - began:.1f} s; starting anyway')
                return
            if not deaf:
                heard_since = heard_since or now
                if now - heard_since > _SETTLING:
                    return
            self._serve(_WAITING)

    def _is_heard(self, topic: str) -> bool:
        listeners = {item.node_name for item in self.get_subscriptions_info_by_topic(self._played_as(topic))}
        awaited = self._awaited_nodes.get(topic)
        if awaited:
            return awaited <= listeners
        return topic not in self._awaited or bool(listeners)

    def _play(self) -> None:
        """Publish each message when it is due."""
        began, self._doing, in_one_go = time.monotonic(), 'playing', 0
        for message in self._playback:
            self._time = message.time
            while (
                in_one_go >= _BATCH
                or self._playback.due_after(message.time) > time.monotonic() - began
                or self._congestion.holds(message.topic, self._publishers_by_topic[message.topic], time.monotonic())
            ):
                in_one_go = 0
                self._serve(_PLAYING)
            in_one_go += 1
            self._publish_clock(message.time)
            self._publish(message.topic, message.data)

    def _publish_clock(self, recorded: int) -> None:
        if self._clock_publisher is not None and not 0 <= recorded - self._last_clock < self._clock_interval:
            self._last_clock = recorded
            self._clock_publisher.publish(ClockMessage(clock=stamp(recorded)))

    def _report(self) -> None:
        values = {'played [s]': (self._time - self._playback.start_time) * 1e-9}
        self._diagnostics.publish({'playback': (Level.OK, self._doing, values)}, self._time)

    def _wait_for_results(self) -> None:
        """Wait until none of the topics of results that somebody publishes has had a message for a second."""
        self._doing, listening = 'waits for results', False
        self._hear()
        for topic in self._results:
            publishers = self.get_publishers_info_by_topic(self.resolve_topic_name(topic))
            if publishers:
                try:
                    kind = message_class(publishers[0].topic_type)
                except BagError:
                    continue  # nobody here can wait for what is not installed
                self.create_subscription(kind, topic, self._hear, qos_profile_sensor_data, raw=True)
                listening = True
        while listening and time.monotonic() - self._heard <= _SILENCE:
            self._serve(_WAITING)

    def _hear(self, _message: bytes = b'') -> None:
        self._heard = time.monotonic()

    def _call(self, service: str) -> None:
        """Call a Trigger service; everything else is served meanwhile."""
        self._doing = f'calls {service}'
        client: Client = self.create_client(Trigger, service)
        self._serve(_BEFORE_SERVICE)
        answer = answer_of(client, Trigger.Request(), service, self._serve, self._longest_service)
        if not answer.success:
            raise ServiceError(f'{service} failed: {answer.message}')
        self.get_logger().info(f'{service}: {answer.message}')


def _pairs(name: str, entries: Sequence[str], separator: str, form: str) -> list[tuple[str, str]]:
    """Both parts of each entry of a setting."""
    pairs = []
    for entry in filter(None, entries):
        first, _, second = entry.partition(separator)
        if not (first and second):
            raise BagError(f'{name} entry {entry!r} is not of the form {form!r}')
        pairs.append((first, second))
    return pairs


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

    def holds(self, topic: str, publisher: Publisher, now: float) -> bool:
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


def main(args: list[str] | None = None) -> int:
    """Replay a bag to its end or until interrupted."""
    return run_node(PlayerNode, args)
