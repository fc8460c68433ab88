"""Prepared messages, sent as bytes at the times at which they are due, and when the results of a node arrive."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from pkm_description.ros.qos import LOSSLESS_QOS
from pkm_description.ros.serialized import read_stamp, with_stamp
from rclpy.node import Node

#: s that are waited for the last results; sentences of /diagnostics that are printed
_PATIENCE, _MOST_TOLD = 20.0, 5


class TimedSender(Node):
    """Plays the sensors, and listens: as little work as a driver in C++ makes.

    Parameters
    ----------
    name : of the node
    rate : Hz, of steps
    result_type, result_topic : what is listened to

    Attributes
    ----------
    sent : ns, when the messages with a stamp were sent
    stamps, arrivals : ns, of the results, and when the middleware had them
    diagnoses : what nodes said of themselves
    """

    def __init__(self, name: str, rate: float, result_type: type, result_topic: str) -> None:
        super().__init__(name)
        self.interval = round(1e9 / rate)
        self.sent: dict[int, int] = {}
        self.stamps: list[int] = []
        self.arrivals: list[int] = []
        self._result_type, self._result_topic = result_type, result_topic
        self._later: dict[int, Callable[[], object]] = {}
        self.diagnoses: list[DiagnosticArray] = []
        # nothing spins this node while samples are sent: take fetches what came
        self._results = self.create_subscription(result_type, result_topic, lambda data: None, LOSSLESS_QOS, raw=True)
        self._diagnoses = self.create_subscription(DiagnosticArray, '/diagnostics', self.diagnoses.append, 100)

    @property
    def speaks(self) -> bool:
        """Whether somebody publishes results."""
        return self.count_publishers(self._result_topic) > 0

    def take(self) -> None:
        """Take all results and diagnostics that have arrived."""
        while (taken := self._results.handle.take_message(self._result_type, True)) is not None:
            data, info = taken
            self.stamps.append(read_stamp(data))
            self.arrivals.append(info['received_timestamp'])
        while (told := self._diagnoses.handle.take_message(DiagnosticArray, False)) is not None:
            self.diagnoses.append(told[0])

    def warnings(self, *parts: str) -> Iterator[str]:
        """What a node said of its parts that is no good news, each once, the first ones."""
        heard: dict[str, None] = {}
        for status in (one for array in self.diagnoses for one in array.status):
            part = status.name.split(': ')[-1]
            if part in parts and status.level > b'\0':
                heard[f'{part}: {status.message}'] = None
        yield from list(heard)[:_MOST_TOLD]
        if len(heard) > _MOST_TOLD:
            yield f'... and {len(heard) - _MOST_TOLD} more'

    def at(self, seconds: float, action: Callable[[], object]) -> None:
        """Do something so long after the first step."""
        self._later[round(1e9 * seconds / self.interval)] = action

    def send(self, publishers: Sequence[Any], steps: Sequence[Sequence[bytes]], expected: int) -> None:
        """Send one message by each publisher in each step, all with the stamp at which they are due; take the results.

        Ends when as many results as ``expected`` have come, or 20 s after the last step.
        """
        begin = time.time_ns() + 10_000_000
        for number, messages in enumerate(steps):
            due = begin + number * self.interval
            time.sleep(max(0.0, (due - time.time_ns()) * 1e-9))
            if number in self._later:
                self._later.pop(number)()
            stamped = [with_stamp(data, due) for data in messages]
            self.sent[due] = time.time_ns()
            for publisher, data in zip(publishers, stamped, strict=True):
                publisher.publish(data)
            self.take()
        deadline = time.monotonic() + _PATIENCE
        while len(self.stamps) < expected and time.monotonic() < deadline:
            time.sleep(0.01)
            self.take()


def processor_time(pid: int) -> float:
    """Processor time of a process so far [s]; NaN where there is no /proc."""
    try:
        fields = Path(f'/proc/{pid}/stat').read_text().rsplit(')', 1)[1].split()
    except OSError:
        return float('nan')
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')
