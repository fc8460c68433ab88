"""The ros2_control block: Python and xacro write the same, with keys that the hardware plugins know."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import numpy as np
import pytest
import xacro
from exported_machines import FOR_XACRO, exported_machine
from pkm_description.errors import ConfigurationError
from pkm_description.export.ros2_control import (
    HARDWARE,
    ControlOptions,
    initial_values,
    initial_values_text,
    read_hardware_parameters,
)
from pkm_description.export.sdf import sdf_text
from pkm_description.export.sdf_systems import SdfOptions
from pkm_description.export.urdf import urdf_text
from pkm_description.loading import load_machine
from pkm_description.machine import Machine
from urdf_trees import XACRO_FILE, urdf_tree, xacro_text
from warm_programs import run_program

FULL = {
    'mock': ControlOptions('mock', parameters={'mock_sensor_commands': 'true', 'calculate_dynamics': 'true'}),
    'gz': ControlOptions('gz', gazebo='fortress'),
    'mujoco': ControlOptions('mujoco', parameters={'mujoco_model': '/a/b.xml', 'pids_config_file': '/c.yaml'}),
    'real': ControlOptions('real', 'my_driver/MySystem', {'ip': '10.0.0.2', 'gain': '2.5'}),
}


def block(text: str) -> Element:
    found = ElementTree.fromstring(text).find('ros2_control')
    assert found is not None
    return found


def by_xacro(machine: Machine, options: ControlOptions, folder: Path) -> str:
    mappings = {
        'machine_file': str(machine.path.resolve()), 'hardware': options.hardware, 'plugin': options.plugin,
        'gazebo': options.gazebo,
        'hardware_parameters': ' '.join(f'{name}={value}' for name, value in options.parameters.items()),
    }  # fmt: skip
    if options.hardware == 'mock':
        file = folder / 'initial_values.yaml'
        file.write_text(initial_values_text(machine))
        mappings['initial_values_file'] = str(file)
    return xacro_text(**mappings)


@pytest.mark.parametrize('name', FOR_XACRO)
def test_xacro_and_python_write_the_same_block(name: str, tmp_path: Path) -> None:
    assert_same_block(exported_machine(name, tmp_path), ControlOptions('mock'), tmp_path)


@pytest.mark.parametrize('hardware', HARDWARE)
@pytest.mark.parametrize('name', ['khalifa_3prr', 'open_chain'])
def test_for_every_hardware(name: str, hardware: str, tmp_path: Path) -> None:
    """With the defaults, and with every option."""
    machine = exported_machine(name, tmp_path)
    for options in (ControlOptions(hardware, 'a/B' if hardware == 'real' else ''), FULL[hardware]):
        assert_same_block(machine, options, tmp_path)


def assert_same_block(machine: Machine, options: ControlOptions, folder: Path) -> None:
    key = f'ros2_control {machine.name}'
    assert urdf_tree(urdf_text(machine, options))[key] == urdf_tree(by_xacro(machine, options, folder))[key]


def test_without_hardware_there_is_no_block() -> None:
    assert '<ros2_control' not in urdf_text(load_machine('srs'))
    assert '<ros2_control' not in xacro_text(machine='srs')


def test_block_of_a_hexapod() -> None:
    """Only driven joints; what limits the commands; the names that imu_sensor_broadcaster asks for."""
    machine = load_machine('srs')
    system = block(urdf_text(machine, ControlOptions('mock')))
    assert system.attrib == {'name': 'srs', 'type': 'system'}
    assert system.findtext('hardware/plugin') == 'mock_components/GenericSystem'
    assert [joint.get('name') for joint in system.findall('joint')] == [f'leg{leg}_prismatic' for leg in range(1, 7)]
    joint = system.findall('joint')[0]
    limits = {
        command.get('name'): {item.get('name'): float(item.text or 'nan') for item in command}
        for command in joint.findall('command_interface')
    }
    assert limits == {'effort': {'min': -25000.0, 'max': 25000.0}, 'position': {'min': 0.0, 'max': 1.25}}
    assert [state.get('name') for state in joint.findall('state_interface')] == ['position', 'velocity', 'effort']
    sensor = system.find('sensor')
    assert sensor is not None and sensor.get('name') == 'imu_link'
    assert [state.get('name') for state in sensor.findall('state_interface')] == [
        'orientation.x', 'orientation.y', 'orientation.z', 'orientation.w',
        'angular_velocity.x', 'angular_velocity.y', 'angular_velocity.z',
        'linear_acceleration.x', 'linear_acceleration.y', 'linear_acceleration.z',
    ]  # fmt: skip


@pytest.mark.parametrize(
    ('options', 'plugin', 'commands'),
    [
        (ControlOptions('mock'), 'mock_components/GenericSystem', ['effort', 'position']),
        (ControlOptions('gz'), 'gz_ros2_control/GazeboSimSystem', ['effort']),
        (ControlOptions('gz', gazebo='fortress'), 'ign_ros2_control/IgnitionSystem', ['effort']),
        (ControlOptions('mujoco'), 'mujoco_ros2_control/MujocoSystemInterface', ['effort']),
        (FULL['mujoco'], 'mujoco_ros2_control/MujocoSystemInterface', ['effort', 'position']),
        (FULL['real'], 'my_driver/MySystem', ['effort', 'position']),
    ],
)
def test_plugins_and_the_commands_that_they_take(options: ControlOptions, plugin: str, commands: list[str]) -> None:
    system = block(urdf_text(load_machine('valencia_3rps'), options))
    assert system.findtext('hardware/plugin') == plugin
    for joint in system.findall('joint'):
        assert [command.get('name') for command in joint.findall('command_interface')] == commands


def test_mock_hardware_stands_at_home() -> None:
    """An IMU that feels no gravity would be a falling machine to an estimator."""
    machine = load_machine('srs')
    values = initial_values(machine)
    system = block(urdf_text(machine, ControlOptions('mock')))
    written = {
        f'{part.get("name")}/{state.get("name")}': float(state.findtext('param') or 'nan')
        for part in [*system.findall('joint'), *system.findall('sensor')]
        for state in part.findall('state_interface')
        if state.find('param') is not None
    }
    assert written == values
    acceleration = [values[f'imu_link/linear_acceleration.{axis}'] for axis in 'xyz']
    assert np.linalg.norm(acceleration) == pytest.approx(9.80665)
    assert machine.imu.rotation_platform_imu @ acceleration == pytest.approx([0.0, 0.0, 9.80665])
    assert sum(values[f'{joint.name}/effort'] for joint in machine.actuated_joints) > 0.9 * 9.8 * machine.platform.mass
    for hardware in ('gz', 'mujoco', 'real'):
        assert 'initial_value' not in urdf_text(machine, FULL[hardware])


def test_mujoco_finds_the_imu_and_the_drives_in_our_model() -> None:
    """It looks for sensors NAME_accel, NAME_gyro, NAME_quat, and for motors by the joint's name."""
    mujoco = pytest.importorskip('mujoco')
    from pkm_description.export.mjcf import mjcf_text

    machine = load_machine('srs')
    model = mujoco.MjModel.from_xml_string(mjcf_text(machine))
    system = block(urdf_text(machine, ControlOptions('mujoco')))
    named = {item.get('name'): item.text for item in system.iter('param')}
    assert named['mujoco_type'] == 'imu'
    for suffix in ('accel', 'gyro', 'quat'):
        assert mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_SENSOR, f'{named["mujoco_sensor_name"]}_{suffix}') >= 0
    for joint in system.findall('joint'):
        motor = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_ACTUATOR, joint.get('name'))
        assert model.actuator_trnid[motor][0] == mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, joint.get('name'))
    assert mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_KEY, named['initial_keyframe']) >= 0


@pytest.mark.skipif(shutil.which('check_urdf') is None, reason='check_urdf (liburdfdom-tools) is not installed')
@pytest.mark.parametrize('hardware', HARDWARE)
def test_check_urdf_accepts_the_block_and_xacro_says_nothing(hardware: str, tmp_path: Path) -> None:
    command = [
        sys.executable, '-c', 'import xacro; xacro.main()', str(XACRO_FILE), 'machine:=khalifa_3prr',
        f'hardware:={hardware}', 'plugin:=' + ('a/B' if hardware == 'real' else ''), 'hardware_parameters:=a=1 b=c',
    ]  # fmt: skip
    done = run_program(command)
    assert (done.returncode, done.stderr) == (0, '')
    path = tmp_path / 'machine.urdf'
    path.write_text(done.stdout)
    checked = subprocess.run(['check_urdf', path], capture_output=True, text=True, timeout=120, check=False)
    assert (checked.returncode, checked.stderr) == (0, '')


def test_hardware_parameters_come_from_words_or_a_file(tmp_path: Path) -> None:
    assert read_hardware_parameters('') == {}
    assert read_hardware_parameters(' ip=10.0.0.2  query=a=b ') == {'ip': '10.0.0.2', 'query': 'a=b'}
    file = tmp_path / 'hardware.yaml'
    file.write_text('ip: 10.0.0.2\nuse_dhcp: true\ngain: 2.5\n')
    parameters = {'ip': '10.0.0.2', 'use_dhcp': 'true', 'gain': '2.5'}
    assert read_hardware_parameters(str(file)) == parameters
    machine = load_machine('srs')
    other = xacro_text(machine='srs', hardware='real', plugin='a/B', hardware_parameters=str(file))
    ours = urdf_text(machine, ControlOptions('real', 'a/B', parameters))
    assert urdf_tree(other)['ros2_control srs'] == urdf_tree(ours)['ros2_control srs']


@pytest.mark.parametrize(
    ('text', 'words'),
    [('ip', "'ip': expected name=value"), ('ip= b=c', "'ip='"), ('/nowhere.yaml', '/nowhere.yaml'), ('=3', "'=3'")],
)
def test_hardware_parameters_that_cannot_be_read(text: str, words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        read_hardware_parameters(text)


def test_hardware_that_does_not_exist() -> None:
    with pytest.raises(ConfigurationError, match='expected one of mock, gz, mujoco, real'):
        ControlOptions('robot')
    with pytest.raises(ConfigurationError, match='plugin:=my_robot_driver/MySystem'):
        ControlOptions('real')
    for mappings, words in [({'hardware': 'robot'}, 'expected none, mock'), ({'hardware': 'real'}, 'needs the class')]:
        with pytest.raises(xacro.XacroException, match=words):
            xacro_text(machine='srs', **mappings)


def test_gazebo_runs_the_controllers_by_its_plugin() -> None:
    """Names of gz_ros2_control, and of ign_ros2_control, its predecessor for Fortress."""
    machine = load_machine('srs')
    later, fortress = (
        ElementTree.fromstring(
            sdf_text(
                machine,
                SdfOptions(gazebo=gazebo, drive='ros2_control', controllers='/c.yaml', namespace=namespace),
            )
        ).find(f"model/plugin[@filename='{file}']")
        for gazebo, namespace, file in (
            ('harmonic', '', 'gz_ros2_control-system'), ('fortress', 'left', 'ign_ros2_control-system'),
        )
    )  # fmt: skip
    assert later is not None and fortress is not None
    assert later.attrib == {
        'filename': 'gz_ros2_control-system', 'name': 'gz_ros2_control::GazeboSimROS2ControlPlugin',
    }  # fmt: skip
    assert (later.findtext('parameters'), later.findtext('hold_joints'), later.find('ros')) == ('/c.yaml', 'true', None)
    assert fortress.attrib == {
        'filename': 'ign_ros2_control-system', 'name': 'ign_ros2_control::IgnitionROS2ControlPlugin',
    }  # fmt: skip
    assert fortress.findtext('ros/namespace') == 'left'
