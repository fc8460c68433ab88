"""Layouts of rviz, Foxglove and PlotJuggler show topics and fields that exist."""

from __future__ import annotations

import json
import re
from itertools import chain
from operator import attrgetter
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import AccelWithCovarianceStamped
from nav_msgs.msg import Odometry
from pkm_bringup.viewer.layouts import (
    BASELINE,
    ESTIMATE,
    IMU,
    JOINTS,
    TRUTH,
    foxglove_layout,
    main,
    panels,
    plotjuggler_layout,
)
from pkm_description.loading import load_machine
from sensor_msgs.msg import Imu, JointState
from std_msgs.msg import String

SOURCE = Path(__file__).resolve().parents[2]
CONFIG = SOURCE / 'pkm_bringup' / 'config'
TYPES = (AccelWithCovarianceStamped, DiagnosticArray, Imu, JointState, Odometry, String)
#: topics of the layouts with their types
TOPICS = {
    ESTIMATE: 'Odometry', TRUTH: 'Odometry', BASELINE: 'Odometry', JOINTS: 'JointState', IMU: 'Imu',
    'platform/accel': 'AccelWithCovarianceStamped', 'robot_description': 'String', '/diagnostics': 'DiagnosticArray',
}  # fmt: skip
KINDS = {kind.__name__: kind for kind in TYPES}
NAMES = load_machine('srs').actuated_joint_names


def published() -> set[tuple[str, str]]:
    """Topic and type of all publishers in the suite's nodes."""
    pattern = re.compile(r"(?:create_publisher|own_publisher)\(\s*(\w+),\s*'([^']+)'")
    found = set()
    for file in SOURCE.glob('*/pkm_*/**/*.py'):
        found |= {(topic, kind) for kind, topic in pattern.findall(file.read_text(encoding='utf-8'))}
    # the simulator publishes these as the machine's driver does; that of the suite is the standard one
    return found | {('joint_states', 'JointState'), ('imu/data_raw', 'Imu')}


def test_topics_of_the_layouts_are_published() -> None:
    there = published()
    assert ('platform/odometry', 'Odometry') in there
    assert set(TOPICS.items()) - there == set()


def test_topics_of_rviz_are_published() -> None:
    content = yaml.safe_load((SOURCE / 'pkm_description' / 'rviz' / 'pkm.rviz').read_text(encoding='utf-8'))
    shown = {
        (display[key]['Value'], display['Class'].rpartition('/')[2])
        for display in content['Visualization Manager']['Displays']
        for key in ('Topic', 'Description Topic')
        if key in display
    }
    kinds = {'RobotModel': 'String'}
    wanted = {(topic, kinds.get(display, display)) for topic, display in shown}
    assert {topic for topic, _ in wanted} >= {'platform/odometry', 'ground_truth/odometry', 'robot_description'}
    assert wanted - published() == set()
    estimate = next(
        display
        for display in content['Visualization Manager']['Displays']
        if display.get('Topic', {}).get('Value') == 'platform/odometry'
    )
    assert estimate['Enabled'] and estimate['Covariance']['Value'] and estimate['Covariance']['Position']['Value']


@pytest.mark.parametrize('leg_count', [3, 6])
def test_curves_are_numbers_of_their_messages(leg_count: int) -> None:
    for topic, path, joint in chain.from_iterable(panels(leg_count).values()):
        value = attrgetter(path)(KINDS[TOPICS[topic]]())
        assert (joint is None) == isinstance(value, float), (topic, path)


def test_layouts_have_all_curves_once() -> None:
    layout = json.loads(foxglove_layout(6, '/left', 'left/'))
    paths = [path['value'] for panel in layout['configById'].values() for path in panel.get('paths', [])]
    assert len(paths) == len(set(paths)) == sum(map(len, panels(6).values()))
    assert '/left/platform/odometry.pose.pose.position.x' in paths
    assert '/left/joint_states.effort[5]' in paths
    machine = layout['configById']['3D!pkm']['layers']['machine']
    assert (machine['topic'], machine['framePrefix']) == ('/left/robot_description', 'left/')
    # every panel stands in the arrangement, and no other
    assert sorted(re.findall(r'\w+!\w+', json.dumps(layout['layout']))) == sorted(layout['configById'])

    curves = [entry.get('name') for entry in ElementTree.fromstring(plotjuggler_layout(NAMES).encode()).iter('curve')]
    assert len(curves) == len(set(curves)) == len(paths)
    assert '/joint_states/leg6_prismatic/effort' in curves and '/platform/odometry/twist/twist/linear/z' in curves


def test_installed_layouts_are_those_of_srs(tmp_path: Path) -> None:
    assert main(['-o', str(tmp_path)]) == 0
    for name in ('foxglove.json', 'plotjuggler.xml'):
        assert (CONFIG / name).read_text(encoding='utf-8') == (tmp_path / name).read_text(encoding='utf-8'), (
            f'write it again: ./pkm run pkm_bringup write_layouts -o src/pkm_bringup/config ({name})'
        )


def test_unknown_machine_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(['nowhere', '-o', str(tmp_path)]) == 1
    assert 'nowhere' in capsys.readouterr().err
