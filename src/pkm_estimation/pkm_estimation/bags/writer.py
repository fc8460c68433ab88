"""Write arrays as messages of the suite's topics: for offline simulation and tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rosbags.interfaces import Qos, QosDurability, QosHistory, QosLiveliness, QosReliability, QosTime

from pkm_estimation.bags.decoding import TYPESTORE
from pkm_estimation.bags.raw_writer import RawBagWriter

# (0, 0) stands for 'unspecified' in DDS
_UNSPECIFIED = QosTime(0, 0)
RELIABLE_QOS = Qos(
    QosHistory.KEEP_LAST, 200, QosReliability.RELIABLE, QosDurability.VOLATILE, _UNSPECIFIED, _UNSPECIFIED,
    QosLiveliness.AUTOMATIC, _UNSPECIFIED, False,
)  # fmt: skip


def _rows(values: ArrayLike | None, count: int, width: int, fill: float = 0.0) -> NDArray[np.float64]:
    if values is None:
        return np.full((count, width), fill)
    return np.ascontiguousarray(
        np.broadcast_to(np.asarray(values, dtype=float).reshape(-1, width), (count, width))
    )


class BagWriter(RawBagWriter):
    """A bag written stream by stream from arrays; see :class:`RawBagWriter` for the parameters.

    Parameters
    ----------
    namespace : put before every topic that does not begin with ``/``
    """

    def __init__(self, path: str | Path, storage: str = 'mcap', namespace: str = '') -> None:
        super().__init__(path, storage)
        self._prefix = '/' + namespace.strip('/') + '/' if namespace.strip('/') else '/'
        types = TYPESTORE.types
        self._time = types['builtin_interfaces/msg/Time']
        self._header_type = types['std_msgs/msg/Header']
        self._vector = types['geometry_msgs/msg/Vector3']
        self._point = types['geometry_msgs/msg/Point']
        self._quaternion = types['geometry_msgs/msg/Quaternion']

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
        kind = TYPESTORE.types['sensor_msgs/msg/JointState']
        columns = [
            None if values is None else np.ascontiguousarray(values, dtype=float)
            for values in (positions, velocities, efforts)
        ]

        def message(index: int, header: Any) -> Any:
            position, velocity, effort = (
                np.empty(0) if column is None else column[index] for column in columns
            )
            return kind(header, list(names), position, velocity, effort)

        self._write_stream(topic, 'sensor_msgs/msg/JointState', stamps, '', message)

    def write_imu(
        self,
        stamps: ArrayLike,
        specific_force: ArrayLike,
        angular_rate: ArrayLike,
        topic: str = 'imu/data_raw',
        frame: str = 'imu_link',
    ) -> None:
        """Write stamps (N,) ns, specific force (N, 3) m/s^2, angular rate (N, 3) rad/s; no orientation."""
        kind = TYPESTORE.types['sensor_msgs/msg/Imu']
        count = len(np.asarray(stamps))
        force, rate = _rows(specific_force, count, 3), _rows(angular_rate, count, 3)
        unknown = np.zeros(9)
        unreported = np.array([-1.0] + [0.0] * 8)

        def message(index: int, header: Any) -> Any:
            return kind(
                header, self._quaternion(0.0, 0.0, 0.0, 1.0), unreported, self._vector(*rate[index]), unknown,
                self._vector(*force[index]), unknown,
            )  # fmt: skip

        self._write_stream(topic, 'sensor_msgs/msg/Imu', stamps, frame, message)

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
        types = TYPESTORE.types
        kind, pose, twist = (types[f'{name}'] for name in (
            'nav_msgs/msg/Odometry', 'geometry_msgs/msg/Pose', 'geometry_msgs/msg/Twist'))  # fmt: skip
        posed = types['geometry_msgs/msg/PoseWithCovariance']
        twisted = types['geometry_msgs/msg/TwistWithCovariance']
        count = len(np.asarray(stamps))
        place, turn = _rows(position, count, 3), _rows(orientation, count, 4)
        velocity, rate = _rows(linear_velocity, count, 3), _rows(angular_velocity, count, 3)
        pose_spread, twist_spread = _rows(pose_covariance, count, 36), _rows(twist_covariance, count, 36)

        def message(index: int, header: Any) -> Any:
            return kind(
                header,
                'platform_link',
                posed(pose(self._point(*place[index]), self._quaternion(*turn[index])), pose_spread[index]),
                twisted(
                    twist(self._vector(*velocity[index]), self._vector(*rate[index])), twist_spread[index]
                ),
            )

        self._write_stream(topic, 'nav_msgs/msg/Odometry', stamps, 'base_link', message)

    def _write_stream(
        self, topic: str, message_type: str, stamps: ArrayLike, frame: str, message: Callable[[int, Any], Any]
    ) -> None:
        """Serialise and write one message per stamp; the time of recording is the stamp."""
        name = topic if topic.startswith('/') else self._prefix + topic
        self.add_topic(name, message_type, [RELIABLE_QOS])
        for index, stamp in enumerate(np.asarray(stamps, dtype=np.int64).tolist()):
            header = self._header_type(self._time(stamp // 10**9, stamp % 10**9), frame)
            self.write(name, stamp, bytes(TYPESTORE.serialize_cdr(message(index, header), message_type)))
