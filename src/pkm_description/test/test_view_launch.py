"""view_pkm as a user starts it: sliders move the platform, joints follow, arrows show forces, rviz finds its topics."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml

pytest.importorskip('rclpy')

from ament_index_python.packages import get_package_share_directory
from description_listener import Listener, Sliders, viewing, wait_for_pose
from launched_system import has_real_launch, launch_command
from node_processes import ros_environment
from pkm_description.dynamics import gravity_forces
from pkm_description.export.urdf import urdf_text
from pkm_description.kinematics import joint_motion
from pkm_description.kinematics.rotation import matrix_from_rpy
from pkm_description.loading import load_machine, machine_file, write_overlay
from pkm_description.machine import Machine, PlatformMotion
from pkm_description.ros.conversions import array3
from rclpy.qos import QoSCompatibility, QoSProfile, qos_check_compatible
from sensor_msgs.msg import JointState
from visualization_msgs.msg import Marker
from warm_programs import run_program

#: rviz display -> type of the messages that it takes; TF takes /tf by itself
DISPLAYED = {
    'rviz_default_plugins/RobotModel': 'std_msgs/msg/String',
    'rviz_default_plugins/MarkerArray': 'visualization_msgs/msg/MarkerArray',
    'rviz_default_plugins/Odometry': 'nav_msgs/msg/Odometry',
}

#: topics of simulator and estimator, which are not running here (test_layouts.py of pkm_bringup)
OF_OTHERS = {'ground_truth/odometry', 'baseline/odometry'}

VIEW = 'view_pkm.launch.py', 'machine:=palida'

#: a program that uses topics and parameters as joint_state_publisher_gui does
WINDOW = Path(__file__).with_name('slider_window.py')


def joints_at(machine: Machine, position: np.ndarray, rotation: np.ndarray) -> np.ndarray:
    """Positions of all joints (L, J) with the platform at a pose."""
    return joint_motion(machine, PlatformMotion.at_rest(position, rotation)).positions[0]


def with_program(folder: Path, package: str, text: str) -> dict[str, str]:
    """Environment in which a package with one program of its own name is installed."""
    index = folder / 'share' / 'ament_index' / 'resource_index' / 'packages' / package
    program = folder / 'lib' / package / package
    for file, content in ((index, ''), (program, text)):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    program.chmod(0o755)
    return {'AMENT_PREFIX_PATH': f'{folder}{os.pathsep}{os.environ["AMENT_PREFIX_PATH"]}'}


def test_sliders_move_the_platform_and_all_joints_follow(listener: Listener, tmp_path: Path) -> None:
    machine = load_machine('palida')
    home = machine.home
    own = tmp_path / 'mine.yaml'
    own.write_text(machine_file('palida').read_text().replace('name: palida', 'name: mine'))
    log = tmp_path / 'view.log'
    with viewing(log, f'machine_file:={own}', 'z:=0.05', 'gui:=false') as system:
        listener.wait(lambda: {'leg1_rod', 'leg6_cross', 'platform_link'} <= set(listener.frames('/tf')), 'frames')
        assert listener.frames('/tf')['platform_link'].transform.translation.z == pytest.approx(0.77, abs=1e-12)
        listener.wait(lambda: bool(listener.heard['robot_description']), 'robot_description')

        sliders = Sliders(listener)
        position, rotation = home.position + np.array([0.03, 0.0, 0.05]), matrix_from_rpy(np.array([0.1, 0.0, 0.2]))
        wanted = joints_at(machine, position, rotation)
        sliders.drag(wanted, platform_x=0.03, platform_yaw=0.2, platform_roll=0.1)
        assert listener.heard['joint_states'][-1].name == list(machine.joint_names)
        wait_for_pose(listener, position, rotation)

        def framed() -> bool:
            translation = listener.frames('/tf')['platform_link'].transform.translation
            return np.allclose(array3(translation), position, rtol=0.0, atol=1e-12)

        listener.wait(framed, f'the frame of the platform at {position}')

        # what the arrows say is what the drives must hold at this pose
        held = gravity_forces(machine, position[None], rotation[None])[0]
        labels = [f'{force:.4g} N' for force in held]

        def labelled() -> bool:
            heard = listener.heard['leg_forces']
            return bool(heard) and [one.text for one in heard[-1].markers if one.text] == labels

        listener.wait(labelled, f'arrows of {labels}')
        markers = listener.heard['leg_forces'][-1].markers
        assert [one.ns for one in markers if one.type == Marker.ARROW] == list(machine.actuated_joint_names)
        assert {one.header.frame_id for one in markers} == {'base_link'}

        for bad, words in (
            ({'platform_z': 0.6}, ('refused', 'leg1_prismatic: position', 'exceeds the upper limit 0.5500 m')),
            ({'platform_pitch': float('nan')}, ('refused', 'pitch = nan')),
            ({'platform_w': 0.1}, ('refused', "no slider 'platform_w'")),
        ):
            sliders.send(**bad)

            def told(words: tuple[str, ...] = words) -> bool:
                return listener.diagnosed(*words) and all(word in log.read_text() for word in words)

            listener.wait(told, f'a refusal with {words} in diagnostics and log')
        # the last good pose stays, and the next good one is taken
        listener.heard['joint_states'].clear()
        listener.wait(lambda: bool(listener.heard['joint_states']), 'joint_states')
        assert listener.heard['joint_states'][-1].position == pytest.approx(wanted.ravel(), abs=1e-9)
        sliders.drag(
            joints_at(machine, home.position - [0.0, 0.0, 0.1], np.eye(3)),
            platform_x=0.0, platform_yaw=0.0, platform_roll=0.0, platform_pitch=0.0, platform_z=-0.1,
        )  # fmt: skip
        _check_rviz_topics(listener)
        assert system.process.poll() is None


def _check_rviz_topics(listener: Listener) -> None:
    """Every topic of the rviz configuration that is for this launch is published with its type and a fitting QoS."""
    config = Path(get_package_share_directory('pkm_description'), 'rviz', 'pkm.rviz')
    manager = yaml.safe_load(config.read_text())['Visualization Manager']
    assert manager['Global Options']['Fixed Frame'] == 'base_link'
    displayed = [one for one in manager['Displays'] if one['Class'] in DISPLAYED]
    topics = [one.get('Topic') or one['Description Topic'] for one in displayed]
    shown = [one for one, topic in zip(displayed, topics, strict=True) if topic['Value'] not in OF_OTHERS]
    assert len(shown) == len(displayed) - len(OF_OTHERS)
    assert sorted(one['Class'] for one in shown) == sorted(DISPLAYED)
    assert {'rviz_default_plugins/TF', 'rviz_default_plugins/Grid'} <= {one['Class'] for one in manager['Displays']}
    for display in shown:
        topic = display.get('Topic') or display['Description Topic']
        publishers = listener.get_publishers_info_by_topic(topic['Value'])
        assert [one.topic_type for one in publishers] == [DISPLAYED[display['Class']]], topic['Value']
        wanted = QoSProfile(
            depth=topic['Depth'],
            durability={'Volatile': 2, 'Transient Local': 1}[topic['Durability Policy']],
            reliability={'Reliable': 1, 'Best Effort': 2}[topic['Reliability Policy']],
        )
        compatible, reason = qos_check_compatible(publishers[0].qos_profile, wanted)
        assert compatible != QoSCompatibility.ERROR, f'{topic["Value"]}: {reason}'


@pytest.mark.campaign
def test_the_window_with_sliders_is_connected(listener: Listener, tmp_path: Path) -> None:
    """Its sliders stand where the launch puts the platform, move nothing by themselves, and turn it when dragged."""
    window = f'#!{sys.executable}\n{WINDOW.read_text()}'
    environment = with_program(tmp_path / 'prefix', 'joint_state_publisher_gui', window)
    machine = load_machine('palida')
    home = machine.home
    with viewing(tmp_path / 'view.log', 'machine:=palida', 'x:=0.04321', environment=environment):
        position = home.position + np.array([0.04321, 0.0, 0.0])
        start = joints_at(machine, position, np.eye(3)).ravel()
        turned = joints_at(machine, position, matrix_from_rpy(np.array([0.0, 0.0, 0.15])))

        shown: set[tuple[float, ...]] = set()
        listener.create_subscription(JointState, 'platform/sliders', lambda one: shown.add(tuple(one.position)), 10)
        drag = listener.create_publisher(JointState, 'drag', 10)
        listener.wait(lambda: len(shown) == 1, 'zeros of the sliders')

        def placed() -> bool:
            drag.publish(JointState())
            return len(shown) == 2

        listener.wait(placed, 'places of the sliders')
        listener.heard['joint_states'].clear()
        listener.wait(lambda: len(listener.heard['joint_states']) > 5, 'joint_states')
        for one in listener.heard['joint_states']:
            assert one.position == pytest.approx(start, abs=1e-12)

        def has_turned() -> bool:
            drag.publish(JointState(name=['platform_yaw'], position=[0.15]))
            # the other sliders are as far from the start as their places are apart
            return np.abs(np.array(listener.heard['joint_states'][-1].position) - turned.ravel()).max() < 1e-3

        listener.wait(has_turned, 'the platform turned by the slider')
        assert not listener.diagnosed('refused')


@pytest.mark.skipif(has_real_launch(), reason='ros2 launch cannot print what it would start')
@pytest.mark.parametrize('package', ['robot_state_publisher', None])
def test_either_state_publisher_gets_the_overlay(package: str | None, tmp_path: Path) -> None:
    overlay = write_overlay(
        tmp_path / 'o.yaml', 'palida', {'platform.body.mass': 8.25}, date='today', data='none', method='by hand'
    )
    environment = ros_environment() | (with_program(tmp_path / 'prefix', package, '') if package else {})
    command = launch_command(*VIEW, f'overlay:={overlay}', '--dry-run', package='pkm_description')
    printed = run_program(command, environment).stdout
    prefix = f'[{package or "state_publisher"}-1] '
    block = [line.removeprefix(prefix) for line in printed.splitlines() if line.startswith(prefix)]
    first = '\n'.join(block[1:]).split('/**:')[1]  # the second has the time's parameter
    parameters = yaml.safe_load(first)['ros__parameters']
    if package:
        changed, plain = (urdf_text(load_machine('palida', one)) for one in (overlay, None))
        assert parameters['robot_description'] == changed != plain
    else:
        told = {'machine': 'palida', 'machine_file': '', 'overlay': str(overlay)}
        assert parameters == {**told, 'frame_prefix': '', 'driver': 'standard'}
    assert 'joint_state_publisher_gui is not installed: move the platform by' in printed
    assert 'rviz2 is not installed' in printed


@pytest.mark.skipif(has_real_launch(), reason='ros2 launch cannot print what it would start')
def test_rviz_starts_with_a_configuration_for_the_machine(tmp_path: Path) -> None:
    environment = ros_environment() | with_program(tmp_path / 'prefix', 'rviz2', '') | {'TMPDIR': str(tmp_path)}
    command = launch_command(*VIEW, '--dry-run', package='pkm_description')
    printed = run_program(command, environment).stdout
    line = next(line for line in printed.splitlines() if line.startswith('[rviz2-'))
    config = Path(line.split(' -d ')[1].split(' --ros-args')[0])
    assert config.name == 'palida.rviz' and config.is_relative_to(tmp_path)
    distance = yaml.safe_load(config.read_text())['Visualization Manager']['Views']['Current']['Distance']
    assert 1.0 < distance < 5.0
    assert 'rviz2 is not installed' not in printed
