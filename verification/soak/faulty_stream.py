"""Messages of IMU and legs with random faults: values, names, stamps, losses and delays."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np
from pkm_description.arrays import Array
from pkm_description.machine import Machine
from pkm_description.motion.profiles import mp1
from pkm_estimation.sensors import ImuFault, measure
from pkm_estimation.sensors.conditions import IMU_FAULTS

from verification.consistency.leg_fault_checks import LEG_FAULTS, FaultyLeg

#: s, period of MP1
PERIOD = 5.0
#: s: mean time between faults in one phase after the other, how long a phase is, the longest fault: an IMU that failed
#: again and again is not used again before a long time without faults
_BETWEEN, _PHASE, _LONGEST = (1.5, 1.5, 1.5, 15.0), 40.0, 1.0

ALL_LEGS_FAULTS = ('burst', 'jump', 'all_stuck', 'shuffled_names', 'twice_the_same_name', 'too_few', 'wrong_count')
SAMPLE_FAULTS = ('imu_spike', 'imu_nan', 'imu_stuck', 'imu_huge', 'imu_lost')
#: what a sensor or its driver does to all samples, by its name there
SENSOR_FAULTS = {f'imu_{kind}': kind for kind in IMU_FAULTS if kind != 'frozen'}
STAMP_FAULTS = (
    'zero', 'repeated', 'backward', 'far_future', 'legs_lost', 'imu_gap', 'jitter', 'clock_reset', 'late_legs',
    'late_imu',
)  # fmt: skip
ALL_FAULTS = LEG_FAULTS + ALL_LEGS_FAULTS + SAMPLE_FAULTS + tuple(SENSOR_FAULTS) + STAMP_FAULTS
#: part of the largest angular rate at which the IMU clips; no file says so
_CLIPPED = 0.7
#: s, standard deviation of stamps that jitter
_JITTER = 3e-4


class _Messages:
    """Noisy messages of a periodic motion, with faults."""

    def __init__(self, machine: Machine, seed: int, rate: float) -> None:
        self.random = np.random.default_rng(seed)
        self.names = list(machine.actuated_joint_names)
        count = round(PERIOD * rate)
        self.motion = mp1(machine, duration=30.0, rate=rate)[slice(2 * count, 3 * count)]  # after its fade in
        ideal = measure(machine, self.motion, seed=None)
        self.positions = ideal.drive_positions
        self.imu = np.hstack([ideal.specific_force, ideal.angular_rate])
        self._leg_noise = machine.leg_sensors.position_noise
        self._imu_noise = np.concatenate([machine.imu.accelerometer_noise, machine.imu.gyroscope_noise])
        rotation = self.motion.rotation_base_platform @ machine.imu.rotation_platform_imu
        self._gravity = machine.gravity @ rotation
        self._ranges = np.inf, float(_CLIPPED * np.abs(ideal.angular_rate).max())
        self._ends = np.array([(j.limits.lower, j.limits.upper) for j in machine.actuated_joints])
        self.fault = ''
        self._leg, self._other, self._size = 0, 1, 0.0

    def begin(self, fault: str, index: int) -> None:
        """Choose legs and sizes of a fault."""
        self.fault = fault
        self._leg, self._other = self.random.choice(len(self.names), 2, replace=False)
        self._size = self.random.choice([-1.0, 1.0]) * 10.0 ** self.random.uniform(-4.0, -0.5)
        self._value, self._imu_value = self.positions[index].copy(), self.imu[index].copy()

    def legs(self, index: int) -> tuple[list[str], Array]:
        """Names and positions."""
        random, fault, leg, size = self.random, self.fault, self._leg, self._size
        names = list(self.names)
        x = self.positions[index] + self._leg_noise * random.normal(size=len(names))
        if fault in LEG_FAULTS:
            faulty = FaultyLeg(fault, leg, self._other, size, self._value[leg], self._ends[leg, 1])
            return faulty.spoil(names, x, random)
        if fault == 'burst':
            x += abs(size) * random.normal(size=len(x))
        elif fault == 'jump':
            x += size
        elif fault == 'all_stuck':
            x = self._value.copy()
        elif fault == 'shuffled_names':
            order = random.permutation(len(names))
            names, x = [names[k] for k in order], x[order]
        elif fault == 'twice_the_same_name':
            names[0] = names[1]
        elif fault == 'too_few':
            names, x = names[:2], x[:2]
        elif fault == 'wrong_count':
            x = x[:-1]
        return names, x

    def inertial(self, index: int) -> Array:
        """IMU sample (6,)."""
        random, fault = self.random, self.fault
        value = self.imu[index] + self._imu_noise * random.normal(size=6)
        if fault == 'imu_spike' and random.random() < 0.1:
            value += 100.0 * random.normal(size=6)
        elif fault == 'imu_nan':
            value[random.integers(6)] = np.nan
        elif fault == 'imu_stuck':
            value = self._imu_value.copy()
        elif fault == 'imu_huge':
            value = 1e6 * random.normal(size=6)
        elif fault in SENSOR_FAULTS:
            failure = ImuFault(SENSOR_FAULTS[fault], ranges=self._ranges)
            value = failure.apply(value[None], np.zeros(1), self._gravity[index : index + 1])[0]
        return value


class Sent(NamedTuple):
    """Message of a topic: ``imu`` has six numbers as value, ``legs`` has names and positions."""

    topic: str
    stamp: int
    names: list[str]
    values: Array


class FaultyStream:
    """Messages of both topics, sample by sample, with random faults, each kind once before one comes again.

    Parameters
    ----------
    machine, seed : of the motion, and of noise and faults
    rate : Hz, of both topics
    pace : faults are so many times as often and as short

    Attributes
    ----------
    random : all that is random comes from it
    stamp : ns, of the sample
    position : (3,) m, true position of the platform
    true_stamps : ns, at which it is there by the clocks of its sensors
    fault : the one that is on, or empty
    is_clean : whether the last fault has ended two seconds ago
    began : how often each fault began
    """

    def __init__(self, machine: Machine, seed: int, rate: float, pace: int = 1) -> None:
        self._pace = pace
        self._ahead: list[str] = []
        self._messages, self._rate, self._interval = _Messages(machine, seed, rate), rate, round(1e9 / rate)
        self.random = self._messages.random
        self.stamp, self._step, self._left, self._healthy_since = 10**9, -1, 0, 0
        self.position = self._messages.motion.position[0]
        self.true_stamps: tuple[int, ...] = (self.stamp,)
        self.began: Counter[str] = Counter()
        self._delayed: list[tuple[int, Sent]] = []

    @property
    def fault(self) -> str:
        """The fault that is on, or empty."""
        return self._messages.fault

    @property
    def is_clean(self) -> bool:
        """Whether the last fault has ended two seconds ago."""
        return not self.fault and self._step > self._healthy_since + round(2.0 * self._rate)

    def next(self) -> list[Sent]:
        """Messages that arrive with the next sample; a restart of the clock shows in ``stamp``."""
        messages, random, interval = self._messages, self.random, self._interval
        self._step, self.stamp = self._step + 1, self.stamp + interval
        step, index = self._step, self._step % len(messages.motion)
        if self._left == 0 and messages.fault:
            messages.fault, self._healthy_since = '', step
        pace = self._pace
        between = _BETWEEN[pace * step // round(_PHASE * self._rate) % len(_BETWEEN)] * self._rate
        if self._left == 0 and random.random() * between < pace:
            self._ahead = self._ahead or [str(name) for name in random.permutation(ALL_FAULTS)]
            fault, self._left = self._ahead.pop(), int(random.integers(1, round(_LONGEST * self._rate) // pace))
            self.began[fault] += 1
            messages.begin(fault, index)
            if fault == 'clock_reset':
                self.stamp = 10**9 + int(random.integers(10**9))
        self._left = max(0, self._left - 1)
        fault, stamp = messages.fault, self.stamp
        self.position = messages.motion.position[index]
        leg_stamp = imu_stamp = stamp
        if fault in ('zero', 'repeated', 'backward', 'far_future') and random.random() < 0.5:
            wrong = {'zero': 0, 'repeated': stamp - interval, 'backward': stamp - 7 * interval}.get(fault, 4 * 10**18)
            leg_stamp, imu_stamp = (wrong, stamp) if random.random() < 0.5 else (stamp, wrong)
        self.true_stamps = (stamp,)
        if fault == 'jitter':
            leg_stamp, imu_stamp = (stamp + round(1e9 * _JITTER * random.normal()) for _ in range(2))
            self.true_stamps = stamp, leg_stamp
        value, (names, x) = messages.inertial(index), messages.legs(index)
        sent: list[Sent] = []
        for one, lost, late in (
            (Sent('imu', imu_stamp, [], value), 'imu_lost', 'late_imu'),
            (Sent('legs', leg_stamp, names, x), 'legs_lost', 'late_legs'),
        ):
            if (fault == lost and random.random() < 0.7) or (fault == 'imu_gap' and lost == 'imu_lost'):
                continue
            wait = int(random.integers(0, 15)) if fault == late else 0
            if wait:
                self._delayed.append((step + wait, one))
            else:
                sent.append(one)
        sent += [one for due, one in self._delayed if due <= step]
        self._delayed = [(due, one) for due, one in self._delayed if due > step]
        return sent
