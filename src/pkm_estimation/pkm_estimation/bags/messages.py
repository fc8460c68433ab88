"""Raw messages of a recording of any kind: bags of ROS 2, also damaged ones, of ROS 1, and CSV files."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager
from itertools import chain
from pathlib import Path

from pkm_description.driver import IMU_TOPIC, JOINT_TOPIC, STANDARD_DRIVER, Driver
from rosbags.interfaces import ConnectionExtRosbag2, Qos
from rosbags.rosbag2 import Reader
from rosbags.rosbag2.storage_mcap import DECOMPRESSORS

from pkm_estimation.bags import mcap_chunks
from pkm_estimation.bags.csv_columns import POSE_TOPICS
from pkm_estimation.bags.csv_reader import csv_files, read_csv_messages
from pkm_estimation.bags.errors import BagError
from pkm_estimation.bags.mcap_chunks import Message, chunked_files
from pkm_estimation.bags.mcap_recovery import recover_mcap
from pkm_estimation.bags.metadata import promised_message_count
from pkm_estimation.bags.ros1 import Ros1Bag
from pkm_estimation.bags.sqlite_recovery import SIDECARS, recover_sqlite3

#: how a compressed message begins; one that is not begins with zero
_COMPRESSED = b'\x28\xb5\x2f\xfd'
_RECOVER = {'.mcap': recover_mcap, '.db3': recover_sqlite3}


class BagMessages:
    """Serialised messages of an open bag.

    Attributes
    ----------
    topics : message count by topic
    types : message type by topic, e.g. ``sensor_msgs/msg/Imu``
    qos : QoS profiles offered by the recorded publishers, by topic
    warnings : what was lost, one sentence each
    """

    def __init__(self) -> None:
        self.topics: dict[str, int] = {}
        self.types: dict[str, str] = {}
        self.qos: dict[str, list[Qos]] = {}
        self.warnings: list[str] = []
        #: of each file in turn, what reads the messages of some topics (None: all)
        self._files: list[Callable[[Collection[str] | None], Iterator[Message]]] = []

    @property
    def message_count(self) -> int:
        """Messages of all topics."""
        return sum(self.topics.values())

    def read(self, topics: Collection[str] | None = None) -> Iterator[Message]:
        """Topic, time of recording [ns] and CDR bytes in the order of recording."""
        return chain.from_iterable(read(topics) for read in self._files)

    def _add_reader(self, reader: Reader) -> None:
        self._files.append(lambda topics: map(_unpacked, _messages(reader, topics)))
        for connection in reader.connections:
            topic = connection.topic
            self.topics[topic] = self.topics.get(topic, 0) + connection.msgcount
            self.types[topic] = connection.msgtype
            if isinstance(connection.ext, ConnectionExtRosbag2):
                self.qos.setdefault(topic, []).extend(connection.ext.offered_qos_profiles)

    def _add_recovered(self, path: Path) -> None:
        messages, types, warnings = _RECOVER[path.suffix](path)
        self._add_messages(messages, types)
        self.warnings += [text if path.name in text else f'{path.name}: {text}' for text in warnings]

    def _add_messages(self, messages: list[tuple[str, int, bytes]], types: dict[str, str]) -> None:
        def read(topics: Collection[str] | None) -> Iterator[Message]:
            return (_unpacked(message) for message in messages if topics is None or message[0] in topics)

        self._files.append(read)
        self.types.update(types)
        counts = Counter(topic for topic, _, _ in messages)
        for topic in types:
            self.topics[topic] = self.topics.get(topic, 0) + counts[topic]

    def _add_ros1(self, bag: Ros1Bag) -> None:
        self._files.append(bag.read)
        self.types.update(bag.types)
        for topic, count in bag.topics.items():
            self.topics[topic] = self.topics.get(topic, 0) + count
        self.warnings += bag.warnings


@contextmanager
def open_bag(
    path: str | Path, driver: Driver = STANDARD_DRIVER, namespace: str = ''
) -> Iterator[BagMessages]:
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
        elif (path / 'metadata.yaml').exists() and (reader := _sound_reader(path, stack)):
            bag._add_reader(reader)
        else:
            files = sorted((item for item in path.iterdir() if item.suffix in _RECOVER), key=_order_of_recording)
            if not files and tables:
                _open_tables(tables, bag, driver, namespace)
                yield bag
                return
            if not files:
                packed = sorted(item.name for item in path.iterdir() if item.suffix in ('.zst', '.zstd'))
                hint = f'; unpack {", ".join(packed)} first (unzstd)' if packed else ''
                raise BagError(f'{path}: not a bag: the directory holds no .mcap, .db3 or .csv files{hint}')
            if not (path / 'metadata.yaml').exists():
                bag.warnings.append('metadata.yaml is missing: the recording was not finished')
            _open_files(files, bag, stack)
        promised = promised_message_count(path)
        if promised is not None and promised > bag.message_count:
            lost = promised - bag.message_count
            bag.warnings.append(f'{lost} of {promised} messages named in metadata.yaml are lost')
        yield bag


def _open_tables(files: list[Path], bag: BagMessages, driver: Driver, namespace: str) -> None:
    standard = (JOINT_TOPIC, IMU_TOPIC, *POSE_TOPICS.values())
    topics = {topic: full_topic(driver.topic(topic), namespace) for topic in standard}
    messages, types, warnings = read_csv_messages(files, topics, driver.columns)
    bag._add_messages(messages, types)
    bag.warnings += warnings


def full_topic(topic: str, namespace: str) -> str:
    """Absolute name of a topic of a robot in a namespace."""
    if topic.startswith('/'):
        return topic
    return '/' + '/'.join(part for part in (namespace.strip('/'), topic) if part)


def _messages(reader: Reader, topics: Collection[str] | None) -> Iterator[Message]:
    """Topic, time of recording [ns] and data, as they are stored."""
    files = chunked_files(reader)
    if files is not None:
        return chain.from_iterable(found for file in files for found in mcap_chunks.messages(file, topics))
    connections = [item for item in reader.connections if topics is None or item.topic in topics]
    found = reader.messages(connections) if connections else ()
    return ((connection.topic, time, data) for connection, time, data in found)


def _unpacked(message: Message) -> Message:
    """Unpack a compressed message; only metadata.yaml says that they are, and it may be missing."""
    topic, time, data = message
    if data[:4] != _COMPRESSED:
        return message
    try:
        return topic, time, bytes(DECOMPRESSORS['zstd'](data, 0))
    except Exception:  # whoever reads it will say that it is damaged
        return message


def _order_of_recording(path: Path) -> list[tuple[int, str]]:
    """Key that puts the parts of a recording in order: ``run_2`` before ``run_10``."""
    return [(int(part), '') if part.isdigit() else (0, part) for part in re.split(r'([0-9]+)', path.name)]


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
    """Open one storage file through the library, or recover it."""
    if path.suffix == '.bag':
        bag._add_ros1(Ros1Bag(path, stack))
        return
    if path.suffix not in _RECOVER:
        raise BagError(
            f'{path}: not a bag: expected a bag directory or a file ending in {", ".join(_RECOVER)}, .bag (ROS 1) or '
            '.csv'
        )
    reader = _sound_reader(path, stack)
    if reader is not None:
        bag._add_reader(reader)
    else:
        bag._add_recovered(path)


def _sound_reader(path: Path, stack: ExitStack) -> Reader | None:
    """Reader of a bag that opens and whose messages can all be reached, else None."""
    folder, stem = (path, '') if path.is_dir() else (path.parent, path.name)
    if any(item.name.endswith(SIDECARS) and item.name.startswith(stem) for item in folder.iterdir()):
        return None  # an unfinished transaction: the library would read half-written pages
    try:
        reader = stack.enter_context(Reader(path))
        chunked = chunked_files(reader)
        for _ in () if chunked else _messages(reader, None):
            pass
        for file in chunked or ():
            mcap_chunks.check(file)
    except Exception:
        return None
    return reader
