"""The estimator under random faults of legs, IMU, stamps and messages: no crash, finite numbers, valid covariances."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from pkm_description.arrays import Array
from pkm_description.machine import Machine
from pkm_estimation.stream import EstimatorConfig, EstimatorOutput, EstimatorPipeline

from verification.soak.balance import imu_balance, leg_balance
from verification.soak.faulty_stream import FaultyStream

#: Hz, of both topics
RATE = 100.0


@dataclass(frozen=True)
class SoakResult:
    """Counts and errors of a run.

    Attributes
    ----------
    steps, outputs : leg measurements sent, estimates given
    faults : how often each fault began
    not_finite : estimates with a number that is not finite
    not_positive : messages after which the covariance of the filter in use was not positive definite
    largest_error : m, position, of estimates without a fault in the last two seconds
    typical_error : m, root mean square of the same
    largest_normalised : the largest of the same in standard deviations that are claimed (Mahalanobis distance)
    counters : the estimator's own
    unbalanced : samples of IMU and legs that are neither used nor waiting nor counted under a reason
    """

    steps: int
    outputs: int
    faults: dict[str, int]
    not_finite: int
    not_positive: int
    largest_error: float
    typical_error: float
    largest_normalised: float
    counters: dict[str, int]
    unbalanced: tuple[int, int]


def soak(
    machine: Machine,
    steps: int,
    seed: int = 0,
    config: EstimatorConfig | None = None,
    pace: int = 1,
) -> SoakResult:
    """Feed ``steps`` leg measurements with IMU samples and random faults; exceptions are passed on.

    ``pace`` : faults are so many times as often and as short, see :class:`FaultyStream`
    """
    config = config or EstimatorConfig(baseline=False, history=0.1, divergence_samples=20)
    pipeline, stream = EstimatorPipeline(machine, config), FaultyStream(machine, seed, RATE, pace=pace)
    truth: dict[int, Array] = {}
    outputs = not_finite = not_positive = judged = 0
    largest = squares = normalised = 0.0

    for _ in range(steps):
        before, sent = stream.stamp, stream.next()
        if stream.stamp < before:
            truth.clear()
        truth |= dict.fromkeys(stream.true_stamps, stream.position)
        truth.pop(stream.stamp - round(1e11 / RATE), None)
        for one in sent:
            if one.topic == 'imu':
                given = pipeline.add_imu(one.stamp, one.values[:3], one.values[3:])
            else:
                given = pipeline.add_joint_positions(one.stamp, one.names, one.values)
            for output in given:
                outputs += 1
                finite = _is_finite(output)
                not_finite += not finite
                if finite and stream.is_clean and output.stamp in truth:
                    off = output.motion.position - truth[output.stamp]
                    error = float(np.linalg.norm(off))
                    largest, squares, judged = max(largest, error), squares + error * error, judged + 1
                    spread = output.motion.pose_covariance[:3, :3]
                    normalised = max(normalised, float(off @ np.linalg.lstsq(spread, off)[0]) ** 0.5)
            tracker = pipeline.tracker
            if tracker.now is not None:  # an IMU that is only tried may lead its filter anywhere
                in_use = tracker.filter if tracker.bank.label.uses_imu else tracker.alone.filter
                not_positive += not _is_positive(in_use.covariance)
    typical = (squares / max(1, judged)) ** 0.5
    counters = dict(pipeline.health.counters)
    waiting = len(pipeline.waiting)
    return SoakResult(
        steps, outputs, dict(stream.began), not_finite, not_positive, largest, typical, normalised, counters,
        (imu_balance(counters), leg_balance(counters, waiting)),
    )  # fmt: skip


def _is_finite(output: EstimatorOutput) -> bool:
    motion = output.motion
    return all(
        bool(np.isfinite(values).all())
        for values in (
            motion.position,
            motion.orientation,
            motion.velocity,
            motion.angular_velocity,
            motion.pose_covariance,
            motion.twist_covariance,
            output.state,
            output.state_std,
        )
    )


def _is_positive(covariance: Array) -> bool:
    try:
        np.linalg.cholesky(covariance)
    except np.linalg.LinAlgError:
        return False
    return bool(np.isfinite(covariance).all())
