"""gazebo.launch.py with stand-ins for Gazebo and ros_gz: what is started, with which words, and in which order."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
import yaml

pytest.importorskip('rclpy')

from launched_system import LaunchedSystem, has_real_launch, run_launch
from node_processes import PATIENCE
from pkm_bringup.gazebo import GazeboDrives, chosen_version, driver_text, require_program
from pkm_description.errors import ConfigurationError
from pkm_description.export.rest import home_configuration, start_configuration
from pkm_description.export.sdf_systems import VERSIONS
from pkm_description.loading import load_machine
from stand_in_gazebo import StandInGazebo

from verification.engines.sdf_reader import SdfModel

FILE = 'gazebo.launch.py'
#: in which release which names stand
MESSAGES = {'fortress': 'ignition.msgs', 'harmonic': 'gz.msgs', 'ionic': 'gz.msgs', 'jetty': 'gz.msgs'}


def evaluated(gazebo: StandInGazebo, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The launch file's processes, without starting them."""
    if has_real_launch():
        pytest.skip('ros2 launch cannot evaluate conditions without starting')
    return run_launch(gazebo.environment, FILE, *arguments, '--dry-run')


@pytest.mark.parametrize(('number', 'name'), [(6, 'fortress'), (8, 'harmonic'), (9, 'ionic'), (10, 'jetty')])
def test_the_release_is_the_one_of_the_installed_bridge(number: int, name: str, tmp_path: Path) -> None:
    gazebo = StandInGazebo(tmp_path / 'prefix', number)
    folder = tmp_path / 'files'
    done = evaluated(gazebo, 'machine:=palida', 'control:=position', f'directory:={folder}', 'estimation:=false')
    assert done.returncode == 0, done.stdout + done.stderr
    assert f'Gazebo {name}: model palida in world pkm_world' in done.stdout
    lines = done.stdout.splitlines()
    (server,) = (line for line in lines if line.startswith('[gazebo-'))
    assert server.endswith(f"stand_in_gazebo '-s -r -v 2 {folder}/world.sdf' true")
    (bridge,) = (line for line in lines if 'parameter_bridge' in line and '__node:=gazebo_bridge' in line)
    assert '__ns' not in bridge
    assert f'config_file: {folder}/bridge.yaml' in done.stdout
    types = {entry['gz_type_name'].rpartition('.')[0] for entry in yaml.safe_load((folder / 'bridge.yaml').read_text())}
    assert types == {MESSAGES[name]}
    systems = SdfModel((folder / 'world.sdf').read_text()).plugins('DetachableJoint')
    assert str(systems[0].get('name')).startswith('ignition' if name == 'fortress' else 'gz::sim')
    assert '__node:=leg_controller' not in done.stdout  # Gazebo holds the positions
    assert '__node:=gazebo_drives' in done.stdout


def test_a_robot_among_others_has_names_of_its_own(tmp_path: Path) -> None:
    gazebo, folder = StandInGazebo(tmp_path / 'prefix'), tmp_path / 'files'
    done = evaluated(
        gazebo, 'namespace:=cell/left', 'frame_prefix:=left/', 'start_gazebo:=false', 'publish_clock:=false',
        f'directory:={folder}', 'control:=position', 'base_pose:=1 2 0 0 0 0.5', 'world_name:=hall', 'z:=0.1',
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert 'stand_in_gazebo' not in done.stdout
    (create,) = (line for line in done.stdout.splitlines() if 'ros_gz_sim/create' in line)
    words = f'-world hall -file {folder}/model.sdf -name cell_left_srs -x 1.0 -y 2.0 -z 0.0 -R 0.0 -P 0.0 -Y 0.5'
    assert words in create
    entries = yaml.safe_load((folder / 'bridge.yaml').read_text())
    assert all(entry['gz_topic_name'].startswith('/model/cell_left_srs/') for entry in entries)
    for node in ('gazebo_bridge', 'gazebo_drives', 'estimator', 'state_publisher'):
        (line,) = (one for one in done.stdout.splitlines() if f'__node:={node} ' in f'{one} ')
        assert '__ns:=/cell/left' in line
    assert 'z: 0.1' in done.stdout  # gazebo_drives knows where Gazebo's positions begin
    assert SdfModel((folder / 'model.sdf').read_text()).model.findtext('link/sensor/gz_frame_id') == 'left/imu_link'


def test_ros2_control_starts_controllers_and_tells_the_offsets(tmp_path: Path) -> None:
    """The controllers' file is the one that the plugin in Gazebo reads."""
    packages = ('ros_gz_sim', 'ros_gz_bridge', 'controller_manager', 'gz_ros2_control', 'joint_state_broadcaster',
                'imu_sensor_broadcaster', 'forward_command_controller', 'joint_trajectory_controller')  # fmt: skip
    gazebo, folder = StandInGazebo(tmp_path / 'prefix', packages=packages), tmp_path / 'files'
    spawner = tmp_path / 'prefix' / 'lib' / 'controller_manager' / 'spawner'
    spawner.parent.mkdir(parents=True)
    spawner.symlink_to('/bin/true')
    done = evaluated(gazebo, 'machine:=palida', 'control:=ros2_control', f'directory:={folder}', 'z:=0.05')
    assert done.returncode == 0, done.stdout + done.stderr
    plugin = SdfModel((folder / 'world.sdf').read_text()).plugins('GazeboSimROS2ControlPlugin')[0]
    assert plugin.findtext('parameters') == f'{folder}/controllers.yaml'
    active = next(line for line in done.stdout.splitlines() if 'spawner' in line and '--inactive' not in line)
    # the IMU comes over the bridge
    assert 'joint_state_broadcaster leg_effort_controller --param-file' in active
    assert len(yaml.safe_load((folder / 'bridge.yaml').read_text())) == 2
    assert 'gazebo_drives' not in done.stdout and '-s -r' in done.stdout
    machine = load_machine('palida', driver=folder / 'driver.yaml')
    offset = machine.driver.position.linear.offset if machine.driver.position else np.empty(0)
    start = start_configuration(machine, {'z': 0.05}).joint_positions
    assert offset.tolist() == [start[name] for name in machine.actuated_joint_names]
    assert f'driver: {folder}/driver.yaml' in done.stdout


@pytest.mark.parametrize(('packages', 'words'), [
    ((), 'ros_gz_sim, ros_gz_bridge'), (('ros_gz_sim',), '1 package is not installed: ros_gz_bridge'),
])  # fmt: skip
def test_what_is_missing_is_said_in_one_line(packages: tuple[str, ...], words: str, tmp_path: Path) -> None:
    gazebo = StandInGazebo(tmp_path, packages=packages)
    log = tmp_path / 'launch.log'
    with LaunchedSystem(log, FILE, environment=gazebo.environment | {'ROS_DISTRO': 'jazzy'}) as system:
        assert system.wait() != 0
        (line,) = (line for line in system.output.splitlines() if 'not installed' in line)
        assert words in line and line.endswith('ros-jazzy-ros-gz-bridge')
        assert 'Traceback' not in system.output
    assert gazebo.started == []


def test_a_missing_program_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('PATH', str(tmp_path))
    with pytest.raises(ConfigurationError, match='the program ign is missing; sudo apt install ros-humble-ros-gz'):
        require_program(VERSIONS['fortress'])
    (tmp_path / 'ign').touch(0o755)
    require_program(VERSIONS['fortress'])


def test_the_release_without_a_readable_launch_file_is_that_of_ros(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nowhere = tmp_path / 'gz_sim.launch.py'
    releases = {'humble': 'fortress', 'jazzy': 'harmonic', 'kilted': 'ionic', 'lyrical': 'jetty'}
    for distribution, release in releases.items():
        monkeypatch.setenv('ROS_DISTRO', distribution)
        assert chosen_version('auto', nowhere).name == release
        assert chosen_version('ionic', nowhere).name == 'ionic'
    monkeypatch.setenv('ROS_DISTRO', 'rolling')
    with pytest.raises(ConfigurationError, match='gazebo_version:=fortress|harmonic|ionic|jetty'):
        chosen_version('auto', nowhere)


def test_gazebo_waits_for_the_first_command(tmp_path: Path) -> None:
    """Live: the machine stands at its start until leg_controller commands its weight, then Gazebo is let run."""
    gazebo, folder = StandInGazebo(tmp_path / 'prefix', 8), tmp_path / 'files'
    machine = load_machine('palida')
    arguments = ['machine:=palida', f'directory:={folder}', 'estimation:=false', 'z:=0.02', 'noise:=false']
    with LaunchedSystem(tmp_path / 'log', FILE, *arguments, environment=gazebo.environment) as system:
        system.wait_for_output('wait_for_commands-')
        deadline = PATIENCE
        while not any(line.startswith('gz service') for line in gazebo.started) or not any(
            line.startswith('efforts') for line in gazebo.started
        ):
            assert deadline > 0.0 and system.process.poll() is None, system.output
            deadline -= 0.1
            with pytest.raises(subprocess.TimeoutExpired):
                system.process.wait(0.1)
        system.interrupt()
        system.wait()
        assert 'Traceback' not in system.output, system.output
    started = gazebo.started
    # not running: no -r
    assert f'stand_in_gazebo -s -v 2 {folder}/world.sdf true' in started
    (service,) = (line for line in started if line.startswith('gz service'))
    assert service == (
        'gz service -s /world/pkm_world/control --reqtype gz.msgs.WorldControl --reptype gz.msgs.Boolean '
        '--timeout 5000 --req pause: false'
    )
    commands = {line.split()[1]: float(line.split()[2]) for line in started if line.startswith('command')}
    # by the time of sending: the bridge may be slower to take the command than the program that waits for it
    assert gazebo.time_of('gz service') > gazebo.time_of('command')
    start = start_configuration(machine, {'z': 0.02})
    weights = dict(zip(machine.actuated_joint_names, start.drive_forces.tolist(), strict=True))
    assert commands == pytest.approx(weights, abs=1e-6)
    (efforts,) = ([float(word) for word in line.split()[1:]] for line in started if line.startswith('efforts'))
    assert efforts == pytest.approx(list(weights.values()), abs=1e-6)
    (states,) = ([float(word) for word in line.split()[1:]] for line in started if line.startswith('states'))
    assert states == pytest.approx([start.joint_positions[name] for name in weights], abs=1e-12)


class TestDrives:
    def test_positions_count_from_the_machine_files_zero_and_efforts_are_the_commands(self) -> None:
        machine = load_machine('palida')
        drives = GazeboDrives(machine, {}, noise=False)
        home = home_configuration(machine).joint_positions
        zero = np.array([home[name] for name in machine.actuated_joint_names])
        sample = drives.sample(np.full(6, 0.01), np.full(6, 0.2))
        np.testing.assert_allclose(sample.positions, zero + 0.01, atol=1e-15)
        np.testing.assert_array_equal(sample.velocities, np.full(6, 0.2))
        assert np.isnan(sample.efforts).all() and not drives.commanded
        limit = machine.actuated_joints[0].limits.effort
        told = drives.command([10.0, -20.0, 2.0 * limit, 0.0, 1.0, -3.0 * limit])
        assert told.tolist() == [10.0, -20.0, limit, 0.0, 1.0, -limit]
        assert drives.sample(np.zeros(6), np.zeros(6)).efforts.tolist() == told.tolist()

    def test_position_commands_are_told_from_the_start_and_give_no_efforts(self) -> None:
        machine = load_machine('palida')
        drives = GazeboDrives(machine, {'z': 0.05}, takes_forces=False, noise=False)
        joints = [joint.limits for joint in machine.actuated_joints]
        told = drives.command([*(drives.start_positions[:5] + 0.01), joints[5].upper + 1.0])
        np.testing.assert_allclose(told[:5], 0.01, atol=1e-15)
        assert told[5] == joints[5].upper - drives.start_positions[5]
        assert np.isnan(drives.sample(np.zeros(6), np.zeros(6)).efforts).all()

    def test_samples_come_at_the_rate_of_the_sensors(self) -> None:
        """Gazebo publishes every step of 1 ms, the legs are measured at 200 Hz; a reset world begins again."""
        machine = load_machine('palida')
        drives = GazeboDrives(machine, {})
        due = [stamp for stamp in range(100) if drives.is_due(stamp * 1_000_000)]
        assert due == list(range(0, 100, round(1e3 / machine.leg_sensors.rate)))
        assert drives.is_due(0) and not drives.is_due(1_000_000)

    def test_the_settings_file_is_the_one_that_the_suite_reads(self, tmp_path: Path) -> None:
        machine = load_machine('valencia_3rps')
        (tmp_path / 'driver.yaml').write_text(driver_text(machine, {'z': 0.02}))
        conversion = load_machine('valencia_3rps', driver=tmp_path / 'driver.yaml').driver.position
        start = start_configuration(machine, {'z': 0.02}).joint_positions
        assert conversion is not None
        expected = [start[name] + 0.001 for name in machine.actuated_joint_names]
        np.testing.assert_allclose(conversion.linear.scale * 0.001 + conversion.linear.offset, expected, atol=1e-15)
