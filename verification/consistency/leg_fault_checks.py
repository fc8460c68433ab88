"""Each leg fails in turn on a moving machine: is it named, and is the estimate without it accurate and consistent."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from pkm_description.arrays import Array
from pkm_description.machine import Machine, PlatformMotion
from pkm_estimation.exchange.health import Event
from pkm_estimation.models import STATE_SIZE
from pkm_estimation.sensors import measure
from pkm_estimation.stream import EstimatorConfig, EstimatorPipeline

from verification.check import Check, at_most, holds
from verification.consistency.monte_carlo import ERROR_INTERVAL, Normalised, normalised_check
from verification.consistency.scenarios import RATE, scenario_of
from verification.consistency.state_error import normalised_error_squared, state_error

LEG_FAULTS = ('offset', 'spikes', 'stuck', 'end_of_stroke', 'swapped', 'millimetres', 'not_a_number', 'missing_name')

#: part of the samples that are spikes, and their size [m]
_SPIKE_PART, _SPIKE = 0.3, 0.1


@dataclass(frozen=True)
class FaultyLeg:
    """A fault from now on.

    Attributes
    ----------
    kind : one of :data:`LEG_FAULTS`
    leg, other : which leg; the one that it is swapped with
    offset : m
    held : m, where it is stuck
    end : m, of its stroke
    """

    kind: str
    leg: int
    other: int = -1
    offset: float = 0.0
    held: float = 0.0
    end: float = 0.0

    def spoil(self, names: list[str], positions: Array, random: np.random.Generator) -> tuple[list[str], Array]:
        """Names and positions (L,) as the faulty sensor sends them; the input is not changed."""
        kind, leg, x = self.kind, self.leg, positions.copy()
        if kind == 'offset':
            x[leg] += self.offset
        elif kind == 'spikes' and random.random() < _SPIKE_PART:
            x[leg] += random.choice([-_SPIKE, _SPIKE])
        elif kind == 'stuck':
            x[leg] = self.held
        elif kind == 'end_of_stroke':
            x[leg] = self.end
        elif kind == 'swapped':
            x[[leg, self.other]] = x[[self.other, leg]]
        elif kind == 'millimetres':
            x[leg] *= 1e3
        elif kind == 'not_a_number':
            x[leg] = random.choice([np.nan, np.inf, -np.inf, 1e300])
        elif kind == 'missing_name':
            return names[:leg] + names[leg + 1 :], np.delete(x, leg)
        return names, x


#: s of good samples before the fault, and limits: s until the leg is named, m of the position's error
_BEFORE, NAMED_WITHIN, LARGEST_ERROR = 8.0, 0.05, 0.2e-3
#: noise deviations by which a measurement must be off for the time to count: a stuck leg is right until it should move
_WRONG = 10.0


@dataclass(frozen=True)
class FaultCase:
    """A fault and the reasons by which it may be named.

    Attributes
    ----------
    title : in words
    kind : of :class:`FaultyLeg`
    reasons : every event during the fault must be one of these, and concern the faulty leg
    offset : m
    legs : that are faulty at once; the limit of the position's error is for one
    """

    title: str
    kind: str
    reasons: frozenset[str]
    offset: float = 0.0
    legs: int = 1


_OFF, _OUTSIDE = 'leg_off_prediction', 'position_out_of_stroke'
CASES = (
    FaultCase('5 mm off', 'offset', frozenset({_OFF, 'leg_offset'}), 5e-3),
    FaultCase('stuck 5 mm off', 'stuck', frozenset({_OFF, 'leg_stuck'}), 5e-3),
    # one spike in hundreds ends where the stroke does
    FaultCase('spikes of 10 cm', 'spikes', frozenset({_OFF, 'leg_returned', _OUTSIDE, 'leg_saturated'})),
    FaultCase('stuck at its last value', 'stuck', frozenset({'leg_stuck'})),
    FaultCase('at the end of its stroke', 'end_of_stroke', frozenset({'leg_saturated'})),
    FaultCase('millimetres for metres', 'millimetres', frozenset({_OUTSIDE, _OFF})),
    FaultCase('missing', 'missing_name', frozenset({'missing_joint'})),
    FaultCase('swapped with the next leg', 'swapped', frozenset({_OFF, 'legs_swapped'}), legs=2),
)


@dataclass(frozen=True)
class FaultRun:
    """How the estimator handled a fault.

    Attributes
    ----------
    named_after : s from the first wrong measurement until all faulty legs were named; infinite where they were not
    reasons, others : names of the events that concern the faulty legs, and of those that concern anything else
    largest_error : m, position of the platform's origin, since the fault began; infinite where no estimate came
    squares : (T,) normalised state error squared, every :data:`ERROR_INTERVAL`
    """

    named_after: float
    reasons: frozenset[str]
    others: frozenset[str]
    largest_error: float
    squares: Array


def leg_fault_checks(
    machine: Machine, seeds: int, duration: float, cases: tuple[FaultCase, ...] = CASES
) -> list[Check]:
    """Every leg of a hexapod with every fault for ``duration`` s of MP1, ``seeds`` times."""
    scenario = scenario_of(machine, 'MP1', 10.0, _BEFORE + duration, 20.0 + _BEFORE + duration)
    run = partial(fault_run, scenario.machine, scenario.motion)
    legs = range(scenario.machine.leg_count)
    checks = []
    for number, case in enumerate(cases):
        checks += _judge(case, [run(case, leg, [number, leg, seed]) for leg in legs for seed in range(seeds)])
    return checks


def fault_run(machine: Machine, motion: PlatformMotion, case: FaultCase, leg: int, seed: list[int]) -> FaultRun:
    """One leg fails :data:`_BEFORE` s after the beginning of a motion; ``seed`` is for noise and spikes."""
    names = list(machine.actuated_joint_names)
    begin = round(_BEFORE * RATE)
    data = measure(machine, motion, seed)
    positions = data.drive_positions
    ideal = measure(machine, motion, None).drive_positions
    other = (leg + 1) % machine.leg_count
    held = positions[begin - 1, leg] + case.offset
    fault = FaultyLeg(case.kind, leg, other, case.offset, held, machine.actuated_joints[leg].limits.upper)
    faulty = {machine.legs[index].name for index in (leg, other)[: case.legs]}
    biases = _biases(machine)
    random = np.random.default_rng([*seed, 1])
    pipeline = EstimatorPipeline(machine, EstimatorConfig(baseline=False))
    largest, squares, told, wrong = 0.0, [], list[tuple[int, Event]](), []
    for k, stamp in enumerate(data.stamps.tolist()):
        if k == begin:
            pipeline.health.report()  # what was before does not count
        sent = (names, positions[k]) if k < begin else fault.spoil(names, positions[k], random)
        outputs = pipeline.add_imu(stamp, data.specific_force[k], data.angular_rate[k])
        outputs += pipeline.add_joint_positions(stamp, *sent)
        if k < begin:
            continue
        wrong += [stamp] if _is_wrong(sent, ideal[k], machine) else []
        told += [(stamp, event) for event in pipeline.health.report().events]
        off = float(np.linalg.norm(outputs[-1].motion.position - motion.position[k])) if outputs else np.inf
        largest = max(largest, off)
        if (k - begin) % round(ERROR_INTERVAL * RATE) == 0:
            error = state_error(pipeline.filter, motion, k, biases)
            squares.append(normalised_error_squared(error, pipeline.filter.covariance, np.eye(STATE_SIZE)))
    reasons = frozenset(event.name for _, event in told if any(name in event.detail for name in faulty))
    others = frozenset(event.name for _, event in told if not any(name in event.detail for name in faulty))
    after = _named_after(faulty, wrong[0], told) if wrong else np.inf
    return FaultRun(after, reasons, others, largest, np.array(squares))


def _named_after(faulty: set[str], first_wrong: int, told: list[tuple[int, Event]]) -> float:
    """Time [s] from a stamp [ns] until events have named all faulty legs; infinite where they have not."""
    unnamed = set(faulty)
    for stamp, event in told:
        unnamed -= {name for name in faulty if name in event.detail}
        if not unnamed:
            return 1e-9 * max(0, stamp - first_wrong)
    return np.inf


def _biases(machine: Machine) -> Array:
    """Biases (6,) of the simulated IMU in platform axes."""
    imu = machine.imu
    return np.concatenate([imu.rotation_platform_imu @ bias for bias in (imu.accelerometer_bias, imu.gyroscope_bias)])


def _is_wrong(sent: tuple[list[str], Array], ideal: Array, machine: Machine) -> bool:
    """Whether the positions are further from the truth than noise can be, or too few."""
    positions = sent[1]
    if len(positions) < len(ideal):
        return True
    return bool(np.any(np.abs(positions - ideal) > _WRONG * machine.leg_sensors.position_noise))


def _judge(case: FaultCase, runs: list[FaultRun]) -> list[Check]:
    reasons, others = (frozenset().union(*sets) for sets in zip(*((r.reasons, r.others) for r in runs), strict=True))
    slowest, largest = max(r.named_after for r in runs), max(r.largest_error for r in runs)
    told = ', '.join(sorted(reasons)) or 'nothing'
    if others:
        told += f', and what is not of these legs: {", ".join(sorted(others))}'
    squares = np.array([r.squares for r in runs]).T
    named = holds(
        'named', f'{case.title}: every leg by name as {" or ".join(sorted(case.reasons))}, nothing else',
        f'<= {1e3 * NAMED_WITHIN:g} ms', f'{1e3 * slowest:.0f} ms at most in {len(runs)} runs: {told}',
        # stamps are whole nanoseconds
        slowest <= NAMED_WITHIN + 1e-6 and reasons <= case.reasons and not others,
    )  # fmt: skip
    what = f'{case.title}: largest error of the position while it lasts'
    error = (
        at_most('error', what, 1e3 * LARGEST_ERROR, 1e3 * largest, 'mm')
        if case.legs == 1
        else holds('error', what, 'any, two legs lack', f'{1e3 * largest:.4g} mm', np.isfinite(largest))
    )
    nees = Normalised(squares, np.full(len(squares), STATE_SIZE))
    return [named, error, normalised_check('NEES', f'state errors, {case.title}', nees)]
