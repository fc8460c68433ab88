"""Recorder and player as processes: what was published is what is recorded, and what is replayed."""

from __future__ import annotations

import signal
from pathlib import Path

import numpy as np
import pytest
from pkm_estimation.bags import BagWriter, decoding, read_bag
from pkm_estimation.bags.messages import open_bag

pytest.importorskip('rclpy')

from node_processes import call_service, ros_domain, wait_for
from pkm_bringup.recording import in_order_of_sending
from pkm_description.ros.qos import RELIABLE_STREAM_QOS
from rclpy.node import Node
from sensor_msgs.msg import Imu
from std_srvs.srv import Trigger
from warm_programs import WarmNode, parameters

NAMES = [f'leg{leg}_prismatic' for leg in range(1, 7)]
PLAYED = ('/joint_states', '/imu/data_raw', '/ground_truth/odometry')


def make_bag(path: Path, count: int = 300, rate: int = 200) -> Path:
    random = np.random.default_rng(8)
    stamps = 5 * 10**9 + np.arange(count) * 10**9 // rate
    with BagWriter(path) as bag:
        bag.write_joint_states(stamps, NAMES, random.normal(size=(count, 6)), None, random.normal(size=(count, 6)))
        bag.write_imu(stamps, random.normal(size=(count, 3)), random.normal(size=(count, 3)))
        numbers = random.normal(size=(count, 13))
        bag.write_odometry(stamps, numbers[:, :3], numbers[:, 3:7], numbers[:, 7:10], numbers[:, 10:])
    return path


def messages_by_topic(path: Path) -> dict[str, list[bytes]]:
    found: dict[str, list[bytes]] = {}
    with open_bag(path) as bag:
        assert bag.warnings == []
        for topic, _, data in bag.read(PLAYED):
            found.setdefault(topic, []).append(data)
    return found


@pytest.mark.parametrize('storage', [pytest.param('mcap', marks=pytest.mark.campaign), 'sqlite3'])
def test_replay_into_a_recording_gives_the_same_messages(tmp_path: Path, storage: str) -> None:
    source = make_bag(tmp_path / 'source')
    with WarmNode(
        'pkm_bringup', 'recorder', parameters(output=tmp_path / 'copy', storage=storage, use_sim_time='true')
    ) as recorder:
        recorder.wait_for_output('recording to')
        with WarmNode(
            'pkm_bringup', 'player', parameters(bag=source, rate=2.0, wait_for_subscribers=100.0)
        ) as player:
            assert player.wait() == 0, player.output
            assert 'no subscriber on' not in player.output
        assert recorder.stop() == 0, recorder.output
    assert messages_by_topic(tmp_path / 'copy') == messages_by_topic(source)
    copy = read_bag(tmp_path / 'copy').require(read_bag(tmp_path / 'copy').joint_states, 'joint_states')
    # /clock carries the recorded times, and the recorder goes by it: hardly earlier than the sample, never later than
    # the end, and in order; how much later depends on what else the computer does
    assert (copy.recorded_at - copy.stamps).min() > -0.5e9
    assert copy.recorded_at.max() < copy.stamps[-1] + 0.02e9
    assert (np.diff(copy.recorded_at) >= 0).all()
    with open_bag(tmp_path / 'copy') as bag:
        assert bag.types['/imu/data_raw'] == 'sensor_msgs/msg/Imu'
        assert bag.qos['/imu/data_raw'][0].reliability.name == 'RELIABLE'


def test_stop_service_closes_the_bag_and_a_second_sigint_does_no_harm(tmp_path: Path) -> None:
    with (
        ros_domain(),
        WarmNode(
            'pkm_bringup', 'recorder', parameters(output=tmp_path / 'run', topics='[imu/data_raw]')
        ) as recorder,
    ):
        node = Node('test_recorder_player')
        publisher = node.create_publisher(Imu, 'imu/data_raw', 10)
        wait_for(lambda: publisher.get_subscription_count() > 0, 'the recorder', spin=node)
        for index in range(5):
            publisher.publish(Imu(angular_velocity=rclpy_vector(index)))
        wait_for(lambda: publisher.wait_for_all_acked(), 'acknowledgement', spin=node)
        assert call_service(node, Trigger, 'recorder/stop').success
        recorder.process.send_signal(signal.SIGINT)
        recorder.process.send_signal(signal.SIGINT)
        assert recorder.wait() == 0, recorder.output
        node.destroy_node()
    data = read_bag(tmp_path / 'run')
    assert data.warnings == ()
    rates = data.require(data.imu_data_raw, 'imu/data_raw').angular_rate[:, 0]
    np.testing.assert_array_equal(rates, np.arange(len(rates)))
    assert len(rates) >= 1


def test_what_waits_is_taken_in_the_order_of_sending() -> None:
    with ros_domain():
        node = Node('test_recorder_player')
        taken, publishers = [], []
        for topic in ('first', 'second'):
            publishers.append(node.create_publisher(Imu, topic, RELIABLE_STREAM_QOS))
            raw = topic == 'first'
            taken.append(node.create_subscription(Imu, topic, lambda _: None, RELIABLE_STREAM_QOS, raw=raw))
        for publisher in publishers:
            wait_for(lambda one=publisher: one.get_subscription_count() > 0, 'the subscription')
        for index in range(100):
            publishers[index % 3 % 2].publish(Imu(angular_velocity=rclpy_vector(index)))
        wait_for(lambda: all(one.wait_for_all_acked() for one in publishers), 'acknowledgement')
        places, messages = zip(*in_order_of_sending(taken), strict=True)
        assert list(places) == [index % 3 % 2 for index in range(100)]
        second = [message.angular_velocity.x for place, message in zip(places, messages, strict=True) if place]
        assert second == [index for index in range(100) if index % 3 == 1]
        assert all(isinstance(message, bytes) for place, message in zip(places, messages, strict=True) if not place)
        assert list(in_order_of_sending(taken)) == []
        node.destroy_node()


def rclpy_vector(value: float):
    from geometry_msgs.msg import Vector3

    return Vector3(x=float(value))


def test_bad_parameters_end_with_one_line(tmp_path: Path) -> None:
    taken = make_bag(tmp_path / 'taken', count=3)
    for executable, arguments, text in (
        ('recorder', parameters(output=taken), 'exists already'),
        ('recorder', parameters(), "parameter 'output' is empty"),
        ('player', parameters(bag=tmp_path / 'nothing'), 'no such file'),
        ('player', parameters(bag=taken, remap='["a:b"]'), "not of the form 'from:=to'"),
        ('player', parameters(bag=taken, wait_for_nodes='[joint_states]'), "not of the form 'topic node'"),
        ('player', parameters(bag=taken, from_namespace='left'), 'has no topic below /left/'),
    ):
        with WarmNode('pkm_bringup', executable, arguments) as process:
            assert process.wait() == 1
            assert text in process.output and 'Traceback' not in process.output


def test_player_renames_and_excludes(tmp_path: Path) -> None:
    source = make_bag(tmp_path / 'source', count=40)
    arguments = parameters(
        bag=source,
        exclude='[ground_truth/odometry]',
        remap='["/imu/data_raw:=/left/imu"]',
        wait_for_topics='[/left/imu]',
        wait_for_subscribers=100.0,
    )
    received: list[Imu] = []
    with ros_domain():
        node = Node('test_player_listener')
        node.create_subscription(Imu, '/left/imu', received.append, 100)
        with WarmNode('pkm_bringup', 'player', arguments) as player:
            wait_for(lambda: len(received) == 40, 'all IMU messages', spin=node)
            assert not node.get_publishers_info_by_topic('/ground_truth/odometry')
            assert player.wait() == 0
        node.destroy_node()
    expected = read_bag(source).require(read_bag(source).imu_data_raw, 'imu/data_raw').angular_rate
    np.testing.assert_array_equal(
        [[m.angular_velocity.x, m.angular_velocity.y, m.angular_velocity.z] for m in received], expected
    )


def test_rclpy_reads_what_the_writer_serialises(tmp_path: Path) -> None:
    from rclpy.serialization import deserialize_message, serialize_message

    data = messages_by_topic(make_bag(tmp_path / 'run', count=5))['/imu/data_raw']
    for item in data:
        message = deserialize_message(item, Imu)
        assert message.header.frame_id == 'imu_link'
        assert deserialize_message(serialize_message(message), Imu) == message
        # rclpy leaves padding as it is in memory, so the bytes are compared where they mean something
        again = decoding.imu(np.zeros(1, dtype=np.int64), [serialize_message(message)])
        assert again.angular_rate.tobytes() == decoding.imu(np.zeros(1, dtype=np.int64), [item]).angular_rate.tobytes()
