"""tf2_msgs, the stand-in or the real one: the message of transforms, with the hash that others know."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip('rclpy')

from ament_index_python.packages import get_package_share_directory
from rosbags.typesys import Stores, get_typestore
from tf2_msgs.msg import TFMessage


def test_hash_is_that_of_recordings() -> None:
    file = Path(get_package_share_directory('tf2_msgs'), 'msg', 'TFMessage.json')
    hashes = {entry['type_name']: entry['hash_string'] for entry in json.loads(file.read_text())['type_hashes']}
    assert hashes['tf2_msgs/msg/TFMessage'] == get_typestore(Stores.ROS2_KILTED).hash_rihs01('tf2_msgs/msg/TFMessage')
    assert list(TFMessage().get_fields_and_field_types()) == ['transforms']
