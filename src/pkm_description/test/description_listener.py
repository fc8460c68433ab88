"""What tests of the description's nodes and launch files share: a node that hears all, and a running launch file."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from nav_msgs.msg import Odometry
from pkm_description.ros.qos import LATCHED_QOS
from pkm_description.ros.testing import ros_environment, wait_for
from rcl_interfaces.srv import SetParameters
from rclpy.node import Node
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import MarkerArray

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

RUNNER = Path(__file__).resolve().parents[3] / 'tools' / 'launch_runner'


class Listener(Node):
    """Keeps every message of the suite's description topics."""

    def __init__(self) -> None:
        super().__init__('listener')
        self.heard: dict[str, list[Any]] = {}
        for kind, topic, qos in (
            (JointState, 'joint_states', 100),
            (TFMessage, '/tf', 100),
            (TFMessage, '/tf_static', LATCHED_QOS),
            (String, 'robot_description', LATCHED_QOS),
            (String, 'platform_sliders/robot_description', LATCHED_QOS),
            (Odometry, 'platform/odometry', 100),
            (MarkerArray, 'leg_forces', 100),
            (DiagnosticArray, '/diagnostics', 100),
        ):
            self.heard[topic] = []
            self.create_subscription(kind, topic, self.heard[topic].append, qos)

    def wait(self, condition: Any, what: str) -> None:
        wait_for(condition, what, spin=self)

    def diagnosed(self, *words: str) -> bool:
        messages = [status.message for array in self.heard['/diagnostics'] for status in array.status]
        return any(all(word in message for word in words) for message in messages)

    def frames(self, topic: str) -> dict[str, Any]:
        """Newest transform of every child frame."""
        return {one.child_frame_id: one for message in self.heard[topic] for one in message.transforms}

    def set_parameters(self, node: str, **values: float) -> Any:
        client = self.create_client(SetParameters, f'{node}/set_parameters')
        assert client.wait_for_service(timeout_sec=30.0)
        request = SetParameters.Request()
        request.parameters = [Parameter(name, value=value).to_parameter_msg() for name, value in values.items()]
        future = client.call_async(request)
        rclpy.spin_until_future_complete(self, future, timeout_sec=30.0)
        return future.result().results


def has_real_launch() -> bool:
    """Whether ROS's own launch is installed."""
    return shutil.which('ros2') is not None and find_spec('launch_ros') is not None


def view_command(*arguments: str) -> list[str]:
    """Command line that starts view_pkm as a user does: real launch, or the runner for machines without it."""
    if has_real_launch():
        return ['ros2', 'launch', 'pkm_description', 'view_pkm.launch.py', *arguments]
    if not RUNNER.exists():
        pytest.skip('neither ros2 launch nor the launch runner of the repository is there')
    return [sys.executable, str(RUNNER), 'pkm_description', 'view_pkm.launch.py', *arguments]


@contextmanager
def viewing(
    log: Path, *arguments: str, environment: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """view_pkm while the body runs; then Ctrl-C, and an exit code of 0."""
    with log.open('wb') as stream:
        process = subprocess.Popen(
            view_command('rviz:=false', *arguments),
            env=ros_environment() | dict(environment or {}),
            stdout=stream,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
    try:
        yield process
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(30.0) == 0, log.read_text()
        assert 'Traceback' not in log.read_text(), log.read_text()
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(10.0)
