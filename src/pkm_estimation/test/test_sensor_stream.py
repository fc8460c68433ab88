"""The subscription to a sensor's topic that holds few messages while some are too long."""

from __future__ import annotations

import pytest

pytest.importorskip('rclpy')

from pkm_description.ros.qos import HELD_OF_LONG, LOSSLESS_QOS
from pkm_description.ros.serialized import LONGEST_SAMPLE, read_joint_state
from pkm_estimation.exchange.health import HealthMonitor
from pkm_estimation.nodes.stream_node import SensorStream
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState

SAMPLE = serialize_message(JointState(name=['a'], position=[1.0]))
LONG = serialize_message(JointState(name=[LONGEST_SAMPLE * 'x'], position=[1.0]))


class Node:
    """Takes subscriptions and gives their messages, numbered, to those that are alive, and to those that were."""

    def __init__(self):
        self.made, self.alive, self.number = [], [], 0

    def create_subscription(self, kind, topic, callback, qos, raw):
        subscription = callback, qos
        self.made.append(subscription)
        self.alive.append(subscription)
        return subscription

    def destroy_subscription(self, subscription):
        self.alive.remove(subscription)

    def send(self, data, to=None):
        self.number += 1
        info = {'publication_sequence_number': self.number, 'publisher_gid': {'data': b'one'}}
        for callback, _ in list(self.alive if to is None else to):
            callback(data, info)


@pytest.fixture
def node():
    return Node()


@pytest.fixture
def health():
    return HealthMonitor(6)


@pytest.fixture
def taken():
    return []


@pytest.fixture
def stream(node, health, taken):
    topic = 'legs', JointState, 'joint_states', read_joint_state
    return SensorStream(node, *topic, LOSSLESS_QOS, lambda: health, taken.append)


def test_after_a_long_message_few_are_held_and_after_a_while_as_many_as_before(node, stream, health, taken):
    node.send(SAMPLE)
    node.send(LONG)
    ((_, qos),) = node.alive
    assert qos.depth == HELD_OF_LONG and qos.reliability == LOSSLESS_QOS.reliability
    for _ in range(4):
        stream.tick()
    node.send(LONG)  # the while begins anew, with the same subscription
    for _ in range(4):
        stream.tick()
    assert len(node.made) == 2
    stream.tick()
    ((_, qos),) = node.alive
    assert qos is LOSSLESS_QOS
    stream.tick()
    node.send(SAMPLE)
    assert len(node.made) == 3
    assert len(taken) == 2 and health.counters['legs_unreadable'] == 2 and not health.counters['legs_lost']


def test_what_the_replaced_subscription_hears_on_counts_once(node, stream, health, taken):
    """The executor takes from it to the end of its turn, when its successor hears the same."""
    node.send(SAMPLE)
    node.send(LONG)
    replaced, successor = node.made
    node.send(SAMPLE, to=[replaced])
    node.send(SAMPLE, to=[replaced, successor])
    node.send(SAMPLE, to=[successor])
    assert len(taken) == 3
    # that one of them alone was not taken
    assert health.counters['legs_lost'] == 1
    assert len(taken) + health.counters['legs_lost'] + health.counters['legs_unreadable'] == node.number


def test_what_comes_after_the_end_is_not_heard(node, stream, taken):
    stream.close()
    stream.close()
    assert not node.alive
    node.send(SAMPLE, to=node.made)
    assert not taken
