"""The estimator over a recording: the same pipeline as in the node, fed in the order of the recording."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray
from pkm_description.errors import PkmError
from pkm_description.machine.model import Machine

from pkm_estimation.bags import RecordedData
from pkm_estimation.filters import Innovation
from pkm_estimation.pipeline import EstimatorConfig, EstimatorOutput, EstimatorPipeline
from pkm_estimation.pipeline.angular_acceleration import in_imu_axes
from pkm_estimation.pipeline.health import HealthReport
from pkm_estimation.pipeline.output import filter_states

Array = NDArray[np.float64]
Stamps = NDArray[np.int64]

#: estimates that become arrays at once
_BLOCK = 500


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
    collection = _Collection()
    imu = data.require(data.imu_data_raw, 'imu/data_raw')
    legs = data.require(data.joint_states, 'joint_states')
    total = len(imu) + len(legs)
    waiting_for_start = start_stamp_ns is not None
    imu_stamps, leg_stamps, names = imu.stamps.tolist(), legs.stamps.tolist(), tuple(legs.names)
    for done, (is_imu, index) in enumerate(_in_recorded_order(imu.recorded_at, legs.recorded_at)):
        outputs: list[EstimatorOutput] = []
        if is_imu:
            outputs = pipeline.add_imu(imu_stamps[index], imu.specific_force[index], imu.angular_rate[index])
        else:
            stamp = leg_stamps[index]
            waiting_for_start = waiting_for_start and stamp < (start_stamp_ns or 0)
            if not waiting_for_start:
                outputs = pipeline.add_joint_positions(stamp, names, legs.positions[index], legs.efforts[index])
        for output in outputs:
            collection.add(output)
        if progress is not None and done % (total // 100 + 1) == 0:
            progress(done / total)
    if not collection.count:
        counters = ', '.join(f'{name} {count}' for name, count in pipeline.health.counters.items())
        raise PkmError(f'{data.path}: no estimate from {len(legs)} leg and {len(imu)} IMU samples ({counters})')
    return collection.result(pipeline.health.report(), pipeline.filter.layout.groups)


def collect(
    outputs: Sequence[EstimatorOutput], health: HealthReport, extra_states: dict[str, slice] | None = None
) -> EstimationResult:
    """Stack single estimates into arrays; ``extra_states`` are the columns of those that were estimated."""
    collection = _Collection()
    for output in outputs:
        collection.add(output)
    return collection.result(health, extra_states or {})


class _Collection:
    """Estimates that become arrays block by block: a filter's covariances would fill the memory in minutes."""

    def __init__(self) -> None:
        self._outputs: list[EstimatorOutput] = []
        self._blocks: list[dict[str, Array]] = []
        self.count = 0

    def add(self, output: EstimatorOutput) -> None:
        """Take an estimate."""
        self._outputs.append(output)
        self.count += 1
        if len(self._outputs) == _BLOCK:
            self._close_block()

    def _close_block(self) -> None:
        if self._outputs:
            self._blocks.append(_columns(self._outputs))
            self._outputs.clear()

    def result(self, health: HealthReport, extra_states: dict[str, slice]) -> EstimationResult:
        """All of them."""
        self._close_block()
        columns = {name: np.concatenate([block[name] for block in self._blocks]) for name in self._blocks[0]}
        motion, baseline = (
            MotionEstimate(*(columns.pop(f'{kind}_{entry.name}') for entry in fields(MotionEstimate)))
            for kind in ('motion', 'baseline')
        )
        return EstimationResult(motion=motion, baseline=baseline, extra_states=extra_states, health=health, **columns)


def _columns(outputs: Sequence[EstimatorOutput]) -> dict[str, Array]:
    """Arrays by the names of :class:`EstimationResult`."""
    model, known = outputs[0].model, filter_states(outputs)
    motion, inertial = model.motion(known), vars(model.inertial(known))
    inertial.pop('imu_covariance')
    blank = Innovation(np.full_like(outputs[0].lengths, np.nan), np.full_like(outputs[0].lengths, np.nan), np.nan)
    innovations = [blank if output.innovation is None else output.innovation for output in outputs]
    residual, variance, nis = (np.array(values) for values in zip(*innovations, strict=True))
    with_baseline = [(output.stamp, output.baseline) for output in outputs if output.baseline is not None]
    stamps = np.array([output.stamp for output in outputs], dtype=np.int64)
    return inertial | {
        'motion_stamps': stamps,
        'motion_position': motion.position,
        'motion_orientation': motion.orientation,
        'motion_linear_velocity': motion.velocity,
        'motion_angular_velocity': motion.angular_velocity,
        'motion_pose_covariance': motion.pose_covariance,
        'motion_twist_covariance': motion.twist_covariance,
        'baseline_stamps': np.array([stamp for stamp, _ in with_baseline], dtype=np.int64),
        'baseline_position': np.array([b.position for _, b in with_baseline]).reshape(-1, 3),
        'baseline_orientation': np.array([b.orientation for _, b in with_baseline]).reshape(-1, 4),
        'baseline_linear_velocity': np.array([b.velocity for _, b in with_baseline]).reshape(-1, 3),
        'baseline_angular_velocity': np.array([b.angular_velocity for _, b in with_baseline]).reshape(-1, 3),
        'baseline_pose_covariance': np.array([b.pose_covariance for _, b in with_baseline]).reshape(-1, 6, 6),
        'baseline_twist_covariance': np.zeros((len(with_baseline), 6, 6)),
        'started': np.array([output.started for output in outputs]),
        'innovation': residual,
        'innovation_deviation': np.sqrt(variance),
        'nis': nis,
        'angular_acceleration': in_imu_axes([output.differentiated for output in outputs], model.imu_frame),
        'state': model.state(known),
        'state_deviation': np.sqrt(known.covariance.diagonal(axis1=1, axis2=2)),
    }


def _in_recorded_order(imu_at: Stamps, legs_at: Stamps) -> Iterator[tuple[bool, int]]:
    """Merge two streams by the recorder's time, each in its own order; pairs (is IMU, index)."""
    is_imu = np.repeat([True, False], [len(imu_at), len(legs_at)])
    index = np.concatenate([np.arange(len(imu_at)), np.arange(len(legs_at))])
    # running maximum: a recorder's clock that steps back must not change the order within a stream
    at = np.concatenate([np.maximum.accumulate(imu_at), np.maximum.accumulate(legs_at)])
    order = np.argsort(at, kind='stable')
    yield from zip(is_imu[order].tolist(), index[order].tolist(), strict=True)
