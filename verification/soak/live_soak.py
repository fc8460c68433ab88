"""The running estimator node at 1 kHz under faults of sensors, messages, computer and subscribers.

A process plays the sensors, over real topics. Beside the faults of :mod:`~verification.soak.faulty_stream` there are
those that only a running node has. Memory of the node and its books are followed: every message that was sent was
received by its pipeline, or is counted under one reason.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from nav_msgs.msg import Odometry
from pkm_description.arrays import Array
from pkm_description.machine import Machine
from pkm_description.ros.conversions import vector3
from pkm_description.ros.qos import LOSSLESS_QOS, RELIABLE_STREAM_QOS
from pkm_description.ros.serialized import coded_stamp, with_stamp
from pkm_description.ros.testing import NodeProcess, call_service, ros_domain, wait_for, wait_for_node
from pkm_estimation.stream.books import imu_balance, leg_balance, node_balance
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.qos import HistoryPolicy, QoSProfile, ReliabilityPolicy
from rclpy.serialization import serialize_message
from sensor_msgs.msg import Imu, JointState
from std_srvs.srv import Trigger

from verification.soak.faulty_stream import ALL_FAULTS, FaultyStream, Sent

#: Hz, of IMU and legs
RATE = 1000.0
#: faults of computer, subscribers and messages, beside those of the stream
LIVE_FAULTS = (
    'long_names', 'many_joints', 'garbage', 'busy', 'node_stands_still', 'listener_stands_still', 'reset',
)  # fmt: skip
#: s, mean time between two of them, and the longest; s between two looks at the memory
_BETWEEN, _LONGEST, _LOOK = 8.0, 5.0, 1.0
#: s that the node itself stands still, at most: less than the middleware holds
_STILL = 0.8
#: a message among so many is one of those that are too large: 200 Hz
_EVERY = 5
#: publisher of messages of a megabyte: few are held
_LARGE_QOS = QoSProfile(history=HistoryPolicy.KEEP_LAST, depth=5, reliability=ReliabilityPolicy.RELIABLE)
_BUSY = 'while True: pass'
_LISTENER = """
import rclpy
from nav_msgs.msg import Odometry
from pkm_description.ros.qos import LOSSLESS_QOS
rclpy.init()
node = rclpy.create_node('listener')
node.create_subscription(Odometry, 'platform/odometry', lambda data: None, LOSSLESS_QOS, raw=True)
rclpy.spin(node)
"""


@dataclass(frozen=True)
class LiveResult:
    """What came of a run.

    Attributes
    ----------
    seconds : for how long samples were sent
    sent : messages of IMU and legs
    failed : how many more could not be published by the process that plays the sensors
    estimates : that were heard
    faults : how often each fault began
    memory : (N, 2) s and MB: resident memory of the node
    not_finite : estimates with a number that is not finite
    counters : of the node
    unbalanced : samples of IMU and legs without use and reason: on their way to the pipeline, and in it
    log : characters that the node printed
    returncode : of the node at its end
    lag : s, the largest that the node has told
    """

    seconds: float
    sent: dict[str, int]
    failed: dict[str, int]
    estimates: int
    faults: dict[str, int]
    memory: Array
    not_finite: int
    counters: dict[str, int]
    unbalanced: dict[str, int]
    log: int
    returncode: int
    lag: float

    @property
    def growth(self) -> float:
        """MB by which the largest memory of the last third is above that of the third before."""
        thirds = np.array_split(self.memory[:, 1], 3)
        return float(thirds[2].max() - thirds[1].max())

    @property
    def largest(self) -> float:
        """Largest memory [MB]."""
        return float(self.memory[:, 1].max())


class Sensors(Node):
    """Plays the sensors with faults, and listens to the node."""

    def __init__(self, machine: Machine, seed: int, kinds: Sequence[str]) -> None:
        super().__init__('soak')
        stream_kinds = [kind for kind in kinds if kind in ALL_FAULTS]
        self.machine, self.stream = machine, FaultyStream(machine, seed, RATE, stream_kinds)
        self.imu = self.create_publisher(Imu, 'imu/data_raw', RELIABLE_STREAM_QOS)
        self.legs = self.create_publisher(JointState, 'joint_states', RELIABLE_STREAM_QOS)
        self.large = self.create_publisher(JointState, 'joint_states', _LARGE_QOS)
        # nothing spins this node while samples are sent
        self._odometry = self.create_subscription(
            Odometry, 'platform/odometry', lambda data: None, LOSSLESS_QOS, raw=True
        )
        self._told = self.create_subscription(DiagnosticArray, '/diagnostics', self._note, 100)
        self.sent: Counter[str] = Counter()
        self.failed: Counter[str] = Counter()
        self.counters: dict[str, int] = {}
        self.estimates = self.not_finite = self.heard = 0
        self.lag = 0.0
        names = machine.actuated_joint_names
        each = 1_000_000 // len(names)
        self._large = {
            'long_names': JointState(name=[name + each * 'x' for name in names], position=[0.0] * len(names)),
            'many_joints': JointState(name=[f'joint_{k}' for k in range(100_000)], position=[0.0] * 100_000),
        }
        self._large_data = {name: bytes(serialize_message(message)) for name, message in self._large.items()}

    def send(self, one: Sent) -> None:
        """Publish a message of the stream."""
        if one.topic == 'imu':
            message = Imu(linear_acceleration=vector3(one.values[:3]), angular_velocity=vector3(one.values[3:]))
            self._publish('imu', self.imu, _stamped(bytes(serialize_message(message)), one.stamp))
        else:
            legs = JointState(name=one.names, position=one.values.tolist())
            self._publish('legs', self.legs, _stamped(bytes(serialize_message(legs)), one.stamp))

    def send_large(self, kind: str) -> None:
        """Publish a joint state of a megabyte and more."""
        self._publish('legs', self.large, _stamped(self._large_data[kind], self.stream.stamp))

    def send_garbage(self) -> None:
        """Publish bytes that are no message."""
        topic = ('imu', 'legs')[int(self.stream.random.integers(2))]
        data = bytes(serialize_message(JointState(name=list(self.machine.actuated_joint_names))))
        garbage = data[:20] + self.stream.random.bytes(int(self.stream.random.integers(0, 60)))
        self._publish(topic, self.imu if topic == 'imu' else self.legs, garbage)

    def send_numbers(self) -> None:
        """An empty message of each publisher: by their numbers the node sees what is lost between two of them."""
        nothing = bytes(serialize_message(JointState()))
        for topic, publisher in (('imu', self.imu), ('legs', self.legs), ('legs', self.large)):
            self._publish(topic, publisher, nothing[:4])

    def _publish(self, topic: str, publisher: Any, data: bytes) -> None:
        try:
            publisher.publish(data)
        except rclpy_implementation.RCLError:  # the middleware is overloaded: nobody will hear it
            self.failed[topic] += 1
        else:
            self.sent[topic] += 1

    def take(self) -> None:
        """Take what has arrived."""
        while (taken := self._odometry.handle.take_message(Odometry, True)) is not None:
            self.estimates += 1
            self.not_finite += not np.isfinite(np.frombuffer(taken[0][-8 * 85 :])).all()
        while (told := self._told.handle.take_message(DiagnosticArray, False)) is not None:
            self._note(told[0])

    def _note(self, array: DiagnosticArray) -> None:
        for status in array.status:
            if not status.name.startswith('/estimator'):
                continue
            values = {value.key: value.value for value in status.values}
            counters = {name[6:]: int(value) for name, value in values.items() if name.startswith('count ')}
            if counters:
                self.counters, self.heard = counters, self.heard + 1
            self.lag = max(self.lag, float(values.get('largest lag [s]', 0.0)))


def _stamped(data: bytes, stamp: int) -> bytes:
    """A serialised message with a stamp [ns]; one beyond those that a message can have is the last of them."""
    last = coded_stamp(2**31 * 10**9 - 1)
    return with_stamp(data, stamp) if stamp < 2**31 * 10**9 else data[:4] + last + data[12:]


class _Trouble:
    """Faults of computer and subscribers, one at a time.

    Parameters
    ----------
    sensors, node : that suffer
    """

    def __init__(self, sensors: Sensors, node: NodeProcess, kinds: Sequence[str]) -> None:
        self._kinds = [kind for kind in kinds if kind in LIVE_FAULTS]
        # of a few kinds alone there is always one
        self._part = 1.0 / (_BETWEEN * RATE) if len(self._kinds) == len(LIVE_FAULTS) else 1.0
        self._sensors, self._node, self._random = sensors, node, sensors.stream.random
        self.began: Counter[str] = Counter()
        self.kind, self._end, self._step = '', 0.0, 0
        self._undo: Callable[[], object] = _nothing
        self._listener = subprocess.Popen([sys.executable, '-c', _LISTENER])
        self._reset: Any = sensors.create_client(Trigger, 'estimator/reset')

    def step(self, now: float) -> None:
        """Begin, keep up or end a fault at a time [s]."""
        self._step += 1
        if self.kind and now >= self._end:
            self._undo()
            self.kind, self._undo = '', _nothing
        if self._kinds and not self.kind and self._random.random() < self._part:
            self._begin(str(self._random.choice(self._kinds)), now)
        if self.kind in ('long_names', 'many_joints') and self._step % _EVERY == 0:
            self._sensors.send_large(self.kind)
        elif self.kind == 'garbage':
            self._sensors.send_garbage()

    def _begin(self, kind: str, now: float) -> None:
        self.kind, self._end = kind, now + float(self._random.uniform(0.2, _LONGEST))
        self.began[kind] += 1
        if kind == 'busy':
            busy = [subprocess.Popen([sys.executable, '-c', _BUSY]) for _ in range(2)]
            self._undo = lambda: _kill(*busy)
        elif kind == 'node_stands_still':
            self._end = now + float(self._random.uniform(0.05, _STILL))
            self._stop(self._node.process)
        elif kind == 'listener_stands_still':
            self._stop(self._listener)
        elif kind == 'reset':
            self._reset.call_async(Trigger.Request())
            self._end = now

    def _stop(self, process: subprocess.Popen[bytes]) -> None:
        process.send_signal(signal.SIGSTOP)
        self._undo = lambda: process.send_signal(signal.SIGCONT)

    def close(self) -> None:
        """End what is on."""
        self._undo()
        _kill(self._listener)


def _nothing() -> None:
    return


def _kill(*processes: subprocess.Popen[bytes]) -> None:
    for process in processes:
        process.kill()
        process.wait()


def memory(pid: int) -> float:
    """Resident memory of a process [MB]; NaN where there is no /proc."""
    try:
        pages = int(Path(f'/proc/{pid}/statm').read_text().split()[1])
    except OSError:
        return float('nan')
    return 1e-6 * pages * os.sysconf('SC_PAGESIZE')


def live_soak(
    machine: Machine,
    seconds: float,
    seed: int = 0,
    progress: Callable[[float], None] | None = None,
    kinds: Sequence[str] = (*ALL_FAULTS, *LIVE_FAULTS),
) -> LiveResult:
    """Run the node for ``seconds`` under faults of some kinds.

    The process that plays the sensors takes real-time priority where it may, so that it is not late itself.
    """
    parameters = (f'machine:={machine.name}', 'reliability:=reliable')
    arguments = ['--ros-args', *(part for text in parameters for part in ('-p', text))]
    looks: list[tuple[float, float]] = []
    with ros_domain(), NodeProcess('pkm_estimation', 'estimator', arguments) as node:
        sensors = Sensors(machine, seed, kinds)
        wait_for_node(sensors, 'estimator', sensors.imu, sensors.legs, sensors.large)
        trouble = _Trouble(sensors, node, kinds)
        with contextlib.suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(1))
        try:
            sensors.send_numbers()
            begin = time.monotonic()
            for step in range(round(seconds * RATE)):
                due = begin + step / RATE
                time.sleep(max(0.0, due - time.monotonic()))
                for one in sensors.stream.next():
                    sensors.send(one)
                trouble.step(step / RATE)
                sensors.take()
                if step % round(_LOOK * RATE) == 0:
                    looks.append((step / RATE, memory(node.process.pid)))
                    if progress is not None:
                        progress(step / RATE)
            spent = time.monotonic() - begin
        finally:
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
            trouble.close()
        _wait_for_quiet(sensors)
        sensors.send_numbers()
        with contextlib.suppress(TimeoutError):  # reliable: what is missing is sent again, in its order
            wait_for(lambda: not any(_unbalanced(sensors).values()), 'the last message', spin=sensors)
        assert call_service(sensors, Trigger, 'estimator/reset').success  # what waits for the IMU is counted, too
        heard = sensors.heard
        wait_for(lambda: sensors.heard > heard + 1, 'the last diagnostics', spin=sensors)
        looks.append((seconds, memory(node.process.pid)))
        returncode, log = node.stop(), len(node.output)
        sensors.take()
        began = dict(sensors.stream.began + trouble.began)
        result = LiveResult(
            spent, dict(sensors.sent), dict(sensors.failed), sensors.estimates, began, np.array(looks),
            sensors.not_finite, sensors.counters, _unbalanced(sensors), log, returncode, sensors.lag,
        )  # fmt: skip
        sensors.destroy_node()
    return result


def _wait_for_quiet(sensors: Sensors) -> None:
    """Wait until the node says the same counters again."""
    said: list[dict[str, int]] = []

    def is_quiet() -> bool:
        if not said or len(said) < sensors.heard:
            said.extend([sensors.counters] * (sensors.heard - len(said)))
        return len(said) > 3 and said[-1] == said[-2] == said[-3]

    said.extend([{}] * sensors.heard)
    wait_for(is_quiet, 'the same counters again', spin=sensors)


def _unbalanced(sensors: Sensors) -> dict[str, int]:
    counters, sent = sensors.counters, sensors.sent
    return {
        'imu to the node': node_balance(counters, 'imu', sent['imu']),
        'legs to the node': node_balance(counters, 'legs', sent['legs']),
        'imu': imu_balance(counters),
        'legs': leg_balance(counters),
    }
