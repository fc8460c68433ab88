"""Recordings of any kind, as raw messages and as arrays: bags of ROS 2, also damaged ones, of ROS 1, CSV files."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import yaml
from pkm_description.bounded_yaml import bounded_file
from pkm_description.driver import IMU_TOPIC, JOINT_TOPIC, STANDARD_DRIVER, Driver
from rosbags import rosbag1
from rosbags.convert.converter import is_same_wireformat
from rosbags.serde import SerdeError
from rosbags.typesys import Stores, get_typestore

from pkm_estimation.bags import decoding
from pkm_estimation.bags.csv_reader import POSE_TOPICS, csv_files, read_csv_messages
from pkm_estimation.bags.decoding import TYPESTORE
from pkm_estimation.bags.recorded_data import BagError, RecordedData, missing_topic
from pkm_estimation.bags.sources import BagMessages, Message, Source, listed_source
from pkm_estimation.bags.storage import mcap_source, sqlite_source
from pkm_estimation.bags.unpacking import unpack_file

_logger = logging.getLogger(__name__)

#: topics whose losses are told one by one
_TOLD = 4
#: endings of storage files that are compressed as a whole
_PACKED = ('.zst', '.zstd')


#: endings of storage files
_STORAGES = '.mcap', '.db3'


@contextmanager
def open_bag(path: str | Path, driver: Driver = STANDARD_DRIVER, namespace: str = '') -> Iterator[BagMessages]:
    """Open a recording of any kind.

    A bag directory, ``.mcap`` or ``.db3`` file, as far as it can be read if it is damaged or unfinished; a ``.bag`` of
    ROS 1; a ``.csv`` file, or a folder of them.

    Parameters
    ----------
    path : what to open
    driver, namespace : of CSV files: the driver's names of columns, and its topics in the robot's namespace, under
        which the rows are read

    Raises
    ------
    BagError
        If there is nothing at ``path``, it is not a bag, or nothing of it can be read.
    """
    path = Path(path)
    if not path.exists():
        raise BagError(f'{path}: there is no such file or directory')
    bag = BagMessages()
    with ExitStack() as stack:
        tables = csv_files(path)
        if path.is_file() and tables:
            _open_tables(tables, bag, driver, namespace)
        elif not path.is_dir():
            _open_file(path, bag, stack)
        elif tables and not _storage_files(path):
            _open_tables(tables, bag, driver, namespace)
        else:
            _open_folder(path, bag, stack)
        lost = lost_messages(path, bag.topics)
        if lost:
            bag.warnings.append(lost)
        yield bag


def _open_tables(files: list[Path], bag: BagMessages, driver: Driver, namespace: str) -> None:
    standard = (JOINT_TOPIC, IMU_TOPIC, *POSE_TOPICS.values())
    topics = {topic: full_topic(driver.topic(topic), namespace) for topic in standard}
    bag.add(listed_source(*read_csv_messages(files, topics, driver.columns)))


def full_topic(topic: str, namespace: str) -> str:
    """Absolute name of a topic of a robot in a namespace."""
    if topic.startswith('/'):
        return topic
    return '/' + '/'.join(part for part in (namespace.strip('/'), topic) if part)


def _order_of_recording(path: Path) -> list[tuple[int, str]]:
    """Key that puts the parts of a recording in order: ``run_2`` before ``run_10``."""
    return [(int(part), '') if part.isdigit() else (0, part) for part in re.split(r'([0-9]+)', path.name)]


def _storage_files(folder: Path) -> list[Path]:
    """Files of a recording in their order, also those that are compressed as a whole."""
    found = [item for item in folder.iterdir() if _storage_suffix(item) in _STORAGES]
    return sorted(found, key=_order_of_recording)


def _storage_suffix(path: Path) -> str:
    return Path(path.stem).suffix if path.suffix in _PACKED else path.suffix


def _open_folder(path: Path, bag: BagMessages, stack: ExitStack) -> None:
    """Open the files that metadata.yaml names, all that are there without it."""
    files, information = _storage_files(path), bag_metadata(path)
    if not files:
        raise BagError(f'{path}: not a bag: the directory holds no .mcap, .db3 or .csv files')
    if not (path / 'metadata.yaml').exists():
        bag.warnings.append('metadata.yaml is missing: the recording was not finished')
    elif information is None:
        bag.warnings.append('metadata.yaml cannot be read: nobody knows how many messages were recorded')
    named = [Path(str(name)).name for name in (information or {}).get('relative_file_paths') or ()]
    present = [file.name for file in files]
    missing = [name for name in named if name not in present]
    if missing:
        bag.warnings.append(f'files named in metadata.yaml are not there: {", ".join(missing)}')
    if set(named) & set(present):
        others = [name for name in present if name not in named]
        if others:
            bag.warnings.append(f'files not named in metadata.yaml are left out: {", ".join(others)}')
        files = [file for file in files if file.name in named]
    _open_files(files, bag, stack)


def _open_files(files: list[Path], bag: BagMessages, stack: ExitStack) -> None:
    """Open the parts of a recording; one that holds nothing (a recorder that crashed had just begun it) is told."""
    refused: list[BagError] = []
    for file in files:
        try:
            _open_file(file, bag, stack)
        except BagError as error:
            refused.append(error)
    if len(refused) == len(files):
        raise refused[0]
    bag.warnings += [f'a part of the recording is left out: {error}' for error in refused]


def _open_file(path: Path, bag: BagMessages, stack: ExitStack) -> None:
    """Open one file, as far as it can be read."""
    if path.suffix in _PACKED and _storage_suffix(path) in _STORAGES:
        unpacked = Path(stack.enter_context(TemporaryDirectory()), path.stem)
        unpack_file(path, unpacked)
        path = unpacked
    if path.suffix == '.bag':
        bag.add(_ros1_source(path, stack))
        return
    if path.suffix not in _STORAGES:
        raise BagError(
            f'{path}: not a bag: expected a bag directory or a file ending in {", ".join(_STORAGES)}, .bag (ROS 1) or '
            '.csv'
        )
    source = mcap_source(path) if path.suffix == '.mcap' else sqlite_source(path, stack)
    named = [text if path.name in text else f'{path.name}: {text}' for text in source.warnings]
    bag.add(source._replace(warnings=named))


def bag_metadata(folder: Path) -> dict[str, Any] | None:
    """What ``rosbag2`` wrote about the recording in a folder, None without (readable) metadata."""
    try:
        content = bounded_file(folder / 'metadata.yaml')
        return dict(content['rosbag2_bagfile_information'])
    except (OSError, yaml.YAMLError, KeyError, TypeError, ValueError):
        return None


def promised_message_count(path: Path) -> int | None:
    """Count of messages that the metadata name for a bag or for one of its files; None where they name none."""
    information = bag_metadata(path if path.is_dir() else path.parent)
    if information is None:
        return None
    try:
        if path.is_dir() or [Path(name).name for name in information['relative_file_paths']] == [path.name]:
            return int(information['message_count'])
        counts = {Path(part['path']).name: int(part['message_count']) for part in information.get('files') or ()}
        return counts.get(path.name)
    except (KeyError, TypeError, ValueError):
        return None


def lost_messages(path: Path, found: Mapping[str, int]) -> str:
    """Say what of the promised messages was not found; empty if all of them are there.

    Parameters
    ----------
    path : bag directory or one of its files
    found : messages that can be read, by topic
    """
    promised, total = promised_message_count(path), sum(found.values())
    if promised is None or promised <= total:
        return ''
    lost = _lost_by_topic(path, found) if path.is_dir() else []
    told = f' ({", ".join(lost[:_TOLD])}{", ..." if len(lost) > _TOLD else ""})' if lost else ''
    return f'{promised - total} of {promised} messages named in metadata.yaml are lost{told}'


def _lost_by_topic(path: Path, found: Mapping[str, int]) -> list[str]:
    """``topic: lost of promised`` for each that lacks messages, as far as the metadata say."""
    lost = []
    try:
        for entry in (bag_metadata(path) or {})['topics_with_message_count']:
            topic, count = str(entry['topic_metadata']['name']), int(entry['message_count'])
            if count > found.get(topic, 0):
                lost.append(f'{topic}: {count - found.get(topic, 0)} of {count}')
    except (KeyError, TypeError, ValueError):
        return []
    return lost


#: messages of the last ROS 1
_ROS1 = get_typestore(Stores.ROS1_NOETIC)


def _ros1_source(path: Path, stack: ExitStack) -> Source:
    """Messages of a ``.bag`` of ROS 1 whose type ROS 2 has, too; raises BagError if it cannot be read."""
    try:
        reader = stack.enter_context(rosbag1.Reader(path))
    except (rosbag1.ReaderError, OSError, ValueError) as error:
        raise BagError(f'{path}: not a ROS 1 bag, or damaged ({error}); try: rosbag reindex {path.name}') from None
    counts: Counter[str] = Counter()
    types, left_out = {}, set()
    for connection in reader.connections:
        kind = connection.msgtype
        known = kind in _ROS1.fielddefs and kind in TYPESTORE.fielddefs
        if known and is_same_wireformat(_ROS1, TYPESTORE, kind, kind):  # headers: but for a counter, which is left out
            counts[_absolute(connection.topic)] += connection.msgcount
            types[_absolute(connection.topic)] = connection.msgtype
        else:
            left_out.add(f'{connection.topic} ({connection.msgtype})')
    warnings = [f'left out, as ROS 2 has another message: {", ".join(sorted(left_out))}'] if left_out else []

    def read(topics: Collection[str] | None) -> Iterator[Message]:
        wanted = set(types) if topics is None else set(topics) & set(types)
        connections = [item for item in reader.connections if _absolute(item.topic) in wanted]
        for connection, time, data in reader.messages(connections) if connections else ():
            try:
                message = bytes(TYPESTORE.ros1_to_cdr(data, connection.msgtype))
            except SerdeError as error:
                raise BagError(f'{path}: a message of {connection.topic} cannot be read: {error}') from None
            yield _absolute(connection.topic), time, message

    return Source(read, counts, types, warnings)


def _absolute(topic: str) -> str:
    return topic if topic.startswith('/') else f'/{topic}'


#: attribute of RecordedData: (topic, message type, decoder)
STREAMS: dict[str, tuple[str, str, Callable[..., Any]]] = {
    'joint_states': ('joint_states', 'sensor_msgs/msg/JointState', decoding.joint_states),
    'imu_data_raw': ('imu/data_raw', 'sensor_msgs/msg/Imu', decoding.imu),
    'imu_data': ('imu/data', 'sensor_msgs/msg/Imu', decoding.imu),
    'ground_truth': ('ground_truth/odometry', 'nav_msgs/msg/Odometry', decoding.odometry),
    'platform_odometry': ('platform/odometry', 'nav_msgs/msg/Odometry', decoding.odometry),
    'baseline_odometry': ('baseline/odometry', 'nav_msgs/msg/Odometry', decoding.odometry),
    'platform_innovations': ('platform/innovations', 'sensor_msgs/msg/JointState', decoding.joint_states),
}


def read_bag(
    path: str | Path,
    namespace: str = '',
    require: Sequence[str] = (),
    as_recorded: bool = False,
    driver: Driver = STANDARD_DRIVER,
    streams: Collection[str] = tuple(STREAMS),
) -> RecordedData:
    """Read the suite's topics of a bag.

    Parameters
    ----------
    path : bag directory, ``.mcap``, ``.db3``, ``.bag`` (ROS 1) or ``.csv`` file, or a folder of CSV files
    namespace : namespace of the topics, e.g. ``'simona'`` for ``/simona/joint_states``
    require : topics (without namespace) that must have messages, e.g. ``('joint_states', 'imu/data_raw')``
    as_recorded : keep joint states whose names or lengths are unlike those of the first message apart, in place of
        refusing them
    driver : of the machine; says which topics its joint states and raw IMU have. The arrays stay as recorded: who reads
        joints with :class:`pkm_description.joint_states.JointStateReader` converts them
    streams : which attributes of :class:`RecordedData` to read; others are left out, which saves time and memory

    Returns
    -------
    Arrays by topic, messages in the order of recording.

    Raises
    ------
    BagError
        Not a bag, no message at all, or a topic with a wrong type or changing joint names.
    MissingTopicError
        A required topic has no message; the error lists the topics that have.

    Notes
    -----
    An unfinished or truncated recording is read as far as it goes; ``warnings`` of the result (also logged)
    say what was lost.
    """

    def full(topic: str) -> str:
        return full_topic(driver.topic(topic), namespace)

    wanted = {full(topic): (name, kind, decode) for name, (topic, kind, decode) in STREAMS.items() if name in streams}
    with open_bag(path, driver, namespace) as bag:
        if not bag.message_count:
            topics = ', '.join(sorted(bag.topics)) or 'none'
            raise BagError('; '.join([f'{path}: the bag is empty (topics: {topics})', *bag.warnings]))
        raw: dict[str, list[tuple[int, bytes]]] = {topic: [] for topic in wanted if topic in bag.topics}
        for topic, time, data in bag.read(wanted):
            raw[topic].append((time, data))
        counts, types, warnings = bag.topics, bag.types, bag.warnings
    found = _decode(str(path), wanted, raw, types, as_recorded)
    for topic in require:
        if not raw.get(full(topic)):
            raise missing_topic(str(path), full(topic), counts)
    for warning in warnings:
        _logger.warning('%s: %s', path, warning)
    return RecordedData(path=str(path), topics=counts, warnings=tuple(warnings), driver=driver, **found)


def _decode(
    path: str, wanted: dict[str, Any], raw: dict[str, Any], types: dict[str, str], as_recorded: bool
) -> dict[str, Any]:
    """Decode each collected topic by its own decoder."""
    streams = {}
    for topic, messages in raw.items():
        name, kind, decode = wanted[topic]
        if types[topic] != kind:
            raise BagError(f'{path}: {topic} has type {types[topic]}, expected {kind}')
        if messages:
            if decode is decoding.joint_states:
                decode = partial(decode, as_recorded=as_recorded)
            recorded_at = np.array([time for time, _ in messages], dtype=np.int64)
            try:
                streams[name] = decode(recorded_at, [data for _, data in messages])
            except ValueError as error:
                raise BagError(f'{path}: {topic}: {error}') from error
    return streams
