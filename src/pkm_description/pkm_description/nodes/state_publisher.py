"""Node: replacement for robot_state_publisher, with the same topics, where that is not installed.

Of a machine with loops the positions of the drives are enough: those of the passive joints are computed, and published.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from tf2_msgs.msg import TFMessage

from pkm_description.arrays import Array
from pkm_description.errors import JointStateError, KinematicsError
from pkm_description.export.urdf import urdf_text
from pkm_description.export.urdf_loops import JointTransforms, moving_joints, urdf_joints
from pkm_description.importing.graph import Link
from pkm_description.joint_states import JointReading, JointStateReader, require_finite
from pkm_description.kinematics.rotation import quaternion_from_matrix
from pkm_description.loading import load_machine
from pkm_description.ros.conversions import transform_stamped
from pkm_description.ros.diagnostics import DiagnosticsPublisher, Level
from pkm_description.ros.frames import BASE_LINK, StaticTransformBroadcaster, checked_prefix, pose_of_text
from pkm_description.ros.node_main import run_node
from pkm_description.ros.node_settings import FrameSettings
from pkm_description.ros.parameters import declare_machine_files, declare_settings
from pkm_description.ros.qos import LATCHED_QOS, RELIABLE_STREAM_QOS, declare_stream_qos
from pkm_description.ros.serialized import UNREADABLE, FramesWriter, JointStateWriter, read_joint_state
from pkm_description.settings import Settings, setting
from pkm_description.viewing.coupled_pose import JointReader


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


class FramesOfJoints:
    """Writes the transforms of those moving joints that are in joint states of the same names.

    Parameters
    ----------
    joints : of the transforms
    prefix : of all frames
    """

    def __init__(self, joints: Sequence[Link], prefix: str) -> None:
        self._transforms = JointTransforms(joints)
        self._writer = FramesWriter([(prefix + joint.first, prefix + joint.second) for joint in joints])

    def __call__(self, time: int, positions: Array) -> bytes:
        """Return the serialised message of ``time`` [ns], of one position for each joint."""
        return self._writer(time, self._transforms(positions))


class StatePublisher(Node):
    """Publishes ``robot_description`` and the transforms of all joints but floating ones."""

    def __init__(self) -> None:
        super().__init__('state_publisher')
        settings = declare_settings(self, StatePublisherSettings)
        prefix = declare_settings(self, FrameSettings).frame_prefix
        machine, overlay = declare_machine_files(self)
        text, self._completed = settings.robot_description, None
        self._prefix, self._problem = checked_prefix(prefix), ''
        self._shows_platform = False
        if settings.completes or not text:
            loaded = load_machine(machine, overlay)
            text = text or urdf_text(loaded)
            if settings.completes and loaded.has_platform and loaded.passive_joint_names:
                self._completed = JointReader(loaded, loaded.actuated_joint_names)
                self._names = loaded.joint_names
                self._states = JointStateWriter(loaded.joint_names)
                self._complete = self.create_publisher(JointState, 'joint_states_complete', RELIABLE_STREAM_QOS)
                self._shows_platform = settings.platform_transform
                self._platform = FramesWriter([(self._prefix + BASE_LINK, self._prefix + loaded.platform.name)])
        joints = urdf_joints(text)
        self._moving = moving_joints(joints)
        self._reader = JointStateReader(joint.name for joint in self._moving)
        #: by the joints that a joint state has; a topic has few publishers
        self._frames: dict[bytes, FramesOfJoints] = {}
        self._static = StaticTransformBroadcaster(self)
        self._broadcaster = self.create_publisher(TFMessage, '/tf', 100)
        now = self.get_clock().now().nanoseconds
        fixed = [
            transform_stamped(
                now, self._prefix + joint.first, self._prefix + joint.second, joint.first_frame.position,
                joint.first_frame.rotation,
            )
            for joint in joints
            if joint.kind == 'fixed'
        ]  # fmt: skip
        if settings.base_pose:
            pose = pose_of_text(settings.base_pose)
            fixed.append(transform_stamped(now, settings.world_frame, self._prefix + BASE_LINK, *pose))
        self._static.sendTransform(fixed)
        self._description = self.create_publisher(String, 'robot_description', LATCHED_QOS)
        self._description.publish(String(data=text))
        self._diagnostics = DiagnosticsPublisher(self)
        self.create_subscription(
            JointState, 'joint_states', self._on_joint_states, declare_stream_qos(self), raw=True
        )  # fmt: skip
        self.create_timer(1.0, self._report)

    def _on_joint_states(self, message: bytes) -> None:
        try:
            state = read_joint_state(message)
            names, positions = state.names, state.positions
            if self._completed is not None and self._completed.lacks(names):
                names, positions = self._names, self._closed(self._completed, state)
            order = self._reader.order(names)
            values = order.by_joint(positions)[order.joints]
            if not np.isfinite(values).all():
                require_finite(values, [self._moving[joint].name for joint in order.joints])
        except (JointStateError, KinematicsError, *UNREADABLE) as error:
            self._problem = f'joint_states is ignored: {error}'
            self.get_logger().warning(self._problem, throttle_duration_sec=5.0)
            return
        if len(values):
            self._broadcaster.publish(self._frames_of(order.joints)(state.stamp, values))

    def _frames_of(self, joints: NDArray[np.intp]) -> FramesOfJoints:
        key = joints.tobytes()
        if key not in self._frames:
            if len(self._frames) > 16:
                self._frames.clear()
            self._frames[key] = FramesOfJoints([self._moving[joint] for joint in joints], self._prefix)
        return self._frames[key]

    def _closed(self, completed: JointReader, state: JointReading) -> Array:
        """Publish the joint state with the passive joints that close the loops; returns the positions of all joints."""
        whole = completed.read(state.names, state.positions, [])
        rates = completed.rates(whole, state.names, state.velocities)
        self._complete.publish(self._states(state.stamp, state.frame, whole.joint_positions, rates))
        if self._shows_platform and whole.position is not None and whole.rotation_base_platform is not None:
            numbers = np.concatenate([whole.position, quaternion_from_matrix(whole.rotation_base_platform)])[None]
            self._broadcaster.publish(self._platform(state.stamp, numbers))
        return whole.joint_positions

    def _report(self) -> None:
        level = Level.WARN if self._problem else Level.OK
        self._diagnostics.publish({'joints': (level, self._problem or 'ok', {'moving joints': len(self._moving)})})
        self._problem = ''


def main(args: Sequence[str] | None = None) -> int:
    """Run the node until it is interrupted."""
    return run_node(StatePublisher, args)
