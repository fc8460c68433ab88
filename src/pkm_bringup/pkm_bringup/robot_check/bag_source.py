"""What a bag holds of a robot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from pkm_description.machine import Machine
from pkm_estimation.bags.decoding import TYPESTORE
from pkm_estimation.bags.messages import open_bag

from pkm_bringup.robot_check.collection import ImuCollection, JointCollection
from pkm_bringup.robot_check.recorded import Endpoint, Observation, Stamps, driver_topics

JOINT_TYPE, IMU_TYPE, CLOCK_TYPE = 'sensor_msgs/msg/JointState', 'sensor_msgs/msg/Imu', 'rosgraph_msgs/msg/Clock'

#: what the profiles of a bag call reliability and durability
_RELIABILITY = {1: 'reliable', 2: 'best_effort'}
_DURABILITY = {1: 'transient_local', 2: 'volatile'}


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
        str(path),
        joint_topic,
        imu_topic,
        joints.log(),
        imu.log(),
        publishers,
        clock=pairs,
        reliability=reliability,
        warnings=warnings,
    )


def _instead(topic: str, kind: str, types: dict[str, str]) -> str:
    """Topic to read for a wanted one: the same, or the only one of the right type that a driver may publish."""
    if types.get(topic) == kind:
        return topic
    others = driver_topics(name for name, own in types.items() if own == kind)
    return others[0] if len(others) == 1 else topic


def _endpoints(kind: str, profiles: list) -> tuple[Endpoint, ...]:
    """Publishers that the recorder noted; at least one that offered what nobody noted."""
    found = tuple(
        Endpoint(
            '',
            kind,
            _RELIABILITY.get(item.reliability.value, 'reliable'),
            _DURABILITY.get(item.durability.value, 'volatile'),
        )
        for item in profiles
    )
    return found or (Endpoint('', kind),)
