"""Node: put the platform at a pose by hand; all joints follow (for looking at a machine without drives)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from geometry_msgs.msg import PoseStamped
from numpy.typing import NDArray
from rcl_interfaces.msg import SetParametersResult
from rclpy.node import Node
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState

from pkm_description.errors import KinematicsError
from pkm_description.kinematics import leg_motion
from pkm_description.kinematics.rotation import matrix_from_quaternion, matrix_from_rpy
from pkm_description.kinematics.workspace import require_positions
from pkm_description.mechanism import Mechanism
from pkm_description.motion import PlatformMotion
from pkm_description.ros.conversions import array3, array4, transform_stamped
from pkm_description.ros.diagnostics import DiagnosticsPublisher, Level
from pkm_description.ros.machine_parameters import declare_machine
from pkm_description.ros.node_main import run_node
from pkm_description.ros.parameters import declare
from pkm_description.ros.transforms import TransformBroadcaster

Array = NDArray[np.float64]

_AXES = ('x', 'y', 'z', 'roll', 'pitch', 'yaw')


class PlatformPoser(Node):
    """Publishes ``joint_states`` of every joint and the platform's transform for a wanted pose."""

    def __init__(self) -> None:
        super().__init__('platform_poser')
        self._mechanism = Mechanism(declare_machine(self))
        rate = declare(self, 'rate', 30.0, 'how often the state is published, Hz', (0.1, 1000.0), read_only=True)
        excursion = [declare(self, name, 0.0, f'{name} from home, m or rad', (-10.0, 10.0)) for name in _AXES]
        self._refused = ''
        self._motion = self._from_home(np.zeros(6))
        self._take(self._from_home(np.array(excursion)))
        self.add_on_set_parameters_callback(self._on_parameters)
        self.create_subscription(PoseStamped, 'platform/reference_pose', self._on_pose, 10)
        self._joints = self.create_publisher(JointState, 'joint_states', 10)
        self._broadcaster = TransformBroadcaster(self)
        self._diagnostics = DiagnosticsPublisher(self)
        self.create_timer(1.0 / rate, self._publish)
        self.create_timer(1.0, self._report)

    def _from_home(self, excursion: Array) -> PlatformMotion:
        home = self._mechanism.machine.home
        rotation = home.rotation_base_platform @ matrix_from_rpy(excursion[3:])
        return PlatformMotion.at_rest(home.position + excursion[:3], rotation)

    def _take(self, motion: PlatformMotion) -> str:
        """Use a pose if every joint can take it; returns the reason if not, and keeps the last good pose."""
        try:
            require_positions(self._mechanism, motion)
        except KinematicsError as error:
            self._refused = f'pose refused, the last good one stays: {error}'
            self.get_logger().warning(self._refused)
            return self._refused
        self._motion, self._refused = motion, ''
        return ''

    def _on_parameters(self, parameters: list[Parameter]) -> SetParametersResult:
        values = {parameter.name: parameter.value for parameter in parameters}
        if not any(name in values for name in _AXES):
            return SetParametersResult(successful=True)
        excursion = np.array([values.get(name, self.get_parameter(name).value) for name in _AXES], dtype=float)
        reason = self._take(self._from_home(excursion))
        return SetParametersResult(successful=not reason, reason=reason)

    def _on_pose(self, message: PoseStamped) -> None:
        position, quaternion = array3(message.pose.position), array4(message.pose.orientation)
        if message.header.frame_id not in ('', 'base_link'):
            self._refuse(f'frame {message.header.frame_id!r}, expected base_link')
        elif not np.isfinite(position).all() or abs(np.linalg.norm(quaternion) - 1.0) > 1e-3:
            self._refuse(f'position {position}, quaternion {quaternion}: not finite, or not a unit quaternion')
        else:
            rotation = matrix_from_quaternion(quaternion / np.linalg.norm(quaternion))
            self._take(PlatformMotion.at_rest(position, rotation))

    def _refuse(self, reason: str) -> None:
        self._refused = f'pose refused, the last good one stays: {reason}'
        self.get_logger().warning(self._refused)

    def _publish(self) -> None:
        now = self.get_clock().now()
        message = JointState()
        message.header.stamp = now.to_msg()
        message.name = list(self._mechanism.joint_names)
        message.position = leg_motion(self._mechanism, self._motion).positions.ravel().tolist()
        self._joints.publish(message)
        platform = self._mechanism.machine.platform.name
        self._broadcaster.sendTransform(
            transform_stamped(
                now.nanoseconds, 'base_link', platform,
                self._motion.position[0], self._motion.rotation_base_platform[0],
            )
        )  # fmt: skip

    def _report(self) -> None:
        level = Level.WARN if self._refused else Level.OK
        text = self._refused or 'pose reachable'
        position = np.array2string(self._motion.position[0], precision=4)
        self._diagnostics.publish({'pose': (level, text, {'position': position})})


def main(args: Sequence[str] | None = None) -> int:
    """Run the node until it is interrupted."""
    return run_node(PlatformPoser, args)
