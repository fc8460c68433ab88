"""Fixtures of the description's tests that start nodes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from description_listener import Listener


@pytest.fixture
def listener() -> Iterator[Listener]:
    """A node that hears the suite's description topics, in a ROS domain of its own."""
    # here, as most tests do without ROS
    from description_listener import Listener
    from nav_msgs.msg import Odometry
    from node_processes import ros_domain
    from pkm_description.ros.qos import LATCHED_QOS
    from std_msgs.msg import String
    from tf2_msgs.msg import TFMessage
    from visualization_msgs.msg import MarkerArray

    with ros_domain():
        node = Listener()
        node.hear(TFMessage, '/tf')
        node.hear(TFMessage, '/tf_static', qos=LATCHED_QOS)
        node.hear(String, 'robot_description', 'platform_sliders/robot_description', qos=LATCHED_QOS)
        node.hear(Odometry, 'platform/odometry')
        node.hear(MarkerArray, 'leg_forces')
        yield node
        node.destroy_node()
