"""What is wrong with sensors or machine for long: is there an alarm, and is the cause named; none on good data."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from pkm_description.arrays import Array
from pkm_description.loading import load_machine
from pkm_description.machine import Machine, PlatformMotion
from pkm_description.machine.sensors import MEMS_ACCELEROMETER_WALK, MEMS_GYROSCOPE_WALK
from pkm_description.motion.profiles import drives_profile
from pkm_estimation.offline.estimate import estimate
from pkm_estimation.sensors import SensorConditions, SimulatedData, simulate_sensors
from pkm_estimation.stream import EstimatorConfig
from pkm_estimation.stream.health import HealthReport
from scipy.spatial.transform import Rotation

from verification.check import Check, at_most, short_of
from verification.consistency.scenarios import RATE, sines

#: part of the seeds in which a cause must be named first
NAMED = 0.9
#: s, of a run without errors
GOOD = 600.0
#: whose motion is sines of all coordinates; that of other machines is sines of the drives
MACHINE = 'srs'
#: Hz, of the motion
_FREQUENCY = 0.5


@dataclass(frozen=True)
class Case:
    """Something wrong.

    Attributes
    ----------
    title : in words
    duration : s, after which its cause must be named
    spoil : of a machine, a seed and the run's duration makes what is measured
    right : names that are right, by machine and seed
    of_struts : whether it is an error of struts
    """

    title: str
    duration: float
    spoil: Callable[[Machine, int, float], SimulatedData]
    right: Callable[[Machine, int], tuple[str, ...]]
    of_struts: bool = False


def cause_checks(source: str, case: Case, seeds: int) -> Iterator[Check]:
    """Names of the first cause over the seeds; the IMU is not left out, so that it is the innovations that tell."""
    machine, config = load_machine(source), EstimatorConfig(baseline=False, legs_alone=False)
    named, others = 0, []
    for seed in range(seeds):
        first = _first(estimate(machine, case.spoil(machine, seed, case.duration), config).health)
        if first in case.right(machine, seed):
            named += 1
        else:
            others.append(first or 'no alarm')
    also = f'; else {", ".join(others)}' if others else ''
    yield short_of(
        'causes', f'{case.title}, {case.duration:g} s: the cause that is named first',
        f'right in {NAMED:.0%} of {seeds} seeds', f'{named} of {seeds}{also}', named >= NAMED * seeds, True,
        'another cause that looks nearly alike explains as much',
    )  # fmt: skip


def good_checks(source: str, seeds: int) -> Iterator[Check]:
    """False alarms on good data."""
    machine, alarms = load_machine(source), 0
    for seed in range(seeds):
        health = estimate(machine, _measured(machine, seed, GOOD), EstimatorConfig(baseline=False)).health
        alarms += health.counters.get('over_confident', 0) + health.counters.get('imu_off_prediction', 0)
    hours = seeds * GOOD / 3600.0
    yield at_most('causes', f'false alarms in {hours:.3g} h of good data, per hour, at most', 1.0, alarms / hours)


def _first(health: HealthReport) -> str:
    return health.findings[0].name if health.lasting and health.findings else ''


def _measured(machine: Machine, seed: int, duration: float, slow_down: float = 0.0, **conditions: Any) -> SimulatedData:
    """Sines with other phases for each seed; the IMU's clock may run slower."""
    time, phase = np.arange(round(duration * RATE)) / RATE, np.random.default_rng(seed).uniform(0.0, 2.0 * np.pi)
    errors = SensorConditions(**conditions)
    moves: Callable[[Array], PlatformMotion] = partial(sines, machine, _FREQUENCY, phase=phase)
    if machine.name != MACHINE:
        moves = drives_profile(machine, duration + 10.0, seed).evaluate

    def sensed(factor: float) -> SimulatedData:
        return simulate_sensors(machine, lambda at: moves(factor * np.asarray(at)), time, errors, seed)

    data = sensed(1.0)
    if slow_down:
        late = sensed(1.0 - slow_down)
        data = replace(data, specific_force=late.specific_force, angular_rate=late.angular_rate)
    return data


def _with(**conditions: Any) -> Callable[[Machine, int, float], SimulatedData]:
    return lambda machine, seed, duration: _measured(machine, seed, duration, **conditions)


def _turned(machine: Machine, seed: int, duration: float) -> SimulatedData:
    x, y, z = np.deg2rad(2.0) * _direction(seed)
    return _measured(machine, seed, duration, imu_misalignment=(x, y, z))


def _heavy(machine: Machine, seed: int, duration: float) -> SimulatedData:
    return _measured(replace(machine, gravity=1.005 * machine.gravity), seed, duration)


def _walking(machine: Machine, seed: int, duration: float) -> SimulatedData:
    data = _measured(machine, seed, duration)
    steps = np.random.default_rng([seed, 1]).normal(size=(len(data.stamps), 6)) / RATE**0.5
    biases = np.cumsum(steps * np.repeat([MEMS_ACCELEROMETER_WALK, MEMS_GYROSCOPE_WALK], 3), axis=0)
    return replace(
        data, specific_force=data.specific_force + biases[:, :3], angular_rate=data.angular_rate + biases[:, 3:]
    )


def _scaled(machine: Machine, seed: int, duration: float) -> SimulatedData:
    data = _measured(machine, seed, duration)
    return replace(data, specific_force=1.01 * data.specific_force)


def _offset(size: float) -> Callable[[Machine, int, float], SimulatedData]:
    def spoil(machine: Machine, seed: int, duration: float) -> SimulatedData:
        offsets = np.zeros(machine.actuated_count)
        offsets[_leg(machine, seed)] = size
        return _measured(machine, seed, duration, leg_offsets=tuple(offsets))

    return spoil


def _drift(speed: float) -> Callable[[Machine, int, float], SimulatedData]:
    def spoil(machine: Machine, seed: int, duration: float) -> SimulatedData:
        data = _measured(machine, seed, duration)
        positions = data.drive_positions.copy()
        positions[:, _leg(machine, seed)] += speed * np.arange(len(positions)) / RATE
        return replace(data, drive_positions=positions)

    return spoil


def _moved(machine: Machine, seed: int, duration: float) -> SimulatedData:
    """A joint centre of a leg is elsewhere by a millimetre, on the base or on the platform."""
    index, move = _leg(machine, seed), 1e-3 * _direction(seed)
    leg = machine.legs[index]
    if seed % 2:
        joint = replace(leg.joints[0], translation=leg.joints[0].translation + move)
        leg = replace(leg, joints=(joint, *leg.joints[1:]))
    else:
        end = leg.platform_closures[0]
        other = replace(end, other_point=end.other_point + move)
        leg = replace(leg, closures=tuple(other if closure is end else closure for closure in leg.closures))
    legs = (*machine.legs[:index], leg, *machine.legs[index + 1 :])
    return _measured(replace(machine, legs=legs), seed, duration)


def _direction(seed: int) -> Array:
    return np.asarray(Rotation.random(random_state=seed).apply([1.0, 0.0, 0.0]))


def _leg(machine: Machine, seed: int) -> int:
    return seed % machine.actuated_count


def _is(name: str) -> Callable[[Machine, int], tuple[str, ...]]:
    return lambda machine, seed: (name,)


def _of_leg(*kinds: str) -> Callable[[Machine, int], tuple[str, ...]]:
    return lambda machine, seed: tuple(f'{kind} of {machine.drive_labels[_leg(machine, seed)]}' for kind in kinds)


CASES = (
    Case('IMU 12 ms late', 45.0, _with(imu_delay=0.012), _is('delay of the IMU')),
    Case('IMU turned by 2 degrees', 45.0, _turned, _is('mounting of the IMU')),
    Case('gravity 0.5 % larger', 45.0, _heavy, _is('gravity')),
    Case('biases walk as of a MEMS IMU, said to be constant', 45.0, _walking, _is('bias walk')),
    Case('accelerometer 1 % too much', 45.0, _scaled, _is('scale or units of the accelerometer')),
    Case('clocks 20 ppm apart', 100.0, _with(slow_down=2e-5), _is('clock skew')),
    Case('a leg 5 mm off', 45.0, _offset(5e-3), _of_leg('offset')),
    Case('a leg 0.5 mm off', 75.0, _offset(5e-4), _of_leg('offset')),
    Case('a leg drifts by 0.1 mm/s', 60.0, _drift(1e-4), _of_leg('drift')),
    Case('a leg drifts by 0.01 mm/s', 75.0, _drift(1e-5), _of_leg('drift')),
    # along the leg they are one
    Case('a joint centre 1 mm off', 75.0, _moved, _of_leg('geometry', 'offset'), of_struts=True),
)


def cases_of(source: str) -> tuple[Case, ...]:
    """Cases that a machine can have."""
    struts = load_machine(source).drives_are_struts
    return tuple(case for case in CASES if struts or not case.of_struts)
