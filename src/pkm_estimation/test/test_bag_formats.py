"""CSV and ROS 1 recordings are read as bags are, and CSV files are written that give the same bits again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pkm_description.driver import Driver
from pkm_description.loading import load_machine
from pkm_description.motion.profiles import profile
from pkm_estimation.bags import BagError, BagWriter, RecordedData, read_bag
from pkm_estimation.bags.csv_reader import write_csv
from pkm_estimation.bags.messages import open_bag
from pkm_estimation.nodes import bag_to_csv, estimate
from pkm_estimation.offline.estimate import estimate_recording
from pkm_estimation.sensors import measure
from rosbags.rosbag1 import Writer
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

SRS = load_machine('srs')


@pytest.fixture(scope='module')
def bag(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a bag with drives, IMU and true poses of 3 s."""
    motion = profile('mp1', SRS, 3.0, 100.0, 0)
    data = measure(SRS, motion, seed=2)
    count = len(data.stamps)
    random = np.random.default_rng(6)
    path = tmp_path_factory.mktemp('formats') / 'bag'
    with BagWriter(path) as writer:
        writer.write_joint_states(
            data.stamps, SRS.actuated_joint_names, data.drive_positions, None, random.normal(size=(count, 6))
        )
        writer.write_imu(data.stamps, data.specific_force, data.angular_rate)
        numbers = random.normal(size=(count, 10))
        writer.write_odometry(data.stamps, motion.position, numbers[:, :4], numbers[:, 4:7], numbers[:, 7:])
    return path


def same(left: RecordedData, right: RecordedData) -> None:
    """Both have the same streams with the same bits."""
    assert set(left.streams) == set(right.streams)
    for name, stream in left.streams.items():
        other = right.streams[name]
        for field, value in vars(stream).items():
            if isinstance(value, np.ndarray):
                assert value.tobytes() == getattr(other, field).tobytes(), (name, field)
    assert left.joint_states is not None and right.joint_states is not None
    assert left.joint_states.names == right.joint_states.names


def test_csv_files_give_the_bits_of_the_bag(bag: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert bag_to_csv.main([str(bag), '-o', str(tmp_path / 'csv')]) == 0
    assert {path.name for path in (tmp_path / 'csv').iterdir()} == {'joint_states.csv', 'imu.csv', 'ground_truth.csv'}
    recorded, again = read_bag(bag), read_bag(tmp_path / 'csv')
    same(recorded, again)
    assert again.warnings == ()
    ours, theirs = (estimate_recording(SRS, data).motion for data in (recorded, again))
    assert ours.position.tobytes() == theirs.position.tobytes()
    assert estimate.main([str(tmp_path / 'csv')]) == 0
    assert 'estimates: 3.0 s of recording' in capsys.readouterr().out
    assert bag_to_csv.main([str(bag), '-o', str(tmp_path / 'csv')]) == 1
    assert 'joint_states.csv' in capsys.readouterr().err


@pytest.mark.parametrize('namespace', ['', 'left'])
def test_csv_columns_are_a_drivers(tmp_path: Path, namespace: str) -> None:
    """A driver's names of columns and joints, German numbers, a time that begins at zero, a topic of its own."""
    path = tmp_path / 'run.csv'
    path.write_text(
        '# made by hand\n'
        't;s1;i1;ax;ay;az;wx;wy;wz;valve\n'
        '0;1,5;0,25;1;2;3;4;5;6;9\n'
        '10;1,75;;;;;;;;\n'
        '20;;;7;8;9;10;11;12;9\n'
    )  # fmt: skip
    columns = {'t': 'time_ms', 's1': 'actuator_1.position', 'i1': 'actuator_1.effort'}
    vectors = {'a': 'imu.linear_acceleration', 'w': 'imu.angular_velocity'}
    columns |= {f'{letter}{axis}': f'{name}.{axis}' for letter, name in vectors.items() for axis in 'xyz'}
    driver = Driver(columns=columns, joint_topic='drives', imu_topic='/imu')
    data = read_bag(path, namespace, driver=driver)
    assert sorted(data.topics) == sorted(['/imu', f'/{namespace}/drives' if namespace else '/drives'])
    joints, imu = data.joint_states, data.imu_data_raw
    assert joints is not None and imu is not None
    assert joints.names == ('actuator_1',)
    assert joints.stamps.tolist() == [1_000_000_000, 1_010_000_000]
    assert joints.positions.ravel().tolist() == [1.5, 1.75]
    assert joints.efforts[0, 0] == 0.25 and np.isnan(joints.efforts[1, 0]) and np.isnan(joints.velocities).all()
    assert imu.stamps.tolist() == [1_000_000_000, 1_020_000_000]
    assert imu.specific_force.tolist() == [[1.0, 2.0, 3.0], [7.0, 8.0, 9.0]]
    assert imu.angular_rate[1].tolist() == [10.0, 11.0, 12.0]
    told = ' '.join(data.warnings)
    assert 'left out: valve' in told and 'time begins at 0 s: 1 s were added' in told


def test_times_keep_every_nanosecond(tmp_path: Path) -> None:
    path = tmp_path / 'run.csv'
    path.write_text('time,a.position\n1795000000.123456789,1\n1795000000.123456790,2\n')
    joints = read_bag(path).joint_states
    assert joints is not None
    assert joints.stamps.tolist() == [1_795_000_000_123_456_789, 1_795_000_000_123_456_790]


@pytest.mark.parametrize(
    ('text', 'words'),
    [
        ('time,a.position\n', 'needs a line with the names of the columns, and rows'),
        ('seconds,a.position\n1,2\n', 'no time among its columns seconds, a.position; call one of them time'),
        ('time,stamp,a.position\n1,1,2\n', 'both time and stamp among its columns'),
        ('time,a.position,a.position\n1,2,3\n', "two columns are called 'a.position'"),
        ('time,a.position\n1,2\n\n2,three\n', "line 4: a.position = 'three' is no number"),
        ('time,a.position\n1,2\nnow,3\n', "line 3: time = 'now' is no time"),
        ('time,a.position\n1,2,3\n', 'line 2 has 3 cells, the first line has 2'),
        ('time,imu.angular_velocity.x\n1,2\n', 'lacks the columns imu.linear_acceleration.x'),
    ],
)
def test_what_is_wrong_with_a_csv_file_is_said(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / 'run.csv'
    path.write_text(text)
    with pytest.raises(BagError, match=words.replace('.', r'\.')) as caught:
        read_bag(path)
    assert str(path) in str(caught.value)


def test_without_efforts_a_csv_file_can_be_estimated(bag: Path, tmp_path: Path) -> None:
    data = read_bag(bag)
    assert data.joint_states is not None
    blank = np.full(data.joint_states.efforts.shape, np.nan)
    write_csv(replace(data, joint_states=replace(data.joint_states, efforts=blank)), tmp_path / 'csv')
    assert 'effort' not in (tmp_path / 'csv' / 'joint_states.csv').read_text()
    assert len(estimate_recording(SRS, read_bag(tmp_path / 'csv'))) > 250


def _write_ros1(data: RecordedData, path: Path) -> None:
    """The streams as a ROS 1 bag, with one topic of a type that ROS 2 does not have."""
    store = get_typestore(Stores.ROS1_NOETIC)
    store.register(get_types_from_msg('float64 volts', 'my_msgs/msg/Battery'))
    types: dict[str, Any] = store.types
    assert data.joint_states is not None and data.imu_data_raw is not None and data.ground_truth is not None

    def header(index: int, stamp: int, frame: str) -> Any:
        time = types['builtin_interfaces/msg/Time'](*divmod(stamp, 10**9))
        return types['std_msgs/msg/Header'](seq=index, stamp=time, frame_id=frame)

    joint, imu, odometry = (
        types[f'{name}'] for name in ('sensor_msgs/msg/JointState', 'sensor_msgs/msg/Imu', 'nav_msgs/msg/Odometry')
    )
    vector, point, quaternion, pose, twist, posed, twisted = (
        types[f'geometry_msgs/msg/{name}']
        for name in ('Vector3', 'Point', 'Quaternion', 'Pose', 'Twist', 'PoseWithCovariance', 'TwistWithCovariance')
    )
    with Writer(path) as writer:
        connections = {
            topic: writer.add_connection(topic, kind, typestore=store)
            for topic, kind in (
                ('/joint_states', joint.__msgtype__), ('/imu/data_raw', imu.__msgtype__),
                ('/ground_truth/odometry', odometry.__msgtype__), ('/battery', 'my_msgs/msg/Battery'),
            )
        }  # fmt: skip

        def write(topic: str, time: int, message: Any) -> None:
            writer.write(connections[topic], time, store.serialize_ros1(message, message.__msgtype__))

        joints, inertial, truth = data.joint_states, data.imu_data_raw, data.ground_truth
        for index, stamp in enumerate(joints.stamps.tolist()):
            names, empty = list(joints.names), np.empty(0)
            write('/joint_states', stamp, joint(
                header(index, stamp, ''), names, joints.positions[index], empty, joints.efforts[index]))  # fmt: skip
            unknown = np.array([-1.0] + [0.0] * 8)
            write('/imu/data_raw', stamp, imu(
                header(index, stamp, 'imu_link'), quaternion(0.0, 0.0, 0.0, 1.0), unknown,
                vector(*inertial.angular_rate[index]), np.zeros(9), vector(*inertial.specific_force[index]),
                np.zeros(9)))  # fmt: skip
            place = pose(point(*truth.position[index]), quaternion(*truth.orientation[index]))
            speed = twist(vector(*truth.linear_velocity[index]), vector(*truth.angular_velocity[index]))
            write('/ground_truth/odometry', stamp, odometry(
                header(index, stamp, 'base_link'), 'platform_link', posed(place, np.zeros(36)),
                twisted(speed, np.zeros(36))))  # fmt: skip
        write('/battery', int(joints.stamps[-1]), types['my_msgs/msg/Battery'](volts=12.0))


def test_a_ros1_bag_gives_the_bits_of_the_ros2_bag(bag: Path, tmp_path: Path) -> None:
    recorded = read_bag(bag)
    path = tmp_path / 'run.bag'
    _write_ros1(recorded, path)
    again = read_bag(path)
    same(recorded, again)
    assert again.warnings == ('left out, as ROS 2 has another message: /battery (my_msgs/msg/Battery)',)
    # the very bytes, which the player publishes
    with open_bag(bag) as ours, open_bag(path) as theirs:
        for topic in ('/joint_states', '/imu/data_raw', '/ground_truth/odometry'):
            for (_, _, left), (_, _, right) in zip(ours.read([topic]), theirs.read([topic]), strict=True):
                assert left == right


def test_a_damaged_ros1_bag_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / 'run.bag'
    path.write_bytes(b'#ROSBAG V2.0\n' + b'\0' * 100)
    with pytest.raises(BagError, match='not a ROS 1 bag, or damaged'):
        read_bag(path)


def test_csv_files_that_are_none_are_refused_in_words(tmp_path):
    file = tmp_path / 'run.csv'
    for content, reason in (
        (b'time,a.position\n0,\xff\n', 'is no UTF-8 text'),
        (b'time,a.position\n0,"' + b'1' * 140_000 + b'"\n', 'field larger than field limit'),
        (b'time,a.position\n0,' + b'x' * 100_000 + b'\n', 'is no number'),
    ):
        file.write_bytes(content)
        with pytest.raises(BagError, match=f'^{file}: .*{reason}') as caught:
            read_bag(file)
        assert len(str(caught.value)) < 300
