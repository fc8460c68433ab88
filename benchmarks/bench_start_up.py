"""From the start of a node to its first output, samples waiting: state publisher and estimator, kernels on the disk.

Processor time is what counts on a busy computer: the processor time of the node until then.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')

import numpy as np
import rclpy
from nav_msgs.msg import Odometry
from node_processes import NodeProcess, ros_domain
from pkm_description.loading import load_machine
from pkm_description.motion.profiles import profile
from pkm_description.ros.conversions import stamp, vector3
from pkm_description.ros.qos import RELIABLE_STREAM_QOS
from pkm_estimation.sensors import measure
from rclpy.node import Node
from sensor_msgs.msg import Imu, JointState
from tf2_msgs.msg import TFMessage

TARGET = 3.0
#: program -> the topic of its first output
NODES = {
    ('pkm_description', 'state_publisher'): ('/tf', TFMessage),
    ('pkm_estimation', 'estimator'): ('platform/odometry', Odometry),
}


class Machine(Node):
    """A machine at rest: IMU and joints at 100 Hz."""

    def __init__(self, name: str, topic: str, kind: type[Any]) -> None:
        super().__init__('machine')
        machine = load_machine(name)
        data = measure(machine, profile('hold', machine, duration=0.02, rate=100))
        home = machine.home_positions.reshape(-1).tolist()
        self.joints = JointState(name=[joint.name for leg in machine.legs for joint in leg.joints], position=home)
        self.sample = Imu(
            linear_acceleration=vector3(data.specific_force[0]), angular_velocity=vector3(data.angular_rate[0])
        )
        self.imu = self.create_publisher(Imu, 'imu/data_raw', RELIABLE_STREAM_QOS)
        self.legs = self.create_publisher(JointState, 'joint_states', RELIABLE_STREAM_QOS)
        self.heard = False
        self.output = self.create_subscription(kind, topic, self._hear, RELIABLE_STREAM_QOS)
        self.timer = self.create_timer(0.01, self._send)

    def _hear(self, _: Any) -> None:
        self.heard = True

    def _send(self) -> None:
        now = stamp(time.time_ns())
        for message, publisher in ((self.sample, self.imu), (self.joints, self.legs)):
            message.header.stamp = now
            publisher.publish(message)


def start(package: str, program: str, machine: str) -> tuple[float, float, str]:
    """Wall time and processor time [s] until the first output, and what the node has printed."""
    with ros_domain():
        node = Machine(machine, *NODES[package, program])
        begin = time.monotonic()
        with NodeProcess(package, program, ['--ros-args', '-p', f'machine:={machine}']) as process:
            while not node.heard:
                if process.returncode is not None or time.monotonic() - begin > 120.0:
                    raise RuntimeError(f'{program} says nothing (exit code {process.returncode}):\n{process.output}')
                rclpy.spin_once(node, timeout_sec=0.01)
            wall = time.monotonic() - begin
            printed = process.output
            fields = Path(f'/proc/{process.process.pid}/stat').read_text().rsplit(')', 1)[1].split()
        node.destroy_node()
    return wall, (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK'), printed


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the times; 0 if the median of every node meets the target."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--starts', type=int, default=5, help='how often each node is started (default: 5)')
    parser.add_argument('--machine', default='srs')
    options = parser.parse_args(arguments)
    worst = 0.0
    for package, program in NODES:
        start(package, program, options.machine)  # files into memory, and kernels onto the disk if they are missing
        times = np.array([start(package, program, options.machine)[:2] for _ in range(options.starts)])
        (wall, processor), (least, _) = np.median(times, axis=0), times.min(axis=0)
        worst = max(worst, wall)
        print(f'{program}: first output after {wall:.2f} s (least {least:.2f} s), {processor:.2f} s of a processor')
    print(f'load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors; target {TARGET:g} s')
    return int(worst > TARGET)


if __name__ == '__main__':
    raise SystemExit(main())
