"""Node that records topics to an MCAP or sqlite3 bag, without rosbag2."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from pkm_description.driver import IMU_TOPIC, JOINT_TOPIC
from pkm_description.loading.read_driver import keep_driver
from pkm_description.ros.diagnostics import DiagnosticsPublisher, Level
from pkm_description.ros.node_main import run_node
from pkm_description.ros.parameters import declare_machine, declare_settings
from pkm_description.ros.qos import LOSSLESS_QOS
from pkm_description.settings import Settings, setting
from pkm_estimation.bags import BagError
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.subscription import Subscription
from rclpy.topic_endpoint_info import TopicEndpointInfo
from std_srvs.srv import Trigger

from pkm_bringup.recording import BagRecording, in_order_of_sending, matching_qos, message_class, offered_qos

DEFAULT_TOPICS = [
    JOINT_TOPIC,
    IMU_TOPIC,
    'ground_truth/odometry',
    'platform/odometry',
    'platform/accel',
    'baseline/odometry',
    'platform/baseline/odometry',
    'imu/data',
    'platform/reference',
    'robot_description',
    '/diagnostics',
    '/tf_static',
]


@dataclass(frozen=True)
class RecorderSettings(Settings):
    """What is recorded, and where."""

    output: str = setting('', 'directory of the bag to make; it must not exist')
    storage: str = setting('mcap', 'format of the bag', choices=('mcap', 'sqlite3'))
    topics: tuple[str, ...] = setting(
        DEFAULT_TOPICS, 'topics to record; joint_states and imu/data_raw stand for those of the driver'
    )
    namespaces: tuple[str, ...] = setting(
        [''], "namespaces of several robots, e.g. ['/left', '/right'], in each of which topics are recorded"
    )
    discovery_period: float = setting(0.2, 'time between two searches for new topics [s]', 0.01, 10.0)


class RecorderNode(Node):
    """Subscribes to the topics when they appear in the graph and writes their serialised messages."""

    def __init__(self) -> None:
        super().__init__('recorder')
        machine = declare_machine(self)
        settings = declare_settings(self, RecorderSettings)
        output, storage = settings.output, settings.storage
        if not output:
            raise BagError("parameter 'output' is empty: name the directory of the bag to make")
        namespaces = settings.namespaces or ('',)
        topics = [machine.driver.topic(topic) for topic in settings.topics]
        self._wanted = {self._full_name(namespace, topic) for namespace in namespaces for topic in topics}
        self._refused: dict[str, str] = {}
        self._taken: list[tuple[Subscription[Any], Callable[[bytes], None]]] = []
        self._recording = BagRecording(output, storage)
        keep_driver(machine, self._recording.path)
        self._diagnostics = DiagnosticsPublisher(self)
        # a simulated clock may stand still while topics turn up, so discovery goes by the machine's clock
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(settings.discovery_period, self._discover, clock=steady)
        self.create_timer(1.0, self._report, clock=steady)
        self.create_service(Trigger, '~/stop', self._stop)
        self._discover()
        self.get_logger().info(
            f'recording to {self._recording.path} ({storage}): {", ".join(sorted(self._wanted))}'
        )

    def _full_name(self, namespace: str, topic: str) -> str:
        relative = namespace and not topic.startswith('/')
        return self.resolve_topic_name(f'{namespace.rstrip("/")}/{topic}' if relative else topic)

    def _discover(self) -> None:
        for topic in sorted(self._wanted - set(self._recording.counts) - set(self._refused)):
            publishers = self.get_publishers_info_by_topic(topic)
            if publishers and not self._recording.closed:
                try:
                    self._subscribe(topic, publishers)
                except BagError as error:
                    self._refused[topic] = str(error)
                    self.get_logger().error(f'{topic} is not recorded: {error}')

    def _subscribe(self, topic: str, publishers: list[TopicEndpointInfo]) -> None:
        message_type = publishers[0].topic_type
        if any(publisher.topic_type != message_type for publisher in publishers):
            raise BagError(
                f'publishers disagree on its type: {sorted({item.topic_type for item in publishers})}'
            )
        kind = message_class(message_type)
        self._recording.add_topic(topic, message_type, [offered_qos(item.qos_profile) for item in publishers])
        take = partial(self._record, topic)
        qos = matching_qos([publisher.qos_profile for publisher in publishers], LOSSLESS_QOS.depth)
        self._taken.append((self.create_subscription(kind, topic, take, qos, raw=True), take))
        self.get_logger().info(f'{topic} [{message_type}] found')

    def _record(self, topic: str, data: bytes) -> None:
        self._recording.add_message(topic, self.get_clock().now().nanoseconds, data)

    def _report(self) -> None:
        self._recording.flush()  # a kill costs the last second
        counts = self._recording.counts
        missing = sorted(self._wanted - set(counts))
        values = {
            'bag': str(self._recording.path),
            'messages': sum(counts.values()),
            'topics not there': ' '.join(missing),
        }
        values |= {f'refused {topic}': reason for topic, reason in self._refused.items()}
        level = Level.WARN if self._refused else Level.OK
        text = 'closed' if self._recording.closed else 'recording'
        self._diagnostics.publish({'recording': (level, text, values)})

    def _stop(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        try:
            response.message, response.success = self.close(), True
        except BagError as error:
            response.message = str(error)
            self.get_logger().error(str(error))
        return response

    def close(self) -> str:
        """Close the bag and say what it holds."""
        already = self._recording.closed
        if not already:
            # what has arrived but was not taken yet: on a busy computer these are the last seconds
            for place, data in in_order_of_sending([subscription for subscription, _ in self._taken]):
                self._taken[place][1](data)  # may close it, too, where the disk is full
        summary = self._recording.close()
        if not already and self.context.ok():
            self.get_logger().info(f'closed: {summary}')
        elif not already:  # after SIGINT the node's logger has nowhere to publish to
            print(f'[recorder] closed: {summary}', flush=True)
        return summary

    def destroy_node(self) -> None:
        """Close the bag before the node goes, whatever made it go."""
        if hasattr(self, '_recording'):
            self.close()
        super().destroy_node()


def main(args: list[str] | None = None) -> int:
    """Run the node until it is interrupted; the bag is closed in any case."""
    return run_node(RecorderNode, args)
