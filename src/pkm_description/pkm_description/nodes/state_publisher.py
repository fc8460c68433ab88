"""Node: replacement for robot_state_publisher, with the same topics, where that is not installed.

Of a machine with loops the positions of the drives are enough: those of the passive joints are computed, and published.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from geometry_msgs.msg import TransformStamped
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from pkm_description.errors import JointStateError, KinematicsError
from pkm_description.export.urdf import urdf_text
from pkm_description.export.urdf_tree import UrdfJoint, moving_joints, urdf_joints
from pkm_description.joint_states import JointStateReader, require_finite
from pkm_description.loading import load_machine
from pkm_description.ros.conversions import nanoseconds, transform_stamped
from pkm_description.ros.diagnostics import DiagnosticsPublisher, Level
from pkm_description.ros.frames import BASE_LINK, checked_prefix, pose_of_text
from pkm_description.ros.machine_parameters import declare_machine_files
from pkm_description.ros.node_main import run_node
from pkm_description.ros.node_settings import FrameSettings
from pkm_description.ros.parameters import declare_settings
from pkm_description.ros.qos import LATCHED_QOS, SENSOR_QOS
from pkm_description.ros.transforms import StaticTransformBroadcaster, TransformBroadcaster
from pkm_description.settings import Settings, setting
from pkm_description.viewing.completed_joints import CompletedJoints


@dataclass(frozen=True)
class StatePublisherSettings(Settings):
    """What is published besides the machine's joints."""

    robot_description: str = setting('', 'URDF text; empty: made from the machine')
    world_frame: str = setting('world', 'frame in which base_pose is given')
    base_pose: str = setting(
        '', 'place of base_link in world_frame: x y z roll pitch yaw [m, rad]; empty: not published'
    )
    completes: bool = setting(
        True, 'where joint_states has the drives only, close the loops: frames and joint_states_complete of all joints'
    )
    platform_transform: bool = setting(
        False, "also publish the platform's transform from closed loops; not where an estimator publishes it"
    )


class StatePublisher(Node):
    """Publishes ``robot_description`` and the transforms of all joints but floating ones."""

    def __init__(self) -> None:
        super().__init__('state_publisher')
        settings = declare_settings(self, StatePublisherSettings)
        prefix = declare_settings(self, FrameSettings).frame_prefix
        machine, overlay = declare_machine_files(self)
        text, self._completed = settings.robot_description, None
        if settings.completes or not text:
            loaded = load_machine(machine, overlay)
            text = text or urdf_text(loaded)
            if settings.completes and loaded.has_platform and loaded.passive_joint_names:
                self._completed = CompletedJoints(loaded)
        self._shows_platform = settings.platform_transform
        joints = urdf_joints(text)
        self._prefix, self._problem = checked_prefix(prefix), ''
        self._moving = moving_joints(joints)
        self._reader = JointStateReader(joint.name for joint in self._moving)
        self._static = StaticTransformBroadcaster(self)
        self._broadcaster = TransformBroadcaster(self)
        now = self.get_clock().now().nanoseconds
        fixed = [self._transform(joint, 0.0, now) for joint in joints if joint.kind == 'fixed']
        if settings.base_pose:
            pose = pose_of_text(settings.base_pose)
            fixed.append(transform_stamped(now, settings.world_frame, self._prefix + BASE_LINK, *pose))
        self._static.sendTransform(fixed)
        self._description = self.create_publisher(String, 'robot_description', LATCHED_QOS)
        self._description.publish(String(data=text))
        self._complete = None
        if self._completed is not None:
            self._complete = self.create_publisher(JointState, 'joint_states_complete', SENSOR_QOS)
        self._diagnostics = DiagnosticsPublisher(self)
        self.create_subscription(JointState, 'joint_states', self._on_joint_states, SENSOR_QOS)
        self.create_timer(1.0, self._report)

    def _transform(self, joint: UrdfJoint, position: float, time_ns: int) -> TransformStamped:
        pose = joint.transform(position)
        return transform_stamped(time_ns, self._prefix + joint.parent, self._prefix + joint.child, *pose)

    def _on_joint_states(self, message: JointState) -> None:
        try:
            if self._completed is not None and self._completed.lacks(message.name):
                message = self._closed(self._completed, message)
            order = self._reader.order(message.name)
            positions = order.by_joint(message.position)[order.joints]
            moving = [self._moving[joint] for joint in order.joints]
            require_finite(positions, [joint.name for joint in moving])
        except (JointStateError, KinematicsError) as error:
            self._ignore(f'joint_states is ignored: {error}')
            return
        time_ns = nanoseconds(message.header.stamp)
        pairs = zip(moving, positions.tolist(), strict=True)
        if moving:
            self._broadcaster.sendTransform([self._transform(joint, value, time_ns) for joint, value in pairs])

    def _closed(self, completed: CompletedJoints, message: JointState) -> JointState:
        """Publish and return the joint state with the passive joints that close the loops."""
        whole = completed.of(message.name, message.position, message.velocity)
        result = JointState(header=message.header, name=list(whole.names), position=whole.positions)
        result.velocity = whole.velocities
        if self._complete is not None:
            self._complete.publish(result)
        if self._shows_platform:
            time_ns = nanoseconds(message.header.stamp)
            frames = self._prefix + BASE_LINK, self._prefix + whole.platform
            self._broadcaster.sendTransform([transform_stamped(time_ns, *frames, *whole.pose)])
        return result

    def _ignore(self, problem: str) -> None:
        self._problem = problem
        self.get_logger().warning(problem, throttle_duration_sec=5.0)

    def _report(self) -> None:
        level = Level.WARN if self._problem else Level.OK
        self._diagnostics.publish({'joints': (level, self._problem or 'ok', {'moving joints': len(self._moving)})})
        self._problem = ''


def main(args: Sequence[str] | None = None) -> int:
    """Run the node until it is interrupted."""
    return run_node(StatePublisher, args)
