"""Node ``leg_controller``: the leg servo over topics, for Gazebo, ros2_control and real drives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from pkm_description.arrays import Array
from pkm_description.errors import PkmError
from pkm_description.joint_states import JointStateReader
from pkm_description.ros.conversions import nanoseconds
from pkm_description.ros.diagnostics import DiagnosticsPublisher, Level
from pkm_description.ros.frames import declare_frames
from pkm_description.ros.node_main import run_node
from pkm_description.ros.parameters import declare_machine, declare_settings
from pkm_description.ros.qos import REFERENCE_QOS, SENSOR_QOS
from pkm_description.settings import setting
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import MultiDOFJointTrajectory

from pkm_bringup.control import FEEDFORWARD_MODES, BeliefSettings, LegServo, ServoSettings, gains_for_delay
from pkm_bringup.ros.servo_interface import ServoInterface, controller_belief

#: looks for missing joint states in one measurement timeout
_LOOKS = 5
#: ns of joint states without a gap after which one stops the machine; before, as long a gap is waited for: while a
#: controller manager activates its controllers, joint states pause for some tenths of a second
_ARMING_NS = 1_000_000_000


@dataclass(frozen=True)
class LegControllerSettings(ServoSettings):
    """How the servo computes its forces over topics."""

    feedforward: str = setting('rigid_body_friction', 'feed-forward of the servo', choices=FEEDFORWARD_MODES)
    loop_delay: float = setting(
        -1.0,
        'delay from measurement to force that the gains must tolerate [s]; negative: 1.5 sample periods',
        -1.0,
        1.0,
    )


class LegControllerNode(Node):
    """Answers each joint state with leg forces; holds the first measured pose until a reference starts.

    Time is that of the joint states' stamps. Whether joint states still come is judged by the node's clock: with
    ``use_sim_time`` a simulation that pauses is no reason to stop. It is armed by the first reference, or after a
    second of joint states without a gap: until then a short gap is not a trip, and the pose after it is held.
    """

    def __init__(self) -> None:
        super().__init__('leg_controller')
        machine = declare_machine(self)
        self._driver = machine.driver
        self._driver.require_command()
        settings = declare_settings(self, LegControllerSettings)
        belief = controller_belief(machine, declare_settings(self, BeliefSettings).controller_overlay)
        delay = settings.loop_delay
        self._reader = JointStateReader.of_drives(machine)
        self._with_velocities = settings.rate_source == 'measured'
        period = 1.0 / machine.leg_sensors.rate
        gains = gains_for_delay(belief, settings.gains(machine), delay if delay >= 0.0 else 1.5 * period)
        self._servo = LegServo(belief, round(period * 1e9), settings, gains)
        self._timeout_ns = round(settings.measurement_timeout * 1e9)
        self._now_ns: int | None = None
        self._heard_ns = 0
        self._armed_from_ns = 0
        self._forces: Array = np.empty(0)
        self._waiting: list[MultiDOFJointTrajectory] = []
        self._commands = self.create_publisher(Float64MultiArray, machine.driver.command_topic, 10)
        self._interface = ServoInterface(self, self._servo, self._servo_time, declare_frames(self, machine))
        self._diagnostics = DiagnosticsPublisher(self)
        self.create_subscription(JointState, machine.driver.joint_topic, self._take_joint_state, SENSOR_QOS)
        self.create_subscription(MultiDOFJointTrajectory, 'platform/reference', self._take_reference, REFERENCE_QOS)
        wall = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(1.0, self._diagnose, clock=wall)
        self.create_timer(settings.measurement_timeout / _LOOKS, self._look_for_joint_states, clock=wall)
        self.get_logger().info(
            f'{machine.name}: stiffness {gains.stiffness:.4g} and damping {gains.damping:.4g} (SI) per drive, '
            f'{settings.feedforward}'
        )

    def _take_joint_state(self, message: JointState) -> None:
        now_ns = nanoseconds(message.header.stamp)
        try:
            order = self._reader.order(message.name)
            positions = order.complete(message.position)
            velocities = None
            if self._with_velocities:
                velocities = order.complete(message.velocity, 'velocity', at=message.position)
            gap = None if self._now_ns is None else now_ns - self._now_ns
            if gap is None or gap < -self._timeout_ns or self._timeout_ns < gap <= self._patience_ns:
                # first measurement, a gap while not armed, or time went back: what was planned belongs to another run
                self._servo.hold(positions)
                self._armed_from_ns = now_ns + _ARMING_NS
            elif gap == 0:
                # a driver that repeats itself measures nothing; but who began to listen late, as a paused simulation
                # that waits for its first command does, has to hear it
                self._command(self._forces)
                return
            elif gap < 0:
                raise PkmError(f'stamp is {-gap * 1e-9:.4g} s before the one of the last message')
            elif gap > self._timeout_ns:
                # set-points have gone on unseen: stop from where the machine is, do not catch up
                self._servo.forces_without_measurement(now_ns)
        except PkmError as error:
            self._interface.rejections.add(self._driver.joint_topic, error)
            return
        self._now_ns, self._heard_ns = now_ns, self.get_clock().now().nanoseconds
        waiting, self._waiting = self._waiting, []
        for reference in waiting:
            self._follow(reference, now_ns)
        self._command(self._servo.forces(now_ns, positions, velocities))

    @property
    def _patience_ns(self) -> int:
        """Longest gap that does not stop the machine."""
        armed = self._now_ns is not None and self._now_ns >= self._armed_from_ns
        return self._timeout_ns if armed else max(self._timeout_ns, _ARMING_NS)

    def _look_for_joint_states(self) -> None:
        silence = self.get_clock().now().nanoseconds - self._heard_ns
        if self._now_ns is not None and silence > self._patience_ns:
            self._command(self._servo.forces_without_measurement(self._now_ns + silence))

    def _servo_time(self) -> int:
        """Stamp that a joint state of this moment would have."""
        if self._now_ns is None:
            return 0
        return self._now_ns + max(0, self.get_clock().now().nanoseconds - self._heard_ns)

    def _command(self, forces: Array) -> None:
        """Publish drive forces (A,) N or N m: the one place where they leave in the driver's units."""
        self._forces = forces
        command = self._driver.command_of_forces(forces)
        self._commands.publish(Float64MultiArray(data=command.tolist()))
        self._interface.update()

    def _take_reference(self, message: MultiDOFJointTrajectory) -> None:
        if self._now_ns is None:
            self._waiting.append(message)
        else:
            self._follow(message, self._now_ns)

    def _follow(self, message: MultiDOFJointTrajectory, now_ns: int) -> None:
        if self._interface.follow(message):
            self._armed_from_ns = now_ns

    def _diagnose(self) -> None:
        level, text, values = self._interface.diagnosis()
        if level == Level.OK and self._now_ns is None:
            level, text = Level.STALE, 'no joint states yet'
        if level != Level.ERROR and self._interface.rejections.recent():
            level, text = Level.WARN, self._interface.rejections.last
        values = {**values, 'rejected messages': self._interface.rejections.count}
        self._diagnostics.publish({'servo': (level, text, values)}, self._now_ns or 0)


def main(args: list[str] | None = None) -> int:
    """Run the node until SIGINT."""
    return run_node(LegControllerNode, args)
