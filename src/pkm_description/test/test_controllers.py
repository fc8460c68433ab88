"""Parameter files for ros2_control, with the names that the controllers' own parameter files declare."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from exported_machines import KINDS, exported_machine
from pkm_description.errors import ConfigurationError
from pkm_description.export.ros2_control import (
    ControlOptions,
    controllers_text,
    initial_values,
    initial_values_text,
    mujoco_pids_text,
)
from pkm_description.loading import load_machine
from pkm_description.machine import ServoGains
from pkm_description.nodes import export_machine

MOCK, GAZEBO = ControlOptions('mock'), ControlOptions('gz')


def parameters(text: str) -> dict[str, Any]:
    """Node -> its parameters."""
    return {key.removeprefix('/**/'): value['ros__parameters'] for key, value in yaml.safe_load(text).items()}


def test_controllers_of_a_hexapod() -> None:
    machine = load_machine('srs')
    found = parameters(controllers_text(machine, MOCK))
    assert list(found) == [
        'controller_manager', 'joint_state_broadcaster', 'leg_effort_controller', 'joint_trajectory_controller',
        'imu_sensor_broadcaster',
    ]  # fmt: skip
    joints = [f'leg{leg}_prismatic' for leg in range(1, 7)]
    assert found['leg_effort_controller'] == {'joints': joints, 'interface_name': 'effort'}
    assert found['joint_state_broadcaster']['joints'] == joints
    assert found['joint_state_broadcaster']['interfaces'] == ['position', 'velocity', 'effort']
    assert found['joint_trajectory_controller'] == {
        'joints': joints, 'state_interfaces': ['position', 'velocity'], 'command_interfaces': ['position'],
    }  # fmt: skip
    manager = found['controller_manager']
    assert manager['update_rate'] == 100
    assert {name: manager[name]['type'] for name in list(found)[1:]} == {
        'joint_state_broadcaster': 'joint_state_broadcaster/JointStateBroadcaster',
        'imu_sensor_broadcaster': 'imu_sensor_broadcaster/IMUSensorBroadcaster',
        'leg_effort_controller': 'forward_command_controller/ForwardCommandController',
        'joint_trajectory_controller': 'joint_trajectory_controller/JointTrajectoryController',
    }


def test_imu_goes_to_the_topic_that_the_suite_listens_to() -> None:
    """The broadcaster's own topic is ~/imu; a covariance of -1 says that there is no orientation."""
    machine = load_machine('srs')
    found = parameters(controllers_text(machine, MOCK, frame_prefix='left/'))
    arguments = found['controller_manager']['imu_sensor_broadcaster']['node_options_args']
    assert arguments == ['--ros-args', '-r', '~/imu:=imu/data_raw']
    imu = found['imu_sensor_broadcaster']
    assert (imu['sensor_name'], imu['frame_id']) == ('imu_link', 'left/imu_link')
    assert imu['static_covariance_orientation'][0] == -1.0
    noise = [imu['static_covariance_linear_acceleration'][place] for place in (0, 4, 8)]
    assert noise == pytest.approx(machine.imu.accelerometer_noise**2)
    assert found['joint_state_broadcaster']['frame_id'] == 'left/base_link'


def test_trajectories_are_efforts_where_the_hardware_takes_no_positions() -> None:
    machine = load_machine('srs')
    found = parameters(controllers_text(machine, GAZEBO))
    assert found['controller_manager']['enforce_command_limits'] is False
    assert found['joint_trajectory_controller']['command_interfaces'] == ['effort']
    gains = {'p': 3e6, 'i': 0.0, 'd': 120e3, 'u_clamp_max': 25e3, 'u_clamp_min': -25e3}
    assert found['joint_trajectory_controller']['gains']['leg3_prismatic'] == gains
    weaker = parameters(controllers_text(machine, GAZEBO, gains=ServoGains(1e5, 2e3)))
    assert weaker['joint_trajectory_controller']['gains']['leg3_prismatic'] == gains | {'p': 1e5, 'd': 2e3}


@pytest.mark.parametrize('name', KINDS)
@pytest.mark.parametrize('options', [MOCK, GAZEBO], ids=lambda options: options.hardware)
def test_every_kind_of_machine(name: str, options: ControlOptions, tmp_path: Any) -> None:
    """Without IMU no broadcaster of one, without positions and servo no trajectories; each controller is declared."""
    machine = exported_machine(name, tmp_path)
    found = parameters(controllers_text(machine, options, update_rate=250))
    manager = found.pop('controller_manager')
    assert set(found) == {name for name, value in manager.items() if isinstance(value, dict)}
    assert ('imu_sensor_broadcaster' in found) == machine.has_imu
    assert ('joint_trajectory_controller' in found) == (options is MOCK or machine.has_servo)
    assert found['leg_effort_controller']['joints'] == [joint.name for joint in machine.actuated_joints]
    assert manager['update_rate'] == 250


def test_update_rate_must_be_positive() -> None:
    with pytest.raises(ConfigurationError, match='update_rate = 0 Hz'):
        controllers_text(load_machine('srs'), MOCK, update_rate=0)


def test_mujoco_holds_positions_with_the_servo_of_the_machine_file() -> None:
    machine = load_machine('palida')
    gains = parameters(mujoco_pids_text(machine))['/**']['pid_gains']['position']
    assert list(gains) == [joint.name for joint in machine.actuated_joints]
    assert all(one['p'] == machine.servo.stiffness and one['d'] == machine.servo.damping for one in gains.values())


@pytest.mark.parametrize(
    'text', [controllers_text(load_machine('palida'), GAZEBO), mujoco_pids_text(load_machine('srs'))]
)
def test_rcl_can_read_them(text: str) -> None:
    """It knows no anchors, and numbers with an exponent only with a point."""
    assert '&' not in text and '*id' not in text
    numbers = [word.strip('[]{},') for word in text.split()]
    assert [word for word in numbers if 'e-' in word and word[0].isdigit() and '.' not in word] == []


def test_program_writes_the_files(capsys: pytest.CaptureFixture[str]) -> None:
    machine = load_machine('srs')
    cases = [
        (['controllers', '--hardware', 'gz'], controllers_text(machine, GAZEBO)),
        (['controllers', '--hardware', 'mock', '--update-rate', '500'], controllers_text(machine, MOCK, 500)),
        (['mujoco_pids'], mujoco_pids_text(machine)),
        (['initial_values'], initial_values_text(machine)),
    ]
    for arguments, text in cases:
        assert export_machine.main(['srs', *arguments]) == 0
        assert capsys.readouterr() == (text, '')
    assert yaml.safe_load(initial_values_text(machine)) == initial_values(machine)
    arguments = ['urdf', '--hardware', 'real', '--plugin', 'a/B', '--hardware-parameters', 'ip=10.0.0.2']
    assert export_machine.main(['srs', *arguments]) == 0
    assert '<param name="ip">10.0.0.2</param>' in capsys.readouterr().out
    for arguments, words in [(['controllers'], 'give --hardware'), (['urdf', '--hardware', 'real'], 'plugin')]:
        assert export_machine.main(['srs', *arguments]) == 1
        assert words in capsys.readouterr().err
