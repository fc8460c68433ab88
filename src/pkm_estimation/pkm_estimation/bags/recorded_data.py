"""Recorded streams of one run as arrays."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.driver import STANDARD_DRIVER, Driver
from pkm_description.errors import PkmError
from pkm_description.joint_states import JointOrder

from pkm_estimation.motion_estimate import MotionEstimate

Stamps = NDArray[np.int64]
_Stream = TypeVar('_Stream')


class JointMessage(NamedTuple):
    """Names and numbers of one ``sensor_msgs/JointState``, of whatever lengths."""

    names: tuple[str, ...]
    positions: Array
    efforts: Array


@dataclass(frozen=True)
class JointStates:
    """``sensor_msgs/JointState`` stream of N messages with J joints.

    Attributes
    ----------
    stamps : (N,) ns, header stamps
    recorded_at : (N,) ns, when the recorder took the message
    names : joint names, the same in every message
    positions, velocities, efforts : (N, J); m or rad, m/s or rad/s, N or N m; NaN where the field was empty
    unlike : messages with other names, or with lengths that do not fit, by index; NaN in the arrays. Empty unless they
        were asked for
    """

    stamps: Stamps
    recorded_at: Stamps
    names: tuple[str, ...]
    positions: Array
    velocities: Array
    efforts: Array
    unlike: dict[int, JointMessage] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.stamps)

    def by_joint(self, order: JointOrder) -> JointStates:
        """The same messages with the joints and in the convention that :meth:`JointOrder.by_joint` makes of them."""
        return replace(
            self,
            names=order.wanted,
            positions=order.by_joint(self.positions),
            velocities=order.by_joint(self.velocities, 'velocity', self.positions),
            efforts=order.by_joint(self.efforts, 'effort'),
        )


@dataclass(frozen=True)
class Imu:
    """``sensor_msgs/Imu`` stream of N messages.

    Attributes
    ----------
    stamps, recorded_at : (N,) ns
    frame : frame of the vectors
    specific_force : (N, 3) m/s^2, +g upwards at rest (REP 145)
    angular_rate : (N, 3) rad/s
    orientation : (N, 4) quaternion xyzw
    covariances : (N, 18) as the messages state them, of specific force, then of angular rate, row by row; ``None``:
        not recorded
    """

    stamps: Stamps
    recorded_at: Stamps
    frame: str
    specific_force: Array
    angular_rate: Array
    orientation: Array
    covariances: Array | None = None

    def __len__(self) -> int:
        return len(self.stamps)


@dataclass(frozen=True)
class Odometry(MotionEstimate):
    """``nav_msgs/Odometry`` stream of N messages: pose in ``frame``, twist in the axes of ``child_frame``.

    Attributes
    ----------
    recorded_at : (N,) ns
    frame, child_frame : frame of the pose, frame of the twist
    """

    recorded_at: Stamps
    frame: str
    child_frame: str


@dataclass(frozen=True)
class RecordedData:
    """Streams of one bag; ``None`` where the bag has no message of that topic.

    Attributes
    ----------
    path : where it was read from
    topics : message count of every topic of the bag, other topics too
    warnings : what was lost or looks wrong, one sentence each; empty for a sound bag
    joint_states : ``joint_states``, actuated joints
    imu_data_raw, imu_data : ``imu/data_raw`` as measured, ``imu/data`` bias-corrected
    ground_truth, platform_odometry, baseline_odometry : ``ground_truth/odometry``, ``platform/odometry``,
        ``baseline/odometry``
    platform_innovations : ``platform/innovations``, numbers of the legs by name, as positions
    driver : says on which topics joint states and raw IMU were recorded
    """

    path: str
    topics: dict[str, int]
    warnings: tuple[str, ...] = ()
    joint_states: JointStates | None = None
    imu_data_raw: Imu | None = None
    imu_data: Imu | None = None
    ground_truth: Odometry | None = None
    platform_odometry: Odometry | None = None
    baseline_odometry: Odometry | None = None
    platform_innovations: JointStates | None = None
    driver: Driver = STANDARD_DRIVER

    def require(self, stream: _Stream | None, topic: str) -> _Stream:
        """Return ``stream``, or raise :class:`MissingTopicError` naming ``topic`` and what the bag holds."""
        if stream is None:
            raise missing_topic(self.path, self.driver.topic(topic), self.topics)
        return stream

    @property
    def streams(self) -> dict[str, JointStates | Imu | Odometry]:
        """The streams that are there, by attribute name."""
        skipped = ('path', 'topics', 'warnings', 'driver')
        found = {entry.name: getattr(self, entry.name) for entry in fields(self) if entry.name not in skipped}
        return {name: stream for name, stream in found.items() if stream is not None}


def missing_topic(path: str, topic: str, topics: dict[str, int]) -> MissingTopicError:
    """Describe a missing topic together with the topics that are there."""
    present = ', '.join(f'{name} ({count})' for name, count in sorted(topics.items())) or 'none at all'
    return MissingTopicError(
        f"{path}: no messages on topic '{topic}'; the bag holds {present}. "
        'If the topics have a namespace or other names, give --namespace, --joint-topic, --imu-topic or --driver.'
    )


class BagError(PkmError):
    """A bag cannot be read or written; the message says which, why and what to do."""


class MissingTopicError(BagError):
    """The bag does not hold a topic that is needed; the message lists those that it holds."""
