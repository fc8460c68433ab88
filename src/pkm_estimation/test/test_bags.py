"""Recordings to arrays and back, in both storages, sound and damaged."""

from __future__ import annotations

import re
import resource
import sqlite3
import struct
from pathlib import Path

import numpy as np
import pytest
import yaml
from pkm_estimation.bags import BagError, BagWriter, MissingTopicError, RawBagWriter, read_bag
from pkm_estimation.bags.decoding import TYPESTORE
from pkm_estimation.bags.messages import promised_message_count
from pkm_estimation.bags.writer import imu_messages
from rosbags.rosbag2 import CompressionFormat, CompressionMode, Reader, StoragePlugin, Writer

NAMES = [f'leg{leg}_prismatic' for leg in range(1, 7)]
STORAGES = ['mcap', 'sqlite3']
MCAP = StoragePlugin.MCAP
SUFFIX = {'mcap': '.mcap', 'sqlite3': '.db3'}


def recorded_arrays(count: int) -> dict[str, np.ndarray]:
    random = np.random.default_rng(5)
    return {
        'stamps': 10**9 + 5_000_000 * np.arange(count),
        'positions': random.normal(size=(count, 6)),
        'efforts': random.normal(size=(count, 6)),
        'force': random.normal(size=(count, 3)),
        'rate': random.normal(size=(count, 3)),
        'position': random.normal(size=(count, 3)),
        'orientation': random.normal(size=(count, 4)),
        'velocity': random.normal(size=(count, 3)),
        'spin': random.normal(size=(count, 3)),
        'covariance': random.normal(size=(count, 6, 6)),
    }


def write(path: Path, storage: str, count: int = 50, namespace: str = '') -> dict[str, np.ndarray]:
    arrays = recorded_arrays(count)
    with BagWriter(path, storage, namespace) as bag:
        fill(bag, arrays)
    return arrays


def fill(bag: BagWriter, arrays: dict[str, np.ndarray]) -> None:
    stamps = arrays['stamps']
    bag.write_joint_states(stamps, NAMES, arrays['positions'], None, arrays['efforts'])
    bag.write_imu(stamps, arrays['force'], arrays['rate'])
    bag.write_odometry(
        stamps, arrays['position'], arrays['orientation'], arrays['velocity'], arrays['spin'],
        pose_covariance=arrays['covariance'], twist_covariance=2.0 * arrays['covariance'],
    )  # fmt: skip


def test_reads_no_more_than_is_asked_for(tmp_path: Path) -> None:
    """Identification needs no covariances of poses: they are most of a long recording."""
    arrays = write(tmp_path / 'run', 'mcap')
    data = read_bag(tmp_path / 'run', streams=('joint_states',))
    assert list(data.streams) == ['joint_states']
    assert data.joint_states is not None
    np.testing.assert_array_equal(data.joint_states.positions, arrays['positions'])
    assert '/imu/data_raw' in data.topics


@pytest.mark.parametrize('storage', STORAGES)
@pytest.mark.parametrize('namespace', ['', 'simona/left'])
def test_round_trip_keeps_every_bit(tmp_path: Path, storage: str, namespace: str) -> None:
    arrays = write(tmp_path / 'run', storage, namespace=namespace)
    for path in (tmp_path / 'run', tmp_path / 'run' / f'run{SUFFIX[storage]}'):
        data = read_bag(path, namespace, require=('joint_states', 'imu/data_raw', 'ground_truth/odometry'))
        assert data.warnings == ()
        assert (
            data.joint_states is not None and data.imu_data_raw is not None and data.ground_truth is not None
        )
        assert data.joint_states.names == tuple(NAMES)
        np.testing.assert_array_equal(data.joint_states.stamps, arrays['stamps'])
        np.testing.assert_array_equal(data.joint_states.positions, arrays['positions'])
        np.testing.assert_array_equal(data.joint_states.efforts, arrays['efforts'])
        assert np.isnan(data.joint_states.velocities).all()
        np.testing.assert_array_equal(data.imu_data_raw.specific_force, arrays['force'])
        np.testing.assert_array_equal(data.imu_data_raw.angular_rate, arrays['rate'])
        assert data.imu_data_raw.frame == 'imu_link'
        truth = data.ground_truth
        np.testing.assert_array_equal(truth.position, arrays['position'])
        np.testing.assert_array_equal(truth.orientation, arrays['orientation'])
        np.testing.assert_array_equal(truth.linear_velocity, arrays['velocity'])
        np.testing.assert_array_equal(truth.angular_velocity, arrays['spin'])
        np.testing.assert_array_equal(truth.pose_covariance, arrays['covariance'])
        np.testing.assert_array_equal(truth.twist_covariance, 2.0 * arrays['covariance'])
        assert (truth.frame, truth.child_frame) == ('base_link', 'platform_link')
        assert data.platform_odometry is None
        assert set(data.streams) == {'joint_states', 'imu_data_raw', 'ground_truth'}


@pytest.mark.parametrize('storage', STORAGES)
def test_metadata_is_what_ros2_bag_expects(tmp_path: Path, storage: str) -> None:
    write(tmp_path / 'run', storage, 7)
    information = yaml.safe_load((tmp_path / 'run' / 'metadata.yaml').read_text())[
        'rosbag2_bagfile_information'
    ]
    assert information['storage_identifier'] == storage
    assert information['message_count'] == 21
    assert information['duration']['nanoseconds'] == 6 * 5_000_000
    topic = information['topics_with_message_count'][0]['topic_metadata']
    assert topic['name'] == '/joint_states' and topic['type'] == 'sensor_msgs/msg/JointState'
    # the type hash of sensor_msgs/JointState as every ROS 2 distribution since Jazzy has it
    assert topic['type_description_hash'].startswith('RIHS01_')
    assert topic['offered_qos_profiles'][0]['reliability'] == 'reliable'
    with Reader(tmp_path / 'run') as reader:
        assert 'string[] name' in reader.connections[0].msgdef.data


def test_missing_topic_lists_those_that_are_there(tmp_path: Path) -> None:
    write(tmp_path / 'run', 'mcap', 3, namespace='left')
    with pytest.raises(MissingTopicError, match=r"'/joint_states'.*/left/joint_states \(3\)"):
        read_bag(tmp_path / 'run', require=('joint_states',))
    data = read_bag(tmp_path / 'run', 'left')
    with pytest.raises(MissingTopicError, match='platform/odometry'):
        data.require(data.platform_odometry, 'platform/odometry')


def test_what_is_no_bag_is_said_to_be_none(tmp_path: Path) -> None:
    with pytest.raises(BagError, match='no such file'):
        read_bag(tmp_path / 'nothing')
    with pytest.raises(BagError, match='holds no .mcap, .db3 or .csv'):
        read_bag(tmp_path)
    for name in ('notes.txt', 'notes.mcap', 'notes.db3'):
        (tmp_path / name).write_text(
            'this is no recording, but long enough to be looked at as if it were one' * 20
        )
        with pytest.raises(BagError, match=r'not a[ n]'):
            read_bag(tmp_path / name)


@pytest.mark.parametrize('storage', STORAGES)
def test_empty_bag(tmp_path: Path, storage: str) -> None:
    with BagWriter(tmp_path / 'run', storage) as bag:
        bag.add_topic('/joint_states', 'sensor_msgs/msg/JointState')
    with pytest.raises(BagError, match='empty.*joint_states'):
        read_bag(tmp_path / 'run')


def test_changing_joint_names_are_refused(tmp_path: Path) -> None:
    with BagWriter(tmp_path / 'run') as bag:
        bag.write_joint_states([1, 2], NAMES, np.zeros((2, 6)))
        bag._write_stream = lambda *_: None  # type: ignore[method-assign]
        other = BagWriter(tmp_path / 'other')
        other.write_joint_states([3], NAMES[::-1], np.zeros((1, 6)))
        other.close()
        with Reader(tmp_path / 'other') as reader:
            for _, time, data in reader.messages():
                bag.write('/joint_states', time, data)
    with pytest.raises(BagError, match='joint names change.*message 2'):
        read_bag(tmp_path / 'run')


def test_message_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with BagWriter(tmp_path / 'run') as bag:
        bag.write_imu([1, 2], np.zeros((2, 3)), np.zeros((2, 3)))
        bag.write('/imu/data_raw', 3, bytes([0, 1, 0, 0, 5]))
    with pytest.raises(BagError, match=r'imu/data_raw: message 2 cannot be read'):
        read_bag(tmp_path / 'run')


def test_wrong_type_is_refused(tmp_path: Path) -> None:
    with BagWriter(tmp_path / 'run') as bag:
        bag.write_imu([1], np.zeros((1, 3)), np.zeros((1, 3)), topic='joint_states')
    with pytest.raises(BagError, match='has type sensor_msgs/msg/Imu, expected sensor_msgs/msg/JointState'):
        read_bag(tmp_path / 'run')


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    arrays = write(tmp_path / 'run', 'mcap', 4)
    with pytest.raises(BagError, match='exists already'):
        BagWriter(tmp_path / 'run')
    with pytest.raises(BagError, match="storage 'tape' is unknown"):
        BagWriter(tmp_path / 'other', 'tape')
    np.testing.assert_array_equal(read_bag(tmp_path / 'run').streams['joint_states'].stamps, arrays['stamps'])


@pytest.mark.parametrize('kept', [0.35, 0.8, 0.999])
def test_truncated_mcap_is_read_as_far_as_it_goes(tmp_path: Path, kept: float) -> None:
    arrays = write(tmp_path / 'run', 'mcap', 400)
    file = tmp_path / 'run' / 'run.mcap'
    content = file.read_bytes()
    file.write_bytes(content[: int(kept * len(content))])
    data = read_bag(tmp_path / 'run')
    found = sum(data.topics.values())
    assert any('cut off' in item or 'index' in item for item in data.warnings)
    if kept < 0.9:
        assert 0 < found < 1200
        lost = f'{1200 - found} of 1200 messages named in metadata.yaml are lost'
        assert any(item.startswith(lost) for item in data.warnings)
    for stream in data.streams.values():
        np.testing.assert_array_equal(stream.stamps, arrays['stamps'][: len(stream)])
    joints = data.require(data.joint_states, 'joint_states')
    np.testing.assert_array_equal(joints.positions, arrays['positions'][: len(joints)])


@pytest.mark.parametrize('storage', STORAGES)
def test_unfinished_recording_is_read_up_to_the_last_flush(tmp_path: Path, storage: str) -> None:
    arrays = recorded_arrays(3000)  # more than one MCAP chunk
    bag = BagWriter(tmp_path / 'run', storage)
    fill(bag, arrays)
    bag.flush()
    bag.write_imu([10**12], np.zeros((1, 3)), np.zeros((1, 3)), topic='imu/data')
    data = read_bag(tmp_path / 'run')  # as another process finds it while, or after, the recorder dies
    assert any('metadata.yaml is missing' in item for item in data.warnings)
    joints = data.require(data.joint_states, 'joint_states')
    assert len(joints) > 1500
    np.testing.assert_array_equal(joints.efforts, arrays['efforts'][: len(joints)])
    assert data.imu_data is None
    bag.close()
    whole = read_bag(tmp_path / 'run')
    assert whole.warnings == () and whole.topics['/imu/data'] == 1


@pytest.mark.parametrize('storage', STORAGES)
def test_parts_of_an_unfinished_recording_are_read_in_order(tmp_path: Path, storage: str) -> None:
    """Twelve parts (the eleventh comes after the second by name); one is damaged, the last one has just begun."""
    parts = tmp_path / 'run'
    parts.mkdir()
    for part in range(12):
        with BagWriter(tmp_path / f'part{part}', storage) as bag:
            stamps = 10 * part + np.arange(1, 6)
            bag.write_imu(stamps, np.zeros((5, 3)), np.zeros((5, 3)))
        (whole,) = (tmp_path / f'part{part}').glob('*' + SUFFIX[storage])
        content = whole.read_bytes()
        if part == 6:
            content = content[:-100]
        (parts / f'run_{part}{SUFFIX[storage]}').write_bytes(content if part < 11 else b'')
    data = read_bag(parts)
    assert data.imu_data_raw is not None
    assert data.imu_data_raw.stamps.tolist() == [10 * part + k for part in range(11) for k in range(1, 6)]
    assert data.warnings[0].startswith('metadata.yaml is missing')
    if storage == 'mcap':  # some versions of SQLite do not miss the last bytes
        assert 'run_6' in data.warnings[1]
    assert 'left out' in data.warnings[-1]
    assert 'run_11' in data.warnings[-1]


@pytest.mark.parametrize('mode', [CompressionMode.MESSAGE, CompressionMode.STORAGE])
def test_unfinished_recording_that_is_compressed(tmp_path: Path, mode: CompressionMode) -> None:
    arrays = write(tmp_path / 'run', 'mcap', 2000)
    packed = Writer(tmp_path / 'packed', version=9, storage_plugin=MCAP)
    packed.set_compression(mode, CompressionFormat.ZSTD)
    with Reader(tmp_path / 'run') as reader, packed:
        topics = {
            connection.topic: packed.add_connection(connection.topic, connection.msgtype, typestore=TYPESTORE)
            for connection in reader.connections
        }
        for connection, time, data in reader.messages():
            packed.write(topics[connection.topic], time, data)
    file = tmp_path / 'packed' / 'packed.mcap'
    file.write_bytes(file.read_bytes()[:-80_000])
    (tmp_path / 'packed' / 'metadata.yaml').unlink()
    joints = read_bag(tmp_path / 'packed').joint_states
    assert joints is not None
    assert 0 < len(joints) < 2000
    np.testing.assert_array_equal(joints.positions, arrays['positions'][: len(joints)])


def test_damaged_records_are_left_out(tmp_path: Path) -> None:
    """A channel stands before its messages and in the summary: without both nobody knows what its messages are."""
    write(tmp_path / 'run', 'mcap', 20)
    file = tmp_path / 'run' / 'run.mcap'
    content = file.read_bytes()
    for copies, records in ((1, 1), (-1, 22)):
        file.write_bytes(content[:-30].replace(b'ground_truth', b'ground\xfftruth', copies))
        data = read_bag(tmp_path / 'run')
        assert any(f'{records} records of run.mcap are damaged' in text for text in data.warnings)
        assert (data.ground_truth is None) == (copies == -1)
        assert len(data.require(data.joint_states, 'joint_states')) == 20


def first_chunk(content: bytes) -> int:
    """Place of the first chunk of an MCAP file, behind the magic bytes and the header."""
    return content.index(b'\x06', 8 + 9 + int.from_bytes(content[9:17], 'little'))


def test_wrong_checksum_and_other_encodings_are_told(tmp_path: Path) -> None:
    arrays = write(tmp_path / 'run', 'mcap', 20)
    file = tmp_path / 'run' / 'run.mcap'
    content = file.read_bytes()
    checksum = first_chunk(content) + 9 + 24
    file.write_bytes(content[:checksum] + b'\x01\x02\x03\x04' + content[checksum + 4 :])
    data = read_bag(tmp_path / 'run')
    assert len(data.warnings) == 1
    assert 'is damaged, its numbers may be wrong: Chunk checksum mismatch' in data.warnings[0]
    np.testing.assert_array_equal(data.streams['joint_states'].stamps, arrays['stamps'])
    file.write_bytes(content.replace(b'\3\0\0\0cdr', b'\3\0\0\0xml'))
    left_out = r'/ground_truth/odometry \(xml\), /imu/data_raw \(xml\), /joint_states \(xml\)'
    with pytest.raises(BagError, match=rf'the bag is empty \(topics: none\); .* not in CDR: {left_out}'):
        read_bag(file)


def test_messages_outside_of_chunks_are_read(tmp_path: Path) -> None:
    """A writer may leave chunks out; its messages are read in runs, a cut-off one is told."""
    arrays = write(tmp_path / 'run', 'mcap', 20)
    content = (tmp_path / 'run' / 'run.mcap').read_bytes()
    begin = first_chunk(content)
    (size,) = struct.unpack_from('<Q', content, begin + 1)
    records = content[begin + 9 + 40 : begin + 9 + size]
    file = tmp_path / 'plain.mcap'
    for kept, warnings in ((len(records), 1), (len(records) - 30, 1)):
        file.write_bytes(content[:begin] + records[:kept])
        data = read_bag(file)
        assert len(data.warnings) == warnings
        joints = data.require(data.joint_states, 'joint_states')
        np.testing.assert_array_equal(joints.positions, arrays['positions'])
        assert data.topics['/ground_truth/odometry'] == (20 if kept == len(records) else 19)


def test_truncated_sqlite_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    arrays = write(tmp_path / 'run', 'sqlite3', 400)
    file = tmp_path / 'run' / 'run.db3'
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 2])
    with pytest.raises(sqlite3.DatabaseError):
        sqlite3.connect(file).execute('SELECT count(*), sum(timestamp) FROM messages').fetchall()
    data = read_bag(tmp_path / 'run')
    assert any('damaged after' in item for item in data.warnings)
    joints = data.require(data.joint_states, 'joint_states')
    assert 0 < len(joints) <= 400
    np.testing.assert_array_equal(joints.positions, arrays['positions'][: len(joints)])


def test_metadata_nested_deeply_are_unreadable_and_crash_nothing(tmp_path):
    assert promised_message_count(tmp_path) is None
    (tmp_path / 'metadata.yaml').write_text('rosbag2_bagfile_information:\n  message_count: 7\n')
    assert promised_message_count(tmp_path) == 7
    (tmp_path / 'metadata.yaml').write_text('[' * 200_000)
    assert promised_message_count(tmp_path) is None


@pytest.mark.parametrize('storage', ['mcap', 'sqlite3'])
@pytest.mark.parametrize('kilobytes', [1, 600, 2500])
def test_recording_ends_with_what_can_be_lost(tmp_path: Path, storage: str, kilobytes: int) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    stamps, none = 10**9 + np.arange(20_000), np.zeros((20_000, 3))
    messages = imu_messages(stamps, none, none, 'imu_link')
    said = ''
    resource.setrlimit(resource.RLIMIT_FSIZE, (1024 * kilobytes, before[1]))
    try:
        bag = RawBagWriter(tmp_path / 'run', storage, TYPESTORE)
        bag.add_topic('/imu/data_raw', 'sensor_msgs/msg/Imu')
        for index in range(20_000):
            bag.write('/imu/data_raw', 10**9 + index, messages[index])
            if index % 1000 == 0:
                bag.flush()
    except BagError as error:
        said = str(error)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert 'run: cannot be written: ' in said
    assert 'name another place' in said
    if kilobytes == 1:
        return
    total, risked = map(int, re.findall(r'after (\d+) messages, at most the last (\d+) are lost', said)[0])
    assert bag.closed
    with pytest.raises(BagError, match='is closed'):
        bag.write('/imu/data_raw', 1, b'')
    bag.close()
    assert not list((tmp_path / 'run').glob('*.tmp'))
    data = read_bag(tmp_path / 'run')
    imu = data.require(data.imu_data_raw, 'imu/data_raw')
    np.testing.assert_array_equal(imu.stamps, 10**9 + np.arange(len(imu)))
    assert total - risked <= len(imu) <= total
    assert any('metadata.yaml is missing' in text for text in data.warnings)
