"""Sensors of the running node as one process plays them, with faults; and what this process hears of the node."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from nav_msgs.msg import Odometry
from pkm_description.machine import Machine
from pkm_description.ros.conversions import vector3
from pkm_description.ros.qos import LOSSLESS_QOS, RELIABLE_STREAM_QOS
from pkm_description.ros.serialized import coded_stamp, with_stamp
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.qos import HistoryPolicy, QoSProfile, ReliabilityPolicy
from rclpy.serialization import serialize_message
from sensor_msgs.msg import Imu, JointState

from verification.soak.faulty_stream import FaultyStream, Sent

#: Hz, of IMU and legs
RATE = 1000.0
#: of joint states. Few are held: all publishers of a topic in one process share their memory, in which each of the
#: messages that are held has in the end as much as the largest of them, here megabytes
_LEGS_QOS = QoSProfile(history=HistoryPolicy.KEEP_LAST, depth=100, reliability=ReliabilityPolicy.RELIABLE)
_LARGE_QOS = QoSProfile(history=HistoryPolicy.KEEP_LAST, depth=5, reliability=ReliabilityPolicy.RELIABLE)


class Sensors(Node):
    """Plays the sensors with faults, and listens to the node."""

    def __init__(self, machine: Machine, seed: int) -> None:
        super().__init__('soak')
        self.machine, self.stream = machine, FaultyStream(machine, seed, RATE)
        self.imu = self.create_publisher(Imu, 'imu/data_raw', RELIABLE_STREAM_QOS)
        self.legs = self.create_publisher(JointState, 'joint_states', _LEGS_QOS)
        self.large = self.create_publisher(JointState, 'joint_states', _LARGE_QOS)
        # nothing spins this node while samples are sent
        self._odometry = self.create_subscription(
            Odometry, 'platform/odometry', lambda data: None, LOSSLESS_QOS, raw=True
        )
        self._told = self.create_subscription(DiagnosticArray, '/diagnostics', self._note, 100)
        self.sent: Counter[str] = Counter()
        self.failed: Counter[str] = Counter()
        self.counters: dict[str, int] = {}
        self.estimates = self.not_finite = self.heard = 0
        self.lag = 0.0
        names = machine.actuated_joint_names
        each = 1_000_000 // len(names)
        self._large = {
            'long_names': JointState(name=[name + each * 'x' for name in names], position=[0.0] * len(names)),
            'many_joints': JointState(name=[f'joint_{k}' for k in range(100_000)], position=[0.0] * 100_000),
        }
        self._large_data = {name: bytes(serialize_message(message)) for name, message in self._large.items()}

    def send(self, one: Sent) -> None:
        """Publish a message of the stream."""
        if one.topic == 'imu':
            message = Imu(linear_acceleration=vector3(one.values[:3]), angular_velocity=vector3(one.values[3:]))
            self._publish('imu', self.imu, _stamped(bytes(serialize_message(message)), one.stamp))
        else:
            legs = JointState(name=one.names, position=one.values.tolist())
            self._publish('legs', self.legs, _stamped(bytes(serialize_message(legs)), one.stamp))

    def send_large(self, kind: str) -> None:
        """Publish a joint state of a megabyte and more."""
        self._publish('legs', self.large, _stamped(self._large_data[kind], self.stream.stamp))

    def send_garbage(self) -> None:
        """Publish bytes that are no message."""
        topic = ('imu', 'legs')[int(self.stream.random.integers(2))]
        data = bytes(serialize_message(JointState(name=list(self.machine.actuated_joint_names))))
        garbage = data[:20] + self.stream.random.bytes(int(self.stream.random.integers(0, 60)))
        self._publish(topic, self.imu if topic == 'imu' else self.legs, garbage)

    def send_numbers(self) -> None:
        """An empty message of each publisher: by their numbers the node sees what is lost between two of them."""
        nothing = bytes(serialize_message(JointState()))
        for topic, publisher in (('imu', self.imu), ('legs', self.legs), ('legs', self.large)):
            self._publish(topic, publisher, nothing[:4])

    def _publish(self, topic: str, publisher: Any, data: bytes) -> None:
        try:
            publisher.publish(data)
        except rclpy_implementation.RCLError:  # the middleware is overloaded: nobody will hear it
            self.failed[topic] += 1
        else:
            self.sent[topic] += 1

    def take(self) -> None:
        """Take what has arrived."""
        while (taken := self._odometry.handle.take_message(Odometry, True)) is not None:
            self.estimates += 1
            self.not_finite += not np.isfinite(np.frombuffer(taken[0][-8 * 85 :])).all()
        while (told := self._told.handle.take_message(DiagnosticArray, False)) is not None:
            self._note(told[0])

    def _note(self, array: DiagnosticArray) -> None:
        for status in array.status:
            if not status.name.startswith('/estimator'):
                continue
            values = {value.key: value.value for value in status.values}
            counters = {name[6:]: int(value) for name, value in values.items() if name.startswith('count ')}
            if counters:
                self.counters, self.heard = counters, self.heard + 1
            self.lag = max(self.lag, float(values.get('largest lag [s]', 0.0)))


def _stamped(data: bytes, stamp: int) -> bytes:
    """A serialised message with a stamp [ns]; one beyond those that a message can have is the last of them."""
    last = coded_stamp(2**31 * 10**9 - 1)
    return with_stamp(data, stamp) if stamp < 2**31 * 10**9 else data[:4] + last + data[12:]
