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

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray
from nav_msgs.msg import Odometry
from node_processes import PATIENCE, call_service, ros_environment, wait_for
from pkm_description.kinematics.rotation import matrix_from_quaternion
from pkm_description.ros.conversions import array3, array4
from pkm_description.ros.qos import LATCHED_QOS
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
        request = SetParameters.Request()
        request.parameters = [Parameter(name, value=value).to_parameter_msg() for name, value in values.items()]
        return call_service(self, SetParameters, f'{node}/set_parameters', request).results


class Sliders:
    """Publishes slider values until the joints are where they shall be."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._publisher = listener.create_publisher(JointState, 'platform/sliders', 10)

    def send(self, **values: float) -> None:
        self._publisher.publish(JointState(name=list(values), position=list(values.values())))

    def drag(self, wanted: np.ndarray, **values: float) -> None:
        def there() -> bool:
            self.send(**values)
            heard = self._listener.heard['joint_states']
            return bool(heard) and np.allclose(heard[-1].position, wanted.ravel(), rtol=0.0, atol=1e-9)

        self._listener.wait(there, f'all joints for {values}')


def wait_for_pose(listener: Listener, position: np.ndarray, rotation: np.ndarray) -> None:
    """Wait for the odometry of a pose; messages of different topics do not come in the order of their sending."""

    def there() -> bool:
        if not listener.heard['platform/odometry']:
            return False
        pose = listener.heard['platform/odometry'][-1].pose.pose
        turned = matrix_from_quaternion(array4(pose.orientation))
        return np.allclose(array3(pose.position), position, rtol=0.0, atol=1e-9) and np.allclose(
            turned, rotation, rtol=0.0, atol=1e-9
        )

    listener.wait(there, f'odometry at {position}')


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
        assert process.wait(PATIENCE) == 0, log.read_text()
        assert 'Traceback' not in log.read_text(), log.read_text()
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(PATIENCE)
