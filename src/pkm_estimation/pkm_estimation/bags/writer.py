"""Write bags: arrays as messages of the suite's topics, or messages that are serialised already."""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from pkm_description.arrays import Array
from pkm_description.writing import unwritable
from rosbags.interfaces import Connection, Qos, QosDurability, QosHistory, QosLiveliness, QosReliability, QosTime
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys.store import Typestore

from pkm_estimation.bags.decoding import TYPESTORE
from pkm_estimation.bags.recorded_data import BagError

STORAGES = {'mcap': StoragePlugin.MCAP, 'sqlite3': StoragePlugin.SQLITE3}
#: makes the message of a row for a stamp [ns]
Maker = Callable[[int, int], bytes]
_TYPES = TYPESTORE.types
_Time, _Header = _TYPES['builtin_interfaces/msg/Time'], _TYPES['std_msgs/msg/Header']
_Vector, _Point, _Quaternion = (_TYPES[f'geometry_msgs/msg/{name}'] for name in ('Vector3', 'Point', 'Quaternion'))
# (0, 0) stands for 'unspecified' in DDS
_UNSPECIFIED = QosTime(0, 0)
RELIABLE_QOS = Qos(
    QosHistory.KEEP_LAST, 200, QosReliability.RELIABLE, QosDurability.VOLATILE, _UNSPECIFIED, _UNSPECIFIED,
    QosLiveliness.AUTOMATIC, _UNSPECIFIED, False,
)  # fmt: skip


class RawBagWriter:
    """A bag directory that takes CDR bytes per topic.

    Parameters
    ----------
    path : directory to make; must not exist
    storage : ``'mcap'`` or ``'sqlite3'``
    typestore : message definitions of the types to be written

    Raises
    ------
    BagError
        Unknown storage, or the directory exists already: nothing is ever overwritten. From every method, if the disk is
        full or the place is not ours; the bag is closed then, and what was written before can be read.
    """

    def __init__(self, path: str | Path, storage: str = 'mcap', typestore: Typestore = TYPESTORE) -> None:
        if storage not in STORAGES:
            raise BagError(f'storage {storage!r} is unknown; choose one of {", ".join(STORAGES)}')
        self.path = Path(path)
        self.typestore = typestore
        if self.path.exists():
            raise BagError(
                f'{self.path} exists already and is not overwritten; choose another output or move it away'
            )
        self._writer = Writer(self.path, version=9, storage_plugin=STORAGES[storage])
        self._connections: dict[str, Connection] = {}
        self.counts: dict[str, int] = {}
        self._closed = False
        #: messages that a crash would take, and chunks of MCAP that are in the file
        self._at_risk = self._chunks = 0
        with self._writing():
            self._writer.open()

    def add_topic(self, topic: str, message_type: str, qos: Sequence[Qos] = ()) -> None:
        """Register a topic with its type and the QoS profiles that its publishers offer."""
        with self._writing():
            self._connections[topic] = self._writer.add_connection(
                topic, message_type, typestore=self.typestore, offered_qos_profiles=list(qos)
            )
        self.counts[topic] = 0

    def write(self, topic: str, time: int, data: bytes) -> None:
        """Append one message, recorded at ``time`` [ns]."""
        if topic not in self._connections:
            raise BagError(f'{self.path}: topic {topic} was not added before writing')
        if self._closed:
            raise BagError(f'{self.path}: is closed')
        self._at_risk += 1
        self.counts[topic] += 1
        with self._writing():
            self._writer.write(self._connections[topic], time, data)
        chunks = len(getattr(self._writer.storage, 'chunks', ()))
        if chunks > self._chunks:
            self._at_risk, self._chunks = 0, chunks

    def flush(self) -> None:
        """Make what was written so far survive the end of the process."""
        if self._closed:
            return
        storage: Any = self._writer.storage
        connection = getattr(storage, 'conn', None)
        stream = getattr(storage, 'bio', None)
        with self._writing():
            if connection is not None:  # sqlite3 keeps one transaction open till the end otherwise
                connection.commit()
                self._at_risk = 0
            if stream is not None:
                if storage.chunk.msgs:  # a chunk is in the memory until it has a megabyte: seconds of a slow sensor
                    storage.close_chunk()
                stream.flush()
                self._at_risk, self._chunks = 0, len(storage.chunks)

    def close(self) -> None:
        """Write index and metadata; harmless when already closed."""
        if not self._closed:
            with self._writing():
                self._writer.close()
            self._closed = True

    @property
    def closed(self) -> bool:
        """Whether nothing can be written any more."""
        return self._closed

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Close the bag as it is where it cannot be written, and say so."""
        try:
            yield
        except (OSError, sqlite3.Error) as error:
            self._closed = True
            self._abandon()
            if isinstance(error, sqlite3.Error):
                error = OSError(errno.ENOSPC if 'full' in str(error) else errno.EIO, str(error))
            total = sum(self.counts.values())
            lost = f'; the recording ends after {total} messages, at most the last {self._at_risk} are lost'
            raise BagError(f'{unwritable(self.path, error)}{lost if total else ""}') from None

    def _abandon(self) -> None:
        """Keep what is in the file; a file of metadata that is not whole is none."""
        storage = self._writer.storage
        connection = getattr(storage, 'conn', None)
        with suppress(OSError, sqlite3.Error):
            if connection is not None and connection.in_transaction:  # sqlite may have rolled it back already
                connection.commit()
                self._at_risk = 0
        with suppress(OSError, sqlite3.Error):
            self._writer.abort()
        with suppress(OSError):
            self.path.joinpath('metadata.yaml.tmp').unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class BagWriter(RawBagWriter):
    """A bag written stream by stream from arrays; see :class:`RawBagWriter` for the parameters.

    Parameters
    ----------
    namespace : put before every topic that does not begin with ``/``
    """

    def __init__(self, path: str | Path, storage: str = 'mcap', namespace: str = '') -> None:
        super().__init__(path, storage)
        self._prefix = '/' + namespace.strip('/') + '/' if namespace.strip('/') else '/'

    def write_joint_states(
        self,
        stamps: ArrayLike,
        names: Sequence[str],
        positions: ArrayLike,
        velocities: ArrayLike | None = None,
        efforts: ArrayLike | None = None,
        topic: str = 'joint_states',
    ) -> None:
        """Write (N,) stamps [ns] and (N, J) positions, velocities, efforts; absent ones are left empty."""
        message = joint_state_messages(names, positions, velocities, efforts)
        self._write_stream(topic, 'sensor_msgs/msg/JointState', stamps, message)

    def write_imu(
        self,
        stamps: ArrayLike,
        specific_force: ArrayLike,
        angular_rate: ArrayLike,
        topic: str = 'imu/data_raw',
        frame: str = 'imu_link',
        covariances: ArrayLike | None = None,
    ) -> None:
        """Write stamps (N,) ns, specific force (N, 3) m/s^2, angular rate (N, 3) rad/s; no orientation.

        ``covariances`` (N, 18) of both, row by row; default: unknown, which is zero.
        """
        count = len(np.asarray(stamps))
        stated = None if covariances is None else rows(covariances, count, 18)
        message = imu_messages(rows(specific_force, count, 3), rows(angular_rate, count, 3), frame, stated)
        self._write_stream(topic, 'sensor_msgs/msg/Imu', stamps, message)

    def write_odometry(
        self,
        stamps: ArrayLike,
        position: ArrayLike,
        orientation: ArrayLike,
        linear_velocity: ArrayLike,
        angular_velocity: ArrayLike,
        topic: str = 'ground_truth/odometry',
        pose_covariance: ArrayLike | None = None,
        twist_covariance: ArrayLike | None = None,
    ) -> None:
        """Write poses (N, 3), (N, 4 xyzw) in ``base_link``, twists (N, 3), (N, 3) in platform axes."""
        count = len(np.asarray(stamps))
        message = odometry_messages(
            rows(position, count, 3), rows(orientation, count, 4), rows(linear_velocity, count, 3),
            rows(angular_velocity, count, 3), pose_covariance, twist_covariance,
        )  # fmt: skip
        self._write_stream(topic, 'nav_msgs/msg/Odometry', stamps, message)

    def _write_stream(self, topic: str, message_type: str, stamps: ArrayLike, message: Maker) -> None:
        """Write one message per stamp; the time of recording is the stamp."""
        name = topic if topic.startswith('/') else self._prefix + topic
        self.add_topic(name, message_type, [RELIABLE_QOS])
        for index, stamp in enumerate(np.asarray(stamps, dtype=np.int64).tolist()):
            self.write(name, stamp, message(index, stamp))


def joint_state_messages(
    names: Sequence[str],
    positions: ArrayLike | None,
    velocities: ArrayLike | None = None,
    efforts: ArrayLike | None = None,
) -> Maker:
    """``sensor_msgs/JointState`` with (N, J) positions, velocities, efforts; absent ones are left empty."""
    kind = _TYPES['sensor_msgs/msg/JointState']
    columns = [
        None if values is None else np.ascontiguousarray(values, dtype=float)
        for values in (positions, velocities, efforts)
    ]

    def message(index: int, header: Any) -> Any:
        position, velocity, effort = (np.empty(0) if column is None else column[index] for column in columns)
        return kind(header, list(names), position, velocity, effort)

    return _maker('sensor_msgs/msg/JointState', '', message)


def imu_messages(
    specific_force: ArrayLike, angular_rate: ArrayLike, frame: str, covariances: Array | None = None
) -> Maker:
    """``sensor_msgs/Imu`` of specific force and angular rate (N, 3), with covariances (N, 18); no orientation."""
    kind = _TYPES['sensor_msgs/msg/Imu']
    force, rate = rows(specific_force, None, 3), rows(angular_rate, None, 3)
    unknown = np.zeros((len(force), 18))
    stated = unknown if covariances is None else covariances
    unreported = np.array([-1.0] + [0.0] * 8)

    def message(index: int, header: Any) -> Any:
        return kind(
            header, _Quaternion(0.0, 0.0, 0.0, 1.0), unreported, _Vector(*rate[index]),
            stated[index, 9:], _Vector(*force[index]), stated[index, :9],
        )  # fmt: skip

    return _maker('sensor_msgs/msg/Imu', frame, message)


def odometry_messages(
    position: ArrayLike,
    orientation: ArrayLike,
    linear_velocity: ArrayLike,
    angular_velocity: ArrayLike,
    pose_covariance: ArrayLike | None = None,
    twist_covariance: ArrayLike | None = None,
) -> Maker:
    """``nav_msgs/Odometry``: poses (N, 3), (N, 4 xyzw) in ``base_link``, twists (N, 3), (N, 3) in platform axes."""
    kind, pose, twist = (_TYPES[name] for name in (
        'nav_msgs/msg/Odometry', 'geometry_msgs/msg/Pose', 'geometry_msgs/msg/Twist'))  # fmt: skip
    posed = _TYPES['geometry_msgs/msg/PoseWithCovariance']
    twisted = _TYPES['geometry_msgs/msg/TwistWithCovariance']
    place, turn = rows(position, None, 3), rows(orientation, None, 4)
    velocity, rate = rows(linear_velocity, None, 3), rows(angular_velocity, None, 3)
    count = len(place)
    pose_spread, twist_spread = rows(pose_covariance, count, 36), rows(twist_covariance, count, 36)

    def message(index: int, header: Any) -> Any:
        return kind(
            header,
            'platform_link',
            posed(pose(_Point(*place[index]), _Quaternion(*turn[index])), pose_spread[index]),
            twisted(twist(_Vector(*velocity[index]), _Vector(*rate[index])), twist_spread[index]),
        )

    return _maker('nav_msgs/msg/Odometry', 'base_link', message)


def _maker(kind: str, frame: str, message: Callable[[int, Any], Any]) -> Maker:
    def make(index: int, stamp: int) -> bytes:
        header = _Header(_Time(stamp // 10**9, stamp % 10**9), frame)
        return bytes(TYPESTORE.serialize_cdr(message(index, header), kind))

    return make


def rows(values: ArrayLike | None, count: int | None, width: int) -> Array:
    """Numbers as rows (N, width), one for all or one for each; zeros without them."""
    if values is None:
        return np.zeros((count or 0, width))
    given = np.asarray(values, dtype=float).reshape(-1, width)
    return np.ascontiguousarray(given if count is None else np.broadcast_to(given, (count, width)))
