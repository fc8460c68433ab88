"""What tests of the description's nodes and launch files share: a node that hears all, and a running launch file."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from launched_system import LaunchedSystem
from node_processes import call_service, ros_environment, wait_for
from pkm_description.kinematics.rotation import matrix_from_quaternion
from pkm_description.ros.conversions import array3, array4
from rcl_interfaces.srv import SetParameters
from rclpy.node import Node
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


class Listener(Node):
    """Keeps every message of the topics that it is told to hear."""

    def __init__(self) -> None:
        super().__init__('listener')
        self.heard: dict[str, list[Any]] = {}
        self.hear(JointState, 'joint_states')
        self.hear(DiagnosticArray, '/diagnostics')

    def hear(self, kind: type, *topics: str, qos: Any = 10000) -> None:
        for topic in topics:
            self.heard[topic] = []
            self.create_subscription(kind, topic, self.heard[topic].append, qos)

    def wait(self, condition: Callable[[], bool], what: str) -> None:
        wait_for(condition, what, spin=self)

    def wait_messages(self, topic: str, count: int) -> list[Any]:
        self.wait(lambda: len(self.heard[topic]) >= count, f'{count} messages on {topic}')
        return self.heard[topic]

    def publish_until(self, publisher: Any, message: Any, condition: Callable[[], bool], what: str) -> None:
        """Best-effort subscriptions may miss what is sent while discovery is still under way: send again."""

        def published() -> bool:
            publisher.publish(message)
            return condition()

        self.wait(published, what)

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


@contextmanager
def viewing(log: Path, *arguments: str, environment: Mapping[str, str] | None = None) -> Iterator[LaunchedSystem]:
    """view_pkm while the body runs; then Ctrl-C, and an exit code of 0."""
    around = ros_environment() | dict(environment or {})
    words = 'view_pkm.launch.py', 'rviz:=false', *arguments
    with LaunchedSystem(log, *words, environment=around, package='pkm_description') as system:
        yield system
        system.interrupt()
        assert system.wait() == 0, system.output
        assert 'Traceback' not in system.output, system.output
