"""The state publisher under load: drives at 1 kHz from another process, passive joints completed; delays and losses.

This process plays the driver and listens to ``joint_states_complete``. Machines: a five-bar; a Delta, whose forearms
are parallelograms; and the same Delta as it comes back from its URDF with loops (``import_machine``). Messages are
stamped with the time at which they are due; they are serialised in advance. The delay is the time from sending to the
arrival here, as the middleware notes it.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')

import numpy as np
from bench_estimator_node import processor_time
from node_processes import NodeProcess, ros_domain, wait_for
from pkm_description.arrays import Array
from pkm_description.export.urdf_loops import write_urdf_with_loops
from pkm_description.importing.importer import imported
from pkm_description.loading import load_machine
from pkm_description.machine import Machine
from pkm_description.ros.qos import LOSSLESS_QOS, RELIABLE_STREAM_QOS
from pkm_description.ros.serialized import read_joint_state, read_stamp, with_stamp
from rclpy.node import Node
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState

#: s from sending, 99th percentile
TARGET_DELAY = 3e-3
#: the name of the Delta that is exported and imported
IMPORTED = 'delta, imported'


class Load(Node):
    """Sends prepared joint states on time and notes when the completed ones arrive."""

    def __init__(self, machine: Machine, rate: float, seconds: float) -> None:
        super().__init__('load')
        self.interval = round(1e9 / rate)
        names = list(machine.actuated_joint_names)
        self.samples = [
            serialize_message(JointState(name=names, position=q.tolist(), velocity=qd.tolist()))
            for q, qd in zip(*slow_waves(machine, rate, seconds), strict=True)
        ]
        self.drives = self.create_publisher(JointState, 'joint_states', RELIABLE_STREAM_QOS)
        self.sent: dict[int, int] = {}
        self.arrivals: dict[int, int] = {}
        self.last = b''
        # nothing spins this node while samples are sent: _take fetches what came
        self._completed = self.create_subscription(
            JointState, 'joint_states_complete', lambda data: None, LOSSLESS_QOS, raw=True
        )

    def _take(self) -> None:
        """Take all messages that have arrived."""
        while (taken := self._completed.handle.take_message(JointState, True)) is not None:
            self.last, info = taken
            self.arrivals[read_stamp(self.last)] = info['received_timestamp']

    @property
    def connected(self) -> bool:
        """Whether the node listens and speaks."""
        return bool(self.drives.get_subscription_count()) and self.count_publishers('joint_states_complete') > 0

    def run(self) -> Array:
        """Send everything; returns the delays [s] of what arrived."""
        begin = time.time_ns() + 10_000_000
        for k, message in enumerate(self.samples):
            due = begin + k * self.interval
            time.sleep(max(0.0, (due - time.time_ns()) * 1e-9))
            self.sent[due] = time.time_ns()
            self.drives.publish(with_stamp(message, due))
            self._take()
        deadline = time.monotonic() + 20.0
        while len(self.arrivals) < len(self.samples) and time.monotonic() < deadline:
            time.sleep(0.01)
            self._take()
        return np.array([arrival - self.sent[stamp] for stamp, arrival in self.arrivals.items()]) * 1e-9


def slow_waves(machine: Machine, rate: float, seconds: float) -> tuple[Array, Array]:
    """Positions and velocities (N, A) of drives that swing near home, each at a frequency of its own."""
    driven = [machine.joints[column] for column in machine.drive_columns]
    size = np.array([0.02 if joint.kind == 'revolute' else 0.002 for joint in driven])
    rates = 2.0 * np.pi * (0.3 + 0.1 * np.arange(len(driven)))
    phases = np.outer(np.arange(round(rate * seconds)) / rate, rates)
    home = machine.home_positions[machine.drive_columns]
    return home + size * np.sin(phases), size * rates * np.cos(phases)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print delays and losses; 0 if nothing is lost and the 99th percentiles meet the target."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--seconds', type=float, default=10.0, help='length of the run (default: 10)')
    parser.add_argument('--rate', type=float, default=1000.0, help='of the drives [Hz] (default: 1000)')
    parser.add_argument('machines', nargs='*', default=['five_bar', 'delta', IMPORTED], help='names or machine files')
    options = parser.parse_args(arguments)
    met = [_measured(name, options.rate, options.seconds) for name in options.machines]
    return int(not all(met))


def _measured(name: str, rate: float, seconds: float) -> bool:
    with tempfile.TemporaryDirectory() as folder, ros_domain():
        source = name
        if name == IMPORTED:
            urdf, _ = write_urdf_with_loops(load_machine('delta'), Path(folder))
            source = str(Path(folder) / 'machine.yaml')
            Path(source).write_text(imported(urdf).text, encoding='utf-8')
        machine = load_machine(source)
        load = Load(machine, rate, seconds)
        given = ['--ros-args', '-p', f'machine:={source}', '-p', 'reliability:=reliable']
        with NodeProcess('pkm_description', 'state_publisher', given) as node:
            wait_for(lambda: load.connected, 'the state publisher', spin=load)
            before = processor_time(node.process.pid)
            delays = load.run()
            spent = processor_time(node.process.pid) - before
        load.destroy_node()
    count, joints = len(load.samples), len(machine.joint_names)
    missing = count - len(delays)
    drives = machine.actuated_count
    print(f'{name}: {drives} of {joints} joints sent {count} times at {rate:g} Hz, {missing} lost')
    if len(delays) <= rate:
        print('too few to judge')
        return False
    assert len(read_joint_state(load.last).positions) == joints
    p50, p99, worst = np.percentile(delays[round(rate) :], [50.0, 99.0, 100.0])  # without the first second
    print(
        f'delay: median {1e3 * p50:.2f} ms, 99 % {1e3 * p99:.2f} ms (target {1e3 * TARGET_DELAY:.0f}), largest '
        f'{1e3 * worst:.1f} ms; processor time of the node {1e3 * spent / count:.2f} ms per message; load average '
        f'{os.getloadavg()[0]:.1f} on {os.cpu_count()} processors'
    )
    return missing == 0 and bool(p99 <= TARGET_DELAY)


if __name__ == '__main__':
    raise SystemExit(main())
