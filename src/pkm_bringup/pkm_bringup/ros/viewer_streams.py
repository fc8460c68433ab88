"""Streams of a robot as moments for the viewer."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping
from functools import partial
from typing import Any

import numpy as np
from nav_msgs.msg import Odometry
from pkm_description.arrays import Array
from pkm_description.errors import PkmError
from pkm_description.joint_states import JointStateReader
from pkm_description.kinematics.rotation import matrix_from_quaternion
from pkm_description.machine import Machine
from pkm_description.ros.conversions import array3, array4, nanoseconds
from pkm_description.ros.frames import Frames
from pkm_description.ros.qos import LATCHED_QOS
from pkm_description.ros.serialized import UNREADABLE, read_joint_state, read_stamp
from pkm_description.viewing.coupled_pose import JointReader
from rclpy.node import Node
from rclpy.qos import HistoryPolicy, QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message
from scipy.interpolate import CubicSpline
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage
from trajectory_msgs.msg import MultiDOFJointTrajectory

from pkm_bringup.ros.reference_message import motion_from_message
from pkm_bringup.viewer.moment import BodyPose, Moment

#: messages between two looks that are kept: 0.2 s of a stream at 1 kHz
_KEPT = 200
_STREAM_QOS = QoSProfile(history=HistoryPolicy.KEEP_LAST, depth=_KEPT, reliability=ReliabilityPolicy.BEST_EFFORT)
ESTIMATE, TRUTH, BASELINE, REFERENCE = (
    'platform/odometry', 'ground_truth/odometry', 'baseline/odometry', 'platform/reference'
)  # fmt: skip
_STATIC = '/tf_static'


class ViewerStreams:
    """Takes what has come since the last look and says where everything is.

    Parameters
    ----------
    node : of the viewer
    machine, frames : of the robot

    Attributes
    ----------
    problem : what could not be read, empty if all could
    """

    def __init__(self, node: Node, machine: Machine, frames: Frames) -> None:
        self._machine, self._frames = machine, frames
        self._joint_topic = machine.driver.joint_topic
        wanted = {**dict.fromkeys((ESTIMATE, TRUTH, BASELINE), Odometry), self._joint_topic: JointState,
                  REFERENCE: MultiDOFJointTrajectory, _STATIC: TFMessage}  # fmt: skip
        self._topics = PolledTopics(node, wanted, latched=(REFERENCE, _STATIC))
        self._drives = JointStateReader.of_drives(machine)
        self._poses = JointReader(machine, machine.actuated_joint_names)
        self.problem = ''
        self._forget()

    def _forget(self) -> None:
        self._bodies: dict[str, dict[int, bytes]] = {topic: {} for topic in (ESTIMATE, TRUTH, BASELINE)}
        self._points: dict[str, Array] = {}
        self._references: list[CubicSpline] = []
        self._joints: bytes | None = None

    def close(self) -> None:
        """Unsubscribe, and forget."""
        self._topics.close()
        self._forget()

    def look(self) -> Moment | None:
        """What is new; None without a new message."""
        self._topics.open()
        self.problem = ''
        before = self._newest()
        self._take()
        if self._newest() == before:
            return None
        # errors need equal stamps; a stream that is not there must not hold up the others
        stamp = newest_common(self._bodies[ESTIMATE], self._bodies[TRUTH])
        estimate, truth, baseline = (
            self._body(None if stamp is None else self._bodies[topic].get(stamp)) for topic in self._bodies
        )
        return self._moment(stamp, {'estimate': estimate, 'truth': truth, 'baseline': baseline})

    def _newest(self) -> tuple[Any, ...]:
        return *(max(known, default=None) for known in self._bodies.values()), self._joints

    def _take(self) -> None:
        for topic, known in self._bodies.items():
            keep_stamped(known, self._topics.take(topic))
        for data in self._topics.take(self._joint_topic)[-1:]:
            self._joints = data
        for data in self._topics.take(REFERENCE):
            self._add_reference(data)
        for data in self._topics.take(_STATIC):
            for entry in deserialize_message(data, TFMessage).transforms:
                if entry.header.frame_id == self._frames.platform:
                    self._points[entry.child_frame_id] = array3(entry.transform.translation)

    def _add_reference(self, data: bytes) -> None:
        message = deserialize_message(data, MultiDOFJointTrajectory)
        try:
            motion = motion_from_message(message, self._frames)
        except PkmError as error:
            self.problem = f'{REFERENCE}: {error}'
            return
        if len(motion) > 1:
            time = nanoseconds(message.header.stamp) * 1e-9 + motion.time
            self._references = [*self._references[-19:], CubicSpline(time, motion.position)]

    def _body(self, data: bytes | None) -> BodyPose | None:
        """Motion of the platform's origin, whatever point of it the message is about."""
        if data is None:
            return None
        try:
            message = deserialize_message(data, Odometry)
        except UNREADABLE as error:
            self.problem = f'a message that is no Odometry: {error}'
            return None
        pose, twist = message.pose.pose, message.twist.twist
        quaternion, position = array4(pose.orientation), array3(pose.position)
        if not np.isfinite(position).all() or not abs(np.linalg.norm(quaternion) - 1.0) < 1e-3:
            self.problem = f'odometry with position {position} and quaternion {quaternion}'
            return None
        rotation = matrix_from_quaternion(quaternion)
        # an estimate of another point has a frame of its own there
        arm = self._points.get(message.child_frame_id, np.zeros(3))
        covariance = np.array(message.pose.covariance).reshape(6, 6)[:3, :3]
        velocity = array3(twist.linear) - np.cross(array3(twist.angular), arm)
        return BodyPose(position - rotation @ arm, rotation, velocity, covariance)

    def _moment(self, stamp: int | None, bodies: dict[str, BodyPose | None]) -> Moment:
        shown = bodies['estimate'] or bodies['truth']
        forces, joint_positions = None, None
        if self._joints is not None:
            try:
                reading = read_joint_state(self._joints)
                stamp = stamp or read_stamp(self._joints)
                if self._machine.has_platform:
                    order = self._drives.order(reading.names)
                    forces = order.by_joint_or_nan(reading.efforts)
                    shown = shown or self._body_of_drives(order.by_joint(reading.positions))
                else:
                    read = self._poses.read(reading.names, reading.positions.tolist(), reading.efforts.tolist())
                    joint_positions = read.joint_positions
            except (PkmError, *UNREADABLE) as error:
                self.problem = f'{self._joint_topic}: {error}'
        time = 0.0 if stamp is None else stamp * 1e-9
        return Moment(
            time, shown, joint_positions=joint_positions, reference_position=self._reference(time), forces=forces,
            **bodies,
        )  # fmt: skip

    def _body_of_drives(self, positions: Array) -> BodyPose | None:
        names = self._machine.actuated_joint_names
        read = self._poses.read(names, positions.tolist(), [])
        assert read.position is not None
        assert read.rotation_base_platform is not None
        return BodyPose(read.position, read.rotation_base_platform, np.zeros(3), np.zeros((3, 3)))

    def _reference(self, time: float) -> Array | None:
        """Wanted position at a time: of the newest reference that has begun."""
        begun = [one for one in self._references if one.x[0] <= time]
        if not begun:
            return None
        latest = max(begun, key=lambda one: float(one.x[0]))
        position: Array = latest(min(time, latest.x[-1]))
        return position


class PolledTopics:
    """Subscriptions that exist while they are wanted; messages stay serialised until they are needed.

    Parameters
    ----------
    node : in whose namespace the topics are
    wanted : message class of each topic
    latched : those of which late subscribers get the last message
    """

    def __init__(self, node: Node, wanted: Mapping[str, type], latched: Collection[str]) -> None:
        self._node, self._wanted, self._latched = node, wanted, latched
        self._waiting: dict[str, deque[bytes]] = {topic: deque(maxlen=_KEPT) for topic in wanted}
        self._subscriptions: list[Any] = []

    def open(self) -> None:
        """Subscribe, if that has not been done yet."""
        if not self._subscriptions:
            self._subscriptions = [
                self._node.create_subscription(
                    kind, topic, partial(self._keep, topic), LATCHED_QOS if topic in self._latched else _STREAM_QOS,
                    raw=True,
                )
                for topic, kind in self._wanted.items()
            ]  # fmt: skip

    def _keep(self, topic: str, message: bytes) -> None:
        self._waiting[topic].append(message)

    def close(self) -> None:
        """Unsubscribe: who publishes only to subscribers stops."""
        for subscription in self._subscriptions:
            self._node.destroy_subscription(subscription)
        self._subscriptions = []

    def take(self, topic: str) -> list[bytes]:
        """Serialised messages of a topic since the last look, in order, the last 200 of them."""
        taken = list(self._waiting[topic])
        self._waiting[topic].clear()
        return taken


def keep_stamped(known: dict[int, bytes], messages: list[bytes]) -> None:
    """Add messages that begin with a header by stamp [ns]; a clock that was set back forgets those before."""
    for data in messages:
        try:
            stamp = read_stamp(data)
        except UNREADABLE:
            continue
        if known and stamp < next(reversed(known)):
            known.clear()
        known[stamp] = data
    while len(known) > 10 * _KEPT:
        del known[next(iter(known))]


def newest_common(*known: dict[int, bytes]) -> int | None:
    """Newest stamp [ns] that all of those have that have any; else the newest of the first of these."""
    first, *others = [one for one in known if one] or [{}]
    return max(first.keys() & others[0].keys() if others else first, default=None) or max(first, default=None)
