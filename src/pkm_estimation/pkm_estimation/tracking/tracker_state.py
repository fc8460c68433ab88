"""Parts of the estimator that have a state, with snapshots of all of it."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

import numpy as np
from pkm_description.arrays import Array
from pkm_description.kernels.model import Integers
from pkm_description.machine import Machine
from scipy.special import chdtri, ndtr

from pkm_estimation.config import EstimatorConfig
from pkm_estimation.exchange.baseline import BaselineStream
from pkm_estimation.exchange.health import HealthMonitor
from pkm_estimation.exchange.history import Memory
from pkm_estimation.exchange.imu_watch import ImuCauses, ImuWatch
from pkm_estimation.exchange.output import AngularAcceleration, OutputModel
from pkm_estimation.exchange.samples import (
    ImuSample,
    Instant,
)
from pkm_estimation.exchange.stale import StaleEncoders
from pkm_estimation.filtering.legs_alone import LegsAlone
from pkm_estimation.filtering.noise_adaptation import NoiseAdaptation
from pkm_estimation.filtering.platform_filter import PlatformFilter
from pkm_estimation.filtering.singular_reach import AssemblySide, PoseWatch, SingularReach
from pkm_estimation.filters import Innovation, KalmanFilter
from pkm_estimation.kernels.leg_lengths import add_to_scale
from pkm_estimation.models import EstimatorGeometry
from pkm_estimation.models.extra_states import ImuFrame
from pkm_estimation.models.leg_motion import RecentPositions
from pkm_estimation.tracking.bank import Bank
from pkm_estimation.tracking.hypotheses import Label
from pkm_estimation.tracking.leg_sets import LegSets, Offsets
from pkm_estimation.tracking.reports import LegReports
from pkm_estimation.tracking.start_poses import NEVER, NO_POSES, LastPoses, StartPoses

#: kind of failure, and name of the event
IMU_GAP = 'imu_gap'
#: biases beyond so many standard deviations of the prior, and beyond m/s^2 and rad/s, are those of no sensor
_IMPLAUSIBLE, _LARGEST_BIASES = 5.0, (5.0, 0.5)
#: measurements that confirm a start
_CONFIRMED = 10
#: running mean square of normalised innovations beyond which nothing is ordinary
_LARGEST_SCALE = 9.0
#: failures after which the last pose is as good as before
_HARMLESS = (IMU_GAP, 'leg_gap', 'pose_lost')
#: the remaining delay is added to the declared one above this [s] and above so many standard deviations
_LONG, _SIGNIFICANT = 1e-3, 3.0
#: a delay beyond so many prior standard deviations is taken for the result of a disturbed filter
_IMPOSSIBLE = 5.0


class LatestPositions:
    """The last position of each drive; attributes are replaced, never written into.

    Parameters
    ----------
    count : of the drives

    Attributes
    ----------
    positions : (A,) m or rad, NaN where there was none
    """

    def __init__(self, count: int) -> None:
        self.positions = np.full(count, np.nan)
        self._stamps = np.full(count, -NEVER)

    def add(self, stamp: int, positions: Array) -> None:
        """Take positions (A,) of a stamp [ns], not finite where a message has none."""
        there = np.isfinite(positions)
        self.positions = np.where(there, positions, self.positions)
        self._stamps = np.where(there, stamp, self._stamps)

    def age(self, stamp: int) -> float:
        """Time [s] from the oldest of them to a stamp [ns], or to it from one that is later."""
        return 1e-9 * float(np.abs(stamp - self._stamps).max())


class DeclaredDelay:
    """Delay of the IMU's stamps relative to those of the legs.

    The filter corrects the remaining delay by extrapolating its states to second order. A long delay is better
    declared: then the IMU samples of the right time are used.

    Parameters
    ----------
    delay, std : s, at the beginning
    row : the filter's state for the remaining delay, ``None`` if it is not estimated

    Attributes
    ----------
    nanoseconds : the declared delay
    is_estimated : whether the filter has a state for the rest; the methods that take the filter need it
    """

    def __init__(self, delay: float, std: float, row: slice | None) -> None:
        self._configured, self._std, self._row = round(1e9 * delay), std, row
        self.is_estimated = row is not None
        self.reset()

    def reset(self) -> None:
        """Go back to the configured delay."""
        self.nanoseconds = self._configured

    def is_impossible(self, ukf: KalmanFilter) -> bool:
        """Whether the whole delay, declared and remaining, is beyond five standard deviations of its prior."""
        assert self._row is not None
        found = 1e-9 * (self.nanoseconds - self._configured) + ukf.state.item(self._row.start)
        return not abs(found) <= _IMPOSSIBLE * self._std

    def absorb(self, ukf: KalmanFilter, tell: Callable[[str, str], None]) -> None:
        """Add a significant remaining delay to the declared one, and subtract it from the filter's state."""
        assert self._row is not None
        index = self._row.start
        rest, variance = ukf.state.item(index), ukf.covariance.item(index, index)
        if abs(rest) < _LONG or rest**2 < _SIGNIFICANT**2 * variance:
            return
        step = round(1e9 * rest)
        self.nanoseconds += step
        ukf.state[index] -= 1e-9 * step
        claim = f'{1e-6 * self.nanoseconds:.3f} ms +- {1e3 * variance**0.5:.2g} ms'
        tell('imu_delay_declared', f'IMU delay set to {claim}')


class InnovationFit:
    """How well innovations fit so far, and the bound that they are compared with.

    Parameters
    ----------
    count : A legs
    gate : bound in standard deviations of one leg; 0: there is none

    Attributes
    ----------
    is_on : whether there is one
    fit : (1,) running mean square of the normalised innovations; replaced, never written into
    accepted : measurements since the start that were used
    """

    def __init__(self, count: int, gate: float) -> None:
        self.is_on, self._count, self._tail = gate > 0.0, count, 2.0 * float(ndtr(-gate))
        self.largest_nis = self.limit_of(count)
        self.started()

    def started(self) -> None:
        """Begin anew."""
        self.fit, self.accepted = np.ones(1), 0

    @property
    def scale(self) -> float:
        """Running mean square of the normalised innovations."""
        return self.fit.item()

    def limit_of(self, count: int) -> float:
        """Normalised innovation squared of ``count`` numbers with the probability of the bound."""
        return float(chdtri(count, self._tail)) if self.is_on else float('inf')

    def accept(self, innovation: Innovation) -> None:
        """Take the innovation of a measurement that was used."""
        if self.is_on:
            fit, count = self.fit.copy(), self._count
            shared = np.array(np.broadcast_to(innovation.shared, count), dtype=float)
            add_to_scale(innovation.residual, innovation.variance, shared, fit, np.empty(count))
            self.take(fit, 1)

    def take(self, fit: Array, count: int) -> None:
        """Take the statistics after ``count`` more measurements."""
        self.fit, self.accepted = fit, self.accepted + count


class ImuReport:
    """What is told of an IMU that is not trusted; attributes are replaced, never written into.

    Attributes
    ----------
    kind, detail : of the failure; empty: the IMU is trusted
    named : kinds before, of the same failure
    began : when it was trusted for the last time
    """

    def __init__(self) -> None:
        self.end()
        self._at_run_begin: tuple[Instant, Array] | None = None

    def end(self) -> None:
        """The IMU is trusted."""
        self.kind = self.detail = ''
        self.named: tuple[str, ...] = ()
        self.began: Instant | None = None

    def begin(self, instant: Instant, kind: str, detail: str) -> None:
        """It is not trusted from now on."""
        self.kind, self.detail, self.began, self.named = kind, detail, instant, ()

    def name(self, kind: str, detail: str) -> None:
        """Replace kind and detail by those that say more."""
        self.named, self.kind, self.detail = (*self.named, self.kind), kind, detail

    def moved_since(self, begin: Instant, positions: Array) -> Array:
        """Positions (A,) of the drives at the first measurement that was asked for with this ``begin``."""
        if self._at_run_begin is None or self._at_run_begin[0] != begin:
            self._at_run_begin = begin, positions
        return self._at_run_begin[1]

    @property
    def description(self) -> str:
        """Kind and detail; empty where the IMU is trusted."""
        return f'{self.kind.removeprefix("imu_").replace("_", " ")}: {self.detail}' if self.kind else ''


class TrackerParts:
    """Filters, bank, and all else that has a state.

    Parameters
    ----------
    machine, config : the machine and the settings
    imu_frame : mounting of the IMU
    health : gets all counters and events; default: one of its own

    Attributes
    ----------
    filter, alone : with the IMU and without it; they hold the likeliest hypotheses
    bank : all hypotheses
    delay, side, pose_watch, baseline, angular_acceleration, fit, noise, imu_watch, imu_report, legs : further parts
    may_leave_out_imu : whether an IMU that fails may be left out
    largest_biases : (6,) m/s^2, rad/s, beyond which they are those of no sensor
    largest_constraint_nis : normalised innovation squared of constraints beyond which the prediction is wrong
    largest_scale : running mean square of the normalised innovations beyond which no measurement is ordinary
    last_poses : where the platform was
    output_model : maps the filter's state to the outputs
    now : IMU sample at the filter's state, ``None`` while it is stopped
    since : instant of that sample at the start
    zero_columns : place of the column of each drive's zero in the sensitivity
    on_zeros_moved : is told of zeros that have moved; ``None``: measurements do not say that now
    was_late : whether the last measurement of the legs was of another time than its stamp
    tested_at : ns, stamp of the measurement after which what innovations say of constants is tested
    """

    def __init__(
        self, machine: Machine, config: EstimatorConfig, imu_frame: ImuFrame, health: HealthMonitor | None = None
    ) -> None:
        self.machine, self.config, self.tested_at = machine, config, NEVER
        sensors, drives = machine.leg_sensors, machine.actuated_count
        leg_noise = np.diag(sensors.position_noise**2 + np.square(sensors.position_resolution) / 12.0)
        geometry = EstimatorGeometry.from_machine(machine)
        self.filter = PlatformFilter(geometry, imu_frame.noise_covariance, leg_noise, config, machine)
        self.health = health or HealthMonitor(drives, self.filter.layout.groups)
        self.baseline = BaselineStream(machine, config, self.health)
        self.angular_acceleration = AngularAcceleration(config.angular_acceleration_time_constant)
        self.delay = DeclaredDelay(config.imu_delay, config.imu_delay_std, self.filter.layout.imu_delay)
        self.side = AssemblySide(machine)
        self.pose_watch = PoseWatch(machine, self.side, config.maximum_condition)
        self.fit = InnovationFit(drives, 0.0 if config.filter == 'paper' else config.leg_gate)
        self.noise = NoiseAdaptation(config.adapt_noise, self.filter.length_covariance.diagonal()[:drives].copy())
        self.may_leave_out_imu = config.legs_alone and self.fit.is_on
        self.alone = LegsAlone(geometry, leg_noise, config, machine)
        self.alone.filter.legs.zeros = self.filter.legs.zeros  # what is found of them holds for both
        self.reach = SingularReach(machine, self.filter, config.follow_modes)
        arm = np.array(config.reference_point) - geometry.imu_position
        self.bank = Bank(self.filter, self.alone, self.reach, arm)
        offset_std = 0.0 if self.filter.layout.leg_offsets is None else config.leg_offset_std
        self.start_poses = StartPoses(
            machine, self.filter, self.reach, lambda positions: self.baseline.estimator.pose(positions)[0], offset_std
        )
        self.last_poses = NO_POSES
        self.imu_watch = ImuWatch(machine.imu, machine.driver.imu, bool(machine.gravity.any()), config.history)
        self.imu_report, self.imu_causes = ImuReport(), ImuCauses()
        self.leg_noise = np.maximum(np.sqrt(leg_noise.diagonal()), 1e-12)
        self.legs, self.leg_sets = LegReports(machine), LegSets(machine)
        self.stale = StaleEncoders(np.sqrt(leg_noise.diagonal()))
        self.gathered, self.last, self.recent = LatestPositions(drives), LatestPositions(drives), RecentPositions()
        priors = np.repeat([config.start_accelerometer_bias_std, config.start_gyroscope_bias_std], 3)
        largest = np.maximum(_IMPLAUSIBLE * priors, np.repeat(_LARGEST_BIASES, 3))
        self.largest_biases = largest if self.may_leave_out_imu else np.full(6, inf)
        constraints = self.filter.legs.constraint_count
        usual = self.fit.limit_of(constraints) if constraints and self.may_leave_out_imu else inf
        self.largest_constraint_nis = min(config.iteration_nis, usual)
        # where noise is adapted, innovations that are too large are its task
        self.judges_imu = self.may_leave_out_imu and not self.noise.is_on
        self.largest_scale = _LARGEST_SCALE if self.judges_imu else inf
        point = np.array(config.reference_point)
        self.output_model = OutputModel(
            self.filter.layout, self.filter.geometry, imu_frame, point, self.angular_acceleration
        )
        self.baseline_wanted = config.baseline
        self.zero_columns = {one.member: one.place for one in self.filter.columns if one.kind == 'zero'}
        self.on_zeros_moved: Callable[[Offsets], None] | None = None
        self.now: ImuSample | None = None
        self.since: Instant | None = None
        self.lost_samples = self.stamp = 0
        self.was_late = False
        self._memory = Memory(
            self.bank, self.fit, self.delay, self.pose_watch, self.noise, self.imu_report, self.imu_causes, self.legs,
            self.leg_sets, self.stale, self.gathered, self.last, self.recent,
            self.baseline, self.baseline.estimator, self.baseline.estimator.differentiate, self.angular_acceleration,
            self.angular_acceleration.differentiate,
        )  # fmt: skip

    def due(self, instant: Instant) -> Instant:
        """IMU stamp of the same instant as a measurement: later by the delay of the IMU's stamps."""
        delay = self.delay.nanoseconds
        return Instant(instant.epoch, instant.stamp + delay) if delay else instant

    def snapshot(self) -> tuple[Any, ...]:
        """State for :meth:`restore`."""
        filters = self.filter.snapshot(), self.alone.snapshot()
        place = self.now, self.since, self.lost_samples, self.last_poses
        return *place, self.was_late, *filters, self._memory.snapshot()

    def restore(self, snapshot: tuple[Any, ...]) -> None:
        """Restore a snapshot exactly, bit by bit."""
        self.now, self.since, self.lost_samples, self.last_poses, self.was_late, filter_, alone, parts = snapshot
        self.alone.restore(alone)
        self.filter.restore(filter_)
        self._memory.restore(parts)

    @property
    def is_confirmed(self) -> bool:
        """Whether enough measurements have fitted since the start."""
        return self.fit.accepted > _CONFIRMED

    def tells_pose(self, label: Label, used: Integers | None) -> bool:
        """Whether those of the ``used`` legs that a hypothesis trusts, and that are read anew, tell the whole pose.

        They do where ``used`` is ``None``: the measurement is of something else.
        """
        if used is None:
            return True
        return self.alone.tells(len(set(used.tolist()) - label.outliers - set(self.stale.legs.tolist())))

    def doubt_last_pose(self, stamp: int) -> None:
        """What came since may have made it, too: another assembly mode than that near it may be the right one."""
        self.last_poses = self.last_poses._replace(doubted=stamp)

    def _stop(self) -> None:
        if len(self.bank.parts) > 1 and self.now is not None:  # a start looks near all poses that are possible
            stamp = self.now.instant.stamp
            self.last_poses = LastPoses(stamp, self.bank.poses(self.machine.imu.position), stamp)
        self.bank.clear()
        self.now = self.since = None
        self.angular_acceleration.reset()
        self.lost_samples = 0
        self.health.left_out, self.health.mode_doubt = {}, ''

    def fail(self, stamp: int, reason: str, detail: str) -> None:
        """Stop the filter, and say why."""
        self.health.event(stamp, reason, f'{detail}: restarting the filter')
        if reason not in _HARMLESS:
            self.doubt_last_pose(stamp)
        self._stop()
