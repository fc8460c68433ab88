"""Stretches of ordinary leg measurements through the compiled loop: one live, hundreds in a recording."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf

import numpy as np
from pkm_description.arrays import Array
from pkm_description.kernels.model import Integers
from pkm_description.kernels.structures import structure

from pkm_estimation.baseline import BaselineEstimate
from pkm_estimation.exchange.output import EstimatorOutput, OutputBlock, OutputModel
from pkm_estimation.exchange.samples import EARLIER, ImuSample, Instant
from pkm_estimation.filtering.point_motion import FilterStates
from pkm_estimation.filters import Innovation, UnscentedKalmanFilter
from pkm_estimation.kernels.carried import NUMBERS as STAMP_NUMBERS
from pkm_estimation.kernels.following import (
    AGE,
    INTERVAL,
    LOOK_BEFORE,
    LOOK_FROM,
    NOW,
    SINCE,
    FollowData,
    FollowedData,
    follow,
)
from pkm_estimation.kernels.process import CHART_RADIUS
from pkm_estimation.kernels.sample_noise import PLACES
from pkm_estimation.models import LegLengthModel
from pkm_estimation.models.leg_model import DriveModel
from pkm_estimation.tracking.tracker_state import TrackerParts


@dataclass(slots=True)
class Followed:
    """Estimates at N measurements that were followed in one go.

    Attributes
    ----------
    now : of the filter's state after them
    epoch, stamps : of the measurements, (N,) ns
    positions : (N, A) m
    place : first IMU sample that is still needed: two before the last one at the state or before it
    data : (N, ...) results
    constant : chart, its quaternion; angular acceleration; noise of the IMU: as in :class:`FilterStates`
    model, settling : for outputs, and s until the differentiated rate is usable
    imu_delay : s
    """

    now: ImuSample
    epoch: int
    stamps: Integers
    positions: Array
    place: int
    data: FollowedData
    constant: tuple[Array, Array, Array, Array]
    model: OutputModel
    settling: float
    imu_delay: float

    def __len__(self) -> int:
        return len(self.stamps)

    def first(self, count: int) -> Followed:
        """Only the first of the estimates."""
        data = FollowedData(*(values[:count] for values in self.data))
        return replace(self, stamps=self.stamps[:count], positions=self.positions[:count], data=data)

    def innovation(self, index: int) -> Innovation:
        """Innovation of one of the measurements."""
        data = self.data
        return Innovation(data.residuals[index], data.variances[index], data.nis.item(index), data.shared[index])

    def output(self, index: int, efforts: Array, baseline: BaselineEstimate | None) -> EstimatorOutput:
        """One of the estimates."""
        data, (chart, quaternion, turning, noise) = self.data, self.constant
        age, interval = data.ages[index].tolist()
        known = data.states[index], data.covariances[index], chart, quaternion, data.samples[index], turning, noise
        return EstimatorOutput(
            Instant(self.epoch, self.stamps.item(index)), False, known, self.model,
            self.innovation(index),
            None if age < self.settling else (data.rates[index], interval),
            self.positions[index], efforts, baseline, self.imu_delay,
        )  # fmt: skip

    def block(self) -> OutputBlock:
        """All estimates as arrays."""
        data, count = self.data, len(self)
        chart, quaternion, turning, noise = (np.repeat(value[None], count, axis=0) for value in self.constant)
        rates = data.rates.copy()
        rates[data.ages[:, AGE] < self.settling] = np.nan
        return OutputBlock(
            np.full(count, self.epoch), self.stamps, np.zeros(count, dtype=bool),
            FilterStates(data.states, data.covariances, chart, quaternion, data.samples, turning, noise),
            data.residuals, data.variances, data.nis, data.shared, rates, self.positions,
            np.full(count, self.imu_delay), np.zeros(count, dtype=bool), np.zeros(count, dtype=bool),
        )  # fmt: skip


class Follower:
    """Hands the state of all parts to the compiled loop, and back.

    Needs an unscented filter without estimated constants.
    """

    def __init__(self, parts: TrackerParts, ukf: UnscentedKalmanFilter) -> None:
        config, filter_, fit, side = parts.config, parts.filter, parts.fit, parts.side
        self._filter, self._ukf, self._fit, legs = filter_, ukf, fit, filter_.legs
        # legs are of one kind: the loop does not look at the other model
        self._struts = legs if isinstance(legs, LegLengthModel) else LegLengthModel(np.zeros((1, 3)), np.zeros((1, 3)))
        self._drives = (
            legs if isinstance(legs, DriveModel) else DriveModel(parts.machine, filter_.geometry.imu_position)
        )
        self._used = np.arange(legs.drive_count) if legs.constraint_count else None
        self._side, self._watch, self._model, self._noise = side, parts.pose_watch, parts.output_model, parts.noise
        self._angular_acceleration = parts.angular_acceleration
        self._size, count = filter_.layout.size, legs.drive_count
        differentiator = self._angular_acceleration.differentiate
        self._data = FollowData(
            times=np.zeros(4, dtype=np.int64),
            place=np.zeros(1, dtype=np.int64),
            now=np.zeros(6),
            end=np.zeros(6),
            differentiated=np.zeros((3, 3)),
            ages=np.zeros(2),
            fit=np.ones(1),
            squares=np.zeros(count),
            normal=np.zeros(self._size),
            walk=filter_.walk,
            lengths_at_zero=np.zeros(count),
            kept_state=np.zeros(self._size),
            kept_covariance=np.zeros((self._size, self._size)),
            kept_carried=np.zeros_like(ukf.carried),
            kept_differentiated=np.zeros((3, 3)),
            kept_joints=np.zeros_like(self._drives.data.start),
            kept_slopes=np.zeros_like(filter_.process.data.slopes),
            kept_scatter=np.zeros((2, STAMP_NUMBERS)),
            kept_stamps=np.zeros((3, PLACES), dtype=np.int64),
            longest_step=config.maximum_step,
            longest_imu_gap=config.maximum_imu_gap,
            longest_leg_gap=config.maximum_leg_gap,
            chart_radius=CHART_RADIUS if filter_.moves else inf,
            has_struts=int(legs is self._struts),
            fitting_nis=fit.largest_nis,
            largest_nis=min(ukf.iteration_nis, config.divergence_nis),
            is_judged=int(fit.is_on),
            stiffness=differentiator.stiffness,
            drag=differentiator.drag,
            height=side.height,
            largest_biases=parts.largest_biases,
            largest_scale=parts.largest_scale,
            largest_constraint_nis=parts.largest_constraint_nis,
            pose_weights=parts.reach.weights,
            largest_spread=parts.reach.largest,
        )
        self._struct = structure(self._data)

    @classmethod
    def of(cls, parts: TrackerParts) -> Follower | None:
        """Follower of these parts, ``None`` where every measurement needs decisions."""
        ukf = parts.filter.ukf
        return cls(parts, ukf) if isinstance(ukf, UnscentedKalmanFilter) and not parts.filter.layout.groups else None

    def can_follow(self, now: ImuSample | None) -> bool:
        """Whether a filter whose state is that of ``now`` is at rest with itself: started, no leg doubted."""
        return (
            now is not None
            and self._noise.constant_for != 0
            and self._angular_acceleration.last == now.instant
        )

    def follow(
        self,
        now: ImuSample,
        since: int,
        imu_stamps: Integers,
        samples: Array,
        stamps: Integers,
        positions: Array,
        delay: int,
    ) -> Followed:
        """Follow measurements up to the first that is not ordinary, which is left as if it had not come, or to a look.

        Whoever calls this looks at the pose after the last of them.

        Parameters
        ----------
        now : of the filter's state
        since : ns, of its start
        imu_stamps, samples : (M,) ns, (M, 6), of the same epoch
        stamps, positions : (N,) ns, (N, A) m, of the same epoch, in order
        delay : ns, of the IMU's stamps
        """
        # arrays with gaps would be another form of the kernel, compiled while the sensors go on
        samples, positions = np.ascontiguousarray(samples), np.ascontiguousarray(positions)
        data, turning, (epoch, stamp) = self._data, self._angular_acceleration, now.instant
        stamps = stamps[: self._noise.constant_for]
        begin, before = self._watch.quiet
        data.times[NOW], data.times[LOOK_FROM], data.times[LOOK_BEFORE] = stamp, begin + delay, before + delay
        data.times[SINCE], data.place[0] = since, 0
        data.now[:], data.normal[:], data.fit[:] = now.value, self._side.normal(self._filter), self._fit.fit
        data.differentiated[:] = turning.differentiate.memory
        data.ages[AGE], data.ages[INTERVAL] = turning.age, turning.interval
        filter_, struts, drives = self._filter, self._struts, self._drives
        data.lengths_at_zero[:] = filter_.legs.at_zero + filter_.legs.zeros
        correction = self._ukf.prepared(filter_.legs.measured(positions[0]), filter_.length_covariance, self._used)
        results = followed_data(len(stamps), self._size, positions.shape[1])
        count: int = follow(
            self._ukf.memory.struct, filter_.process.struct, struts.struct, drives.machine.compiled_model,
            drives.scratch, drives.struct, drives.geometry, correction.struct, self._struct, imu_stamps, samples,
            stamps + delay, positions, *results,
        )  # fmt: skip
        constant = filter_.chart, filter_.chart_quaternion, filter_.legs.angular_acceleration, filter_.imu_covariance
        if count:
            now = ImuSample(Instant(epoch, stamps.item(count - 1) + delay), results.samples[count - 1])
        followed = Followed(
            now, epoch, stamps, positions, max(data.place.item() - EARLIER, 0), results, constant, self._model,
            turning.settling, 1e-9 * delay,
        )  # fmt: skip
        if count < len(positions):
            followed = followed.first(count)
        if count:
            turning.last = now.instant
            turning.differentiate.memory = data.differentiated.copy()
            turning.age, turning.interval = data.ages.tolist()
            if self._fit.is_on:
                self._fit.take(data.fit.copy(), count)
            for index in range(count if self._noise.is_on else 0):
                self._noise.accept(followed.innovation(index))
        return followed


def followed_data(count: int, size: int, drives: int) -> FollowedData:
    """Memory for the results at N measurements of A drives, n states."""
    return FollowedData(
        np.empty((count, size)), np.empty((count, size, size)), np.empty((count, 6)), np.empty((count, drives)),
        np.empty((count, drives)), np.empty(count), np.empty((count, 3)), np.empty((count, 2)),
        np.empty((count, drives)), np.empty((count, drives)),
    )  # fmt: skip
