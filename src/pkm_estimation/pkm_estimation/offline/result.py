"""Result of an offline estimation: arrays over all estimates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array

from pkm_estimation.baseline import BaselineEstimate
from pkm_estimation.exchange.health import HealthReport
from pkm_estimation.exchange.output import OutputBlock, OutputModel, without_biases
from pkm_estimation.filtering.point_motion import PointMotion
from pkm_estimation.motion_estimate import MotionEstimate
from pkm_estimation.stream import EstimatorOutput

Stamps = NDArray[np.int64]

#: estimates that become arrays at once
_BLOCK = 500


@dataclass(frozen=True)
class EstimationResult:
    """N estimates of a whole recording, one per measurement of the drives; arrays have the leading axis N.

    The first estimates are uncertain until velocity and biases have converged, see ``motion.twist_covariance`` and
    ``bias_std``. ``nis`` shows whether the filter is consistent: its mean is the number of legs if the noise is that of
    the machine file, and many times larger if the model is wrong.

    Attributes
    ----------
    motion : by the filter: ``stamps`` (N,) ns, ``position`` (N, 3) m, ``orientation`` (N, 4) xyzw, ``linear_velocity``,
        ``angular_velocity`` (N, 3) in platform axes, ``pose_covariance``, ``twist_covariance`` (N, 6, 6)
    baseline : the same by forward kinematics and differentiation, without the IMU; M <= N samples with stamps
    started : (N,) True where the filter (re-)started
    accelerometer_bias, gyroscope_bias : (N, 3) m/s^2, rad/s, IMU axes
    bias_std : (N, 6) their standard deviations
    drive_positions : (N, L) m or rad, as measured; NaN for legs without a usable position
    innovation, innovation_std : (N, L) m, NaN at starts and for legs that were not used
    nis : (N,) normalised innovation squared, NaN at starts
    specific_force, angular_rate, linear_acceleration : (N, 3) IMU axes, bias-corrected
    angular_acceleration : (N, 3) rad/s^2, IMU axes, with the differentiator's lag; NaN while that settles
    state, state_std : (N, n) the filter's own states and standard deviations; of an IMU delay the whole one
    extra_states : columns of the further states that were estimated, by name
    by_legs_alone : (N,) True where the IMU was left out: specific force and rate are then the legs', biases NaN
    mode_unknown : (N,) True where the assembly mode was in doubt: the pose is the likeliest, its covariance covers all
    health : counters and events of the whole run
    is_smoothed : whether motion, biases, states and corrected samples take later measurements into account, too;
        innovations, ``nis`` and what ``health`` says are the filter's
    """

    motion: MotionEstimate
    baseline: MotionEstimate
    started: NDArray[np.bool_]
    accelerometer_bias: Array
    gyroscope_bias: Array
    bias_std: Array
    drive_positions: Array
    innovation: Array
    innovation_std: Array
    nis: Array
    specific_force: Array
    angular_rate: Array
    linear_acceleration: Array
    angular_acceleration: Array
    state: Array
    state_std: Array
    by_legs_alone: NDArray[np.bool_]
    mode_unknown: NDArray[np.bool_]
    extra_states: dict[str, slice]
    health: HealthReport
    is_smoothed: bool = False

    def __len__(self) -> int:
        return len(self.motion)


def collect(outputs: Sequence[EstimatorOutput], health: HealthReport) -> EstimationResult:
    """Stack single estimates into arrays."""
    collection = Collection()
    for output in outputs:
        collection.add(output)
    baseline = streamed_baseline([(output.stamp, output.baseline) for output in outputs])
    return collection.result(baseline, health, {})


class Collection:
    """Estimates that become arrays block by block: a filter's covariances would fill the memory in minutes."""

    def __init__(self) -> None:
        self._waiting: list[OutputBlock] = []
        self._single: list[EstimatorOutput] = []
        self._waiting_count = 0
        self._blocks: list[dict[str, NDArray[Any]]] = []
        self.count = 0
        self._model: OutputModel | None = None

    def add(self, output: EstimatorOutput | OutputBlock) -> None:
        """Take an estimate, or many."""
        if isinstance(output, EstimatorOutput):
            if output.model is not self._model:  # the first estimate after a start comes alone
                self._close_block()
                self._model = output.model
            self._single.append(output)
            count = 1
        else:
            self._join_single()
            self._waiting.append(output)
            count = len(output)
        self._waiting_count += count
        self.count += count
        if self._waiting_count >= _BLOCK:
            self._close_block()

    def _join_single(self) -> None:
        if self._single:
            self._waiting.append(OutputBlock.of(self._single))
            self._single = []

    def _close_block(self) -> None:
        self._join_single()
        if self._waiting:
            assert self._model is not None
            self._blocks.append(_columns(OutputBlock.joined(self._waiting), self._model))
            self._waiting, self._waiting_count = [], 0

    def columns(self, *names: str) -> list[NDArray[Any]]:
        """Arrays over all estimates (at least one) by their names, see :func:`_columns`."""
        self._close_block()
        return [np.concatenate([block[name] for block in self._blocks]) for name in names]

    def result(
        self, baseline: MotionEstimate, health: HealthReport, extra_states: dict[str, slice]
    ) -> EstimationResult:
        """Everything, with a baseline that was estimated meanwhile or afterwards."""
        motion = MotionEstimate(*self.columns(*(f'motion_{entry.name}' for entry in fields(MotionEstimate))))
        names = [name for name in (entry.name for entry in fields(EstimationResult)) if name in self._blocks[0]]
        others: dict[str, Any] = dict(zip(names, self.columns(*names), strict=True))
        return EstimationResult(motion=motion, baseline=baseline, extra_states=extra_states, health=health, **others)


def stamped_motion(stamps: Stamps, motion: PointMotion) -> MotionEstimate:
    """Motions of a point (leading axis N) with their stamps (N,) ns."""
    return MotionEstimate(
        stamps, motion.position, motion.orientation, motion.velocity, motion.angular_velocity, motion.pose_covariance,
        motion.twist_covariance,
    )  # fmt: skip


def baseline_motion(stamps: Stamps, estimates: BaselineEstimate | None) -> MotionEstimate:
    """Baseline estimates (leading axis N; ``None``: there are none) as motion; the twist's covariance stays zero."""
    if estimates is None:
        none = np.zeros((0, 3))
        return MotionEstimate(stamps, none, np.zeros((0, 4)), none, none, np.zeros((0, 6, 6)), np.zeros((0, 6, 6)))
    return MotionEstimate(
        stamps, estimates.position, estimates.orientation, estimates.velocity, estimates.angular_velocity,
        estimates.pose_covariance, np.zeros(estimates.pose_covariance.shape),
    )  # fmt: skip


def streamed_baseline(stamped: Sequence[tuple[int, BaselineEstimate | None]]) -> MotionEstimate:
    """Baseline estimates that came one by one, with their stamps [ns], as motion; ``None`` is left out."""
    there = [(stamp, vars(estimate)) for stamp, estimate in stamped if estimate is not None]
    stamps = np.array([stamp for stamp, _ in there], dtype=np.int64)
    if not there:
        return baseline_motion(stamps, None)
    columns = {name: np.array([values[name] for _, values in there]) for name in there[0][1]}
    return baseline_motion(stamps, BaselineEstimate(**columns))


def _columns(block: OutputBlock, model: OutputModel) -> dict[str, NDArray[Any]]:
    """Arrays by the names of :class:`EstimationResult`."""
    known = block.known
    inertial = vars(without_biases(model.inertial(known), block.by_legs_alone)).copy()
    inertial.pop('imu_covariance')
    motion = stamped_motion(block.stamps, model.motion(known))
    return inertial | {f'motion_{name}': values for name, values in vars(motion).items()} | {
        'epoch': block.epochs,
        'drive_positions': block.drive_positions,
        'started': block.started,
        'innovation': block.residual,
        'innovation_std': np.sqrt(block.variance),
        'nis': block.nis,
        'by_legs_alone': block.by_legs_alone,
        'mode_unknown': block.mode_unknown,
        'angular_acceleration': model.imu_frame.vector_to_imu(block.rates),
        'state': model.state(known, block.imu_delay),
        'state_std': block.state_std,
    }
