"""The running estimator node at 1 kHz under faults of sensors, messages, computer and subscribers.

A process plays the sensors, over real topics. Beside the faults of :mod:`~verification.soak.faulty_stream` there are
those that only a running node has (:mod:`~verification.soak.live_trouble`). Memory of the node and its books are
followed: every message that was sent was received by its pipeline, or is counted under one reason.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from node_processes import NodeProcess, call_service, ros_domain, wait_for, wait_for_node
from pkm_description.arrays import Array
from pkm_description.machine import Machine
from std_srvs.srv import Trigger

from verification.soak.balance import imu_balance, leg_balance, node_balance
from verification.soak.live_sensors import RATE, Sensors
from verification.soak.live_trouble import Trouble

#: s between two looks at the memory
_LOOK = 1.0
#: characters of the node's output that are shown where it did not end well
_TOLD = 6000
#: messages at the end, and s until the next one, for the books to balance
_LAST_MESSAGES, _PATIENCE = 4, 30.0


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
        """MB by which the usual (median) memory of the last third is above that of the third before."""
        thirds = np.array_split(self.memory[:, 1], 3)
        return float(np.median(thirds[2]) - np.median(thirds[1]))

    @property
    def largest(self) -> float:
        """Largest memory [MB]."""
        return float(self.memory[:, 1].max())


def memory(pid: int) -> float:
    """Resident memory of a process [MB]; NaN where there is no /proc."""
    try:
        pages = int(Path(f'/proc/{pid}/statm').read_text().split()[1])
    except OSError:
        return float('nan')
    return 1e-6 * pages * os.sysconf('SC_PAGESIZE')


def live_soak(machine: Machine, seconds: float, seed: int) -> LiveResult:
    """Run the node for ``seconds`` under faults of all kinds.

    The process that plays the sensors takes real-time priority where it may, so that it is not late itself.
    """
    parameters = (f'machine:={machine.name}', 'reliability:=reliable', 'maximum_lag:=0.5')
    arguments = ['--ros-args', *(part for text in parameters for part in ('-p', text))]
    looks: list[tuple[float, float]] = []
    with ros_domain(), NodeProcess('pkm_estimation', 'estimator', arguments) as node:
        sensors = Sensors(machine, seed)
        wait_for_node(sensors, 'estimator', sensors.imu, sensors.legs, sensors.large)
        trouble = Trouble(sensors, node)
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
            spent = time.monotonic() - begin
        finally:
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
            trouble.close()
        _wait_for_quiet(sensors)
        for _ in range(_LAST_MESSAGES):
            # what is lost is counted at the next message, and the last one may come while the node subscribes anew
            sensors.send_numbers()
            with contextlib.suppress(TimeoutError):  # reliable: what is missing is sent again, in its order
                wait_for(lambda: not any(_unbalanced(sensors).values()), 'the last message', _PATIENCE, sensors)
                break
        assert call_service(sensors, Trigger, 'estimator/reset').success  # what waits for the IMU is counted, too
        heard = sensors.heard
        wait_for(lambda: sensors.heard > heard + 1, 'the last diagnostics', spin=sensors)
        looks.append((seconds, memory(node.process.pid)))
        returncode, log = node.stop(), len(node.output)
        if returncode:  # where it hung or crashed stands at the end
            print(node.output[-_TOLD:], file=sys.stderr)
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
