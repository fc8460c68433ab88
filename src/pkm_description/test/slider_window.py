"""Stands in for joint_state_publisher_gui in tests: same topics, parameters and places of the sliders, no window.

It publishes all joints of the description at their zeros, again and again; after an empty message on ``drag`` at the
places (10 000 on each slider) below them; other messages on ``drag`` move sliders.
"""

from __future__ import annotations

import sys
from xml.dom import minidom

from pkm_description.ros.node_main import run_node
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import String

PLACES = 10000


class SliderWindow(Node):
    def __init__(self) -> None:
        super().__init__('joint_state_publisher', automatically_declare_parameters_from_overrides=True)
        self._zeros = {name: one.value for name, one in self.get_parameters_by_prefix('zeros').items()}
        self._values: dict[str, float] = {}
        self._places: dict[str, float] = {}
        self._joints = self.create_publisher(JointState, 'joint_states', 10)
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self.create_subscription(String, 'robot_description', self._take, latched)
        self.create_subscription(JointState, 'drag', self._drag, 10)
        self.create_timer(0.1, self._publish)

    def _take(self, message: String) -> None:
        for joint in minidom.parseString(message.data).getElementsByTagName('joint'):
            if joint.getAttribute('type') != 'fixed':
                limit = joint.getElementsByTagName('limit')[0]
                low, high = (float(limit.getAttribute(end)) for end in ('lower', 'upper'))
                name = joint.getAttribute('name')
                self._values[name] = self._zeros[name]
                place = int((self._zeros[name] - low) * PLACES / (high - low))
                self._places[name] = low + place / PLACES * (high - low)

    def _drag(self, message: JointState) -> None:
        self._values.update(zip(message.name, message.position, strict=True) if message.name else self._places)

    def _publish(self) -> None:
        if self._values:
            self._joints.publish(JointState(name=list(self._values), position=list(self._values.values())))


if __name__ == '__main__':
    sys.exit(run_node(SliderWindow))
