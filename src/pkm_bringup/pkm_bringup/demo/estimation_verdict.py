"""Errors of estimator and baseline relative to ground truth, from a recording, with their limits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from pkm_description.machine import Machine
from pkm_estimation.bags import RecordedData

from pkm_bringup.demo.criteria import Criterion, criterion
from pkm_bringup.demo.estimation_errors import (
    EstimationErrors,
    estimated_biases,
    estimation_errors,
    within,
    worst_axis_rms,
)

#: s after which the filter counts as settled, and after which the biases do
SETTLED, BIASES_SETTLED = 20.0, 60.0

#: machine whose sensors the limits are for
JUDGED_MACHINE = 'srs'


@dataclass(frozen=True)
class EstimationVerdict:
    """Criteria, the window [s] that the errors were taken over, and the number of samples in it."""

    criteria: tuple[Criterion, ...]
    window: tuple[float, float]
    samples: int


def judge_estimation(data: RecordedData, machine: Machine, end: float) -> EstimationVerdict:
    """Judge the motion that ends at ``end`` s: root mean squares per axis, the worst axis counts.

    Raises
    ------
    MissingTopicError
        If the bag lacks truth, estimate, baseline or the IMU streams.
    """
    truth = data.require(data.ground_truth, 'ground_truth/odometry')
    estimate = estimation_errors(truth, data.require(data.platform_odometry, 'platform/odometry'))
    baseline = estimation_errors(truth, data.require(data.baseline_odometry, 'baseline/odometry'))
    short = f'needs {SETTLED:.0f} s to settle' if end < 1.5 * SETTLED else ''
    window = (SETTLED if not short else end / 2, end)
    other = '' if machine.name == JUDGED_MACHINE else f'the limits are for the sensors of {JUDGED_MACHINE}'
    criteria = [
        *_pose_and_velocity(estimate.between(*window), baseline.between(*window), short or other),
        *_biases(data, machine, end, other),
    ]
    return EstimationVerdict(tuple(criteria), window, len(estimate.between(*window)))


def _pose_and_velocity(
    estimate: EstimationErrors, baseline: EstimationErrors, excuse: str
) -> list[Criterion]:
    def compare(name: str, field: str, limit: float, unit: str, scale: float) -> Criterion:
        value, other = worst_axis_rms(getattr(estimate, field)), worst_axis_rms(getattr(baseline, field))
        return criterion(name, value, limit, unit, scale, baseline=other, excuse=excuse)

    velocity = compare('velocity error, rms', 'velocity', 2e-4, 'mm/s', 1e3)
    gain = np.divide(velocity.baseline if velocity.baseline is not None else np.nan, velocity.value)
    return [
        compare('position error, rms', 'position', 1e-5, 'um', 1e6),
        velocity,
        compare('attitude error, rms (quaternion)', 'attitude', 5e-6, 'e-6', 1e6),
        criterion(
            'velocity, baseline error / estimator error', float(gain), 2.0, at_least=True, excuse=excuse
        ),
    ]


def _biases(data: RecordedData, machine: Machine, end: float, other: str) -> list[Criterion]:
    raw = data.require(data.imu_data_raw, 'imu/data_raw')
    corrected = data.require(data.imu_data, 'imu/data')
    stamps, accelerometer, gyroscope = estimated_biases(raw, corrected)
    excuse = f'needs {BIASES_SETTLED:.0f} s' if end < BIASES_SETTLED else ''
    keep = within(stamps, BIASES_SETTLED if not excuse else end / 2, end)
    return [
        criterion(
            f'{name} bias error, rms',
            worst_axis_rms(found[keep] - true),
            1e-4,
            unit,
            1.0,
            excuse=excuse or other,
        )
        for name, found, true, unit in (
            ('accelerometer', accelerometer, machine.imu.accelerometer_bias, 'm/s2'),
            ('gyroscope', gyroscope, machine.imu.gyroscope_bias, 'rad/s'),
        )
    ]
