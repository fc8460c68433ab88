"""Stand-in for ros2_control: its packages as far as a launch file sees them, and a node that behaves as mock hardware.

Run as a program it is ``ros2_control_node`` or ``spawner``; what it was called with goes to ``calls.jsonl`` beside it.
"""

from __future__ import annotations

import itertools
import json
import stat
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import yaml

PROGRAMS = {
    'controller_manager': ['ros2_control_node', 'spawner'],
    'mujoco_ros2_control': ['ros2_control_node'],
}


def make_packages(prefix: Path, *names: str) -> Path:
    """Install empty packages below a prefix, with their programs."""
    for name in names:
        marker = prefix / 'share' / 'ament_index' / 'resource_index' / 'packages' / name
        marker.parent.mkdir(parents=True, exist_ok=True)
        marker.touch()
        (prefix / 'share' / name).mkdir(parents=True)
        for program in PROGRAMS.get(name, []):
            file = prefix / 'lib' / name / program
            file.parent.mkdir(parents=True, exist_ok=True)
            words = f'"{sys.executable}" "{Path(__file__).resolve()}" "{prefix}" {program}'
            file.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
            file.chmod(file.stat().st_mode | stat.S_IXUSR)
    return prefix


def calls(prefix: Path, program: str) -> list[list[str]]:
    """Arguments of each call of a program so far."""
    file = prefix / 'calls.jsonl'
    lines = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    return [line[1:] for line in lines if line[0] == program]


def mock_hardware(arguments: list[str]) -> None:
    """Take the description's ros2_control block; publish its start values, and efforts as they are commanded."""
    import rclpy
    from rclpy.executors import ExternalShutdownException
    from rclpy.node import Node
    from rclpy.qos import DurabilityPolicy, QoSProfile
    from sensor_msgs.msg import Imu, JointState
    from std_msgs.msg import Float64MultiArray, String

    class ControllerManager(Node):
        def __init__(self) -> None:
            super().__init__('controller_manager')
            self.states: dict[str, float] = {}
            self.joints: list[str] = []
            latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
            self.create_subscription(String, '~/robot_description', self.describe, latched)
            self.create_subscription(Float64MultiArray, 'leg_effort_controller/commands', self.command, 10)
            self.joint_states = self.create_publisher(JointState, 'joint_states', 10)
            self.imu = self.create_publisher(Imu, 'imu/data_raw', 10)
            self.create_timer(0.02, self.publish)

        def describe(self, message: String) -> None:
            system = ElementTree.fromstring(message.data).find('ros2_control')
            assert system is not None
            for part in [*system.findall('joint'), *system.findall('sensor')]:
                for state in part.findall('state_interface'):
                    self.states[f'{part.get("name")}/{state.get("name")}'] = float(state.findtext('param') or 0.0)
            self.joints = [str(joint.get('name')) for joint in system.findall('joint')]

        def command(self, message: Float64MultiArray) -> None:
            for name, effort in zip(self.joints, message.data, strict=True):
                self.states[f'{name}/effort'] = effort

        def publish(self) -> None:
            if not self.joints:
                return
            now = self.get_clock().now().to_msg()
            states = JointState(name=self.joints)
            imu = Imu()
            imu.header.frame_id = 'imu_link'
            states.header.stamp = imu.header.stamp = now
            for quantity in ('position', 'velocity', 'effort'):
                setattr(states, quantity, [self.states[f'{name}/{quantity}'] for name in self.joints])
            for axis in 'xyz':
                setattr(imu.linear_acceleration, axis, self.states[f'imu_link/linear_acceleration.{axis}'])
            imu.orientation_covariance[0] = -1.0
            self.joint_states.publish(states)
            self.imu.publish(imu)

    rclpy.init(args=arguments)
    node: Any = ControllerManager()
    try:
        rclpy.spin(node)
    except (KeyboardInterrupt, ExternalShutdownException):
        rclpy.try_shutdown()


def parameters_of(arguments: list[str]) -> dict[str, Any]:
    """Parameters of all files of a command line that are still there, by node."""
    found: dict[str, Any] = {}
    for before, word in itertools.pairwise(arguments):
        if before in ('--params-file', '--param-file') and Path(word).is_file():
            found |= yaml.safe_load(Path(word).read_text())
    return found


if __name__ == '__main__':
    folder, program, *given = sys.argv[1:]
    with (Path(folder) / 'calls.jsonl').open('a') as stream:
        stream.write(json.dumps([program, *given]) + '\n')
    if program == 'spawner':
        sys.exit(7 if 'broken_controller' in given else 0)
    mock_hardware(given)
