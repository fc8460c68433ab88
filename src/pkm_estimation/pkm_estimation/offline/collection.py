"""Collects single estimates into the arrays of a result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pkm_estimation.baseline import BaselineEstimate
from pkm_estimation.motion_estimate import MotionEstimate
from pkm_estimation.offline.result import EstimationResult
from pkm_estimation.stream import EstimatorOutput
from pkm_estimation.stream.health import HealthReport
from pkm_estimation.stream.output import OutputBlock, OutputModel, without_biases

Stamps = NDArray[np.int64]

#: estimates that become arrays at once
_BLOCK = 500


def collect(
    outputs: Sequence[EstimatorOutput], health: HealthReport, extra_states: dict[str, slice] | None = None
) -> EstimationResult:
    """Stack single estimates into arrays; ``extra_states`` are the columns of those that were estimated."""
    collection = Collection()
    for output in outputs:
        collection.add(output)
    baseline = streamed_baseline([(output.stamp, output.baseline) for output in outputs])
    return collection.result(baseline, health, extra_states or {})


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
            self._model = output.model  # the first estimate after a start comes alone
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


def baseline_motion(stamps: Stamps, estimates: BaselineEstimate | None) -> MotionEstimate:
    """Baseline estimates (leading axis N; ``None``: there are none) as motion; the twist's covariance stays zero."""
    if estimates is None:
        none = np.zeros((0, 3))
        return MotionEstimate(stamps, none, np.zeros((0, 4)), none, none, np.zeros((0, 6, 6)), np.zeros((0, 6, 6)))
    return MotionEstimate(
        stamps,
        estimates.position,
        estimates.orientation,
        estimates.velocity,
        estimates.angular_velocity,
        estimates.pose_covariance,
        np.zeros(estimates.pose_covariance.shape),
    )


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
    motion, inertial = model.motion(known), vars(without_biases(model.inertial(known), block.by_legs_alone)).copy()
    inertial.pop('imu_covariance')
    return inertial | {
        'epoch': block.epochs,
        'drive_positions': block.drive_positions,
        'motion_stamps': block.stamps,
        'motion_position': motion.position,
        'motion_orientation': motion.orientation,
        'motion_linear_velocity': motion.velocity,
        'motion_angular_velocity': motion.angular_velocity,
        'motion_pose_covariance': motion.pose_covariance,
        'motion_twist_covariance': motion.twist_covariance,
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
