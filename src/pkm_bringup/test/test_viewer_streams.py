"""What the viewer takes from topics: only when it looks, and compared at equal stamps."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from geometry_msgs.msg import TransformStamped
from nav_msgs.msg import Odometry
from node_processes import ros_domain, wait_for
from pkm_bringup.ros.viewer_streams import BASELINE, ESTIMATE, TRUTH, ViewerStreams, keep_stamped, newest_common
from pkm_bringup.viewer.moment import Moment
from pkm_description.kinematics import drive_positions
from pkm_description.loading import load_machine
from pkm_description.ros.conversions import point, quaternion_of_rotation, stamp, vector3
from pkm_description.ros.frames import Frames
from pkm_description.ros.qos import LATCHED_QOS, RELIABLE_STREAM_QOS
from rclpy.node import Node
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage

MACHINE = load_machine('srs')
HOME = MACHINE.home
POINT = np.array([0.1, -0.2, 0.3])


def odometry(time_ns: int, position: np.ndarray, child: str = 'left/platform_link') -> Odometry:
    message = Odometry(child_frame_id=child)
    message.header.stamp, message.header.frame_id = stamp(time_ns), 'left/base_link'
    message.pose.pose.position = point(position)
    message.pose.pose.orientation = quaternion_of_rotation(HOME.rotation_base_platform)
    message.pose.covariance = np.diag([1.0, 4.0, 9.0, 0.0, 0.0, 0.0]).ravel()
    message.twist.twist.angular = vector3(np.array([0.0, 0.0, 2.0]))
    return message


class Robot:
    """Publishers of a robot, and the viewer's streams of it."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.streams = ViewerStreams(node, MACHINE, Frames(MACHINE, 'left/'))
        self.publishers = {
            topic: node.create_publisher(Odometry, topic, RELIABLE_STREAM_QOS) for topic in (ESTIMATE, TRUTH, BASELINE)
        }
        self.joints = node.create_publisher(JointState, 'joint_states', RELIABLE_STREAM_QOS)
        self.static = node.create_publisher(TFMessage, '/tf_static', LATCHED_QOS)

    def subscribed(self) -> bool:
        return all(one.get_subscription_count() for one in [*self.publishers.values(), self.joints])

    def look_until(self, condition: object, what: str) -> Moment:
        seen: list[Moment] = []

        def found() -> bool:
            moment = self.streams.look()
            if moment is not None:
                seen.append(moment)
            return bool(seen) and condition(seen[-1])

        wait_for(found, what, spin=self.node)
        return seen[-1]


@pytest.fixture
def robot() -> Iterator[Robot]:
    with ros_domain():
        node = Node('watcher')
        yield Robot(node)
        node.destroy_node()


def test_streams_are_subscribed_to_only_while_somebody_looks(robot: Robot) -> None:
    assert not robot.subscribed()
    assert robot.streams.look() is None
    wait_for(robot.subscribed, 'subscriptions', spin=robot.node)
    robot.streams.close()
    wait_for(lambda: not any(one.get_subscription_count() for one in robot.publishers.values()), 'their end',
             spin=robot.node)  # fmt: skip


def test_errors_are_taken_at_equal_stamps_and_at_the_platforms_origin(robot: Robot) -> None:
    robot.streams.look()
    wait_for(robot.subscribed, 'subscriptions', spin=robot.node)
    place = TransformStamped(child_frame_id='left/reference_point')
    place.header.frame_id = 'left/platform_link'
    place.transform.translation = vector3(POINT)
    robot.static.publish(TFMessage(transforms=[place]))
    for time in (1, 2, 3):
        robot.publishers[TRUTH].publish(odometry(time * 10**9, HOME.position + np.array([0.0, 0.0, time])))
    at_point = HOME.position + HOME.rotation_base_platform @ POINT
    for time in (1, 2):
        message = odometry(time * 10**9, at_point + np.array([0.0, 0.0, time]), 'left/reference_point')
        robot.publishers[ESTIMATE].publish(message)
    robot.publishers[BASELINE].publish(odometry(2 * 10**9, HOME.position))

    def arrived(moment: Moment) -> bool:
        place = moment.estimate
        return moment.time == 2.0 and moment.baseline is not None and place is not None and robot.streams._points != {}

    moment = robot.look_until(arrived, 'estimate and truth')
    assert moment.shown is moment.estimate
    last = odometry(3 * 10**9, at_point + np.array([0.0, 0.0, 3.0]), 'left/reference_point')
    robot.publishers[ESTIMATE].publish(last)
    moment = robot.look_until(lambda one: one.time == 3.0, 'the next estimate')
    np.testing.assert_allclose(moment.estimate.position, moment.truth.position, atol=1e-12)
    # the origin moves about the point: -omega x arm
    np.testing.assert_allclose(moment.estimate.velocity, -np.cross([0.0, 0.0, 2.0], POINT))
    np.testing.assert_allclose(moment.truth.velocity, 0.0)
    np.testing.assert_allclose(np.diag(moment.estimate.position_covariance), [1.0, 4.0, 9.0])
    assert moment.baseline is None  # it has no pose of that stamp
    assert robot.streams.look() is None


def test_without_estimate_and_truth_the_drives_say_where_the_machine_is(robot: Robot) -> None:
    robot.streams.look()
    wait_for(robot.subscribed, 'subscriptions', spin=robot.node)
    moved = HOME.position + np.array([0.05, 0.0, 0.1])
    positions = drive_positions(MACHINE, moved[None], HOME.rotation_base_platform[None])[0]
    message = JointState(name=MACHINE.actuated_joint_names, position=positions.tolist(), effort=[5.0] * 6)
    message.header.stamp = stamp(7 * 10**9)
    robot.joints.publish(message)
    moment = robot.look_until(lambda one: one.forces is not None, 'joint states')
    np.testing.assert_allclose(moment.shown.position, moved, atol=1e-9)
    assert moment.estimate is None and moment.time == 7.0 and (moment.forces == 5.0).all()
    message.position[2] = np.nan
    message.header.stamp = stamp(8 * 10**9)
    robot.joints.publish(message)
    moment = robot.look_until(lambda one: one.time == 8.0, 'broken joint states')
    assert moment.shown is None and 'joint_states' in robot.streams.problem


def test_newest_common_stamp() -> None:
    one: dict[int, bytes] = {}
    other: dict[int, bytes] = {}
    assert newest_common(one, other) is None
    keep_stamped(one, [serialize_message(odometry(time, HOME.position)) for time in (10, 20, 30)])
    assert newest_common(one, other) == newest_common(other, one) == 30
    keep_stamped(other, [serialize_message(odometry(time, HOME.position)) for time in (15, 20, 25)])
    assert newest_common(one, other) == 20
    keep_stamped(one, [b'no message', serialize_message(odometry(5, HOME.position))])  # the clock was set back
    assert one.keys() == {5} and newest_common(one, other) == 5
