"""Read a recording of any kind into arrays."""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from pkm_description.driver import STANDARD_DRIVER, Driver

from pkm_estimation.bags import decoding
from pkm_estimation.bags.messages import full_topic, open_bag
from pkm_estimation.bags.recorded_data import BagError, RecordedData, missing_topic

_logger = logging.getLogger(__name__)

# attribute of RecordedData: (topic, message type, decoder)
_STREAMS = {
    'joint_states': ('joint_states', 'sensor_msgs/msg/JointState', decoding.joint_states),
    'imu_data_raw': ('imu/data_raw', 'sensor_msgs/msg/Imu', decoding.imu),
    'imu_data': ('imu/data', 'sensor_msgs/msg/Imu', decoding.imu),
    'ground_truth': ('ground_truth/odometry', 'nav_msgs/msg/Odometry', decoding.odometry),
    'platform_odometry': ('platform/odometry', 'nav_msgs/msg/Odometry', decoding.odometry),
    'baseline_odometry': ('baseline/odometry', 'nav_msgs/msg/Odometry', decoding.odometry),
    'platform_innovations': ('platform/innovations', 'sensor_msgs/msg/JointState', decoding.joint_states),
}


def read_bag(
    path: str | Path,
    namespace: str = '',
    require: Sequence[str] = (),
    as_recorded: bool = False,
    driver: Driver = STANDARD_DRIVER,
    streams: Collection[str] = tuple(_STREAMS),
) -> RecordedData:
    """Read the suite's topics of a bag.

    Parameters
    ----------
    path : bag directory, ``.mcap``, ``.db3``, ``.bag`` (ROS 1) or ``.csv`` file, or a folder of CSV files
    namespace : namespace of the topics, e.g. ``'simona'`` for ``/simona/joint_states``
    require : topics (without namespace) that must have messages, e.g. ``('joint_states', 'imu/data_raw')``
    as_recorded : keep joint states whose names or lengths are unlike those of the first message apart, in place of
        refusing them
    driver : of the machine; says which topics its joint states and raw IMU have. The arrays stay as recorded: who reads
        joints with :class:`pkm_description.joint_states.JointStateReader` converts them
    streams : which attributes of :class:`RecordedData` to read; others are left out, which saves time and memory

    Returns
    -------
    Arrays by topic, messages in the order of recording.

    Raises
    ------
    BagError
        Not a bag, no message at all, or a topic with a wrong type or changing joint names.
    MissingTopicError
        A required topic has no message; the error lists the topics that have.

    Notes
    -----
    An unfinished or truncated recording is read as far as it goes; ``warnings`` of the result (also logged)
    say what was lost.
    """

    def full(topic: str) -> str:
        return full_topic(driver.topic(topic), namespace)

    wanted = {full(topic): (name, kind, decode) for name, (topic, kind, decode) in _STREAMS.items() if name in streams}
    with open_bag(path, driver, namespace) as bag:
        if not bag.message_count:
            topics = ', '.join(sorted(bag.topics)) or 'none'
            raise BagError('; '.join([f'{path}: the bag is empty (topics: {topics})', *bag.warnings]))
        raw: dict[str, list[tuple[int, bytes]]] = {topic: [] for topic in wanted if topic in bag.topics}
        for topic, time, data in bag.read(wanted):
            raw[topic].append((time, data))
        counts, types, warnings = bag.topics, bag.types, bag.warnings
    found = _decode(str(path), wanted, raw, types, as_recorded)
    for topic in require:
        if not raw.get(full(topic)):
            raise missing_topic(str(path), full(topic), counts)
    for warning in warnings:
        _logger.warning('%s: %s', path, warning)
    return RecordedData(path=str(path), topics=counts, warnings=tuple(warnings), driver=driver, **found)


def _decode(
    path: str, wanted: dict[str, Any], raw: dict[str, Any], types: dict[str, str], as_recorded: bool
) -> dict[str, Any]:
    """Decode each collected topic by its own decoder."""
    streams = {}
    for topic, messages in raw.items():
        name, kind, decode = wanted[topic]
        if types[topic] != kind:
            raise BagError(f'{path}: {topic} has type {types[topic]}, expected {kind}')
        if messages:
            if decode is decoding.joint_states:
                decode = partial(decode, as_recorded=as_recorded)
            recorded_at = np.array([time for time, _ in messages], dtype=np.int64)
            try:
                streams[name] = decode(recorded_at, [data for _, data in messages])
            except ValueError as error:
                raise BagError(f'{path}: {topic}: {error}') from error
    return streams
