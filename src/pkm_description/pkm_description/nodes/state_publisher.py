"""Node: stand-in for robot_state_publisher, with the same topics, where that package is not installed."""

from __future__ import annotations

from collections.abc import Sequence

from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from pkm_description.export.urdf import urdf_text
from pkm_description.export.urdf_tree import moving_joints, urdf_joints
from pkm_description.ros.conversions import transform_stamped
from pkm_description.ros.node_main import run_node
from pkm_description.ros.parameters import declare
from pkm_description.ros.qos import LATCHED_QOS, SENSOR_QOS
from pkm_description.ros.stamps import nanoseconds
from pkm_description.ros.transforms import StaticTransformBroadcaster, TransformBroadcaster


class StatePublisher(Node):
    """Publishes ``robot_description`` and the transforms of all joints but floating ones."""

    def __init__(self) -> None:
        super().__init__('state_publisher')
        text = declare(self, 'robot_description', '', 'URDF text; made from the machine where empty', read_only=True)
        machine = declare(self, 'machine', 'srs', 'machine name or machine file', read_only=True)
        prefix = declare(self, 'frame_prefix', '', 'put before every frame name', read_only=True)
        text = text or urdf_text(machine)
        joints = urdf_joints(text)
        self._prefix = prefix
        self._moving = {joint.name: joint for joint in moving_joints(joints)}
        self._static = StaticTransformBroadcaster(self)
        self._broadcaster = TransformBroadcaster(self)
        self._static.sendTransform(
            [
                transform_stamped(
                    self.get_clock().now().nanoseconds, prefix + joint.parent, prefix + joint.child, *joint.transform(0.0)
                )
                for joint in joints
                if joint.kind == 'fixed'
            ]
        )
        self._description = self.create_publisher(String, 'robot_description', LATCHED_QOS)
        self._description.publish(String(data=text))
        self.create_subscription(JointState, 'joint_states', self._on_joint_states, SENSOR_QOS)

    def _on_joint_states(self, message: JointState) -> None:
        if len(message.position) != len(message.name):
            self.get_logger().warning(
                f'joint_states with {len(message.name)} names and {len(message.position)} positions is ignored',
                throttle_duration_sec=5.0,
            )
            return
        time_ns = nanoseconds(message.header.stamp)
        transforms = []
        for name, position in zip(message.name, message.position, strict=True):
            joint = self._moving.get(name)
            if joint is not None:
                pose = joint.transform(position)
                transforms.append(transform_stamped(time_ns, self._prefix + joint.parent, self._prefix + joint.child, *pose))
        self._broadcaster.sendTransform(transforms)


def main(args: Sequence[str] | None = None) -> int:
    """Run the node until it is interrupted."""
    return run_node(StatePublisher, args)
