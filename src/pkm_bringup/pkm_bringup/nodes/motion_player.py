"""Node ``motion_player``: publishes one reference motion, after checking that the machine can follow it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from pkm_description.machine import Machine, PlatformMotion
from pkm_description.motion.profiles import PROFILE_NAMES, profile
from pkm_description.motion.recorded_poses import QuinticInterpolator, RecordedPoses
from pkm_description.ros.frames import declare_frames
from pkm_description.ros.node_main import run_node
from pkm_description.ros.parameters import declare_machine, declare_settings
from pkm_description.ros.qos import REFERENCE_QOS
from pkm_description.settings import Settings, setting
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from trajectory_msgs.msg import MultiDOFJointTrajectory

from pkm_bringup.control import ReferenceRefusedError, check_reference
from pkm_bringup.ros.reference_message import KNOT_RATE, message_from_motion

#: between two knots the check looks at so many points
_CHECKS_PER_KNOT = 4


@dataclass(frozen=True)
class MotionPlayerSettings(Settings):
    """Which motion, and when."""

    profile: str = setting('mp1', 'named motion', choices=PROFILE_NAMES)
    motion_file: str = setting('', 'CSV file time,x,y,z and qx,qy,qz,qw or roll,pitch,yaw; replaces the profile')
    duration: float = setting(60.0, 'of a named motion [s]', 1.0, 3600.0)
    seed: int = setting(0, 'of the Fourier motions', 0, 2**31 - 1)
    start_time: float = setting(-1.0, 'absolute start [s]; negative: start_delay from now', -1.0, 1e9)
    start_delay: float = setting(1.0, 'time from now to the start if start_time is negative [s]', 0.0, 1e9)


class MotionPlayerNode(Node):
    """Sends its motion once, latched, and stays so that late subscribers get it too."""

    def __init__(self) -> None:
        super().__init__('motion_player')
        machine = declare_machine(self)
        self._settings = declare_settings(self, MotionPlayerSettings)
        self._frames = declare_frames(self, machine)
        motion = self._motion(machine)
        between = np.linspace(motion.time[0], motion.time[-1], _CHECKS_PER_KNOT * (len(motion) - 1) + 1)
        legs = check_reference(machine, QuinticInterpolator(motion).evaluate(between))
        travel = np.ptp(legs.positions[:, machine.drive_columns], axis=0).max()
        self._motion_seconds = float(motion.time[-1])
        self._knots = motion
        self._publisher = self.create_publisher(MultiDOFJointTrajectory, 'platform/reference', REFERENCE_QOS)
        self.get_logger().info(
            f'{machine.name}: motion of {self._motion_seconds:.2f} s is inside all limits, largest travel of a drive '
            f'{travel:.3f} {"m" if machine.actuated_joints[0].kind == "prismatic" else "rad"}'
        )
        if self._settings.start_time >= 0.0:
            self._send(round(self._settings.start_time * 1e9))
        else:
            # with simulation time "now" is unknown until the first /clock arrives
            self._timer = self.create_timer(0.02, self._send_from_now, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def _motion(self, machine: Machine) -> PlatformMotion:
        settings = self._settings
        if settings.motion_file:
            return RecordedPoses.from_csv(settings.motion_file, at_rest=True).sampled(KNOT_RATE)
        try:
            return profile(settings.profile, machine, settings.duration, KNOT_RATE, settings.seed)
        except ValueError as error:
            raise ReferenceRefusedError(f'profile {settings.profile} of {settings.duration} s: {error}') from error

    def _send_from_now(self) -> None:
        now_ns = self.get_clock().now().nanoseconds
        if now_ns > 0:
            self._timer.cancel()
            self._send(now_ns + round(self._settings.start_delay * 1e9))

    def _send(self, start_ns: int) -> None:
        self._publisher.publish(message_from_motion(self._knots, start_ns, self._frames))
        self.get_logger().info(
            f'reference sent: t = {start_ns * 1e-9:.3f} s to {start_ns * 1e-9 + self._motion_seconds:.3f} s'
        )


def main(args: list[str] | None = None) -> int:
    """Run the node until SIGINT."""
    return run_node(MotionPlayerNode, args)
