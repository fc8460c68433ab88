"""Node: the streams of a foreign driver as ``joint_states`` and ``imu/data_raw`` in the suite's convention."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from sensor_msgs.msg import Imu, JointState

from pkm_description.driver import IMU_TOPIC, JOINT_TOPIC
from pkm_description.errors import ConfigurationError, JointStateError
from pkm_description.ros.conversions import StandardStreams
from pkm_description.ros.diagnostics import DiagnosticsPublisher, Level
from pkm_description.ros.node_main import run_node
from pkm_description.ros.parameters import declare_machine, declare_settings
from pkm_description.ros.qos import RELIABLE_STREAM_QOS, declare_stream_qos
from pkm_description.ros.serialized import UNREADABLE
from pkm_description.settings import Settings, setting


@dataclass(frozen=True)
class DriverBridgeSettings(Settings):
    """Where the converted streams go."""

    output_prefix: str = setting('', "put before joint_states and imu/data_raw, e.g. 'standard/'")


class DriverBridge(Node):
    """Converts each message of the driver; what cannot be read is counted in the diagnostics."""

    def __init__(self) -> None:
        super().__init__('driver_bridge')
        machine = declare_machine(self)
        settings = declare_settings(self, DriverBridgeSettings)
        driver, prefix = machine.driver, settings.output_prefix
        if driver.is_standard:
            raise ConfigurationError(
                f'{machine.name}: there is nothing to convert; name a settings file by the parameter driver, or add a '
                'section driver to the machine file'
            )
        streams = StandardStreams(machine)
        qos = declare_stream_qos(self)
        self._counts: Counter[str] = Counter()
        self._refused: Counter[str] = Counter()
        self._trouble = ''
        self._diagnostics = DiagnosticsPublisher(self)
        for kind, source, target, convert in (
            (JointState, driver.joint_topic, prefix + JOINT_TOPIC, streams.joint_state),
            (Imu, driver.imu_topic, prefix + IMU_TOPIC, streams.imu),
        ):
            if self.resolve_topic_name(source) == self.resolve_topic_name(target):
                raise ConfigurationError(
                    f'the driver publishes on {source}, where the converted stream would go; give the parameter '
                    "output_prefix, e.g. 'standard/'"
                )
            publisher = self.create_publisher(kind, target, RELIABLE_STREAM_QOS)
            self.create_subscription(kind, source, self._pass_on(source, convert, publisher), qos, raw=True)
        self.create_timer(1.0, self._report, clock=Clock(clock_type=ClockType.STEADY_TIME))
        self.get_logger().info(f'{machine.name}: {driver.joint_topic} and {driver.imu_topic} by {driver.path}')

    def _pass_on(self, topic: str, convert: Callable[[bytes], Any], publisher: Any) -> Callable[[bytes], None]:
        def take(data: bytes) -> None:
            try:
                message = convert(data)
            except (JointStateError, *UNREADABLE) as error:
                self._refused[topic] += 1
                self._trouble = f'{topic}: {error}'
                return
            publisher.publish(message)
            self._counts[topic] += 1

        return take

    def _report(self) -> None:
        values: dict[str, object] = {f'messages of {topic}': count for topic, count in self._counts.items()}
        values |= {f'refused of {topic}': count for topic, count in self._refused.items()}
        level = Level.WARN if self._trouble else Level.OK if self._counts else Level.STALE
        self._diagnostics.publish({'driver': (level, self._trouble or 'converting', values)})
        self._trouble = ''


def main(args: Sequence[str] | None = None) -> int:
    """Run the node until it is interrupted."""
    return run_node(DriverBridge, args)
