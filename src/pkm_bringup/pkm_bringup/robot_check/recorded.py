"""What was heard of a robot: messages of joints and IMU as arrays, and who publishes what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.machine import Machine
from pkm_estimation.bags import BagError, Imu, JointStates
from pkm_estimation.bags.decoding import TYPESTORE, joint_states
from pkm_estimation.bags.decoding import imu as decode_imu
from pkm_estimation.bags.messages import full_topic, open_bag

JOINT_TYPE, IMU_TYPE, CLOCK_TYPE = 'sensor_msgs/msg/JointState', 'sensor_msgs/msg/Imu', 'rosgraph_msgs/msg/Clock'

_COVARIANCES = ('orientation', 'angular_velocity', 'linear_acceleration')
#: what the profiles of a bag call reliability
_RELIABILITY = {1: 'reliable', 2: 'best_effort'}
#: a message: when it came or was recorded [ns], and serialised
Message = tuple[int, bytes]
Stamps = NDArray[np.int64]
Flags = NDArray[np.bool_]
#: how topics end that nodes of the suite publish, in the types of a driver
_OWN_TOPICS = ('platform/joint_states', 'imu/data')


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
    joints, imu : what came on them, as it came; None if nothing did
    publishers : of every topic that is there
    live : True if the streams came live, so that ``recorded_at`` is this machine's clock
    other_layouts : names -> number of further joint states, which are not in ``joints``
    frames : frame id -> number of IMU messages
    covariances : (9,) of orientation, angular velocity, linear acceleration, by name, of the first IMU message
    clock : (P, 2) ns, pairs of /clock and time of reception, if somebody publishes it
    reliability : of our subscriptions, ``best_effort`` or ``reliable``
    clock_publishers : names of those who publish /clock
    warnings : what was lost in reading
    """

    source: str
    joint_topic: str
    imu_topic: str
    joints: JointStates | None
    imu: Imu | None
    publishers: dict[str, tuple[Endpoint, ...]] = field(default_factory=dict)
    live: bool = False
    other_layouts: Counter[tuple[str, ...]] = field(default_factory=Counter)
    frames: Counter[str] = field(default_factory=Counter)
    covariances: dict[str, Array] = field(default_factory=dict)
    clock: Stamps = field(default_factory=lambda: np.empty((0, 2), dtype=np.int64))
    reliability: str = 'best_effort'
    clock_publishers: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def driver_topics(publishers: Mapping[str, Sequence[Endpoint]], topic_type: str) -> list[str]:
    """Topics of a type that a driver may publish, sorted: not those of the suite's nodes."""
    of_type = (topic for topic, ends in publishers.items() if any(end.topic_type == topic_type for end in ends))
    return sorted(topic for topic in of_type if not topic.endswith(_OWN_TOPICS))


def _parts(messages: Iterable[Message]) -> tuple[Stamps, list[bytes]]:
    times, data = zip(*messages, strict=True)
    return np.array(times, dtype=np.int64), list(data)


def observation(joints: list[Message], imu: list[Message], wanted: Sequence[str], **others: Any) -> Observation:
    """What was heard; of several layouts of joint states, the one that has most of the wanted joints.

    Parameters
    ----------
    joints, imu : messages ``sensor_msgs/JointState`` and ``sensor_msgs/Imu``
    wanted : names of joints
    others : attributes of the observation besides these streams

    Raises
    ------
    BagError
        Bytes that are no such message.
    """
    layouts, states, body, covariances = Counter[tuple[str, ...]](), None, None, {}
    try:
        if joints:
            states = joint_states(*_parts(joints), as_recorded=True)
            own = [states.unlike[row].names if row in states.unlike else states.names for row in range(len(states))]
            layouts.update(own)
            names = max(layouts, key=lambda one: (len(set(one) & set(wanted)), layouts[one]))
            if len(layouts) > 1:
                chosen = (message for message, one in zip(joints, own, strict=True) if one == names)
                states = joint_states(*_parts(chosen), as_recorded=True)
            del layouts[names]
        if imu:
            body = decode_imu(*_parts(imu))
            first: Any = TYPESTORE.deserialize_cdr(imu[0][1], IMU_TYPE)
            covariances = {name: np.array(getattr(first, f'{name}_covariance'), dtype=float) for name in _COVARIANCES}
    except ValueError as error:
        raise BagError(str(error)) from error
    frames = Counter(_frame(data) for _, data in imu)
    return Observation(
        joints=states, imu=body, other_layouts=layouts, frames=frames, covariances=covariances, **others
    )


def _frame(data: bytes) -> str:
    """Frame id of a serialised message: after the stamp, with its length before it."""
    length = int.from_bytes(data[12:16], 'little' if data[1] == 1 else 'big')
    return data[16 : 15 + length].decode(errors='replace')


def observe_bag(
    path: str | Path,
    machine: Machine,
    namespace: str = '',
    begin: float = 0.0,
    duration: float = np.inf,
    reliability: str = 'best_effort',
) -> Observation:
    """Read the streams of a robot from a bag, whatever they are called.

    Parameters
    ----------
    namespace : of the topics that the machine's driver names
    begin, duration : s, which part, by the time of recording
    reliability : of the subscriptions that the user wants

    Raises
    ------
    BagError
        Nothing at ``path`` can be read.
    """
    driver, kinds = machine.driver, (JOINT_TYPE, IMU_TYPE)
    wanted = [full_topic(topic, namespace) for topic in (driver.joint_topic, driver.imu_topic)]
    first: int | None = None
    # of CSV files the driver says what the columns are, and they have no topics of their own
    with open_bag(path, driver, namespace) as bag:
        publishers = {topic: _endpoints(kind, bag.qos.get(topic, [])) for topic, kind in bag.types.items()}
        others = [driver_topics(publishers, kind) for kind in kinds]
        # where the wanted topic is not there, the only one of its type tells all the same
        of_joints, of_imu = (
            there[0] if bag.types.get(topic) != kind and len(there) == 1 else topic
            for topic, kind, there in zip(wanted, kinds, others, strict=True)
        )
        sought = {of_joints: JOINT_TYPE, of_imu: IMU_TYPE, '/clock': CLOCK_TYPE}
        heard: dict[str, list[Message]] = {topic: [] for topic in sought}
        for topic, time, data in bag.read([topic for topic, kind in sought.items() if bag.types.get(topic) == kind]):
            first = time if first is None else first
            if begin <= 1e-9 * (time - first) <= begin + duration:
                heard[topic].append((time, data))
        warnings = tuple(bag.warnings)
    pairs = []
    for time, data in heard['/clock']:
        shown: Any = TYPESTORE.deserialize_cdr(data, CLOCK_TYPE)
        pairs.append((shown.clock.sec * 10**9 + shown.clock.nanosec, time))
    return observation(
        heard[of_joints], heard[of_imu], driver.joint_names or machine.actuated_joint_names, source=str(path),
        joint_topic=wanted[0], imu_topic=wanted[1], publishers=publishers,
        clock=np.array(pairs, dtype=np.int64).reshape(-1, 2), reliability=reliability, warnings=warnings,
    )  # fmt: skip


def _endpoints(kind: str, profiles: list) -> tuple[Endpoint, ...]:
    """Publishers that the recorder noted; at least one that offered what nobody noted."""
    found = tuple(Endpoint('', kind, _RELIABILITY.get(item.reliability.value, 'reliable')) for item in profiles)
    return found or (Endpoint('', kind),)
