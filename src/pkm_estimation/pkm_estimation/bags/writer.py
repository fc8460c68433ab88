"""Write bags: arrays as messages of the suite's topics, or messages that are serialised already."""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterator, Sequence
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

from pkm_estimation.bags.decoding import TYPESTORE, encoded
from pkm_estimation.bags.recorded_data import BagError

STORAGES = {'mcap': StoragePlugin.MCAP, 'sqlite3': StoragePlugin.SQLITE3}
_TYPES = TYPESTORE.types


def _geometry(name: str) -> Any:
    return _TYPES[f'geometry_msgs/msg/{name}']


_Vector, _Quaternion = _geometry('Vector3'), _geometry('Quaternion')
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
        messages = joint_state_messages(stamps, names, positions, velocities, efforts)
        self._write_stream(topic, 'sensor_msgs/msg/JointState', stamps, messages)

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
        messages = imu_messages(stamps, specific_force, angular_rate, frame, covariances)
        self._write_stream(topic, 'sensor_msgs/msg/Imu', stamps, messages)

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
        motion = position, orientation, linear_velocity, angular_velocity
        messages = odometry_messages(stamps, *motion, pose_covariance, twist_covariance)
        self._write_stream(topic, 'nav_msgs/msg/Odometry', stamps, messages)

    def _write_stream(self, topic: str, message_type: str, stamps: ArrayLike, messages: list[bytes]) -> None:
        """Write one message per stamp; the time of recording is the stamp."""
        name = topic if topic.startswith('/') else self._prefix + topic
        self.add_topic(name, message_type, [RELIABLE_QOS])
        for stamp, message in zip(np.asarray(stamps, dtype=np.int64).tolist(), messages, strict=True):
            self.write(name, stamp, message)


def joint_state_messages(
    stamps: ArrayLike,
    names: Sequence[str],
    positions: ArrayLike | None,
    velocities: ArrayLike | None = None,
    efforts: ArrayLike | None = None,
) -> list[bytes]:
    """``sensor_msgs/JointState`` with (N, J) positions, velocities, efforts; absent ones are left empty."""
    times = np.asarray(stamps, dtype=np.int64)
    parts = [
        np.zeros((len(times), 0)) if values is None else np.asarray(values, dtype=float).reshape(len(times), -1)
        for values in (positions, velocities, efforts)
    ]
    kind = 'sensor_msgs/msg/JointState'
    message = _TYPES[kind](_header(''), list(names), *(np.zeros(part.shape[1]) for part in parts))
    return encoded(message, kind, times, np.hstack(parts))


def imu_messages(
    stamps: ArrayLike, specific_force: ArrayLike, angular_rate: ArrayLike, frame: str,
    covariances: ArrayLike | None = None,
) -> list[bytes]:  # fmt: skip
    """``sensor_msgs/Imu`` of specific force and angular rate (N, 3), with covariances (N, 18); no orientation."""
    times = np.asarray(stamps, dtype=np.int64)
    stated = rows(covariances, len(times), 18)
    force, rate = (rows(values, len(times), 3) for values in (specific_force, angular_rate))
    none = rows([0.0, 0.0, 0.0, 1.0, -1.0, *np.zeros(8)], len(times), 13)
    kind, matrix = 'sensor_msgs/msg/Imu', np.zeros(9)
    zero = _Vector(0.0, 0.0, 0.0)
    message = _TYPES[kind](_header(frame), _Quaternion(0.0, 0.0, 0.0, 0.0), matrix, zero, matrix, zero, matrix)
    return encoded(message, kind, times, np.hstack([none, rate, stated[:, 9:], force, stated[:, :9]]))


def odometry_messages(
    stamps: ArrayLike,
    position: ArrayLike,
    orientation: ArrayLike,
    linear_velocity: ArrayLike,
    angular_velocity: ArrayLike,
    pose_covariance: ArrayLike | None = None,
    twist_covariance: ArrayLike | None = None,
) -> list[bytes]:
    """``nav_msgs/Odometry``: poses (N, 3), (N, 4 xyzw) in ``base_link``, twists (N, 3), (N, 3) in platform axes."""
    times = np.asarray(stamps, dtype=np.int64)
    given = (
        (position, 3), (orientation, 4), (pose_covariance, 36), (linear_velocity, 3), (angular_velocity, 3),
        (twist_covariance, 36),
    )  # fmt: skip
    kind, matrix, zero = 'nav_msgs/msg/Odometry', np.zeros(36), _Vector(0.0, 0.0, 0.0)
    pose = _geometry('Pose')(_geometry('Point')(0.0, 0.0, 0.0), _Quaternion(0.0, 0.0, 0.0, 0.0))
    message = _TYPES[kind](
        _header('base_link'), 'platform_link', _geometry('PoseWithCovariance')(pose, matrix),
        _geometry('TwistWithCovariance')(_geometry('Twist')(zero, zero), matrix),
    )  # fmt: skip
    return encoded(message, kind, times, np.hstack([rows(values, len(times), width) for values, width in given]))


def _header(frame: str) -> Any:
    return _TYPES['std_msgs/msg/Header'](_TYPES['builtin_interfaces/msg/Time'](0, 0), frame)


def rows(values: ArrayLike | None, count: int, width: int) -> Array:
    """Numbers as rows (N, width), one for all or one for each; zeros without them."""
    if values is None:
        return np.zeros((count, width))
    return np.broadcast_to(np.asarray(values, dtype=float).reshape(-1, width), (count, width))
