"""Recordings: MCAP and sqlite3 bags to arrays and back, without ROS (library ``rosbags``)."""

from __future__ import annotations

from pkm_estimation.bags.errors import BagError, MissingTopicError
from pkm_estimation.bags.raw_writer import RawBagWriter
from pkm_estimation.bags.reader import read_bag
from pkm_estimation.bags.recorded_data import Acceleration, Imu, JointStates, Odometry, RecordedData
from pkm_estimation.bags.writer import BagWriter

__all__ = [
    'Acceleration',
    'BagError',
    'BagWriter',
    'Imu',
    'JointStates',
    'MissingTopicError',
    'Odometry',
    'RawBagWriter',
    'RecordedData',
    'read_bag',
]
