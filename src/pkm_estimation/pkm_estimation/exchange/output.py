"""Output of the estimator at leg measurements, computed on demand for one measurement or for many at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.kernels.model import Integers
from pkm_description.kinematics.rotation import rotated

from pkm_estimation.baseline import BaselineEstimate, ButterworthDifferentiator
from pkm_estimation.exchange.samples import Instant, Segment
from pkm_estimation.filtering.point_motion import FilterStates, PointMotion, point_motions
from pkm_estimation.filters import Innovation
from pkm_estimation.kernels.steps import RATE
from pkm_estimation.models import ATTITUDE, BIASES, POSITION, EstimatorGeometry
from pkm_estimation.models.extra_states import ImuFrame, StateLayout

#: number of lags after which the start transient of the differentiator (from rest) is below 1e-3
_SETTLING_LAGS = 6.0


@dataclass(frozen=True)
class InertialEstimate:
    """Corrected IMU samples at N instants; all in IMU axes.

    Attributes
    ----------
    specific_force, angular_rate : (N, 3) m/s^2, rad/s, minus the estimated biases
    imu_covariance : (N, 6, 6) of both: sensor noise and uncertainty of the biases
    linear_acceleration : (N, 3) m/s^2, IMU's point, gravity removed
    accelerometer_bias, gyroscope_bias : (N, 3)
    bias_std : (N, 6) standard deviations of both
    """

    specific_force: Array
    angular_rate: Array
    imu_covariance: Array
    linear_acceleration: Array
    accelerometer_bias: Array
    gyroscope_bias: Array
    bias_std: Array


def without_biases(inertial: InertialEstimate, rows: NDArray[np.bool_]) -> InertialEstimate:
    """The same with biases NaN in ``rows`` (N,): they are not known while the IMU is left out."""
    if not rows.any():
        return inertial
    names = ('accelerometer_bias', 'gyroscope_bias', 'bias_std')
    return replace(inertial, **{name: np.where(rows[:, None], np.nan, getattr(inertial, name)) for name in names})


@dataclass(frozen=True)
class OutputModel:
    """Maps the filter's state to the outputs.

    Attributes
    ----------
    layout : of the filter's states
    geometry, imu_frame : of the machine
    reference_point : (3,) m, point of the platform whose motion is published
    angular_acceleration : has lag and noise of the differentiated rate
    """

    layout: StateLayout
    geometry: EstimatorGeometry
    imu_frame: ImuFrame
    reference_point: Array
    angular_acceleration: AngularAcceleration

    def motion(self, known: FilterStates) -> PointMotion:
        """Pose and twist of the reference point at N instants, with covariances."""
        return point_motions(self.layout, self.geometry, known, self.reference_point)

    def inertial(self, known: FilterStates) -> InertialEstimate:
        """Corrected IMU samples of N instants."""
        frame, biases = self.imu_frame, known.state[:, BIASES]
        corrected = known.imu - biases
        measured, biases = frame.to_imu(corrected), frame.to_imu(biases)
        bias_covariance = frame.covariance_to_imu(known.covariance[:, BIASES, BIASES])
        gravity_felt = rotated(known.attitudes.rotation.transpose(0, 2, 1), self.geometry.gravity)
        accelerating = np.concatenate([corrected[:, :3] + gravity_felt, np.zeros(gravity_felt.shape)], axis=1)
        return InertialEstimate(
            measured[:, :3],
            measured[:, 3:],
            bias_covariance + frame.covariance_to_imu(known.imu_covariance),
            frame.to_imu(accelerating)[:, :3],
            biases[:, :3],
            biases[:, 3:],
            np.sqrt(bias_covariance.diagonal(axis1=1, axis2=2)),
        )

    def state(self, known: FilterStates, imu_delay: Array) -> Array:
        """The filter's states (N, n) with position in base axes and attitude as vector part of the quaternion.

        An estimated delay is the whole one: the filter's remaining delay plus the declared ``imu_delay`` (N,) s.
        """
        state = known.state.copy()
        state[:, POSITION] = rotated(known.chart, state[:, POSITION])
        state[:, ATTITUDE] = known.attitudes.orientation[:, :3]
        if self.layout.imu_delay is not None:
            state[:, self.layout.imu_delay] += imu_delay[:, None]
        return state


@dataclass(frozen=True)
class OutputBlock:
    """Estimates at N leg measurements as arrays; see :class:`EstimatorOutput`.

    Attributes
    ----------
    epochs, stamps, started : (N,)
    known : states of the filter
    residual, variance, nis : (N, A), (N, A), (N,) innovations, NaN where there are none
    shared : (N, A) part of the variances that constants of the machine have, see :class:`Innovation`
    rates : (N, 3) rad/s^2 differentiated angular rate, platform axes, NaN while that settles
    drive_positions : (N, A)
    imu_delay : (N,) s
    by_legs_alone : (N,) whether the IMU was left out
    mode_unknown : (N,) whether the assembly mode is in doubt: the pose is the likeliest, its covariance covers all
    """

    epochs: Integers
    stamps: Integers
    started: NDArray[np.bool_]
    known: FilterStates
    residual: Array
    variance: Array
    nis: Array
    shared: Array
    rates: Array
    drive_positions: Array
    imu_delay: Array
    by_legs_alone: NDArray[np.bool_]
    mode_unknown: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.stamps)

    @property
    def state_std(self) -> Array:
        """Standard deviations (N, n) of the filter's own state."""
        std: Array = np.sqrt(self.known.covariance.diagonal(axis1=1, axis2=2))
        return std

    @classmethod
    def of(cls, outputs: Sequence[EstimatorOutput]) -> OutputBlock:
        """Single ones."""
        positions = np.array([output.drive_positions for output in outputs])
        unknown, no_rate = np.full(positions.shape[1], np.nan), np.full(3, np.nan)
        none = Innovation(unknown, unknown, np.nan)
        residual, variance, nis, shared = zip(*(output.innovation or none for output in outputs), strict=True)
        parts = [np.broadcast_to(part, positions.shape[1]) for part in shared]
        rates = [no_rate if output.differentiated is None else output.differentiated[0] for output in outputs]
        known = zip(*(output.filter_state for output in outputs), strict=True)
        epochs, stamps = zip(*(output.instant for output in outputs), strict=True)
        return cls(
            np.array(epochs), np.array(stamps), np.array([output.started for output in outputs]),
            FilterStates(*map(np.array, known)), np.array(residual), np.array(variance), np.array(nis), np.array(parts),
            np.array(rates), positions, np.array([output.imu_delay for output in outputs]),
            np.array([output.by_legs_alone for output in outputs]),
            np.array([output.mode_unknown for output in outputs]),
        )  # fmt: skip

    @classmethod
    def joined(cls, blocks: Sequence[OutputBlock]) -> OutputBlock:
        """Several, one after the other."""
        joined = {
            name: np.concatenate([getattr(block, name) for block in blocks])
            for name in vars(blocks[0])
            if name != 'known'
        }
        known = zip(*(block.known for block in blocks), strict=True)
        return cls(known=FilterStates(*(np.concatenate(values) for values in known)), **joined)


@dataclass(eq=False)
class EstimatorOutput:
    """Estimate at the stamp of one leg measurement.

    Attributes
    ----------
    instant : of the measurement
    started : True for the first estimate after a (re)start, which is the start pose itself
    filter_state : current state, covariance, chart, ... of the filter as in :class:`FilterStates`, no leading axis
    model : computes the outputs from them
    innovation : residual, its standard deviation and NIS; ``None`` for a start from forward kinematics
    differentiated : derivative (3,) rad/s^2 of the angular rate, platform axes, with the differentiator's lag, and the
        interval [s] between its samples, which determines the noise; ``None`` while that settles
    drive_positions : (A,) m or rad, as measured, NaN where a leg was not used
    efforts : (A,) N as received with the measurement, NaN where absent
    baseline : conventional estimate of the reference point, ``None`` if it failed or does not run
    imu_delay : s, declared delay, including what was estimated and declared so far
    by_legs_alone : whether the IMU was left out; specific force and angular rate are then the legs', biases are NaN
    mode_unknown : whether the assembly mode is in doubt: the pose is the likeliest one, its covariance covers all
    """

    instant: Instant
    started: bool
    filter_state: tuple[Array, ...]
    model: OutputModel
    innovation: Innovation | None
    differentiated: tuple[Array, float] | None
    drive_positions: Array
    efforts: Array
    baseline: BaselineEstimate | None
    imu_delay: float
    by_legs_alone: bool = False
    mode_unknown: bool = False

    @property
    def stamp(self) -> int:
        """Stamp of the measurement [ns]."""
        return self.instant.stamp

    @cached_property
    def known(self) -> FilterStates:
        """State of the filter, with a leading axis of one."""
        return FilterStates(*(values[None] for values in self.filter_state))

    @cached_property
    def motion(self) -> PointMotion:
        """Pose and twist of the reference point (default: origin of ``platform_link``) with covariances."""
        return self.model.motion(self.known)[0]

    @cached_property
    def inertial(self) -> InertialEstimate:
        """Corrected IMU sample and biases; arrays without the leading axis."""
        batch = self.model.inertial(self.known)
        if self.by_legs_alone:
            batch = without_biases(batch, np.ones(1, dtype=bool))
        return InertialEstimate(*(values[0] for values in vars(batch).values()))

    @property
    def angular_acceleration(self) -> tuple[Array, Array] | None:
        """Angular acceleration (3,) rad/s^2 and covariance (3, 3), IMU axes; ``None`` while not known.

        The covariance is that of the samples' white noise. It does not contain the error of a changing acceleration
        due to the lag.
        """
        if self.differentiated is None:
            return None
        frame, (rate, interval) = self.model.imu_frame, self.differentiated
        noise = frame.covariance_to_imu(self.filter_state[-1])[3:, 3:]
        return frame.vector_to_imu(rate), self.model.angular_acceleration.differentiate.noise_gain(interval) * noise

    @property
    def state(self) -> Array:
        """The filter's own state (n,), platform axes, position in base axes; an estimated delay is the whole one."""
        state: Array = self.model.state(self.known, np.array([self.imu_delay]))[0]
        return state

    @property
    def state_std(self) -> Array:
        """Standard deviations (n,) of the filter's own state."""
        _, covariance, *_ = self.filter_state
        std: Array = np.sqrt(covariance.diagonal())
        return std


class AngularAcceleration:
    """Second-order Butterworth derivative of the IMU's angular rate, driven by the IMU's own stamps.

    The derivative of the constant gyroscope bias is zero. Subtracting the estimated bias first would turn each of its
    corrections into an acceleration, so the raw samples are differentiated.

    Parameters
    ----------
    time_constant : s; the lag is sqrt(2) times this

    Attributes
    ----------
    differentiate : the differentiator
    last : end of the last segment
    age, interval : s, since the start, and between the last samples
    settling : s, after which its start is forgotten
    """

    def __init__(self, time_constant: float) -> None:
        self.differentiate = ButterworthDifferentiator(time_constant)
        self.settling = _SETTLING_LAGS * self.lag
        self.reset()

    @property
    def lag(self) -> float:
        """Delay of the estimate [s]."""
        return self.differentiate.lag

    def reset(self) -> None:
        """Restart the differentiator."""
        self.differentiate.reset()
        self.last: Instant | None = None
        self.age = self.interval = 0.0

    def advance(self, segment: Segment) -> None:
        """Process the input of a segment; a segment that was processed before (repeated prediction) is ignored."""
        start, end, duration, imu_interval = segment.start, segment.end, segment.duration, segment.imu_interval
        if self.last is None:
            self.differentiate.advance(start.value[3:], 0.0)
        elif end.instant <= self.last:
            return
        self.last = end.instant
        self.differentiate.advance(end.value[3:], duration)
        self.age += duration
        self.interval = max(imu_interval, duration)

    def raw(self) -> tuple[Array, float] | None:
        """See :attr:`EstimatorOutput.differentiated`."""
        memory = self.differentiate.memory
        return None if memory is None or self.age < self.settling else (memory[RATE], self.interval)
