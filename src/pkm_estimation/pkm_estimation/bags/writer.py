"""Write arrays as messages of the suite's topics: for offline simulation and tests."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike
from rosbags.interfaces import Qos, QosDurability, QosHistory, QosLiveliness, QosReliability, QosTime

from pkm_estimation.bags.message_makers import Maker, MessageMakers, rows
from pkm_estimation.bags.raw_writer import RawBagWriter

# (0, 0) stands for 'unspecified' in DDS
_UNSPECIFIED = QosTime(0, 0)
RELIABLE_QOS = Qos(
    QosHistory.KEEP_LAST, 200, QosReliability.RELIABLE, QosDurability.VOLATILE, _UNSPECIFIED, _UNSPECIFIED,
    QosLiveliness.AUTOMATIC, _UNSPECIFIED, False,
)  # fmt: skip


class BagWriter(RawBagWriter):
    """A bag written stream by stream from arrays; see :class:`RawBagWriter` for the parameters.

    Parameters
    ----------
    namespace : put before every topic that does not begin with ``/``
    """

    def __init__(self, path: str | Path, storage: str = 'mcap', namespace: str = '') -> None:
        super().__init__(path, storage)
        self._prefix = '/' + namespace.strip('/') + '/' if namespace.strip('/') else '/'
        self._make = MessageMakers()

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
        message = self._make.joint_states(names, positions, velocities, efforts)
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
        message = self._make.imu(rows(specific_force, count, 3), rows(angular_rate, count, 3), frame, stated)
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
        message = self._make.odometry(
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
