"""Recordings: MCAP and sqlite3 bags to arrays and back, without ROS (library ``rosbags``).

The library is imported when the first bag is read or written: arrays can be estimated without it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pkm_description.lazy_names import lazy_names

if TYPE_CHECKING:
    from pkm_estimation.bags.messages import read_bag
    from pkm_estimation.bags.recorded_data import (
        BagError,
        Imu,
        JointStates,
        MissingTopicError,
        Odometry,
        RecordedData,
    )
    from pkm_estimation.bags.writer import BagWriter, RawBagWriter

__getattr__, __dir__ = lazy_names(__name__)
