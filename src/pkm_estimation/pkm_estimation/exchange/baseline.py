"""The conventional baseline on stamped leg measurements, next to the filter or alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.errors import KinematicsError
from pkm_description.machine import Machine

from pkm_estimation.baseline import BaselineEstimate, KinematicEstimator
from pkm_estimation.config import EstimatorConfig
from pkm_estimation.exchange.health import HealthMonitor
from pkm_estimation.exchange.messages import LegMessageReader, LegSample
from pkm_estimation.exchange.samples import NANOSECOND, Instant, StampGate, seconds

Integers = NDArray[np.int64]
#: event at a sample whose forward kinematics fails
WITHOUT_POSE = 'baseline_without_pose'


def kinematic_estimator(machine: Machine, config: EstimatorConfig) -> KinematicEstimator:
    """Forward kinematics and differentiator from the settings, with the noise of the machine's leg sensors."""
    return KinematicEstimator(
        machine,
        np.diag(machine.leg_sensors.position_noise**2),
        config.differentiator_time_constant,
        config.differentiator_damping,
    )


class BaselineStream:
    """Feeds a :class:`KinematicEstimator` by stamps; restarts after a gap or when the clock is reset.

    If samples are skipped, because no subscriber needs the estimates, call :meth:`reset`: otherwise the differentiator
    would differentiate across the gap.

    Attributes
    ----------
    estimator : forward kinematics and differentiator
    """

    def __init__(self, machine: Machine, config: EstimatorConfig, health: HealthMonitor) -> None:
        self.estimator = kinematic_estimator(machine, config)
        self._config, self._health = config, health
        self._point = np.array(config.reference_point)
        self._drive_count = machine.actuated_count
        self._last: Instant | None = None

    def reset(self) -> None:
        """Restart with the next sample; cheap."""
        self._last = None

    def estimate(self, instant: Instant, sample: LegSample) -> BaselineEstimate | None:
        """Estimate from one measurement; ``None`` if a leg is missing or no pose is found (see the event)."""
        if len(sample.used) < self._drive_count:
            return None
        last = self._last
        interval = 0.0 if last is None else seconds(last, instant)
        if last is None or last.epoch != instant.epoch or interval > self._config.maximum_leg_gap:
            self.estimator.reset()
        self._last = instant
        try:
            estimate = self.estimator.estimate(sample.positions, interval)
        except KinematicsError as error:
            self._health.event(instant.stamp, WITHOUT_POSE, str(error))
            self._last = None
            return None
        return estimate.at_point(self._point) if self._point.any() else estimate


@dataclass(frozen=True)
class StampedBaseline:
    """Baseline estimate and its stamp [ns]."""

    stamp: int
    estimate: BaselineEstimate


class BaselinePipeline:
    """Baseline alone: leg measurements in, poses and velocities out; needs no IMU.

    Parameters
    ----------
    machine : the machine; its IMU, if any, is not used
    config : settings; only those of the baseline, of stamps and of the reference point are used

    Attributes
    ----------
    health : counters, events and rates
    """

    def __init__(self, machine: Machine, config: EstimatorConfig | None = None) -> None:
        self.machine, self.config = machine, config or EstimatorConfig()
        self.health = HealthMonitor(machine.actuated_count)
        self._reader = LegMessageReader(machine, machine.actuated_count)
        self._stream = BaselineStream(machine, self.config, self.health)
        self._gate = StampGate(self.config.clock_jump)

    def reset(self, stamp: int = 0) -> None:
        """Reset everything except the counters; ``stamp`` [ns] is for the event."""
        self._gate = StampGate(self.config.clock_jump)
        self._stream.reset()
        self.health.event(stamp, 'reset', 'reset on request')

    def add_joint_positions(
        self, stamp: int, names: Sequence[str], positions: Sequence[float] | NDArray[np.float64]
    ) -> StampedBaseline | None:
        """Process joint positions by name at ``stamp`` [ns]; returns the estimate or ``None``."""
        sample = self._reader.read(names, positions, None, partial(self.health.event, stamp))
        instant = None if sample is None else self.health.admit('legs', self._gate, stamp)
        if sample is None or instant is None:
            self.health.count('legs_rejected')
            return None
        estimate = self._stream.estimate(instant, sample)
        if estimate is None:
            self.health.count('legs_rejected')
            return None
        self.health.baseline_output()
        return StampedBaseline(stamp, estimate)


def baseline_series(
    machine: Machine,
    config: EstimatorConfig,
    epochs: Integers,
    stamps: Integers,
    positions: Array,
    health: HealthMonitor,
) -> tuple[Integers, BaselineEstimate]:
    """Estimate the same samples as a :class:`BaselineStream` that gets them one by one.

    Parameters
    ----------
    epochs, stamps : (N,), (N,) ns, instants in the order in which the stream would get them; a new epoch restarts the
        differentiator
    positions : (N, L) m, NaN where a leg is missing
    health : gets an event for each sample without a pose

    Returns
    -------
    stamps (M,) ns of M of the samples, and the estimates of the reference point; all arrays with a leading axis M
    """
    complete = np.flatnonzero(np.isfinite(positions).all(axis=1))
    epochs, stamps, positions = epochs[complete], stamps[complete], positions[complete]
    intervals = np.diff(stamps, prepend=stamps[:1]) * NANOSECOND
    begins = np.diff(epochs, prepend=epochs[:1]) != 0
    begins |= intervals > config.maximum_leg_gap
    estimates, places, errors = kinematic_estimator(machine, config).series(positions, intervals, begins)
    for place, error in errors.items():
        health.event(int(stamps[place]), WITHOUT_POSE, str(error))
    point = np.array(config.reference_point)
    if point.any():
        estimates = estimates.at_point(point)
    return stamps[places], estimates
