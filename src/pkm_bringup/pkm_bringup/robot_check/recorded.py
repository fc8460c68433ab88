"""What was heard of a robot: messages of joints and IMU as arrays, and who publishes what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array

Stamps = NDArray[np.int64]
Flags = NDArray[np.bool_]


#: how topics end that nodes of the suite publish, in the types of a driver
_OWN_TOPICS = ('platform/joint_states', 'imu/data')


def driver_topics(topics: Iterable[str]) -> list[str]:
    """Those topics that are not of the suite's nodes, sorted."""
    return sorted(topic for topic in topics if not topic.endswith(_OWN_TOPICS))


@dataclass(frozen=True)
class JointLog:
    """Messages ``sensor_msgs/JointState`` of one topic that have the same names.

    Attributes
    ----------
    stamps, received : (N,) ns, by the messages' headers, and when they came (or were recorded)
    names : (M) of each of these messages
    positions, velocities, efforts : (N, M) as they came; NaN where a message has none
    absent : of each quantity's name, how many messages had no (or a wrong number of) entries for it
    other_layouts : names -> number of further messages, which are not in the arrays
    """

    stamps: Stamps
    received: Stamps
    names: tuple[str, ...]
    positions: Array
    velocities: Array
    efforts: Array
    absent: dict[str, int] = field(default_factory=dict)
    other_layouts: Counter[tuple[str, ...]] = field(default_factory=Counter)

    def __len__(self) -> int:
        return len(self.stamps)


@dataclass(frozen=True)
class ImuLog:
    """Messages ``sensor_msgs/Imu`` of one topic.

    Attributes
    ----------
    stamps, received : (N,) ns
    specific_force, angular_rate : (N, 3) as they came
    frames : frame id -> number of messages
    covariances : (9,) of orientation, angular velocity, linear acceleration, by name, of the first message
    """

    stamps: Stamps
    received: Stamps
    specific_force: Array
    angular_rate: Array
    frames: Counter[str] = field(default_factory=Counter)
    covariances: dict[str, Array] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.stamps)


@dataclass(frozen=True)
class Endpoint:
    """A publisher of a topic, as the graph (or a bag) tells it.

    Attributes
    ----------
    node : full name; empty in bags
    topic_type : e.g. ``sensor_msgs/msg/Imu``
    reliability, durability : e.g. ``best_effort``, ``volatile``
    """

    node: str
    topic_type: str
    reliability: str = 'reliable'
    durability: str = 'volatile'


@dataclass(frozen=True)
class Observation:
    """Everything that was heard.

    Attributes
    ----------
    source : where from, for the report
    joint_topic, imu_topic : full names of the topics that were wanted
    joints, imu : what came on them; None if nothing did
    publishers : of every topic that is there
    live : True if the streams came live, so that ``received`` is this machine's clock
    clock : (P, 2) ns, pairs of /clock and time of reception, if somebody publishes it
    reliability : of our subscriptions, ``best_effort`` or ``reliable``
    clock_publishers : names of those who publish /clock
    warnings : what was lost in reading
    """

    source: str
    joint_topic: str
    imu_topic: str
    joints: JointLog | None
    imu: ImuLog | None
    publishers: dict[str, tuple[Endpoint, ...]] = field(default_factory=dict)
    live: bool = False
    clock: Stamps = field(default_factory=lambda: np.empty((0, 2), dtype=np.int64))
    reliability: str = 'best_effort'
    clock_publishers: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def topics_of(self, topic_type: str) -> list[str]:
        """Topics of a type that a driver may publish, sorted."""
        return driver_topics(
            topic for topic, ends in self.publishers.items() if any(end.topic_type == topic_type for end in ends)
        )
