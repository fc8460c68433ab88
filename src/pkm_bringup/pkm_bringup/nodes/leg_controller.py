"""Node ``leg_controller``: the leg servo over topics, for Gazebo, ros2_control and real drives."""

from __future__ import annotations

from dataclasses import dataclass

from pkm_description.errors import PkmError
from pkm_description.joint_states import JointStateReader
from pkm_description.ros.conversions import nanoseconds
from pkm_description.ros.diagnostics import DiagnosticsPublisher, Level
from pkm_description.ros.frames import declare_frames
from pkm_description.ros.machine_parameters import declare_machine
from pkm_description.ros.node_main import run_node
from pkm_description.ros.parameters import declare_settings
from pkm_description.ros.qos import REFERENCE_QOS, SENSOR_QOS
from pkm_description.settings import Settings, setting
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import MultiDOFJointTrajectory

from pkm_bringup.control import FEEDFORWARD_MODES, LegServo, gains_for_delay
from pkm_bringup.nodes.reference_message import motion_from_message
from pkm_bringup.nodes.rejections import Rejections


@dataclass(frozen=True)
class LegControllerSettings(Settings):
    """How the servo computes its forces."""

    feedforward: str = setting('inverse_dynamics', 'added to the PD force', choices=FEEDFORWARD_MODES)
    loop_delay: float = setting(
        -1.0,
        'delay from measurement to force that the gains must tolerate [s]; negative: 1.5 sample periods',
        -1.0,
        1.0,
    )


class LegControllerNode(Node):
    """Answers each joint state with leg forces; holds the first measured pose until a reference starts."""

    def __init__(self) -> None:
        super().__init__('leg_controller')
        machine = declare_machine(self)
        settings = declare_settings(self, LegControllerSettings)
        feedforward, delay = settings.feedforward, settings.loop_delay
        self._machine, self._frames = machine, declare_frames(self, machine)
        self._reader = JointStateReader.of_drives(machine)
        period = 1.0 / machine.leg_sensors.rate
        gains = gains_for_delay(self._machine, machine.servo, delay if delay >= 0.0 else 1.5 * period)
        self._servo = LegServo(self._machine, round(period * 1e9), feedforward, gains)
        self._now_ns: int | None = None
        self._waiting: list[MultiDOFJointTrajectory] = []
        self._rejections = Rejections(self)
        self._commands = self.create_publisher(Float64MultiArray, 'leg_effort_controller/commands', 10)
        self._diagnostics = DiagnosticsPublisher(self)
        self.create_subscription(JointState, 'joint_states', self._take_joint_state, SENSOR_QOS)
        self.create_subscription(MultiDOFJointTrajectory, 'platform/reference', self._take_reference, REFERENCE_QOS)
        self.create_timer(1.0, self._diagnose, clock=Clock(clock_type=ClockType.STEADY_TIME))
        self.get_logger().info(
            f'{machine.name}: {gains.stiffness:.4g} N/m and {gains.damping:.4g} N s/m per leg, {feedforward}'
        )

    def _take_joint_state(self, message: JointState) -> None:
        now_ns = nanoseconds(message.header.stamp)
        try:
            order = self._reader.order(message.name)
            positions = order.complete(message.position)
            velocities = order.complete(message.velocity, 'velocity')
            if self._now_ns is None or now_ns < self._now_ns:
                # first measurement, or time went back: whatever was planned belongs to another run
                self._servo.hold(positions)
        except PkmError as error:
            self._rejections.add('joint_states', error)
            return
        self._now_ns = now_ns
        waiting, self._waiting = self._waiting, []
        for reference in waiting:
            self._follow(reference, now_ns)
        forces = self._servo.forces(now_ns, positions, velocities)
        self._commands.publish(Float64MultiArray(data=forces.tolist()))

    def _take_reference(self, message: MultiDOFJointTrajectory) -> None:
        if self._now_ns is None:
            self._waiting.append(message)
        else:
            self._follow(message, self._now_ns)

    def _follow(self, message: MultiDOFJointTrajectory, now_ns: int) -> None:
        try:
            motion = motion_from_message(message, self._frames)
            reference = self._servo.add_reference(motion, nanoseconds(message.header.stamp), now_ns)
        except PkmError as error:
            self._rejections.add('platform/reference', error)
            return
        self.get_logger().info(f'reference of {len(motion)} points from t = {reference.start_ns * 1e-9:.3f} s')

    def _diagnose(self) -> None:
        level, text = Level.OK, 'controlling'
        if self._now_ns is None:
            level, text = Level.STALE, 'no joint states yet'
        if self._rejections.recent():
            level, text = Level.WARN, self._rejections.last
        values = {
            'saturated control periods': self._servo.saturation_count.tolist(),
            'rejected messages': self._rejections.count,
        }
        self._diagnostics.publish({'servo': (level, text, values)}, self._now_ns or 0)


def main(args: list[str] | None = None) -> int:
    """Run the node until SIGINT."""
    return run_node(LegControllerNode, args)
