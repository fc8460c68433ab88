"""The files that one leg message passes in the estimator node, from the topic's callback to ``platform/odometry``.

Counts distinct files of this project with a Python function that is called on the way, in the order of their first
call, while the filter runs steadily on the machine ``srs``.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType
from typing import Any

import rclpy
from pkm_description.motion.profiles import mp1
from pkm_description.ros.conversions import stamp, vector3
from pkm_estimation.nodes.estimator import EstimatorNode
from pkm_estimation.sensors import measure
from rclpy.serialization import serialize_message
from sensor_msgs.msg import Imu, JointState

#: leg messages before the one that is followed: the filter has started, and its joints' order is known
_BEFORE = 50


class TracedNode(EstimatorNode):
    """The node, whose callbacks can be called from here."""

    def __init__(self) -> None:
        self.callbacks: dict[str, Any] = {}
        super().__init__()

    def create_subscription(self, msg_type: Any, topic: str, callback: Any, *args: Any, **options: Any) -> Any:
        """Subscribe, and remember the callback."""
        self.callbacks[topic] = callback
        return super().create_subscription(msg_type, topic, callback, *args, **options)


def files_passed() -> list[str]:
    """Files under ``src/`` with a function that one leg message calls, in the order of the first call."""
    node = TracedNode()
    machine = node.machine
    data = measure(machine, mp1(machine, duration=20.0)[slice(0, _BEFORE + 1)], seed=1)
    passed: dict[str, None] = {}

    def note(frame: FrameType, event: str, argument: object) -> None:
        parts = Path(frame.f_code.co_filename).resolve().parts
        if event == 'call' and 'src' in parts and any(part.startswith('pkm_') for part in parts):
            passed['/'.join(parts[len(parts) - parts[::-1].index('src') + 1 :])] = None

    for k, time in enumerate(data.stamps.tolist()):
        imu = Imu(linear_acceleration=vector3(data.specific_force[k]), angular_velocity=vector3(data.angular_rate[k]))
        legs = JointState(name=machine.actuated_joint_names, position=data.drive_positions[k].tolist())
        imu.header.stamp = legs.header.stamp = stamp(time)
        node.callbacks['imu/data_raw'](serialize_message(imu), {})
        message = serialize_message(legs)
        if k == _BEFORE:
            sys.setprofile(note)
        node.callbacks['joint_states'](message, {})
        sys.setprofile(None)
    return list(passed)


def main() -> None:
    """Print the files and their number."""
    rclpy.init(args=['--ros-args', '--log-level', 'warn'])
    files = files_passed()
    print('\n'.join([*files, f'{len(files)} files']))


if __name__ == '__main__':
    main()
