"""tf2_msgs, the stand-in or the real one: the types that tf2_ros imports, with the hashes that others know."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip('rclpy')

from ament_index_python.packages import get_package_share_directory
from rosbags.typesys import Stores, get_typestore
from tf2_msgs.action import LookupTransform
from tf2_msgs.msg import TF2Error
from tf2_msgs.srv import FrameGraph


@pytest.mark.parametrize('name', ['TFMessage', 'TF2Error'])
def test_hashes_are_those_of_recordings(name: str) -> None:
    file = Path(get_package_share_directory('tf2_msgs'), 'msg', f'{name}.json')
    hashes = {entry['type_name']: entry['hash_string'] for entry in json.loads(file.read_text())['type_hashes']}
    assert hashes[f'tf2_msgs/msg/{name}'] == get_typestore(Stores.ROS2_KILTED).hash_rihs01(f'tf2_msgs/msg/{name}')


def test_tf2_ros_finds_what_it_imports() -> None:
    assert FrameGraph.Response(frame_yaml='{}').frame_yaml == '{}'
    goal = LookupTransform.Goal(target_frame='base_link', source_frame='platform_link', advanced=False)
    assert list(goal.get_fields_and_field_types()) == [
        'target_frame', 'source_frame', 'source_time', 'timeout', 'target_time', 'fixed_frame', 'advanced',
    ]  # fmt: skip
    assert LookupTransform.Result().error.error == TF2Error.NO_ERROR == 0
    assert TF2Error.TRANSFORM_ERROR == 6
