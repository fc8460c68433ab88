"""The node ``online_identification`` under load: joint states with efforts at 1 kHz from another process; losses, lag.

This process plays the drives and listens to the residuals. Messages are stamped with the time at which they are due,
serialised in advance and sent as bytes, as little work as a driver in C++ makes. How many residuals there must be is
known from the same samples without ROS, whose time per sample is printed as the peer's. Lag is the time from the stamp
of the message that completes a window to the arrival of the window's residual in this process.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Sequence

os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')

import numpy as np
from node_processes import NodeProcess, ros_domain, wait_for
from pkm_description.arrays import Array
from pkm_description.dynamics import inverse_dynamics
from pkm_description.kinematics import drive_positions
from pkm_description.loading import load_machine
from pkm_description.motion.profiles import profile
from pkm_description.ros.qos import RELIABLE_STREAM_QOS
from pkm_identification.online.settings import ESTIMATORS, OnlineSettings
from pkm_identification.online.stream import OnlineStream
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from timed_sender import TimedSender, processor_time

#: parts of a typical force: white noise of the efforts; strokes: of the positions
EFFORT_NOISE, POSITION_NOISE = 1e-3, 1e-6


class Drives(TimedSender):
    """Sends joint states on time and notes when residuals arrive."""

    def __init__(self, names: list[str], positions: Array, efforts: Array, rate: float) -> None:
        super().__init__('drives', rate, JointState, 'online_identification/residual')
        self.messages = [
            (serialize_message(JointState(name=names, position=position.tolist(), effort=effort.tolist())),)
            for position, effort in zip(positions, efforts, strict=True)
        ]
        self.publisher = self.create_publisher(JointState, 'joint_states', RELIABLE_STREAM_QOS)

    @property
    def connected(self) -> bool:
        """Whether the node listens and speaks."""
        return self.publisher.get_subscription_count() > 0 and self.speaks

    def run(self, expected: int) -> None:
        """Send everything, and wait for what is still to come."""
        self.send((self.publisher,), self.messages, expected)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print losses and lag; 0 if nothing is lost."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--seconds', type=float, default=30.0, help='length of the run (default: 30)')
    parser.add_argument('--rate', type=float, default=1000.0, help='of the joint states [Hz] (default: 1000)')
    parser.add_argument('--machine', default='srs')
    parser.add_argument('--estimator', choices=ESTIMATORS, default='ekf')
    options = parser.parse_args(arguments)
    machine, random = load_machine(options.machine), np.random.default_rng(0)
    motion = profile('fourier', machine, options.seconds, options.rate, 0)
    positions, efforts = drive_positions(machine, motion), inverse_dynamics(machine, motion)
    positions += POSITION_NOISE * np.ptp(positions) * random.normal(size=positions.shape)
    efforts += EFFORT_NOISE * np.sqrt(np.mean(efforts**2)) * random.normal(size=efforts.shape)
    names, count = list(machine.actuated_joint_names), len(efforts)

    offline = OnlineStream(machine, OnlineSettings(estimator=options.estimator))
    expected, begin = 0, time.process_time()
    for number, (position, effort) in enumerate(zip(positions.tolist(), efforts.tolist(), strict=True)):
        expected += offline.add(10**9 + round(number * 1e9 / options.rate), names, position, effort) is not None
    peer = 1e3 * (time.process_time() - begin) / count

    with ros_domain():
        drives = Drives(names, positions, efforts, options.rate)
        given = ['-p', f'machine:={options.machine}', '-p', 'reliability:=reliable']
        given += ['-p', f'estimator:={options.estimator}']
        begin = time.monotonic()
        with NodeProcess('pkm_identification', 'online_identification', ['--ros-args', *given]) as node:
            node.wait_for_output('listening to joint_states')
            ready = time.monotonic() - begin
            wait_for(lambda: drives.connected, 'the node', spin=drives)
            before = processor_time(node.process.pid)
            drives.run(expected)
            spent = 1e3 * (processor_time(node.process.pid) - before) / count
            told = len(drives.diagnoses)
            wait_for(lambda: len(drives.diagnoses) > told + 1, 'the last diagnostics', spin=drives)
        print('\n'.join(drives.warnings('load', 'identification')) or 'no warnings')
        drives.destroy_node()
    lag = 1e3 * ((np.array(drives.arrivals) - np.array(drives.stamps)) * 1e-9 - 0.5 * offline.identifier.window)
    missing = expected - len(set(drives.stamps))
    print(f'node ready {ready:.1f} s after its start')
    print(f'{count} joint states at {options.rate:g} Hz, {len(drives.stamps)} residuals, {missing} missing')
    print(f'processor time of the node: {spent:.2f} ms per joint state; the same without ROS: {peer:.2f} ms')
    p50, p99, worst = np.percentile(lag, [50.0, 99.0, 100.0])
    print(f'from a window\'s last stamp to ~/residual: median {p50:.2f} ms, 99 % {p99:.2f} ms, largest {worst:.1f} ms')
    return int(missing != 0)


if __name__ == '__main__':
    raise SystemExit(main())
