"""Faults that only a running node has: of the computer, of its subscribers, and messages that are too large."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

from node_processes import NodeProcess
from std_srvs.srv import Trigger

from verification.soak.live_sensors import RATE, Sensors

#: faults of computer, subscribers and messages, beside those of the stream
LIVE_FAULTS = (
    'long_names', 'many_joints', 'garbage', 'busy', 'node_stands_still', 'listener_stands_still', 'reset',
)  # fmt: skip
#: s, mean time between two of them, and the longest
_BETWEEN, _LONGEST = 8.0, 5.0
#: s that the node itself stands still, at most: less than the middleware holds
_STILL = 0.8
#: a message among so many is one of those that are too large: 200 Hz
_EVERY = 5
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


class Trouble:
    """Faults of computer and subscribers, one at a time.

    Parameters
    ----------
    sensors, node : that suffer
    """

    def __init__(self, sensors: Sensors, node: NodeProcess) -> None:
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
        if not self.kind and self._random.random() * _BETWEEN * RATE < 1.0:
            self._begin(str(self._random.choice(LIVE_FAULTS)), now)
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
