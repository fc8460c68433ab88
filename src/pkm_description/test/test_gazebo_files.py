"""Files for Gazebo of every release: sdformat's verdict, start off home, several machines in a world, the bridge."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
import yaml
from pkm_description.errors import ConfigurationError, KinematicsError
from pkm_description.export.gazebo_files import bridge_entries
from pkm_description.export.sdf import sdf_text
from pkm_description.export.sdf_systems import DRIVES, VERSIONS, SdfOptions, gazebo_version_of_number
from pkm_description.loading import load_machine
from pkm_description.nodes import export_machine

from verification.engines.sdf_reader import PKM, SdfModel, compose

needs_sdformat = pytest.mark.skipif(
    shutil.which('ign') is None, reason='ign (ignition-tools, libsdformat-dev) is not installed'
)
#: type of ROS 2 -> type of Gazebo, from the mappings of ros_gz_bridge (branches humble and jazzy); Fortress' package
#: of messages is ignition.msgs, as its README has it
ROS_GZ_MAPPINGS = {
    'rosgraph_msgs/msg/Clock': 'Clock',
    'sensor_msgs/msg/Imu': 'IMU',
    'sensor_msgs/msg/JointState': 'Model',
    'std_msgs/msg/Float64': 'Double',
}
#: keys and directions that its reader of files knows
ROS_GZ_KEYS = {'ros_topic_name', 'gz_topic_name', 'ros_type_name', 'gz_type_name', 'direction'}


def _require_valid(file: Path) -> None:
    done = subprocess.run(['ign', 'sdf', '-k', file], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, 'Valid.'), done.stderr
    assert 'Warning' not in done.stderr


@needs_sdformat
@pytest.mark.parametrize(
    ('gazebo', 'drive'),
    [
        # each release and each drive once; all pairs in the campaign
        pytest.param(gazebo, drive, marks=() if place % len(DRIVES) == DRIVES.index(drive) else pytest.mark.campaign)
        for place, gazebo in enumerate(VERSIONS)
        for drive in DRIVES
    ],
)
def test_every_release_and_drive_is_valid(gazebo: str, drive: str, tmp_path: Path) -> None:
    """With all other options, too, as ``export_machine`` writes them."""
    options = ['--gazebo', gazebo, '--drive', drive, '--model-name', 'left_srs', '--frame-prefix', 'left/']
    options += ['--base-pose', '1', '2', '0', '0', '0', '0.5', '--namespace', 'left', '--controllers', '/tmp/c.yaml']
    options += ['--time-step', '0.0005', '--world-name', 'hall', '--z', '0.1', '--yaw', '-0.1']
    assert export_machine.main(['srs', 'gazebo', '-o', str(tmp_path), *options]) == 0
    _require_valid(tmp_path / 'world.sdf')


@needs_sdformat
@pytest.mark.parametrize('name', ['msi', 'uf', 'snl', 'ford', 'hexaglide_6pus'])
def test_machines_of_the_suite_are_valid(name: str, tmp_path: Path) -> None:
    """The model alone, as it is spawned in a running world; kinds of machines are in ``test_sdf.py``."""
    path = tmp_path / 'model.sdf'
    path.write_text(sdf_text(load_machine(name), SdfOptions(drive='force')))
    _require_valid(path)


def test_files_hold_what_the_options_say(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ['--world-name', 'hall', '--time-step', '0.0005', '--model-name', 'left_srs', '--frame-prefix', 'left/']
    options += ['--drive', 'force', '--base-pose', '1', '2', '0', '0', '0', '0.5']
    assert export_machine.main(['srs', 'gazebo', '-o', str(tmp_path / 'new'), *options]) == 0
    files = [tmp_path / 'new' / name for name in ('world.sdf', 'model.sdf', 'bridge.yaml')]
    assert capsys.readouterr().out.splitlines() == [f'{file} written' for file in files]
    world, model = (SdfModel(file.read_text()) for file in files[:2])
    assert world.root.find('world[@name="hall"]') is not None and model.root.find('world') is None
    assert world.root.findtext('world/physics/max_step_size') == '0.0005'
    for sdf in (world, model):
        assert sdf.model.get('name') == 'left_srs'
        assert sdf.model.findtext('pose') == '1.0 2.0 0.0 0.0 0.0 0.5'
        assert sdf.model.findtext('link/sensor/topic') == '/model/left_srs/imu'
        assert sdf.model.findtext('link/sensor/gz_frame_id') == 'left/imu_link'
        topics = [plugin.findtext('detach_topic', '') for plugin in sdf.plugins('DetachableJoint')]
        assert all(topic.startswith('/model/left_srs/') for topic in topics) and len(topics) == 5
    used = {entry['gz_topic_name'] for entry in yaml.safe_load(files[2].read_text())} - {'/clock'}
    assert all(topic.startswith('/model/left_srs/') for topic in used)


@pytest.mark.parametrize('gazebo', VERSIONS)
@pytest.mark.parametrize('drive', DRIVES)
def test_the_bridge_connects_types_that_ros_gz_knows(gazebo: str, drive: str) -> None:
    machine, options = load_machine('srs'), SdfOptions(gazebo=gazebo, drive=drive)
    entries = bridge_entries(machine, options)
    package = 'ignition.msgs' if gazebo == 'fortress' else 'gz.msgs'
    for entry in entries:
        assert set(entry) == ROS_GZ_KEYS
        assert entry['gz_type_name'] == f'{package}.{ROS_GZ_MAPPINGS[entry["ros_type_name"]]}'
        assert entry['direction'] == ('ROS_TO_GZ' if 'Float64' in entry['ros_type_name'] else 'GZ_TO_ROS')
        # relative topics of ROS 2 follow the namespace of the bridge; the clock is everybody's
        assert entry['ros_topic_name'].startswith('/') == (entry['ros_topic_name'] == '/clock')
    topics = [entry['ros_topic_name'] for entry in entries]
    assert topics[:2] == ['/clock', 'imu/data_raw']
    if drive == 'ros2_control':
        assert len(topics) == 2
        return
    assert topics[2:] == ['gazebo/joint_states', *(f'gazebo/drive{number}/command' for number in range(1, 7))]
    assert bridge_entries(machine, options, clock=False) == entries[1:]


@pytest.mark.parametrize(('drive', 'system', 'topic'), [
    ('force', 'ApplyJointForce', 'cmd_force'), ('position', 'JointPositionController', '0/cmd_pos'),
])  # fmt: skip
def test_the_bridge_and_the_model_mean_the_same_topics(drive: str, system: str, topic: str) -> None:
    """Topics that the model names itself, and those that Gazebo's systems make from the names of model and joint."""
    machine, options = load_machine('khalifa_3prr'), SdfOptions(drive=drive, model_name='right')
    sdf = SdfModel(sdf_text(machine, options))
    used = [entry['gz_topic_name'] for entry in bridge_entries(machine, options)]
    joints = [plugin.findtext('joint_name') for plugin in sdf.plugins(system)]
    named = [sdf.model.findtext('link/sensor/topic'), sdf.plugins('JointStatePublisher')[0].findtext('topic')]
    assert used == ['/clock', *named, *(f'/model/right/joint/{joint}/{topic}' for joint in joints)]


def test_ros2_control_drives_the_joints_alone() -> None:
    """Its plugin is tested in ``test_ros2_control.py``; Gazebo's own controllers would work against it."""
    options = SdfOptions(drive='ros2_control', controllers='/tmp/controllers.yaml', namespace='left')
    sdf = SdfModel(sdf_text(load_machine('palida'), options))
    (plugin,) = sdf.plugins('GazeboSimROS2ControlPlugin')
    assert plugin.findtext('parameters') == '/tmp/controllers.yaml'
    assert plugin.findtext('ros/namespace') == 'left'
    assert sdf.plugins('ApplyJointForce') == sdf.plugins('JointPositionController') == []


@pytest.mark.parametrize(('name', 'coordinates'), [
    ('srs', {'x': 0.2, 'y': -0.1, 'z': 0.1, 'roll': 0.1, 'pitch': -0.05, 'yaw': 0.15}),
    ('valencia_3rps', {'z': 0.03, 'roll': 0.05, 'pitch': -0.05}),
    ('khalifa_3prr', {'x': 0.02, 'y': 0.01, 'yaw': 0.05}),
])  # fmt: skip
def test_links_stand_at_a_closed_configuration_off_home(name: str, coordinates: dict[str, float]) -> None:
    machine = load_machine(name)
    sdf = SdfModel(sdf_text(machine, SdfOptions(start=coordinates)))
    position, rotation = sdf.pose(machine.platform.name)
    for axis in 'xyz':
        if axis in coordinates:
            expected = machine.home.position['xyz'.index(axis)] + coordinates[axis]
            assert position['xyz'.index(axis)] == pytest.approx(expected, abs=1e-9)
    assert np.abs(rotation - machine.home.rotation_base_platform).max() > 0.01
    for leg in machine.legs:
        anchor = compose((position, rotation), (leg.platform_point, np.eye(3)))[0]
        for joint in leg.joints:  # the limits count from the start
            element, limits = sdf.joints[joint.name], joint.limits
            start = float(element.findtext(f'{PKM}start_position', 'nan'))
            assert limits.lower <= start <= limits.upper
            if np.isfinite(limits.lower):
                assert float(element.findtext('axis/limit/lower', 'nan')) == pytest.approx(limits.lower - start)
        tip = compose(sdf.pose(leg.joints[-1].body.name), (leg.tip, np.eye(3)))[0]
        assert np.abs(tip - anchor).max() < 1e-9


@pytest.mark.parametrize(('name', 'coordinates', 'words'), [
    ('srs', {'z': 3.0}, 'leg1'),
    ('valencia_3rps', {'x': 0.1}, 'cannot be moved by'),
    ('khalifa_3prr', {'z': 0.1}, 'cannot be moved by'),
])  # fmt: skip
def test_a_start_that_does_not_close_is_refused(name: str, coordinates: dict[str, float], words: str) -> None:
    with pytest.raises(KinematicsError, match=words):
        sdf_text(load_machine(name), SdfOptions(start=coordinates))


def test_gravity_turns_with_the_base() -> None:
    """The file's gravity is given in axes of the base, Gazebo's in those of the world."""
    machine = load_machine('palida')
    object.__setattr__(machine, 'gravity', np.array([1.0, 0.0, -9.0]))
    sdf = SdfModel(sdf_text(machine, SdfOptions(world=True, base_pose=(0.0, 0.0, 0.0, 0.0, 0.0, np.pi / 2.0))))
    gravity = [float(word) for word in sdf.root.findtext('world/gravity', '').split()]
    assert gravity == pytest.approx([0.0, 1.0, -9.0], abs=1e-12)


def test_releases_by_the_number_of_gz_sim() -> None:
    """6 is Fortress, 8 Harmonic, 9 Ionic, 10 Jetty; newer ones have Jetty's names, older ones are refused."""
    found = {number: gazebo_version_of_number(number).name for number in (6, 8, 9, 10, 11)}
    assert found == {6: 'fortress', 8: 'harmonic', 9: 'ionic', 10: 'jetty', 11: 'jetty'}
    for number in (5, 7):
        with pytest.raises(ConfigurationError, match=f'Gazebo {number} is not supported'):
            gazebo_version_of_number(number)
