"""bringup.launch.py with a stand-in for ros2_control: what would be started with which arguments, and that it works."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path

import numpy as np
import pytest
import yaml

pytest.importorskip('rclpy')

from launched_system import LaunchedSystem, has_real_launch, run_launch
from nav_msgs.msg import Odometry
from node_processes import ros_domain, ros_environment, wait_for
from pkm_description.dynamics import gravity_forces
from pkm_description.export.ros2_control import ControlOptions, controllers_text, initial_values
from pkm_description.loading import load_machine
from stand_in_control import calls, make_packages, parameters_of
from std_msgs.msg import Float64MultiArray

CONTROLLERS = ['joint_state_broadcaster', 'imu_sensor_broadcaster', 'leg_effort_controller']
PACKAGES = [
    'controller_manager', 'hardware_interface', 'joint_state_broadcaster', 'imu_sensor_broadcaster',
    'forward_command_controller', 'joint_trajectory_controller', 'gz_ros2_control', 'mujoco_ros2_control', 'my_driver',
]  # fmt: skip

needs_runner = pytest.mark.skipif(has_real_launch(), reason='ros2 launch cannot evaluate conditions without starting')


@pytest.fixture
def control(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Prefix of the stand-in packages, before all others."""
    prefix = make_packages(tmp_path / 'control', *PACKAGES)
    monkeypatch.setenv('AMENT_PREFIX_PATH', f'{prefix}{os.pathsep}{os.environ["AMENT_PREFIX_PATH"]}')
    monkeypatch.setenv('TMPDIR', str(tmp_path))
    return prefix


def run(*arguments: str, dry: bool = True) -> subprocess.CompletedProcess[str]:
    return run_launch(ros_environment(), 'bringup.launch.py', *arguments, *(['--dry-run'] if dry else []))


def commands(*arguments: str) -> dict[str, list[list[str]]]:
    """Program -> command lines that would be started."""
    return evaluated(*arguments)[0]


def evaluated(*arguments: str) -> tuple[dict[str, list[list[str]]], str]:
    """Program -> command lines that would be started; all that is printed, parameters included."""
    done = run(*arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, list[list[str]]] = {}
    for line in done.stdout.splitlines():
        if match := re.match(r'\[([a-z0-9_]+)-\d+\] (/.*)', line):
            found.setdefault(match[1], []).append(shlex.split(match[2])[1:])
    return found, done.stdout


def controllers_of(words: list[str]) -> list[str]:
    return words[: words.index('--param-file')]


@needs_runner
@pytest.mark.usefixtures('control')
def test_mock_hardware() -> None:
    """Controller manager, both spawners, description with the block, estimator, leg controller; wall time."""
    started = commands('machine:=palida', 'namespace:=left')
    assert set(started) == {'ros2_control_node', 'spawner', 'state_publisher', 'estimator', 'leg_controller'}
    (manager,) = started['ros2_control_node']
    assert '__node:=controller_manager' not in ' '.join(manager), 'the name would be given to every controller'
    assert manager[:3] == ['--ros-args', '-r', '__ns:=/left']
    assert '~/robot_description:=robot_description' in manager
    assert manager[manager.index('--params-file') + 1].endswith('controllers.yaml')
    active, inactive = started['spawner']
    assert controllers_of(active) == CONTROLLERS and '--inactive' not in active
    assert controllers_of(inactive) == ['joint_trajectory_controller'] and '--inactive' in inactive


@needs_runner
@pytest.mark.usefixtures('control')
@pytest.mark.parametrize('hardware', ['gz', 'mujoco', 'real'])
def test_other_hardware(hardware: str, tmp_path: Path) -> None:
    """Gazebo has the controller manager inside; MuJoCo's is its own; a real machine must not be moved at once."""
    arguments = ['plugin:=my_driver/MySystem', 'hardware_parameters:=ip=10.0.0.2'] if hardware == 'real' else []
    started, text = evaluated('machine:=valencia_3rps', f'hardware:={hardware}', 'identification:=true', *arguments)
    assert ('ros2_control_node' in started) == (hardware != 'gz')
    assert ('leg_controller' in started) == (hardware != 'real')
    assert 'identification' in started
    clock = 'true' if hardware != 'real' else 'false'
    assert set(re.findall('use_sim_time: (true|false)', text)) == {clock}
    if hardware == 'mujoco':
        files = {path.name: path for path in tmp_path.glob('pkm_control_*/*')}
        assert set(files) == {'controllers.yaml', 'model.xml', 'pids.yaml'}
        # written for the rate of the loop, below the machine file's gains
        gains = yaml.safe_load(files['pids.yaml'].read_text())['/**']['ros__parameters']['pid_gains']['position']
        assert 0.0 < gains['leg1_prismatic']['p'] <= load_machine('valencia_3rps').servo.stiffness
        assert f'>{files["model.xml"]}</param>' in text, 'the description names the model'


@needs_runner
@pytest.mark.usefixtures('control')
def test_a_driver_of_the_machine_file_is_not_that_of_the_controllers() -> None:
    """joint_state_broadcaster publishes names and units of the URDF; a foreign source can be named."""
    reading = ('identification:=true', 'check_robot:=true', 'viewer:=true')
    _, text = evaluated('machine:=palida', *reading)
    assert set(re.findall('driver: (.*)', text)) == {'standard'}
    _, text = evaluated('machine:=palida', 'driver:=/my/driver.yaml', *reading)
    told = re.findall(r'^\[(.*)-\d+\] +driver: /my/driver.yaml$', text, re.MULTILINE)
    assert sorted(told) == ['check_robot', 'estimator', 'identification', 'leg_controller', 'viewer']


@needs_runner
@pytest.mark.usefixtures('control')
def test_arguments_choose_controllers_and_nodes(tmp_path: Path) -> None:
    own = tmp_path / 'own.yaml'
    text = controllers_text(load_machine('palida'), ControlOptions('mock'), 250, 'left/')
    own.write_text(text.replace('leg_effort_controller', 'my_controller'))
    started = commands(
        'machine:=palida', f'controllers:={own}', 'controllers_active:=joint_state_broadcaster, my_controller',
        'estimation:=false', 'leg_controller:=true',
    )  # fmt: skip
    active, inactive = started['spawner']
    assert controllers_of(active) == ['joint_state_broadcaster', 'my_controller']
    assert controllers_of(inactive) == ['imu_sensor_broadcaster', 'joint_trajectory_controller']
    assert parameters_of(active)['/**/controller_manager']['ros__parameters']['update_rate'] == 250
    assert str(own) in started['ros2_control_node'][0]
    assert 'estimator' not in started and 'leg_controller' in started
    rate = commands('machine:=palida', 'update_rate:=1000', 'frame_prefix:=left/')['ros2_control_node'][0]
    written = parameters_of(rate)
    assert written['/**/controller_manager']['ros__parameters']['update_rate'] == 1000
    assert written['/**/imu_sensor_broadcaster']['ros__parameters']['frame_id'] == 'left/imu_link'


@pytest.mark.parametrize(
    ('arguments', 'words'),
    [
        (['hardware:=real'], 'hardware real needs the class of its ros2_control plugin'),
        (['hardware_parameters:=ip'], "'ip': expected name=value"),
        (['controllers:=/nowhere.yaml'], '/nowhere.yaml'),
        (['controllers_active:=effort'], "no controller 'effort'; there are joint_state_broadcaster"),
        (['machine:=nothing'], 'no machine'),
    ],
)
@pytest.mark.usefixtures('control')
def test_wrong_arguments_are_one_line_and_an_exit_code(arguments: list[str], words: str) -> None:
    done = run(*arguments, dry=False)
    assert done.returncode == 1
    lines = [line for line in (done.stdout + done.stderr).splitlines() if words in line]
    assert len(lines) == 1 and 'Traceback' not in done.stdout + done.stderr


def test_missing_packages_are_one_line_with_the_command_that_installs_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    have = [name for name in PACKAGES if name not in ('imu_sensor_broadcaster', 'my_driver')]
    prefix = make_packages(tmp_path / 'control', *have)
    monkeypatch.setenv('AMENT_PREFIX_PATH', f'{prefix}{os.pathsep}{os.environ["AMENT_PREFIX_PATH"]}')
    monkeypatch.setenv('ROS_DISTRO', 'jazzy')
    done = run('hardware:=real', 'plugin:=my_driver/MySystem', dry=False)
    assert done.returncode == 1
    (line,) = [line for line in (done.stdout + done.stderr).splitlines() if 'not installed' in line]
    assert line.endswith(
        '2 packages are not installed: my_driver, imu_sensor_broadcaster. To install: sudo apt install '
        'ros-jazzy-imu-sensor-broadcaster; build my_driver in this workspace and source it again'
    )
    assert 'process started' not in done.stdout and calls(prefix, 'ros2_control_node') == []


def test_mock_machine_stands_and_is_held(control: Path, tmp_path: Path) -> None:
    """From the description through the stand-in hardware to the estimate at home and forces that carry the weight."""
    import rclpy

    machine = load_machine('palida')
    poses: list[Odometry] = []
    efforts: list[Float64MultiArray] = []
    with ros_domain(), LaunchedSystem(tmp_path / 'bringup.log', 'bringup.launch.py', 'machine:=palida') as system:
        node = rclpy.create_node('listener')
        node.create_subscription(Odometry, 'platform/odometry', poses.append, 10)
        node.create_subscription(Float64MultiArray, 'leg_effort_controller/commands', efforts.append, 10)
        wait_for(lambda: len(poses) > 30 and bool(efforts), 'estimates and forces', spin=node)
        node.destroy_node()
        wait_for(lambda: len(calls(control, 'spawner')) >= 2, 'both spawners')
        assert len(calls(control, 'spawner')) == 2
        system.interrupt()
        assert system.wait() == 0, system.output
        assert 'Traceback' not in system.output
        assert not system.survivors()
    position = poses[-1].pose.pose.position
    assert [position.x, position.y, position.z] == pytest.approx(machine.home.position, abs=1e-4)
    weight = gravity_forces(machine, machine.home.position[None], machine.home.rotation_base_platform[None])[0]
    assert efforts[-1].data.tolist() == pytest.approx(weight, rel=1e-3)
    mock = [initial_values(machine)[f'{joint.name}/effort'] for joint in machine.actuated_joints]
    assert np.asarray(mock) == pytest.approx(weight, rel=1e-9)


@pytest.mark.usefixtures('control')
def test_controllers_that_do_not_start_end_everything(tmp_path: Path) -> None:
    own = tmp_path / 'own.yaml'
    text = controllers_text(load_machine('palida'), ControlOptions('mock'))
    own.write_text(text.replace('leg_effort_controller', 'broken_controller'))
    arguments = ['machine:=palida', f'controllers:={own}', 'estimation:=false']
    with LaunchedSystem(tmp_path / 'bringup.log', 'bringup.launch.py', *arguments) as system:
        assert system.wait() == 1, system.output
        assert 'controllers did not start: joint_state_broadcaster, imu_sensor_broadcaster, broken' in system.output
        assert not system.survivors()
