"""The estimator node under load: IMU and legs at 1 kHz from another process; latency and losses.

This process plays the sensors and listens, the node runs in a process of its own. Samples are stamped with the time at
which they are due; they are serialised in advance and sent as bytes, as little work as a driver in C++ makes. Latency
is the time from that stamp to the arrival of ``platform/odometry`` in this process, as the middleware notes it (how
fast Python fetches it from there is not the node's doing). On a busy computer this process itself sends late, so the
time from sending is printed, too.

Options make it hard for the node: busy processes beside it, a higher rate, a subscriber that is stopped (SIGSTOP).
What the node says of its load in ``/diagnostics`` is printed.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext

os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')

import numpy as np
from nav_msgs.msg import Odometry
from node_processes import NodeProcess, ros_domain, wait_for
from pkm_description.arrays import Array
from pkm_description.loading import load_machine
from pkm_description.motion.profiles import mp1
from pkm_description.ros.conversions import vector3
from pkm_description.ros.qos import RELIABLE_STREAM_QOS
from pkm_estimation.sensors import measure
from rclpy.serialization import serialize_message
from sensor_msgs.msg import Imu, JointState
from timed_sender import TimedSender, processor_time

TARGET_LATENCY = 3e-3
#: s after which the listener is stopped
STOPPED_AFTER = 2.0
#: a process that does nothing but take processor time, and one that listens to the estimates, reliably
BUSY = 'while True: pass'
LISTENER = """
import rclpy
from nav_msgs.msg import Odometry
from pkm_description.ros.qos import LOSSLESS_QOS
rclpy.init()
node = rclpy.create_node('stopped_listener')
node.create_subscription(Odometry, 'platform/odometry', lambda data: print('heard', flush=True), LOSSLESS_QOS, raw=True)
rclpy.spin(node)
"""


class Load(TimedSender):
    """Sends IMU and leg samples on time, and notes when the estimates arrive, and what the node says of itself."""

    def __init__(self, machine_name: str, rate: float, seconds: float) -> None:
        super().__init__('load', rate, Odometry, 'platform/odometry')
        machine = load_machine(machine_name)
        count = round(rate * seconds)
        start = round(10.0 * rate)  # after the fade-in
        motion = mp1(machine, duration=seconds + 20.0, rate=rate)[slice(start, start + count)]
        data = measure(machine, motion, seed=1)
        positions = data.drive_positions
        self.samples = [
            (
                serialize_message(Imu(linear_acceleration=vector3(force), angular_velocity=vector3(turning))),
                serialize_message(JointState(name=list(machine.actuated_joint_names), position=leg.tolist())),
            )
            for force, turning, leg in zip(data.specific_force, data.angular_rate, positions, strict=True)
        ]
        self.imu = self.create_publisher(Imu, 'imu/data_raw', RELIABLE_STREAM_QOS)
        self.legs = self.create_publisher(JointState, 'joint_states', RELIABLE_STREAM_QOS)

    def told(self) -> Iterator[str]:
        """What the node said of its load and of publishing, each once, and the counters that it said last."""
        values: dict[str, str] = {}
        for status in (one for array in self.diagnoses for one in array.status):
            values.update({value.key: value.value for value in status.values if value.key.startswith('count ')})
        yield from self.warnings('load', 'publishing')
        yield ', '.join(f'{name.removeprefix("count ")} {count}' for name, count in sorted(values.items()))

    @property
    def connected(self) -> bool:
        """Whether the node listens and speaks."""
        ready = self.imu.get_subscription_count() and self.legs.get_subscription_count()
        return bool(ready) and self.speaks

    def run(self) -> tuple[Array, Array, int]:
        """Send everything; returns latencies [s] from stamp and from sending, and how many estimates are missing."""
        self.send((self.imu, self.legs), self.samples, len(self.samples))
        arrivals, sent = np.array(self.arrivals), np.array([self.sent[stamp] for stamp in self.stamps])
        missing = len(self.samples) - len(set(self.stamps))
        return (arrivals - np.array(self.stamps)) * 1e-9, (arrivals - sent) * 1e-9, missing


def main(arguments: Sequence[str] | None = None) -> int:
    """Print latencies and losses; 0 if nothing is lost and the 99th percentile meets the target."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--seconds', type=float, default=10.0, help='length of the run (default: 10)')
    parser.add_argument('--rate', type=float, default=1000.0, help='of IMU and legs [Hz] (default: 1000)')
    parser.add_argument('--machine', default='srs')
    parser.add_argument('--busy', type=int, default=0, help='processes that take all processor time they get')
    parser.add_argument('--stopped', action='store_true', help='a reliable subscriber that is stopped after 2 s')
    parser.add_argument('parameters', nargs='*', help='parameters of the node, e.g. baseline:=false')
    options = parser.parse_args(arguments)
    given = [f'machine:={options.machine}', 'reliability:=reliable', 'maximum_lag:=0.5', *options.parameters]
    with ros_domain():
        load = Load(options.machine, options.rate, options.seconds)
        ros = ['--ros-args', *(part for parameter in given for part in ('-p', parameter))]
        with NodeProcess('pkm_estimation', 'estimator', ros) as node:
            wait_for(lambda: load.connected, 'the estimator', spin=load)
            with busy_processes(options.busy), stopped_listener(load) if options.stopped else nullcontext():
                before = processor_time(node.process.pid)
                latency, from_sending, missing = load.run()
                spent = processor_time(node.process.pid) - before
            count = len(load.diagnoses)
            wait_for(lambda: len(load.diagnoses) > count + 1, 'the last diagnostics', spin=load)
        print('\n'.join(load.told()))
        load.destroy_node()
    count = len(load.samples)
    print(f'{count} IMU and {count} leg samples at {options.rate:g} Hz, {len(latency)} estimates, {missing} missing')
    print(
        f'processor time of the node: {1e3 * spent / count:.2f} ms per IMU and leg sample; load average '
        f'{os.getloadavg()[0]:.1f} on {os.cpu_count()} processors'
    )
    first = round(options.rate)  # estimates left out: caches, start of the filter
    if len(latency) <= first:
        print('too few to judge')
        return 1
    p99 = [_describe(name, values[first:]) for name, values in (('stamp', latency), ('sending', from_sending))]
    return 0 if missing == 0 and p99[0] <= TARGET_LATENCY else 1


@contextmanager
def busy_processes(count: int) -> Iterator[None]:
    """So many processes that take all processor time they get."""
    processes = [subprocess.Popen([sys.executable, '-c', BUSY]) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


@contextmanager
def stopped_listener(load: Load) -> Iterator[None]:
    """A subscriber that has heard something, and then stands still."""
    before = load.count_subscribers('platform/odometry')
    process = subprocess.Popen([sys.executable, '-c', LISTENER], stdout=subprocess.DEVNULL)
    try:
        wait_for(lambda: load.count_subscribers('platform/odometry') > before, 'the listener', spin=load)
        load.at(STOPPED_AFTER, lambda: process.send_signal(signal.SIGSTOP))
        yield
    finally:
        process.kill()
        process.wait()


def _describe(name: str, latency: Array) -> float:
    """Print percentiles; returns the 99th [s]."""
    p50, p99, p999, worst = np.percentile(latency, [50.0, 99.0, 99.9, 100.0])
    print(
        f'from {name:8} to platform/odometry: median {1e3 * p50:.2f} ms, 99 % {1e3 * p99:.2f} ms (target '
        f'{1e3 * TARGET_LATENCY:.0f} from stamp), 99.9 % {1e3 * p999:.2f} ms, largest {1e3 * worst:.1f} ms'
    )
    return float(p99)


if __name__ == '__main__':
    raise SystemExit(main())
