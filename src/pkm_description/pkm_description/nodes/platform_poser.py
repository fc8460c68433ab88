"""Node: move the platform by sliders or a pose topic and publish all joint positions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import Odometry
from rcl_interfaces.msg import SetParametersResult
from rclpy.node import Node
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from pkm_description.errors import KinematicsError
from pkm_description.export.urdf import slider_urdf
from pkm_description.kinematics.rotation import matrix_from_quaternion
from pkm_description.ros.conversions import array3, array4, point, quaternion_of_rotation, transform_stamped
from pkm_description.ros.diagnostics import DiagnosticsPublisher, Level
from pkm_description.ros.frames import TransformBroadcaster, declare_frames
from pkm_description.ros.node_main import run_node
from pkm_description.ros.parameters import declare, declare_machine, declare_settings
from pkm_description.ros.qos import LATCHED_QOS
from pkm_description.settings import Settings, setting
from pkm_description.viewing.coupled_pose import COORDINATES
from pkm_description.viewing.posing import Poser, Posture
from pkm_description.viewing.sliders import SliderBoard


@dataclass(frozen=True)
class PlatformPoserSettings(Settings):
    """Rate of the state; the coordinates are parameters that can be changed while the node runs."""

    rate: float = setting(30.0, 'publishing rate of the state [Hz]', 0.1, 1000.0)


class PlatformPoser(Node):
    """Publishes ``joint_states`` of every joint, and the platform's pose, for a wanted pose.

    The last input that changed decides: parameters, ``platform/reference_pose``, or ``platform/sliders``.
    """

    def __init__(self) -> None:
        super().__init__('platform_poser')
        machine = declare_machine(self)
        self._machine, self._frames = machine, declare_frames(self, machine)
        self._poser = Poser(self._machine)
        rate = declare_settings(self, PlatformPoserSettings).rate
        # all six for every machine: what it cannot do is refused by name, not ignored
        self._rest = {**dict.fromkeys(COORDINATES, 0.0), **self._poser.rest}
        start = {
            name: declare(self, name, value, f'{_meaning(name)}, m or rad', (-10.0, 10.0))
            for name, value in self._rest.items()
        }
        self._refused = ''
        self._posture = self._poser.from_coordinates({})
        self._take(lambda: self._poser.from_coordinates(self._chosen(start)))
        sliders = self._poser.sliders()
        self._board = SliderBoard(sliders, start)
        self._joints = self.create_publisher(JointState, 'joint_states', 10)
        self._odometry = self.create_publisher(Odometry, 'platform/odometry', 10)
        self._broadcaster = TransformBroadcaster(self)
        self._diagnostics = DiagnosticsPublisher(self)
        self._sliders = self.create_publisher(String, 'platform_sliders/robot_description', LATCHED_QOS)
        self._sliders.publish(String(data=slider_urdf(machine.name, sliders, machine.home)))
        self.add_on_set_parameters_callback(self._on_parameters)
        self.create_subscription(PoseStamped, 'platform/reference_pose', self._on_pose, 10)
        self.create_subscription(JointState, 'platform/sliders', self._on_sliders, 10)
        self.create_timer(1.0 / rate, self._publish)
        self.create_timer(1.0, self._report)

    def _chosen(self, values: dict[str, float]) -> dict[str, float]:
        """Coordinates that this machine has, and those that somebody wants of it nevertheless."""
        mine = self._poser.coordinates
        return {name: value for name, value in values.items() if name in mine or value != self._rest[name]}

    def _take(self, posture: Callable[[], Posture]) -> str:
        """Use a posture if the machine can take it; returns the reason if not, and keeps the last good one."""
        try:
            self._posture = posture()
        except KinematicsError as error:
            return self._refuse(str(error).removeprefix('sample 0: '))
        self._refused = ''
        return ''

    def _refuse(self, reason: str) -> str:
        self._refused = f'pose refused, the last good one stays: {reason}'
        self.get_logger().warning(self._refused)
        return self._refused

    def _on_parameters(self, parameters: list[Parameter]) -> SetParametersResult:
        values = {parameter.name: parameter.value for parameter in parameters}
        if not any(name in values for name in self._rest):
            return SetParametersResult(successful=True)
        wanted = {name: float(values.get(name, self.get_parameter(name).value)) for name in self._rest}
        reason = self._take(lambda: self._poser.from_coordinates(self._chosen(wanted)))
        return SetParametersResult(successful=not reason, reason=reason)

    def _on_sliders(self, message: JointState) -> None:
        try:
            moved = self._board.moved(message.name, message.position)
        except KinematicsError as error:
            self._refuse(str(error))
            return
        if moved:
            self._take(lambda: self._poser.from_coordinates(moved))

    def _on_pose(self, message: PoseStamped) -> None:
        position, quaternion = array3(message.pose.position), array4(message.pose.orientation)
        problem = self._frames.problem(message.header.frame_id, self._frames.base)
        if problem:
            self._refuse(f'platform/reference_pose: {problem}')
        elif not np.isfinite(position).all() or abs(np.linalg.norm(quaternion) - 1.0) > 1e-3:
            self._refuse(f'position {position}, quaternion {quaternion}: not finite, or not a unit quaternion')
        else:
            rotation = matrix_from_quaternion(quaternion)
            self._take(lambda: self._poser.from_pose(position, rotation))

    def _publish(self) -> None:
        now, posture = self.get_clock().now(), self._posture
        message = JointState()
        message.header.stamp = now.to_msg()
        message.name = list(self._machine.joint_names)
        message.position = posture.joint_positions.tolist()
        self._joints.publish(message)
        if posture.position is None or posture.rotation_base_platform is None:
            return
        base, platform = self._frames.base, self._frames.platform
        pose = posture.position, posture.rotation_base_platform
        self._broadcaster.sendTransform(transform_stamped(now.nanoseconds, base, platform, *pose))
        odometry = Odometry()
        odometry.header.stamp, odometry.header.frame_id = now.to_msg(), base
        odometry.child_frame_id = platform
        odometry.pose.pose.position = point(posture.position)
        odometry.pose.pose.orientation = quaternion_of_rotation(posture.rotation_base_platform)
        self._odometry.publish(odometry)

    def _report(self) -> None:
        level = Level.WARN if self._refused else Level.OK
        values: dict[str, object] = dict(self._poser.coordinates_of(self._posture))
        values['condition number'] = self._posture.condition
        self._diagnostics.publish({'pose': (level, self._refused or 'pose reachable', values)})


def _meaning(name: str) -> str:
    return f'platform {name} from home' if name in COORDINATES else f'position of {name}'


def main(args: Sequence[str] | None = None) -> int:
    """Run the node until it is interrupted."""
    return run_node(PlatformPoser, args)
