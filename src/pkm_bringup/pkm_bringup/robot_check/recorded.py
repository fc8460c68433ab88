"""What was heard of a robot: messages of joints and IMU as arrays, and who publishes what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.machine import Machine
from pkm_estimation.bags.decoding import TYPESTORE
from pkm_estimation.bags.messages import open_bag

JOINT_TYPE, IMU_TYPE, CLOCK_TYPE = 'sensor_msgs/msg/JointState', 'sensor_msgs/msg/Imu', 'rosgraph_msgs/msg/Clock'

#: what the profiles of a bag call reliability
_RELIABILITY = {1: 'reliable', 2: 'best_effort'}
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
    other_layouts : names -> number of further messages, which are not in the arrays
    """

    stamps: Stamps
    received: Stamps
    names: tuple[str, ...]
    positions: Array
    velocities: Array
    efforts: Array
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
    reliability : ``reliable`` or ``best_effort``
    """

    node: str
    topic_type: str
    reliability: str = 'reliable'


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


@dataclass
class Collection:
    """Messages of one topic as they come; those of rclpy and of rosbags have the same fields."""

    _times: list[tuple[int, int]] = field(default_factory=list, init=False)

    def add(self, received: int, message: Any) -> None:
        """Add a message that came (or was recorded) at ``received`` [ns]."""
        stamp = message.header.stamp
        self._times.append((int(stamp.sec) * 10**9 + int(stamp.nanosec), received))
        self._keep(message)

    def _keep(self, message: Any) -> None:
        raise NotImplementedError

    def __len__(self) -> int:
        return len(self._times)

    @property
    def span(self) -> float:
        """Time [s] that the messages cover: by their stamps, or by their arrival if those do not move."""
        if not self._times:
            return 0.0
        stamped, came = (1e-9 * (last - first) for first, last in zip(self._times[0], self._times[-1], strict=True))
        return stamped if stamped > 0.0 else came


@dataclass
class JointCollection(Collection):
    """Joint states as they come.

    Parameters
    ----------
    wanted : names of the joints that are looked for: of several layouts on one topic, the one with most of them counts
    """

    wanted: Sequence[str]
    _messages: list[tuple[tuple[str, ...], tuple[Any, Any, Any]]] = field(default_factory=list)

    def _keep(self, message: Any) -> None:
        self._messages.append((tuple(message.name), (message.position, message.velocity, message.effort)))

    def log(self) -> JointLog | None:
        """Arrays of the messages of the layout that has most of the wanted joints; None without messages."""
        if not self._messages:
            return None
        layouts = Counter(names for names, _ in self._messages)
        names = max(layouts, key=lambda one: (len(set(one) & set(self.wanted)), layouts[one]))
        chosen = [place for place, item in enumerate(self._messages) if item[0] == names]
        columns = np.full((3, len(chosen), len(names)), np.nan)
        for row, place in enumerate(chosen):
            for column, values in zip(columns, self._messages[place][1], strict=True):
                if len(values) == len(names):
                    column[row] = values
        del layouts[names]
        times = np.array(self._times, dtype=np.int64)[chosen]
        return JointLog(times[:, 0], times[:, 1], names, columns[0], columns[1], columns[2], layouts)


@dataclass
class ImuCollection(Collection):
    """IMU messages as they come."""

    _rows: list[tuple[float, ...]] = field(default_factory=list)
    _frames: Counter[str] = field(default_factory=Counter)
    _covariances: dict[str, Any] = field(default_factory=dict)

    def _keep(self, message: Any) -> None:
        force, rate = message.linear_acceleration, message.angular_velocity
        self._rows.append((force.x, force.y, force.z, rate.x, rate.y, rate.z))
        self._frames[message.header.frame_id] += 1
        if not self._covariances:
            self._covariances = {
                name: np.array(getattr(message, f'{name}_covariance'), dtype=float)
                for name in ('orientation', 'angular_velocity', 'linear_acceleration')
            }

    def log(self) -> ImuLog | None:
        """Arrays of the messages; None without messages."""
        if not self._rows:
            return None
        times, rows = np.array(self._times, dtype=np.int64), np.array(self._rows, dtype=float)
        return ImuLog(times[:, 0], times[:, 1], rows[:, :3], rows[:, 3:], self._frames, self._covariances)


def observe_bag(
    path: str | Path,
    machine: Machine,
    joint_topic: str,
    imu_topic: str,
    begin: float = 0.0,
    duration: float = np.inf,
    reliability: str = 'best_effort',
) -> Observation:
    """Read the streams of a robot from a bag, whatever they are called.

    Parameters
    ----------
    joint_topic, imu_topic : full names, with a leading slash
    begin, duration : s, which part, by the time of recording
    reliability : of the subscriptions that the user wants

    Raises
    ------
    BagError
        Nothing at ``path`` can be read.
    """
    names = machine.driver.joint_names or machine.actuated_joint_names
    joints, imu, clock = JointCollection(names), ImuCollection(), []
    # of CSV files the driver says what the columns are, and they have no topics of their own
    with open_bag(path, machine.driver.with_topics(joint_topic, imu_topic)) as bag:
        # where the wanted topic is not there, the only one of its type tells all the same
        of_joints, of_imu = (
            _instead(topic, kind, bag.types) for topic, kind in ((joint_topic, JOINT_TYPE), (imu_topic, IMU_TYPE))
        )
        kinds = {of_joints: JOINT_TYPE, of_imu: IMU_TYPE, '/clock': CLOCK_TYPE}
        readable = [topic for topic, kind in kinds.items() if bag.types.get(topic) == kind]
        first = None
        for topic, time, data in bag.read(readable):
            first = time if first is None else first
            if not begin <= 1e-9 * (time - first) <= begin + duration:
                continue
            message: Any = TYPESTORE.deserialize_cdr(data, kinds[topic])
            if topic == of_joints:
                joints.add(time, message)
            elif topic == of_imu:
                imu.add(time, message)
            else:
                clock.append((message.clock.sec * 10**9 + message.clock.nanosec, time))
        publishers = {topic: _endpoints(kind, bag.qos.get(topic, [])) for topic, kind in bag.types.items()}
        warnings = tuple(bag.warnings)
    pairs: Stamps = np.array(clock, dtype=np.int64).reshape(-1, 2)
    return Observation(
        str(path), joint_topic, imu_topic, joints.log(), imu.log(), publishers, clock=pairs, reliability=reliability,
        warnings=warnings,
    )  # fmt: skip


def _instead(topic: str, kind: str, types: dict[str, str]) -> str:
    """Topic to read for a wanted one: the same, or the only one of the right type that a driver may publish."""
    if types.get(topic) == kind:
        return topic
    others = driver_topics(name for name, own in types.items() if own == kind)
    return others[0] if len(others) == 1 else topic


def _endpoints(kind: str, profiles: list) -> tuple[Endpoint, ...]:
    """Publishers that the recorder noted; at least one that offered what nobody noted."""
    found = tuple(Endpoint('', kind, _RELIABILITY.get(item.reliability.value, 'reliable')) for item in profiles)
    return found or (Endpoint('', kind),)
