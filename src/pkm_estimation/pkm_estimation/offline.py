"""The estimator over a recording: the same pipeline as in the node, fed in the order of the recording."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pkm_description.errors import PkmError
from pkm_description.machine.model import Machine

from pkm_estimation.bags import RecordedData
from pkm_estimation.pipeline import EstimatorConfig, EstimatorOutput, EstimatorPipeline
from pkm_estimation.pipeline.health import HealthReport

Array = NDArray[np.float64]
Stamps = NDArray[np.int64]


@dataclass(frozen=True)
class MotionEstimate:
    """N poses and twists of ``platform_link`` in ``base_link``.

    Attributes
    ----------
    stamps : (N,) ns
    position : (N, 3) m
    orientation : (N, 4) quaternion xyzw
    linear_velocity, angular_velocity : (N, 3) m/s, rad/s, platform axes
    pose_covariance, twist_covariance : (N, 6, 6); zero where none is given (twist of the baseline)
    """

    stamps: Stamps
    position: Array
    orientation: Array
    linear_velocity: Array
    angular_velocity: Array
    pose_covariance: Array
    twist_covariance: Array

    def __len__(self) -> int:
        return len(self.stamps)


@dataclass(frozen=True)
class EstimationResult:
    """Estimates of a whole recording.

    Attributes
    ----------
    motion : filter
    baseline : conventional estimator, on the same measurements
    started : (N,) True where the filter (re-)started
    accelerometer_bias, gyroscope_bias : (N, 3) IMU axes
    bias_deviation : (N, 6) standard deviations
    innovation, innovation_deviation : (N, L) m, NaN at starts and for legs that were not used
    nis : (N,) normalised innovation squared, NaN at starts
    specific_force, angular_rate, linear_acceleration : (N, 3) IMU axes, bias-corrected
    angular_acceleration : (N, 3) rad/s^2, IMU axes, late by its differentiator's lag; NaN while that settles
    state, state_deviation : (N, n) the filter's own states and standard deviations
    extra_states : columns of the further states that were estimated, by name
    health : counters and events of the whole run
    """

    motion: MotionEstimate
    baseline: MotionEstimate
    started: NDArray[np.bool_]
    accelerometer_bias: Array
    gyroscope_bias: Array
    bias_deviation: Array
    innovation: Array
    innovation_deviation: Array
    nis: Array
    specific_force: Array
    angular_rate: Array
    linear_acceleration: Array
    angular_acceleration: Array
    state: Array
    state_deviation: Array
    extra_states: dict[str, slice]
    health: HealthReport

    def __len__(self) -> int:
        return len(self.motion)


def estimate_recording(
    machine: Machine,
    data: RecordedData,
    config: EstimatorConfig | None = None,
    start_stamp_ns: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> EstimationResult:
    """Run the estimator over recorded ``joint_states`` and ``imu/data_raw``.

    Parameters
    ----------
    machine, data, config : what to estimate, from what, how
    start_stamp_ns : leave out leg measurements before this stamp; with the stamp of the first recorded estimate the
        live node's run is repeated bit by bit
    progress : called with the finished part (0-1) about a hundred times

    Raises
    ------
    MissingTopicError
        If the recording lacks one of the topics.
    PkmError
        If nothing could be estimated; says why.
    """
    pipeline = EstimatorPipeline(machine, config)
    outputs: list[EstimatorOutput] = []
    imu = data.require(data.imu_data_raw, 'imu/data_raw')
    legs = data.require(data.joint_states, 'joint_states')
    total = len(imu) + len(legs)
    waiting_for_start = start_stamp_ns is not None
    for done, (is_imu, index) in enumerate(_in_recorded_order(imu.recorded_at, legs.recorded_at)):
        if is_imu:
            outputs += pipeline.add_imu(int(imu.stamps[index]), imu.specific_force[index], imu.angular_rate[index])
        else:
            stamp = int(legs.stamps[index])
            waiting_for_start = waiting_for_start and stamp < (start_stamp_ns or 0)
            if not waiting_for_start:
                outputs += pipeline.add_joint_positions(stamp, legs.names, legs.positions[index], legs.efforts[index])
        if progress is not None and done % (total // 100 + 1) == 0:
            progress(done / total)
    if not outputs:
        counters = ', '.join(f'{name} {count}' for name, count in pipeline.health.counters.items())
        raise PkmError(f'{data.path}: no estimate from {len(legs)} leg and {len(imu)} IMU samples ({counters})')
    return collect(outputs, pipeline.health.report(), pipeline.filter.layout.groups)


def collect(
    outputs: list[EstimatorOutput], health: HealthReport, extra_states: dict[str, slice] | None = None
) -> EstimationResult:
    """Stack single estimates into arrays; ``extra_states`` are the columns of those that were estimated."""
    legs = len(outputs[0].lengths)
    stamps = np.array([output.stamp for output in outputs], dtype=np.int64)
    with_baseline = [output.baseline for output in outputs if output.baseline is not None]
    baseline_stamps = [output.stamp for output in outputs if output.baseline is not None]
    innovations = [output.innovation for output in outputs]
    blank = np.full(legs, np.nan)
    return EstimationResult(
        motion=MotionEstimate(
            stamps,
            position=np.array([output.motion.position for output in outputs]),
            orientation=np.array([output.motion.orientation for output in outputs]),
            linear_velocity=np.array([output.motion.velocity for output in outputs]),
            angular_velocity=np.array([output.motion.angular_velocity for output in outputs]),
            pose_covariance=np.array([output.motion.pose_covariance for output in outputs]),
            twist_covariance=np.array([output.motion.twist_covariance for output in outputs]),
        ),
        baseline=MotionEstimate(
            np.array(baseline_stamps, dtype=np.int64),
            np.array([b.position for b in with_baseline]).reshape(-1, 3),
            np.array([b.orientation for b in with_baseline]).reshape(-1, 4),
            np.array([b.velocity for b in with_baseline]).reshape(-1, 3),
            np.array([b.angular_velocity for b in with_baseline]).reshape(-1, 3),
            np.array([b.pose_covariance for b in with_baseline]).reshape(-1, 6, 6),
            np.zeros((len(with_baseline), 6, 6)),
        ),
        started=np.array([output.started for output in outputs]),
        accelerometer_bias=np.array([output.accelerometer_bias for output in outputs]),
        gyroscope_bias=np.array([output.gyroscope_bias for output in outputs]),
        bias_deviation=np.array([output.bias_deviation for output in outputs]),
        innovation=np.array([blank if i is None else i.residual for i in innovations]),
        innovation_deviation=np.array([blank if i is None else i.standard_deviation for i in innovations]),
        nis=np.array([np.nan if i is None else i.nis for i in innovations]),
        specific_force=np.array([output.specific_force for output in outputs]),
        angular_rate=np.array([output.angular_rate for output in outputs]),
        linear_acceleration=np.array([output.linear_acceleration for output in outputs]),
        angular_acceleration=np.array(
            [np.full(3, np.nan) if o.angular_acceleration is None else o.angular_acceleration[0] for o in outputs]
        ),
        state=np.array([output.state for output in outputs]),
        state_deviation=np.array([output.state_deviation for output in outputs]),
        extra_states=extra_states or {},
        health=health,
    )


def _in_recorded_order(imu_at: Stamps, legs_at: Stamps) -> Iterator[tuple[bool, int]]:
    """Merge two streams by the recorder's time, each in its own order; pairs (is IMU, index)."""
    is_imu = np.repeat([True, False], [len(imu_at), len(legs_at)])
    index = np.concatenate([np.arange(len(imu_at)), np.arange(len(legs_at))])
    # running maximum: a recorder's clock that steps back must not change the order within a stream
    at = np.concatenate([np.maximum.accumulate(imu_at), np.maximum.accumulate(legs_at)])
    for position in np.argsort(at, kind='stable'):
        yield bool(is_imu[position]), int(index[position])
