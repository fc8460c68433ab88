"""Node ``gazebo_drives``: driven joints of a machine in Gazebo, with the topics of a real one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from pkm_description.errors import PkmError
from pkm_description.export.gazebo_files import GAZEBO_JOINT_STATES, command_topic
from pkm_description.joint_states import JointStateReader
from pkm_description.ros.conversions import nanoseconds
from pkm_description.ros.diagnostics import DiagnosticsPublisher, Level
from pkm_description.ros.node_main import run_node
from pkm_description.ros.parameters import declare_machine, declare_settings
from pkm_description.ros.qos import RELIABLE_STREAM_QOS, SENSOR_QOS
from pkm_description.settings import Settings, setting
from pkm_description.viewing.coupled_pose import COORDINATES
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64, Float64MultiArray

from pkm_bringup.gazebo import GazeboDrives
from pkm_bringup.ros.rejections import Rejections

#: topics of commands, by what they are
COMMAND_TOPICS = {'effort': 'leg_effort_controller/commands', 'position': 'leg_position_controller/commands'}

#: s of wall time after which a simulation that stands still is shown again to a controller that is late
_REPEAT_PERIOD = 0.5


@dataclass(frozen=True)
class GazeboDrivesSettings(Settings):
    """Where the machine started, and what its drives take."""

    control: str = setting('effort', 'what the drives are told', choices=tuple(COMMAND_TOPICS))
    noise: bool = setting(True, 'noise of the leg sensors, as in the machine file')
    seed: int = setting(0, 'seed of the noise', 0, 2**31 - 1)
    x: float = setting(0.0, 'start of the platform, from home [m]', -1e3, 1e3)
    y: float = setting(0.0, 'start of the platform, from home [m]', -1e3, 1e3)
    z: float = setting(0.0, 'start of the platform, from home [m]', -1e3, 1e3)
    roll: float = setting(0.0, 'start of the platform, from home [rad]', -4.0, 4.0)
    pitch: float = setting(0.0, 'start of the platform, from home [rad]', -4.0, 4.0)
    yaw: float = setting(0.0, 'start of the platform, from home [rad]', -4.0, 4.0)


class GazeboDrivesNode(Node):
    """Hands joint states of Gazebo on as samples, and commands to Gazebo's drives, one by one."""

    def __init__(self) -> None:
        super().__init__('gazebo_drives')
        machine = declare_machine(self)
        settings = declare_settings(self, GazeboDrivesSettings)
        takes_forces = settings.control == 'effort'
        start = {name: getattr(settings, name) for name in COORDINATES}
        self._drives = GazeboDrives(machine, start, takes_forces, settings.seed, settings.noise)
        self._reader = JointStateReader(machine.actuated_joint_names, machine.joint_names)
        self._names = list(machine.actuated_joint_names)
        self._rejections = Rejections(self)
        self._waiting: JointState | None = None
        self._states = self.create_publisher(JointState, 'joint_states', RELIABLE_STREAM_QOS)
        self._commands = [
            self.create_publisher(Float64, command_topic(number), 10) for number in range(1, len(self._names) + 1)
        ]
        self._diagnostics = DiagnosticsPublisher(self)
        self._stamp_ns: int | None = None
        self.create_subscription(JointState, GAZEBO_JOINT_STATES, self._take_states, SENSOR_QOS)
        self.create_subscription(Float64MultiArray, COMMAND_TOPICS[settings.control], self._take_command, 10)
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(_REPEAT_PERIOD, self._repeat, clock=steady)
        self.create_timer(1.0, self._diagnose, clock=steady)
        efforts = 'the commanded forces' if takes_forces else 'unknown, Gazebo tells none'
        self.get_logger().info(f'{machine.name}: efforts in joint_states are {efforts}')

    def _take_states(self, message: JointState) -> None:
        stamp_ns = nanoseconds(message.header.stamp)
        if stamp_ns == self._stamp_ns or not self._drives.is_due(stamp_ns):
            return
        self._stamp_ns = stamp_ns
        try:
            order = self._reader.order(message.name)
            positions, velocities = order.complete(message.position), order.complete(message.velocity, 'velocity')
        except PkmError as error:
            self._rejections.add(GAZEBO_JOINT_STATES, error)
            return
        sample = self._drives.sample(positions, velocities)
        known = bool(np.isfinite(sample.efforts).all())
        state = JointState(
            name=self._names,
            position=sample.positions.tolist(),
            velocity=sample.velocities.tolist(),
            effort=sample.efforts.tolist() if known else [],
        )
        state.header.stamp = message.header.stamp
        self._waiting = None if self._drives.commanded else state
        self._states.publish(state)

    def _repeat(self) -> None:
        """A paused Gazebo stands at its first sample until a controller, which may start later, has answered it."""
        if self._waiting is not None and not self._drives.commanded:
            self._states.publish(self._waiting)

    def _take_command(self, message: Float64MultiArray) -> None:
        try:
            values = self._drives.command(message.data)
        except PkmError as error:
            self._rejections.add('commands', error)
            return
        for publisher, value in zip(self._commands, values.tolist(), strict=True):
            publisher.publish(Float64(data=value))

    def _diagnose(self) -> None:
        level, text = Level.OK, 'connected'
        if self._stamp_ns is None:
            level, text = Level.STALE, f'no {GAZEBO_JOINT_STATES} yet: is Gazebo running, and ros_gz_bridge?'
        elif not self._drives.commanded:
            level, text = Level.WARN, 'no commands yet'
        if self._rejections.recent():
            level, text = Level.WARN, self._rejections.last
        self._diagnostics.publish({'drives': (level, text, {})}, self._stamp_ns or 0)


def main(args: list[str] | None = None) -> int:
    """Run the node until SIGINT."""
    return run_node(GazeboDrivesNode, args)
