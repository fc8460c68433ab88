"""The IMU fails on machines that move: is that named, do the legs alone go on as claimed, does it come back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from pkm_description.arrays import Array
from pkm_description.kinematics.closed_legs import close_legs
from pkm_description.machine import Machine, PlatformMotion
from pkm_estimation.offline.estimate import estimate
from pkm_estimation.offline.result import EstimationResult
from pkm_estimation.sensors import ImuFault, SensorConditions, simulate_sensors
from pkm_estimation.sensors.conditions import IMU_FAULTS
from pkm_estimation.stream import EstimatorConfig
from scipy.linalg import null_space

from verification.check import Check, at_most, holds
from verification.consistency.scenarios import Scenario, titled
from verification.consistency.state_error import normalised_error_squared, pose_errors

#: s: of the failure, and of the run; until a failure that began is over for the estimates
_BEGIN, _END, _DURATION, _AFTER = 4.0, 6.0, 10.0, 0.5
#: limits: position error by that of the legs alone; s until named; squares by variances; s until it is used again
LARGEST_ERROR, NAMED_WITHIN, LARGEST_SQUARE, BACK_WITHIN = 3.0, 0.2, 2.0, 2.0
#: events one of which says why; at 2 Hz an IMU that is upside down has turned axes as well
CAUSES = {
    'frozen': ('imu_frozen',), 'zeros': ('imu_zeros',), 'clipped': ('imu_clipped',), 'swapped_axes': ('imu_axes',),
    'upside_down': ('imu_upside_down', 'imu_axes'), 'in_g': ('imu_in_g',), 'in_deg_per_s': ('imu_in_deg_per_s',),
    'gravity_removed': ('imu_gravity_removed',),
}  # fmt: skip
#: part of the largest reading at which a range ends, of the rate, or of the force where the platform hardly turns
_CLIPPED, _HARDLY_TURNS = (0.6, 0.99), 0.02
#: a clipped sensor whose range no file states
UNKNOWN_RANGE = 'clipped, range unknown'
KINDS = (*IMU_FAULTS, UNKNOWN_RANGE)

SCENARIOS = (
    'srs, MP1', 'srs, 2 Hz', 'palida, MP1', 'hexaglide_6pus, sines', 'valencia_3rps, sines', 'khalifa_3prr, sines',
    'delta, sines', 'octopod_8ups, sines',
)  # fmt: skip


@dataclass(frozen=True)
class FailureRun:
    """How the estimator handled a failure.

    Attributes
    ----------
    error : largest error of the position while it lasts, by that of the legs' own poses
    named_after : s from the first wrong sample; infinite where it was not named
    cause : whether the reason was said
    pose, twist : mean square of the errors by their variances, per degree of freedom
    back_after : s from the end of the failure
    blamed : names of the legs that were left out
    """

    error: float
    named_after: float
    cause: bool
    pose: float
    twist: float
    back_after: float
    blamed: frozenset[str]


def imu_failure_checks(title: str, seeds: int, kinds: tuple[str, ...] = KINDS) -> Iterator[Check]:
    """Every failure of the IMU on one of :data:`SCENARIOS`, ``seeds`` times."""
    scenario = titled(title, 0.0 if title.endswith('Hz') else 12.0, _DURATION, 40.0)
    for kind in kinds:
        runs = [failure_run(scenario, kind, seed) for seed in range(seeds)]
        yield from _judge(kind, runs)


def _judge(kind: str, runs: list[FailureRun]) -> Iterator[Check]:
    what = f'IMU {kind.replace("_", " ")}, {len(runs)} seeds'
    error, named, pose, twist, back = (
        max(getattr(run, name) for run in runs) for name in ('error', 'named_after', 'pose', 'twist', 'back_after')
    )
    blamed = sorted(frozenset().union(*(run.blamed for run in runs)))
    said = sum(run.cause for run in runs)
    if kind == UNKNOWN_RANGE:
        good = error <= LARGEST_ERROR and max(pose, twist) <= LARGEST_SQUARE and not blamed
        text = f'error {error:.3g} times, pose {pose:.3g}, twist {twist:.3g}; blamed: {", ".join(blamed) or "no leg"}'
        required = f'<= {LARGEST_ERROR:g}, {LARGEST_SQUARE:g}, {LARGEST_SQUARE:g}; no leg'
        yield holds(
            'IMU', f'{what}: position error by that of legs alone, squares by variances', required, text, good
        )  # fmt: skip
        return
    yield at_most('IMU', f'{what}: largest position error by that of the legs alone', LARGEST_ERROR, error)
    yield at_most('IMU', f'{what}: named after', NAMED_WITHIN, named, 's')
    squares = f'pose {pose:.3g}, twist {twist:.3g}'
    yield holds('IMU', f'{what}: mean squares of errors by their variances', f'<= {LARGEST_SQUARE:g}', squares,
                max(pose, twist) <= LARGEST_SQUARE)  # fmt: skip
    if kind != 'clipped':  # that one lasts
        yield at_most('IMU', f'{what}: used again after', BACK_WITHIN, back, 's')
    yield holds('IMU', f'{what}: legs that are blamed', 'none', ', '.join(blamed) or 'none', not blamed)
    yield holds('IMU', f'{what}: the cause is named', f'{len(runs)} of {len(runs)}', f'{said} of {len(runs)}',
                said == len(runs))  # fmt: skip


def failure_run(scenario: Scenario, kind: str, seed: int) -> FailureRun:
    """One failure from :data:`_BEGIN` to :data:`_END` of the scenario, a clipped sensor all the time."""
    machine, evaluate, time, motion = scenario.machine, scenario.evaluate, scenario.time, scenario.motion
    elapsed = time - time[0]
    known, fault = machine, ImuFault(kind, _BEGIN, _END) if kind in IMU_FAULTS else None
    wrong = elapsed >= _BEGIN
    failing = wrong & (elapsed < _END + _AFTER)
    if kind in ('clipped', UNKNOWN_RANGE):
        clean = simulate_sensors(machine, evaluate, time, SensorConditions(), seed)
        ranges = _ranges(clean.specific_force, clean.angular_rate)
        fault = ImuFault('clipped', ranges=ranges)
        readings = np.hstack([clean.specific_force / ranges[0], clean.angular_rate / ranges[1]])
        wrong, failing = np.abs(readings).max(axis=1) >= 1.0, elapsed > _AFTER
        if kind == 'clipped':
            known = replace(machine, imu=replace(machine.imu, accelerometer_range=ranges[0], gyroscope_range=ranges[1]))
    assert fault is not None
    data = simulate_sensors(machine, evaluate, time, SensorConditions(imu_faults=(fault,)), seed)
    result = estimate(known, data, EstimatorConfig())
    if len(result.motion.position) != len(time):
        return FailureRun(np.inf, np.inf, False, np.inf, np.inf, np.inf, frozenset())
    first = int(data.stamps[wrong][0])
    events = {event.name: 1e-9 * (event.stamp - first) for event in reversed(result.health.events)}
    # also just before: a sample that is nearly at the end of its range counts as clipped
    named = min((when for name, when in events.items() if name.startswith('imu_') and when > -0.05), default=np.inf)
    pose, twist = _squares(machine, motion, result)
    off, by_legs = (
        np.linalg.norm(position - motion.position, axis=1)[failing].max()
        for position in (result.motion.position, result.baseline.position)
    )
    alone = elapsed[result.by_legs_alone]
    return FailureRun(
        float(off / by_legs), named, any(name in events for name in CAUSES.get(kind, events)),
        float(pose[failing].mean()), float(twist[failing].mean()),
        max(0.0, float(alone.max()) - _END) if len(alone) else 0.0,
        frozenset(name.removesuffix('_left_out') for name in result.health.counters if name.endswith('_left_out')),
    )  # fmt: skip


def _ranges(specific_force: Array, angular_rate: Array) -> tuple[float, float]:
    force, rate = float(np.abs(specific_force).max()), float(np.abs(angular_rate).max())
    return (np.inf, _CLIPPED[0] * rate) if rate > _HARDLY_TURNS else (_CLIPPED[1] * force, np.inf)


def _squares(machine: Machine, motion: PlatformMotion, result: EstimationResult) -> tuple[Array, Array]:
    """Squares (N,) of the errors of pose and twist by their variances, per degree of freedom of the machine."""
    truth, found = motion.rotation_base_platform, result.motion
    linear, angular = (np.einsum('nji,nj->ni', truth, v) for v in (motion.linear_velocity, motion.angular_velocity))
    twist = np.hstack([found.linear_velocity - linear, found.angular_velocity - angular])
    free = [null_space(rows) if len(rows) else np.eye(6)
            for rows in close_legs(machine, motion.position, truth).constraints]  # fmt: skip
    in_platform = [np.linalg.qr(np.kron(np.eye(2), turn.T) @ ways)[0] for turn, ways in zip(truth, free, strict=True)]
    pose, by_pose = pose_errors(found, motion), found.pose_covariance
    squares = [
        [normalised_error_squared(*one) / one[2].shape[1] for one in zip(*parts, strict=True)]
        for parts in ((pose, by_pose, free), (twist, found.twist_covariance, in_platform))
    ]
    return np.array(squares[0]), np.array(squares[1])
