"""Recordings that promise more than they hold, and those that unpack to more than a computer has."""

from __future__ import annotations

import sqlite3
import struct
from pathlib import Path

import numpy as np
import pytest
from pkm_estimation.bags import BagError, BagWriter, read_bag, unpacking
from pkm_estimation.bags.messages import open_bag
from pkm_estimation.bags.unpacking import CompressionBombError, unpack
from rosbags.rosbag2.storage_mcap import zstd

COUNT = 60
SUFFIX = {'mcap': '.mcap', 'sqlite3': '.db3'}


def write(folder: Path, storage: str) -> Path:
    """A bag of two topics; returns its storage file."""
    stamps = 10**9 + 5_000_000 * np.arange(COUNT)
    with BagWriter(folder, storage) as bag:
        bag.write_joint_states(stamps, ['a', 'b'], np.zeros((COUNT, 2)))
        bag.write_imu(stamps, np.zeros((COUNT, 3)), np.zeros((COUNT, 3)))
    return folder / f'{folder.name}{SUFFIX[storage]}'


def test_rows_that_a_full_disk_took_from_sqlite_are_told(tmp_path: Path) -> None:
    file = write(tmp_path / 'run', 'sqlite3')
    with sqlite3.connect(file) as database:
        database.execute('DELETE FROM messages WHERE topic_id = 2 AND id > ?', (COUNT + 20,))
    for path in (tmp_path / 'run', file):
        data = read_bag(path)
        assert data.topics == {'/joint_states': COUNT, '/imu/data_raw': 20}
        assert len(data.warnings) == 1
        assert data.warnings[0].startswith(f'40 of {2 * COUNT} messages named in metadata.yaml are lost')
    assert '/imu/data_raw: 40 of 60' in read_bag(tmp_path / 'run').warnings[0]


@pytest.mark.parametrize('storage', SUFFIX)
def test_more_is_promised_than_the_file_holds(tmp_path: Path, storage: str) -> None:
    write(tmp_path / 'run', storage)
    metadata = tmp_path / 'run' / 'metadata.yaml'
    metadata.write_text(metadata.read_text().replace('message_count: 60', 'message_count: 75').replace('120', '150'))
    with open_bag(tmp_path / 'run') as bag:
        assert bag.topics == {'/joint_states': COUNT, '/imu/data_raw': COUNT}
        assert bag.warnings == [
            '30 of 150 messages named in metadata.yaml are lost (/joint_states: 15 of 75, /imu/data_raw: 15 of 75)'
        ]
        assert sum(1 for _ in bag.read()) == bag.message_count


def test_files_that_metadata_name_and_that_are_not_there(tmp_path: Path) -> None:
    file = write(tmp_path / 'run', 'mcap')
    metadata = tmp_path / 'run' / 'metadata.yaml'
    metadata.write_text(metadata.read_text().replace('- run.mcap', '- run.mcap\n  - run_1.mcap'))
    (tmp_path / 'run' / 'other.mcap').write_bytes(file.read_bytes())
    data = read_bag(tmp_path / 'run')
    assert sum(data.topics.values()) == 2 * COUNT
    assert data.warnings == (
        'files named in metadata.yaml are not there: run_1.mcap',
        'files not named in metadata.yaml are left out: other.mcap',
    )


def test_index_that_lacks_a_part_of_the_file_is_not_believed(tmp_path: Path) -> None:
    """The count of messages in the statistics of the file (record 0x0B of 54 bytes or more) is another one."""
    file = write(tmp_path / 'run', 'mcap')
    content = bytearray(file.read_bytes())
    place = content.rindex(struct.pack('<Q', 2 * COUNT))
    content[place : place + 8] = struct.pack('<Q', 2 * COUNT + 7)
    file.write_bytes(content)
    data = read_bag(file)
    assert sum(data.topics.values()) == 2 * COUNT
    assert any('index of run.mcap is damaged' in text for text in data.warnings)


@pytest.mark.parametrize('allowed', [False, True])
def test_chunk_that_would_fill_the_memory_is_refused(tmp_path: Path, monkeypatch, allowed: bool) -> None:
    """Of a sound file its index tells; of a cut-off one it shows while it is unpacked."""
    monkeypatch.setattr(unpacking, 'ALWAYS_ALLOWED', 1000)
    monkeypatch.setattr(unpacking, 'LARGEST_GROWTH', 2)
    with BagWriter(tmp_path / 'run') as bag:
        bag.add_topic('/a', 'std_msgs/msg/Empty')
    file = tmp_path / 'run' / 'run.mcap'
    packed = zstd.compress(bytes([0x7F]) + struct.pack('<Q', 10**6) + bytes(10**6))
    chunk = struct.pack('<QQQII', 1, 2, 10**6 + 9, 0, 4) + b'zstd' + struct.pack('<Q', len(packed)) + packed
    file.write_bytes(file.read_bytes()[:8] + b'\x06' + struct.pack('<Q', len(chunk)) + chunk)
    if allowed:
        monkeypatch.setattr(unpacking, 'ALWAYS_ALLOWED', 10**7)
        assert read_empty(file)
    else:
        with pytest.raises(BagError, match='claim to unpack to 1000009, more than the 1000'):
            read_bag(file)


def read_empty(file: Path) -> bool:
    with open_bag(file) as bag:
        return bag.message_count == 0


def test_pieces_are_unpacked_up_to_a_bound(monkeypatch) -> None:
    import lz4.frame

    text = b'ten bytes ' * 1000
    for kind, packed in (('zstd', zstd.compress(text)), ('lz4', lz4.frame.compress(text))):
        assert unpack(kind, packed) == unpack(kind, packed, len(text)) == text
        assert unpack(kind, packed + packed) == 2 * text
        with pytest.raises(CompressionBombError, match='become more than the 9999'):
            unpack(kind, packed, len(text) - 1)
        with pytest.raises(ValueError, match='too early'):
            unpack(kind, packed[:-20])
        monkeypatch.setattr(unpacking, 'LARGEST_PIECE', 5000)
        with pytest.raises(CompressionBombError, match='5000'):
            unpack(kind, packed)
        monkeypatch.undo()


def test_bag_whose_file_is_compressed_as_a_whole(tmp_path: Path, monkeypatch) -> None:
    file = write(tmp_path / 'run', 'sqlite3')
    content = file.read_bytes()
    (tmp_path / 'run' / 'run.db3.zstd').write_bytes(zstd.compress(content))
    file.unlink()
    metadata = tmp_path / 'run' / 'metadata.yaml'
    metadata.write_text(metadata.read_text().replace('- run.db3', '- run.db3.zstd'))
    data = read_bag(tmp_path / 'run')
    assert data.warnings == ()
    assert sum(data.topics.values()) == 2 * COUNT
    monkeypatch.setattr(unpacking, 'ALWAYS_ALLOWED', 1000)
    monkeypatch.setattr(unpacking, 'LARGEST_GROWTH', 1)
    with pytest.raises(BagError, match='unpacks to more than'):
        read_bag(tmp_path / 'run')


def test_message_that_would_fill_the_memory_is_named(tmp_path: Path, monkeypatch) -> None:
    with BagWriter(tmp_path / 'run') as bag:
        bag.add_topic('/imu/data_raw', 'sensor_msgs/msg/Imu')
        bag.write('/imu/data_raw', 10**9, zstd.compress(bytes(10**6)))
    monkeypatch.setattr(unpacking, 'LARGEST_PIECE', 10**5)
    with pytest.raises(BagError, match='a message of /imu/data_raw: .* become more than the 100000'):
        read_bag(tmp_path / 'run')
