"""Serialised messages from arrays, one at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from pkm_description.arrays import Array

from pkm_estimation.bags.decoding import TYPESTORE

#: makes the message of a row for a stamp [ns]
Maker = Callable[[int, int], bytes]


class MessageMakers:
    """Makers of the messages of a stream: index of the row and stamp [ns] -> CDR bytes."""

    def __init__(self) -> None:
        types = TYPESTORE.types
        self._time = types['builtin_interfaces/msg/Time']
        self._header = types['std_msgs/msg/Header']
        self._vector = types['geometry_msgs/msg/Vector3']
        self._point = types['geometry_msgs/msg/Point']
        self._quaternion = types['geometry_msgs/msg/Quaternion']

    def joint_states(
        self,
        names: Sequence[str],
        positions: ArrayLike | None,
        velocities: ArrayLike | None = None,
        efforts: ArrayLike | None = None,
    ) -> Maker:
        """``sensor_msgs/JointState`` with (N, J) positions, velocities, efforts; absent ones are left empty."""
        kind = TYPESTORE.types['sensor_msgs/msg/JointState']
        columns = [
            None if values is None else np.ascontiguousarray(values, dtype=float)
            for values in (positions, velocities, efforts)
        ]

        def message(index: int, header: Any) -> Any:
            position, velocity, effort = (np.empty(0) if column is None else column[index] for column in columns)
            return kind(header, list(names), position, velocity, effort)

        return self._maker('sensor_msgs/msg/JointState', '', message)

    def imu(
        self, specific_force: ArrayLike, angular_rate: ArrayLike, frame: str, covariances: Array | None = None
    ) -> Maker:
        """``sensor_msgs/Imu`` of specific force and angular rate (N, 3), with covariances (N, 18); no orientation."""
        kind = TYPESTORE.types['sensor_msgs/msg/Imu']
        force, rate = rows(specific_force, None, 3), rows(angular_rate, None, 3)
        unknown = np.zeros((len(force), 18))
        stated = unknown if covariances is None else covariances
        unreported = np.array([-1.0] + [0.0] * 8)

        def message(index: int, header: Any) -> Any:
            return kind(
                header, self._quaternion(0.0, 0.0, 0.0, 1.0), unreported, self._vector(*rate[index]),
                stated[index, 9:], self._vector(*force[index]), stated[index, :9],
            )  # fmt: skip

        return self._maker('sensor_msgs/msg/Imu', frame, message)

    def odometry(
        self,
        position: ArrayLike,
        orientation: ArrayLike,
        linear_velocity: ArrayLike,
        angular_velocity: ArrayLike,
        pose_covariance: ArrayLike | None = None,
        twist_covariance: ArrayLike | None = None,
    ) -> Maker:
        """``nav_msgs/Odometry``: poses (N, 3), (N, 4 xyzw) in ``base_link``, twists (N, 3), (N, 3) in platform axes."""
        types = TYPESTORE.types
        kind, pose, twist = (types[f'{name}'] for name in (
            'nav_msgs/msg/Odometry', 'geometry_msgs/msg/Pose', 'geometry_msgs/msg/Twist'))  # fmt: skip
        posed = types['geometry_msgs/msg/PoseWithCovariance']
        twisted = types['geometry_msgs/msg/TwistWithCovariance']
        place, turn = rows(position, None, 3), rows(orientation, None, 4)
        velocity, rate = rows(linear_velocity, None, 3), rows(angular_velocity, None, 3)
        count = len(place)
        pose_spread, twist_spread = rows(pose_covariance, count, 36), rows(twist_covariance, count, 36)

        def message(index: int, header: Any) -> Any:
            return kind(
                header,
                'platform_link',
                posed(pose(self._point(*place[index]), self._quaternion(*turn[index])), pose_spread[index]),
                twisted(twist(self._vector(*velocity[index]), self._vector(*rate[index])), twist_spread[index]),
            )

        return self._maker('nav_msgs/msg/Odometry', 'base_link', message)

    def _maker(self, kind: str, frame: str, message: Callable[[int, Any], Any]) -> Maker:
        def make(index: int, stamp: int) -> bytes:
            header = self._header(self._time(stamp // 10**9, stamp % 10**9), frame)
            return bytes(TYPESTORE.serialize_cdr(message(index, header), kind))

        return make


def rows(values: ArrayLike | None, count: int | None, width: int) -> Array:
    """Numbers as rows (N, width), one for all or one for each; zeros without them."""
    if values is None:
        return np.zeros((count or 0, width))
    given = np.asarray(values, dtype=float).reshape(-1, width)
    return np.ascontiguousarray(given if count is None else np.broadcast_to(given, (count, width)))
