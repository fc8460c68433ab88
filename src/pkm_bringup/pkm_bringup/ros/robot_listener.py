"""Node that listens to the topics of a robot for ``check_robot``."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
from pkm_description.loading.load import machine_of_options
from pkm_description.ros.conversions import nanoseconds
from pkm_description.ros.node_main import StreamExecutor, run_node, was_interrupted
from pkm_description.ros.parameters import declare_machine, declare_settings
from pkm_description.ros.qos import LOSSLESS_QOS, SENSOR_QOS
from pkm_description.ros.serialized import read_stamp
from pkm_description.settings import Settings, setting
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from rclpy.qos import QoSHistoryPolicy, QoSProfile, QoSReliabilityPolicy
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import Imu, JointState

from pkm_bringup.robot_check import Endpoint, Observation, check_robot
from pkm_bringup.robot_check.recorded import Message, observation
from pkm_bringup.robot_check.wiring import DURATION, tell

#: s between two looks at the graph, and of silence after which nothing more is expected
_LOOK, _SILENCE = 0.5, 3.0
_LATEST = QoSProfile(
    history=QoSHistoryPolicy.KEEP_LAST, depth=1, reliability=QoSReliabilityPolicy.BEST_EFFORT
)


@dataclass(frozen=True)
class CheckSettings(Settings):
    """What is listened to, and where the report goes."""

    duration: float = setting(DURATION, 'message time to listen to [s]', 0.1, 1e6)
    reliability: str = setting(
        'best_effort', 'of the subscriptions that the nodes will have', choices=('best_effort', 'reliable')
    )
    json: str = setting('', 'file for the report for programs; empty: none')


class RobotListener(Node):
    """Listens for a while, then prints what check_robot says.

    Parameters
    ----------
    options : of the program; the node's parameters count where they name no machine
    """

    def __init__(self, options: argparse.Namespace) -> None:
        super().__init__('check_robot', namespace=options.namespace or None)
        own = declare_machine(self)
        given = declare_settings(self, CheckSettings)
        self.machine = own if options.machine is None else machine_of_options(options)
        if options.machine is not None:
            given = replace(given, duration=options.duration or DURATION, reliability=options.reliability)
        self._settings, self._driver_file = given, options.write_driver
        self._json = options.json or (Path(given.json) if given.json else None)
        qos = LOSSLESS_QOS if given.reliability == 'reliable' else SENSOR_QOS
        self._joints, self._imu = list[Message](), list[Message]()
        self._clock_pairs: list[tuple[int, int]] = []
        self._topics = tuple(
            self.create_subscription(kind, topic, partial(self._take, messages), qos, raw=True).topic_name
            for kind, topic, messages in (
                (JointState, self.machine.driver.joint_topic, self._joints),
                (Imu, self.machine.driver.imu_topic, self._imu),
            )
        )
        # one value now and then is enough, and a clock may tick at 1 kHz
        self.create_subscription(Clock, '/clock', self._take_clock, _LATEST)
        self._heard_of: dict[str, tuple[Endpoint, ...]] = {}
        self._last_message = time.monotonic()

    def _take(self, messages: list[Message], data: bytes) -> None:
        messages.append((time.time_ns(), data))
        self._last_message = time.monotonic()

    def _take_clock(self, message: Clock) -> None:
        self._clock_pairs.append((nanoseconds(message.clock), time.time_ns()))

    def run(self) -> None:
        """Listen until there is enough, nothing comes, or Ctrl-C; then say what was found, and leave."""
        executor = StreamExecutor()
        executor.add_node(self)
        looked = -np.inf
        try:
            print(f'listening to {" and ".join(self._topics)} for {self._settings.duration:g} s', flush=True)
            while self.context.ok() and not self._has_enough():
                if time.monotonic() - looked > _LOOK:
                    self._look()
                    looked = time.monotonic()
                executor.serve(0.05)
            if self.context.ok():
                self._look()
        except (KeyboardInterrupt, Exception) as error:
            if not (isinstance(error, KeyboardInterrupt | ExternalShutdownException) or was_interrupted()):
                raise
            print('interrupted: a report of what has come so far', flush=True)
        raise SystemExit(tell(check_robot(self.machine, self._observation()), self._json, self._driver_file))

    def _has_enough(self) -> bool:
        span = max(_span(self._joints), _span(self._imu))
        silence = time.monotonic() - self._last_message
        patience = _SILENCE if span else max(_SILENCE, self._settings.duration)
        return span >= self._settings.duration or silence > patience

    def _look(self) -> None:
        """See who publishes what; kept, because after Ctrl-C the graph cannot be asked any more."""
        for topic, _ in self.get_topic_names_and_types():
            found = tuple(
                Endpoint(
                    f'{item.node_namespace.rstrip("/")}/{item.node_name}',
                    item.topic_type,
                    'best_effort' if item.qos_profile.reliability == QoSReliabilityPolicy.BEST_EFFORT else 'reliable',
                )
                for item in self.get_publishers_info_by_topic(topic)
            )
            if found:
                self._heard_of[topic] = found

    def _observation(self) -> Observation:
        return observation(
            self._joints,
            self._imu,
            self.machine.driver.joint_names or self.machine.actuated_joint_names,
            source=f'live, {len(self._joints)} joint states, {len(self._imu)} IMU messages',
            joint_topic=self._topics[0],
            imu_topic=self._topics[1],
            publishers=self._heard_of,
            live=True,
            clock=np.array(self._clock_pairs, dtype=np.int64).reshape(-1, 2),
            reliability=self._settings.reliability,
            clock_publishers=tuple(end.node for end in self._heard_of.get('/clock', ())),
        )


def _span(messages: list[Message]) -> float:
    """Time [s] that messages cover: by their stamps, or by their arrival if those do not move."""
    if not messages:
        return 0.0
    (begin, first), (end, last) = messages[0], messages[-1]
    stamped = read_stamp(last) - read_stamp(first)
    return 1e-9 * (stamped if stamped > 0 else end - begin)


def listen(options: argparse.Namespace, ros_arguments: Sequence[str]) -> int:
    """Run the node; returns the exit code of the report."""
    return run_node(lambda: RobotListener(options), ['check_robot', *ros_arguments])
