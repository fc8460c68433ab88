"""Recording and replay without ROS: schedule, filters, early messages, definitions of types."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pkm_bringup.recording import BagRecording, Playback, learn_type, offered_qos
from pkm_description.driver import Driver
from pkm_estimation.bags import BagError, BagWriter, read_bag
from pkm_estimation.bags.messages import open_bag
from rosbags.rosbag2 import Reader
from rosbags.typesys import Stores, get_typestore

NAMES = [f'leg{leg}_prismatic' for leg in range(1, 7)]


def make_bag(path: Path, storage: str = 'mcap', count: int = 20) -> Path:
    random = np.random.default_rng(3)
    stamps = 10**9 + 10**7 * np.arange(count)
    with BagWriter(path, storage) as bag:
        bag.write_joint_states(stamps, NAMES, random.normal(size=(count, 6)))
        bag.write_imu(stamps + 10**6, random.normal(size=(count, 3)), random.normal(size=(count, 3)))
    return path


@pytest.mark.parametrize('storage', ['mcap', 'sqlite3'])
def test_recorded_bytes_are_the_published_bytes(tmp_path: Path, storage: str) -> None:
    source = Playback(make_bag(tmp_path / 'source'))
    recording = BagRecording(tmp_path / 'copy', storage)
    for topic in sorted(source.types):
        recording.add_topic(topic, source.types[topic], source.qos[topic])
    for message in source:
        recording.add_message(message.topic, message.time, message.data)
    assert recording.counts == {'/joint_states': 20, '/imu/data_raw': 20}
    assert '40 messages on 2 topics' in recording.close()
    recording.add_message('/joint_states', 10**12, b'')  # comes too late, is ignored
    recording.close()
    with open_bag(tmp_path / 'source') as before, open_bag(tmp_path / 'copy') as after:
        assert list(before.read()) == list(after.read())
        assert before.qos == after.qos and before.types == after.types


def test_recording_never_overwrites(tmp_path: Path) -> None:
    make_bag(tmp_path / 'run')
    with pytest.raises(BagError, match='exists already'):
        BagRecording(tmp_path / 'run')
    assert len(read_bag(tmp_path / 'run').streams['joint_states']) == 20


def test_playback_selects_renames_and_skips(tmp_path: Path) -> None:
    bag = make_bag(tmp_path / 'run')
    played = Playback(bag, ['/imu/data_raw'], {'/imu/data_raw': '/left/imu'}, rate=4.0, start_offset=0.1)
    assert set(played.types) == {'/left/imu'} and played.types['/left/imu'] == 'sensor_msgs/msg/Imu'
    assert {message.topic for message in played} == {'/left/imu'}
    # 20 messages 10 ms apart, those of the first 0.1 s are skipped
    assert len(played) == 10
    times = [message.time for message in played]
    assert times == sorted(times) and times[0] >= played.start_time
    assert played.due_after(played.start_time + 10**9) == pytest.approx(0.25)


def bag_of_two_robots(path: Path) -> Path:
    stamps = 10**9 + 10**7 * np.arange(5)
    for name in ('left', 'right'):
        with BagWriter(path / name, namespace=name) as bag:
            bag.write_joint_states(stamps, NAMES, np.ones((5, 6)))
            bag.write_imu(stamps, np.ones((5, 3)), np.ones((5, 3)))
    recording = BagRecording(path / 'both')
    for name in ('left', 'right'):
        source = Playback(path / name)
        for topic, kind in source.types.items():
            recording.add_topic(topic, kind)
        for message in source:
            recording.add_message(message.topic, message.time, message.data)
    recording.close()
    return path / 'both'


@pytest.mark.parametrize(
    ('before', 'after', 'expected'),
    [
        ('left', '/left', {'/left/joint_states', '/left/imu/data_raw'}),
        ('/right/', '/', {'/joint_states', '/imu/data_raw'}),
        ('left', '/cell/one', {'/cell/one/joint_states', '/cell/one/imu/data_raw'}),
        ('/', '/x', {f'/x/{name}/{topic}' for name in ('left', 'right') for topic in ('joint_states', 'imu/data_raw')}),
    ],
)
def test_playback_of_one_robot_of_several(tmp_path: Path, before: str, after: str, expected: set[str]) -> None:
    bag = bag_of_two_robots(tmp_path)
    assert set(Playback(bag, namespaces=(before, after)).types) == expected
    if before == 'left':
        # what is named is played, wherever it stands
        named = Playback(bag, ['/left/joint_states', '/right/joint_states'], namespaces=('left', '/a'))
        assert set(named.types) == {'/a/joint_states', '/right/joint_states'}
        also = Playback(bag, namespaces=('left', '/a'), also=['/right/imu/data_raw', '/not/there'])
        assert set(also.types) == {'/a/joint_states', '/a/imu/data_raw', '/right/imu/data_raw'}
        with pytest.raises(BagError, match='has no topic below /middle/; it holds /left/imu/data_raw'):
            Playback(bag, namespaces=('middle', '/'))


@pytest.mark.parametrize(
    ('arguments', 'text'),
    [
        ({'topics': ['/camera']}, 'has no topic /camera; it holds /imu/data_raw, /joint_states'),
        ({'remap': {'/camera': '/other'}}, 'has no topic /camera'),
    ],
)
def test_bad_playback_requests_are_explained(tmp_path: Path, arguments: dict, text: str) -> None:
    with pytest.raises(BagError, match=text):
        Playback(make_bag(tmp_path / 'run'), **arguments)


def test_csv_files_are_played_as_a_drivers_messages(tmp_path: Path) -> None:
    """On the driver's topics, of one robot of several below another namespace."""
    path = tmp_path / 'run.csv'
    imu = ','.join(f'imu.{part}.{axis}' for part in ('linear_acceleration', 'angular_velocity') for axis in 'xyz')
    path.write_text(f'time,a.position,{imu}\n1.0,2.5,1,2,3,4,5,6\n1.5,2.6,,,,,,\n')
    driver = Driver(joint_topic='drives', imu_topic='/imu')
    kinds = {'/drives': 'sensor_msgs/msg/JointState', '/imu': 'sensor_msgs/msg/Imu'}
    assert Playback(path, driver=driver).types == kinds
    moved = Playback(path, namespaces=('/left', '/right'), also=['/imu'], driver=driver)
    assert set(moved.types) == {'/right/drives', '/imu'}
    assert [message.time for message in moved] == [1_000_000_000, 1_000_000_000, 1_500_000_000]


def test_definition_of_a_type_comes_from_its_installed_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    share = tmp_path / 'share' / 'machine_msgs'
    (tmp_path / 'share' / 'ament_index' / 'resource_index' / 'packages').mkdir(parents=True)
    (tmp_path / 'share' / 'ament_index' / 'resource_index' / 'packages' / 'machine_msgs').touch()
    (share / 'msg').mkdir(parents=True)
    (share / 'msg' / 'LegLengths.msg').write_text('std_msgs/Header header\nLeg[] legs\nfloat64[6] all\n')
    (share / 'msg' / 'Leg.msg').write_text('string name\nfloat64 length\n')
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(tmp_path))
    recording = BagRecording(tmp_path / 'run')
    recording.add_topic('/lengths', 'machine_msgs/msg/LegLengths')
    recording.add_message('/lengths', 5, b'\0\1\0\0')
    recording.close()
    with Reader(tmp_path / 'run') as reader:
        definition = reader.connections[0].msgdef.data
        assert 'float64 length' in definition and 'Leg[] legs' in definition
    with pytest.raises(BagError, match='no_msgs/msg/Nothing.*not installed'):
        learn_type(get_typestore(Stores.ROS2_JAZZY), 'no_msgs/msg/Nothing')


def test_standard_definitions_agree_between_distributions(tmp_path: Path) -> None:
    kilted = get_typestore(Stores.ROS2_KILTED)
    store = BagRecording(tmp_path / 'run')._writer.typestore
    for name in (
        'sensor_msgs/msg/Imu',
        'sensor_msgs/msg/JointState',
        'nav_msgs/msg/Odometry',
        'tf2_msgs/msg/TFMessage',
    ):
        assert store.hash_rihs01(name) == kilted.hash_rihs01(name)


def test_offered_qos_keeps_the_policies() -> None:
    rclpy_qos = pytest.importorskip('rclpy.qos')
    profile = rclpy_qos.QoSProfile(
        depth=7,
        history=rclpy_qos.QoSHistoryPolicy.KEEP_LAST,
        reliability=rclpy_qos.QoSReliabilityPolicy.BEST_EFFORT,
        durability=rclpy_qos.QoSDurabilityPolicy.TRANSIENT_LOCAL,
    )
    offered = offered_qos(profile)
    assert (offered.depth, offered.history.name) == (7, 'KEEP_LAST')
    assert (offered.reliability.name, offered.durability.name) == ('BEST_EFFORT', 'TRANSIENT_LOCAL')
    assert offered.deadline == (0, 0)
