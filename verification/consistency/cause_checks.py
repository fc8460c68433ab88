"""Constants that are not as the file says: those of the IMU are found and taken into account, others are claimed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from pkm_description.arrays import Array
from pkm_description.kinematics.rotation import rotation_exp
from pkm_description.loading import load_machine
from pkm_description.machine import Machine
from pkm_description.motion.profiles import profile
from pkm_estimation.offline.estimate import estimate
from pkm_estimation.offline.result import EstimationResult
from pkm_estimation.sensors import SimulatedData, measure
from pkm_estimation.stream import EstimatorConfig
from scipy.signal import lfilter
from scipy.spatial.transform import Rotation

from verification.check import Check, at_least, at_most, within
from verification.consistency.state_error import pose_errors

#: whose constants are spoiled unless another machine is asked for
MACHINE = 'srs'
#: part of the seeds in which a constant must be named
NAMED = 0.9
#: s, of a run without errors, and from which on constants that motion shows must be known
GOOD, KNOWN = 600.0, 5.0
#: how often a driver gives each value of an IMU that is slower
HELD = 2, 3, 7
#: largest position error by that of an IMU which is as the file says; squares of errors by their claim, per freedom
_RATIO, _SQUARES = 1.2, (0.5, 2.0)
#: Hz, of the simulation; the IMU has every fourth of its samples, the legs every tenth
_RATE, _IMU_EVERY, _LEGS_EVERY = 1000, 4, 10
_CONFIG = EstimatorConfig(baseline=False)


Build = Callable[[Machine, int], Machine]
Sense = Callable[[SimulatedData, int], SimulatedData]


@dataclass(frozen=True)
class Case:
    """Something that is not as the machine file says.

    Attributes
    ----------
    title : in words
    duration : s
    right : names that are right, by machine and seed
    built : makes the real machine of the file's, for a seed
    sensed : makes of what it measures what its drivers send, for a seed
    is_of_imu : whether motion tells all of it; else an error of the legs that is to be claimed
    of_struts : whether it is an error of struts
    """

    title: str
    duration: float
    right: Callable[[Machine, int], tuple[str, ...]]
    built: Build = lambda machine, seed: machine
    sensed: Sense = lambda data, seed: data
    is_of_imu: bool = True
    of_struts: bool = False


def cause_checks(source: str, case: Case, seeds: int) -> Iterator[Check]:
    """What is named over the seeds, and whether the claim is right, with the default filter and nothing configured."""
    machine, named, others, ratios, squares = load_machine(source), 0, [], [], []
    for seed in range(seeds):
        data = case.sensed(_measured(machine, seed, case.duration, case.built(machine, seed)), seed)
        result = estimate(machine, data, _CONFIG)
        names = 'constants_found', 'over_confident_because'
        told = [event.detail for event in result.health.events if event.name in names]
        told += [f'likeliest cause: {finding.name}' for finding in result.health.findings[:1]]
        right = case.right(machine, seed)
        found = any(detail.removeprefix('likeliest cause: ').startswith(right) for detail in told)
        named += found
        others += [] if found else [told[-1].split(',')[0] if told else 'nothing']
        error, square = _errors(machine, data, result, seed)
        ratios.append(error / _usual(source, seed, case.duration))
        squares.append(square)
    what = f'{case.title}, {case.duration:g} s: part of {seeds} seeds in which it is named'
    yield at_least('causes', what, NAMED, named / seeds, note=f'else {", ".join(others)}' if others else '')
    if case.is_of_imu:
        what = f'{case.title}: position error from {KNOWN:g} s on, by that of an IMU as the file says'
        yield at_most('causes', what, _RATIO, ratios)
    what = f'{case.title}: squares of errors of the pose by what is claimed, per freedom, from {KNOWN:g} s on'
    if case.is_of_imu:
        yield within('causes', what, *_SQUARES, float(np.mean(squares)))
    else:
        yield at_most('causes', what, _SQUARES[1], float(np.mean(squares)))


def good_checks(source: str, seeds: int) -> Iterator[Check]:
    """False alarms on good data."""
    machine, alarms = load_machine(source), 0
    for seed in range(seeds):
        counters = estimate(machine, _measured(machine, seed, GOOD), _CONFIG).health.counters
        alarms += sum(counters.get(name, 0) for name in ('over_confident', 'constants_found', 'imu_off_prediction'))
    hours = seeds * GOOD / 3600.0
    yield at_most('causes', f'false alarms in {hours:.3g} h of good data, per hour, at most', 1.0, alarms / hours)


def held_checks(source: str, times: int, seeds: int) -> Iterator[Check]:
    """An IMU whose driver gives each value several times is as good as one that gives it once."""
    machine, duration = load_machine(source), 20.0
    for seed in range(seeds):
        data = _measured(machine, seed, duration)
        received = data.imu_received & (np.cumsum(data.imu_received) % times == 1)
        places = np.maximum.accumulate(np.where(received, np.arange(len(received)), 0))
        held = replace(data, specific_force=data.specific_force[places], angular_rate=data.angular_rate[places])
        slow = replace(data, imu_received=received)
        error, square = _errors(machine, held, estimate(machine, held, _CONFIG), seed)
        usual, _ = _errors(machine, slow, estimate(machine, slow, _CONFIG), seed)
        what = f'each value of the IMU {times} times: position error, by that of an IMU that is as slow'
        yield at_most('causes', what, 1.3, error / usual)
        yield within('causes', f'each value {times} times: squares by their claim, per freedom', *_SQUARES, square)


@cache
def _motion(name: str, seed: int, duration: float) -> Any:
    machine = load_machine(name)
    kind = 'fourier' if machine.degrees_of_freedom == 6 else 'drives'
    return profile(kind, machine, duration=duration, rate=_RATE, seed=seed)


def _measured(machine: Machine, seed: int, duration: float, of: Machine | None = None) -> SimulatedData:
    """What a machine measures, or another one ``of`` the same name along its motion."""
    data = measure(of or machine, _motion(machine.name, seed, duration), seed=seed)
    places = np.arange(len(data.stamps))
    return SimulatedData(
        data.stamps, data.drive_positions, data.specific_force, data.angular_rate,
        places % _IMU_EVERY == 0, places % _LEGS_EVERY == 0,
    )  # fmt: skip


def _errors(machine: Machine, data: SimulatedData, result: EstimationResult, seed: int) -> tuple[float, float]:
    """Root mean square of the position's error [m], and mean squares of the pose's by what is claimed, per freedom."""
    found = result.motion
    motion = _motion(machine.name, seed, (len(data.stamps) - 1) / _RATE)
    rows = np.searchsorted(data.stamps, found.stamps)
    late = rows > KNOWN * _RATE
    error = pose_errors(found, motion[rows])[late]
    precision = np.linalg.pinv(found.pose_covariance[late], rcond=1e-12, hermitian=True)
    squares = float(np.einsum('ni,nij,nj->n', error, precision, error).mean())
    return float(np.sqrt(np.square(error[:, :3]).sum(axis=1).mean())), squares / machine.degrees_of_freedom


@cache
def _usual(source: str, seed: int, duration: float) -> float:
    machine = load_machine(source)
    data = _measured(machine, seed, duration)
    return _errors(machine, data, estimate(machine, data, _CONFIG), seed)[0]


# -- what is not as it should be ---------------------------------------------------------------------------------------


def _late(seconds: float) -> Sense:
    def late(data: SimulatedData, seed: int) -> SimulatedData:
        shift, received = round(seconds * _RATE), data.imu_received.copy()
        received[: abs(shift)] = received[len(received) - abs(shift) :] = False
        force, rate = (np.roll(values, shift, axis=0) for values in (data.specific_force, data.angular_rate))
        return replace(data, specific_force=force, angular_rate=rate, imu_received=received)

    return late


def _mounted(degrees: float = 0.0, metres: float = 0.0, also: int = 0) -> Build:
    """An IMU that is turned and elsewhere, by this much in a direction of the seed, the turn in that of a later one."""

    def build(machine: Machine, seed: int) -> Machine:
        turn = rotation_exp(np.deg2rad(degrees) * _direction(seed + also))
        return replace(machine, imu=replace(
            machine.imu, position=machine.imu.position + metres * _direction(seed),
            rotation_platform_imu=turn @ machine.imu.rotation_platform_imu,
        ))  # fmt: skip

    return build


def _of_both(change: Callable[[Array], Array], of_rate: Callable[[Array], Array] | None = None) -> Sense:
    """Samples (N, 3) of the accelerometer, and of the gyroscope, changed alike unless both are given."""
    return lambda data, seed: replace(
        data, specific_force=change(data.specific_force), angular_rate=(of_rate or change)(data.angular_rate)
    )


def _filtered(hertz: float) -> Sense:
    """The IMU through a low-pass of one pole."""
    kept = np.exp(-2.0 * np.pi * hertz / _RATE)
    return _of_both(lambda values: lfilter([1.0 - kept], [1.0, -kept], values, axis=0, zi=kept * values[:1])[0])


def _heavy(machine: Machine, seed: int) -> Machine:
    return replace(machine, gravity=1.003 * machine.gravity)


def _tilted(machine: Machine, seed: int) -> Machine:
    across = np.cross(_direction(seed), [0.0, 0.0, 1.0])
    tilt = rotation_exp(np.radians(2.0) * across / np.linalg.norm(across))
    return replace(machine, gravity=tilt @ machine.gravity)


def _misaligned(force: Array, rate: Array) -> Sense:
    """Samples of both sensors times matrices (3, 3)."""
    return _of_both(lambda values: values @ force.T, lambda values: values @ rate.T)


def _bent(seed: int) -> Array:
    """Axes that are 0.5 % off: scaled, and not at right angles."""
    return np.asarray(np.eye(3) + 5e-3 * np.random.default_rng(seed).normal(size=(3, 3)))


def _skewed(values: Array) -> Array:
    """The IMU's clock is 20 ppm fast: its stamps, of samples in between, are those of the legs."""
    elapsed = np.arange(len(values)) / _RATE
    return np.column_stack([np.interp(elapsed / (1.0 + 2e-5), elapsed, column) for column in values.T])


def _offset(size: float, speed: float = 0.0, scale: float = 0.0, late: int = 0) -> Sense:
    """Positions of one drive that are off, drift, are too large by a part of them, or ``late`` ms."""

    def offset(data: SimulatedData, seed: int) -> SimulatedData:
        positions = data.drive_positions.copy()
        leg = seed % positions.shape[1]
        read = np.concatenate([np.repeat(positions[0, leg], late), positions[: len(positions) - late, leg]])
        positions[:, leg] = (1.0 + scale) * read + size + speed * np.arange(len(positions)) / _RATE
        return replace(data, drive_positions=positions)

    return offset


def _played(backlash: float) -> Sense:
    """What is measured follows each drive through a gear with backlash."""

    def played(data: SimulatedData, seed: int) -> SimulatedData:
        positions = data.drive_positions.copy()
        for before, now in pairwise(positions):
            now[:] = np.clip(before, now - 0.5 * backlash, now + 0.5 * backlash)
        return replace(data, drive_positions=positions)

    return played


def _moved(machine: Machine, seed: int) -> Machine:
    """A joint centre of a leg is elsewhere by a millimetre, on the base or on the platform."""
    index, move = seed % machine.actuated_count, 1e-3 * _direction(seed)
    leg = machine.legs[index]
    if seed % 2:
        joint = replace(leg.joints[0], translation=leg.joints[0].translation + move)
        leg = replace(leg, joints=(joint, *leg.joints[1:]))
    else:
        end = leg.platform_closures[0]
        other = replace(end, other_point=end.other_point + move)
        leg = replace(leg, closures=tuple(other if closure is end else closure for closure in leg.closures))
    return replace(machine, legs=(*machine.legs[:index], leg, *machine.legs[index + 1 :]))


def _direction(seed: int) -> Array:
    return np.asarray(Rotation.random(random_state=seed).apply([1.0, 0.0, 0.0]))


def _is(*names: str) -> Callable[[Machine, int], tuple[str, ...]]:
    return lambda machine, seed: names


def _of_leg(machine: Machine, seed: int) -> tuple[str, ...]:
    leg = seed % machine.actuated_count
    names = [f'{what} of {machine.drive_labels[leg]}' for what in ('offset', 'drift', 'scale', 'lateness')]
    return (*names, f'geometry of {machine.legs[leg].name}')


_DELAY, _MOUNTING, _PLACE = _is('delay of the IMU'), _is('mounting of the IMU'), _is('place of the IMU')

CASES = (
    *(Case(f'IMU {ms:g} ms late', 20.0, _DELAY, sensed=_late(1e-3 * ms)) for ms in (-5, 1, 2, 5, 10, 20)),
    *(Case(f'IMU turned by {angle:g} degrees', 20.0, _MOUNTING, _mounted(angle)) for angle in (0.5, 2, 5)),
    *(Case(f'IMU {mm:g} mm off its place', 20.0, _PLACE, _mounted(0.0, 1e-3 * mm)) for mm in (10, 50)),
    *(Case(f'IMU with a low-pass of {hertz:g} Hz', 20.0, _is('delay of the IMU', 'low-pass'), sensed=_filtered(hertz))
      for hertz in (98, 44, 21)),
    Case('IMU 8 ms late, turned by 2 degrees, 37 mm off', 20.0, _is('delay', 'mounting', 'place'),
         _mounted(2.0, 0.037, 1), _late(0.008)),
    Case('gravity 0.3 % larger', 20.0, _is('gravity'), _heavy),
    Case('base 2 degrees off level', 20.0, _is('base is not level'), _tilted),
    Case('accelerometer 0.5 % too much', 20.0, _is('scale or axes'), sensed=_misaligned(1.005 * np.eye(3), np.eye(3))),
    Case('gyroscope 1 % too much', 20.0, _is('scale or axes'), sensed=_misaligned(np.eye(3), 1.01 * np.eye(3))),
    Case('axes of both sensors 0.5 % off', 20.0, _is('scale or axes'), sensed=_misaligned(_bent(0), _bent(1))),
    Case('clocks 20 ppm apart', 60.0, _is('clock skew', 'delay'), sensed=_of_both(_skewed)),
    Case('a leg 5 mm off', 30.0, _of_leg, sensed=_offset(5e-3), is_of_imu=False),
    Case('a leg 0.5 mm off', 30.0, _of_leg, sensed=_offset(5e-4), is_of_imu=False),
    Case('a leg drifts by 0.1 mm/s', 60.0, _of_leg, sensed=_offset(0.0, 1e-4), is_of_imu=False),
    Case('a leg drifts by 0.01 mm/s', 60.0, _of_leg, sensed=_offset(0.0, 1e-5), is_of_imu=False),
    Case('a leg 0.2 % too long', 30.0, _of_leg, sensed=_offset(0.0, scale=2e-3), is_of_imu=False),
    Case('a leg read 2 ms late', 30.0, _of_leg, sensed=_offset(0.0, late=2), is_of_imu=False),
    Case('drives with a backlash of 0.03 mm', 30.0, _is('backlash'), sensed=_played(3e-5), is_of_imu=False),
    Case('a joint centre 1 mm off', 60.0, _of_leg, _moved, is_of_imu=False, of_struts=True),
)  # fmt: skip


def cases_of(source: str) -> tuple[Case, ...]:
    """Cases that a machine can have."""
    struts = load_machine(source).drives_are_struts
    return tuple(case for case in CASES if struts or not case.of_struts)
