"""Frame ids with a prefix: what nodes publish, what they take, what rviz is told."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import yaml

pytest.importorskip('rclpy')

from ament_index_python.packages import get_package_share_directory
from pkm_description.errors import ConfigurationError
from pkm_description.loading import load_machine
from pkm_description.ros.diagnostics import Level
from pkm_description.ros.frames import FrameCheck, Frames, pose_of_text
from pkm_description.viewing.rviz_view import ShownRobot, rviz_config

SRS = load_machine('srs')


def test_a_prefix_stands_before_every_name() -> None:
    frames = Frames(SRS, 'left/')
    assert (frames.base, frames.platform, frames.imu) == ('left/base_link', 'left/platform_link', 'left/imu_link')
    assert frames.platform_link == 'platform_link'
    assert Frames(SRS).base == 'base_link'


@pytest.mark.parametrize('frame_id', ['', 'left/imu_link', 'imu_link'])
def test_own_frames_are_taken_with_and_without_prefix(frame_id: str) -> None:
    frames = Frames(SRS, 'left/')
    assert frames.problem(frame_id, frames.imu) == ''


@pytest.mark.parametrize('frame_id', ['right/imu_link', 'base_link', 'leftimu_link', '/imu_link'])
def test_other_frames_are_named(frame_id: str) -> None:
    frames = Frames(SRS, 'left/')
    problem = frames.problem(frame_id, frames.imu)
    assert repr(frame_id) in problem and "'left/imu_link'" in problem


@pytest.mark.parametrize('prefix', ['/left', 'left robot/', ' '])
def test_prefixes_that_tf2_refuses_are_refused(prefix: str) -> None:
    with pytest.raises(ConfigurationError, match=f'frame_prefix = {prefix!r}'):
        Frames(SRS, prefix)


def test_the_place_of_a_base_is_read_as_in_urdf() -> None:
    position, rotation = pose_of_text('1 -2, 3.5  0 0 1.5707963267948966')
    assert position.tolist() == [1.0, -2.0, 3.5]
    np.testing.assert_allclose(rotation @ [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], atol=1e-15)
    for wrong in ('1 2 3', 'a b c d e f', '0 0 0 0 0 nan', '1 2 3 4 5 6 7'):
        with pytest.raises(ConfigurationError, match='six numbers'):
            pose_of_text(wrong)


def test_rviz_gets_the_topics_and_frames_of_the_robot() -> None:
    with open(f'{get_package_share_directory("pkm_description")}/rviz/pkm.rviz', encoding='utf-8') as file:
        text = file.read()
    robot = ShownRobot(SRS, '/cell/left', 'left/', 'world')
    manager = yaml.safe_load(rviz_config(text, robot))['Visualization Manager']
    displays = {display['Class'].rpartition('/')[2]: display for display in manager['Displays']}
    assert manager['Global Options']['Fixed Frame'] == 'world'
    assert manager['Views']['Current']['Target Frame'] == displays['Grid']['Reference Frame'] == 'left/base_link'
    assert displays['RobotModel']['TF Prefix'] == 'left'
    assert displays['RobotModel']['Description Topic']['Value'] == '/cell/left/robot_description'
    assert displays['MarkerArray']['Topic']['Value'] == '/cell/left/leg_forces'
    shown = [display['Topic']['Value'] for display in manager['Displays'] if display['Class'].endswith('/Odometry')]
    assert shown == [f'/cell/left/{topic}/odometry' for topic in ('platform', 'ground_truth', 'baseline')]
    # several robots: the displays of each, one ground
    both = yaml.safe_load(rviz_config(text, robot, ShownRobot(SRS, 'right', 'right/', 'world')))
    names = [display['Name'] for display in both['Visualization Manager']['Displays']]
    assert len(set(names)) == len(names) == 2 * (len(manager['Displays']) - 2) + 2
    grid = next(one for one in both['Visualization Manager']['Displays'] if one['Class'].endswith('Grid'))
    assert grid['Reference Frame'] == both['Visualization Manager']['Views']['Current']['Target Frame'] == 'world'
    models = [one for one in both['Visualization Manager']['Displays'] if one['Class'].endswith('RobotModel')]
    assert [one['TF Prefix'] for one in models] == ['left', 'right']
    # without a place in a world the base is what does not move
    alone = yaml.safe_load(rviz_config(text, ShownRobot(SRS, 'left', 'left/')))['Visualization Manager']
    assert alone['Global Options']['Fixed Frame'] == 'left/base_link'


def test_a_foreign_frame_is_said_once_and_diagnosed_while_it_comes() -> None:
    said: list[str] = []
    node = SimpleNamespace(get_logger=lambda: SimpleNamespace(warning=said.append))
    frames = Frames(SRS, 'left/')
    check = FrameCheck(node, frames)
    assert check.is_ours('imu/data_raw', 'imu_link', frames.imu, 'look')
    assert check.statuses() == {}
    for _ in range(100):
        assert not check.is_ours('imu/data_raw', 'right/imu_link', frames.imu, 'look at the driver')
    ((name, (level, message, values)),) = check.statuses().items()
    assert (name, level) == ('frames', Level.WARN)
    assert said == [message]
    assert "'right/imu_link' is not 'left/imu_link': look at the driver" in message
    assert values == {'imu/data_raw': 'right/imu_link'}
    assert check.is_ours('imu/data_raw', 'left/imu_link', frames.imu, 'look')
    assert check.statuses() == {}
