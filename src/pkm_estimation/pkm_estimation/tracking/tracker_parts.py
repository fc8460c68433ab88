"""The parts of the estimator that have a state, with snapshots of all of it."""

from __future__ import annotations

from collections.abc import Callable
from math import exp, inf
from typing import Any, NamedTuple

import numpy as np
from pkm_description.arrays import Array
from pkm_description.machine import Machine, Pose

from pkm_estimation.config import EstimatorConfig
from pkm_estimation.exchange.baseline import BaselineStream
from pkm_estimation.exchange.health import HealthMonitor
from pkm_estimation.exchange.history import Memory
from pkm_estimation.exchange.output import AngularAcceleration, OutputModel
from pkm_estimation.exchange.samples import ImuSample, Instant, seconds
from pkm_estimation.filtering.legs_alone import LegsAlone
from pkm_estimation.filtering.platform_filter import PlatformFilter
from pkm_estimation.filtering.singular_reach import AssemblySide, PoseWatch, SingularReach
from pkm_estimation.filters import Innovation, KalmanFilter
from pkm_estimation.legs.fault import LegContinuity
from pkm_estimation.legs.gate import LegGate
from pkm_estimation.legs.stale import StaleEncoders
from pkm_estimation.models import EstimatorGeometry
from pkm_estimation.models.extra_states import ImuFrame
from pkm_estimation.tracking.imu_watch import ImuCauses, ImuWatch
from pkm_estimation.tracking.mode_doubt import ModeDoubt

#: measurements between two changes, and those after a change that still remember the old noise
_BLOCK, _SETTLING = 100, 20
#: largest factor of one change, and bounds of the factors: beyond them the cause is not noise
_LARGEST_CHANGE, _LEAST, _MOST = 5.0, 1e-4, 1e7
#: factor on the IMU noise of a lost filter, and how often in a row that is tried
_RESCUE, _MOST_RESCUES = 25.0, 4
#: exponent of the innovations' excess in the common factor, and change of log(Q / R) per correlation
_ANSWER, _RATIO_GAIN = 0.7, 2.0
#: part of the innovations' expected variance below which they say nothing of the legs' noise
_LEAST_SHARE = 0.2
#: s for which the IMU must agree with the legs to be used again; factor on it, at most, if it fails again so soon after
_PROBATION, _LONGEST_PROBATION, _RELAPSE = 0.5, 8.0, 10.0
#: mean NIS per leg up to which it agrees
_AGREES = 3.0
#: the remaining delay is added to the declared one above this [s] and above so many standard deviations
_LONG, _SIGNIFICANT = 1e-3, 3.0
#: a delay beyond so many prior standard deviations is taken for the result of a disturbed filter
_IMPOSSIBLE = 5.0
#: biases beyond so many standard deviations of the prior, and beyond m/s^2 and rad/s, are those of no sensor
_IMPLAUSIBLE, _LARGEST_BIASES = 5.0, (5.0, 0.5)
#: running mean square of normalised innovations beyond which legs alone are better, and know how good they are
_LARGEST_SCALE = 9.0


class LastPoses(NamedTuple):
    """Where the platform was when it was looked at for the last time.

    Attributes
    ----------
    stamp : ns
    poses : the pose, or those that were possible
    doubted : ns, when it was in doubt, or passed a singular pose, for the last time
    """

    stamp: int
    poses: tuple[Pose, ...]
    doubted: int


#: ns, later than all stamps
NEVER = 2**62
#: long ago
NO_POSES = LastPoses(-NEVER, (), -NEVER)


class TrackerParts:
    """Filter, gate, delay, baseline, derivatives, and how far they have come.

    Parameters
    ----------
    machine, config : the machine and the settings
    imu_frame : mounting of the IMU

    Attributes
    ----------
    filter, leg_gate, delay, noise, side, pose_watch, baseline, angular_acceleration : the parts
    health : gets all counters and events; default: one of its own
    may_leave_out_imu : whether an IMU that fails may be left out
    alone, imu_watch, imu_fault, imu_causes, continuity : for that: the filter without it, its samples, its state, why,
        the legs' past
    stale : judges legs that may not have been read anew
    gathered : positions of all legs, for a start
    judges_imu : whether innovations that are too large may be a reason
    largest_biases : (6,) m/s^2, rad/s, beyond which they are those of no sensor
    largest_constraint_nis : normalised innovation squared of constraints beyond which the prediction is wrong
    largest_scale : running mean square of the normalised innovations beyond which the IMU is worse than none
    reach : looks for singular poses within what is known
    doubt, alone_doubt : poses that are possible where the assembly mode is in doubt, of the filter and of ``alone``
    last_poses : where the platform was
    output_model : maps the filter's state to the outputs
    now : IMU sample at the filter's state, ``None`` while it is stopped
    since : instant of that sample at the start
    lost_samples : measurements in a row that did not fit at all
    tested_at : ns, stamp of the measurement after which what innovations say of constants is tested
    """

    def __init__(
        self, machine: Machine, config: EstimatorConfig, imu_frame: ImuFrame, health: HealthMonitor | None = None
    ) -> None:
        self.machine, self.config, self.tested_at = machine, config, NEVER
        legs = machine.leg_sensors
        leg_noise = np.diag(legs.position_noise**2 + np.square(legs.position_resolution) / 12.0)
        geometry = EstimatorGeometry.from_machine(machine)
        self.filter = PlatformFilter(geometry, imu_frame.noise_covariance, leg_noise, config, machine)
        self.health = health or HealthMonitor(machine.actuated_count, self.filter.layout.groups)
        self.baseline = BaselineStream(machine, config, self.health)
        self.angular_acceleration = AngularAcceleration(config.angular_acceleration_time_constant)
        self.delay = DeclaredDelay(config.imu_delay, config.imu_delay_std, self.filter.layout.imu_delay)
        self.side = AssemblySide(machine)
        self.pose_watch = PoseWatch(machine, self.side, config.maximum_condition)
        gate = 0.0 if config.filter == 'paper' else config.leg_gate
        self.leg_gate = LegGate(machine, gate)
        self.noise = NoiseAdaptation(
            config.adapt_noise, self.filter.length_covariance.diagonal()[: machine.actuated_count].copy()
        )
        self.may_leave_out_imu = config.legs_alone and self.leg_gate.active
        self.alone = LegsAlone(geometry, leg_noise, config, machine)
        self.alone.filter.legs.zeros = self.filter.legs.zeros  # what is found of them holds for both
        self.reach = SingularReach(machine, self.filter, config.follow_modes)
        arm = np.array(config.reference_point) - geometry.imu_position
        self.doubt, self.alone_doubt = ModeDoubt(self.reach, arm), ModeDoubt(self.reach, arm, weighs=False)
        self.last_poses = NO_POSES
        self.imu_watch = ImuWatch(machine.imu, machine.driver.imu, bool(machine.gravity.any()), config.history)
        self.imu_fault, self.imu_causes = FaultTracker(), ImuCauses()
        noise = np.sqrt(leg_noise.diagonal())
        self.continuity, self.stale = LegContinuity(noise), StaleEncoders(noise)
        self.gathered = LatestPositions(machine.actuated_count)
        priors = np.repeat([config.start_accelerometer_bias_std, config.start_gyroscope_bias_std], 3)
        largest = np.maximum(_IMPLAUSIBLE * priors, np.repeat(_LARGEST_BIASES, 3))
        self.largest_biases = largest if self.may_leave_out_imu else np.full(6, inf)
        constraints = self.filter.legs.constraint_count
        usual = self.leg_gate.limit_of(constraints) if constraints and self.may_leave_out_imu else inf
        self.largest_constraint_nis = min(config.iteration_nis, usual)
        # where noise is adapted, innovations that are too large are its task
        self.judges_imu = self.may_leave_out_imu and not self.noise.is_on
        self.largest_scale = _LARGEST_SCALE if self.judges_imu else inf
        point = np.array(config.reference_point)
        self.output_model = OutputModel(
            self.filter.layout, self.filter.geometry, imu_frame, point, self.angular_acceleration
        )
        self.baseline_wanted = config.baseline
        self.now: ImuSample | None = None
        self.since: Instant | None = None
        self.lost_samples = 0
        self._memory = Memory(
            self.leg_gate,
            self.delay,
            self.pose_watch,
            self.noise,
            self.imu_fault,
            self.imu_causes,
            self.continuity,
            self.stale,
            self.gathered,
            self.doubt,
            self.alone_doubt,
            *self.baseline.remembering,
            *self.angular_acceleration.remembering,
        )

    def snapshot(self) -> tuple[Any, ...]:
        """State for :meth:`restore`."""
        alone = self.alone.snapshot() if self.imu_fault.is_on else None
        parts = self.filter.snapshot(), self._memory.snapshot(), alone
        return self.now, self.since, self.lost_samples, self.last_poses, *parts

    def restore(self, snapshot: tuple[Any, ...]) -> None:
        """Restore a snapshot exactly, bit by bit."""
        self.now, self.since, self.lost_samples, self.last_poses, filter_, parts, alone = snapshot
        if alone is not None:
            self.alone.restore(alone)
        self.filter.restore(filter_)
        self._memory.restore(parts)


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


class FaultTracker:
    """State of an IMU that is left out, and its trial: a second filter uses it until it is believed again.

    Attributes are replaced, never written into.

    Attributes
    ----------
    is_on : whether the IMU is left out
    kind, detail : of the failure
    named : kinds before, of the same failure
    began : instant of the failure
    trial : instant at which the present trial began, ``None`` between trials
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Believe the IMU."""
        self.is_on = False
        self.kind = self.detail = ''
        self.named: tuple[str, ...] = ()
        self.began: Instant | None = None
        self.returned: Instant | None = None
        self.trial: Instant | None = None
        self.at_run_begin: tuple[Instant, Array] | None = None
        self._probation = _PROBATION
        self._nis = 0.0
        self._numbers = 0

    def begin(self, instant: Instant, kind: str, detail: str) -> None:
        """Leave the IMU out from now on."""
        is_relapse = (
            self.returned is not None
            and self.returned.epoch == instant.epoch
            and seconds(self.returned, instant) < _RELAPSE
        )
        self._probation = min(2.0 * self._probation, _LONGEST_PROBATION) if is_relapse else _PROBATION
        self.is_on, self.kind, self.detail, self.began, self.trial = True, kind, detail, instant, None
        self.named = ()

    def name(self, kind: str, detail: str) -> None:
        """Replace kind and detail by those that say more."""
        self.named, self.kind, self.detail = (*self.named, self.kind), kind, detail

    def begin_trial(self, instant: Instant) -> None:
        """Begin to look whether the IMU agrees with the legs."""
        self.trial, self._nis, self._numbers = instant, 0.0, 0

    def has_passed(self, instant: Instant, innovation: Innovation, count: int) -> bool:
        """Add an innovation of ``count`` legs; whether the IMU has agreed for long enough."""
        assert self.trial is not None
        self._nis, self._numbers = self._nis + innovation.nis, self._numbers + count
        return seconds(self.trial, instant) >= self._probation

    @property
    def agrees(self) -> bool:
        """Whether the innovations of the trial are as large as they should be."""
        return self._nis <= _AGREES * self._numbers

    def end(self, instant: Instant) -> None:
        """Use the IMU again."""
        self.is_on, self.trial, self.returned = False, None, instant
        self.kind = self.detail = ''

    def moved_since(self, begin: Instant, positions: Array) -> Array:
        """Positions (A,) of the drives at the first measurement that was asked for with this ``begin``."""
        if self.at_run_begin is None or self.at_run_begin[0] != begin:
            self.at_run_begin = begin, positions
        return self.at_run_begin[1]

    @property
    def description(self) -> str:
        """Kind and detail; empty where the IMU is used."""
        return f'{self.kind.removeprefix("imu_").replace("_", " ")}: {self.detail}' if self.is_on else ''


class NoiseAdaptation:
    """Factors on Q and R that make the innovations as large as expected, and white.

    Scaling Q and R by the same factor keeps the filter's gain and scales the innovation covariance by that factor.
    A larger Q with the same R makes consecutive innovations less correlated. So the mean square of the normalised
    innovations gives the common factor, and their correlation the ratio of Q and R.

    Where the legs' noise is a small part of what the innovations are expected to be, they say nothing of it: R is kept,
    and Q alone is adapted. Otherwise the innovations of a model that is wrong (a late IMU), which no Q makes white,
    would take R to nothing.

    Parameters
    ----------
    mode : ``off``, ``q`` (R is kept) or ``q_and_r``
    leg_variance : (A,) of the legs' noise where ``r_factor`` is 1

    Attributes
    ----------
    q_factor, r_factor : on the variances
    is_on : whether the noise is adapted at all
    """

    def __init__(self, mode: str, leg_variance: Array) -> None:
        self.mode, self.is_on, self._leg_variance = mode, mode != 'off', leg_variance
        self.q_factor, self.r_factor = 1.0, 1.0
        self._rescues = 0
        self._clear(0)

    def _clear(self, skip: int) -> None:
        self._skip, self._count = skip, 0
        self._squares, self._products, self._numbers, self._shares = 0.0, 0.0, 0, 0.0
        self._last: Array | None = None

    def started(self) -> None:
        """Skip the first innovations after a start: they say nothing about the noise."""
        self._clear(_BLOCK)

    def rescue(self, excess: float) -> bool:
        """Raise the IMU noise of a filter that is lost; False if noise is not adapted, or if that does not help.

        A model that is wrong in something (a delay, a mounting) loses a filter again after each start. With more noise
        it follows the legs, and its claims are those of the legs. ``excess``: the NIS by that which counts as lost;
        what is far beyond noise, as a jump, needs a new start.
        """
        if not excess < _RESCUE or not self.is_on or self._rescues >= _MOST_RESCUES or self.q_factor >= _MOST:
            return False
        self._rescues += 1
        self.q_factor = min(_MOST, _RESCUE * self.q_factor)
        self._clear(_SETTLING)
        return True

    @property
    def constant_for(self) -> int | None:
        """Number of innovations after which the factors will be the same, ``None``: any."""
        return self._skip + _BLOCK - 1 - self._count if self.is_on else None

    def accept(self, innovation: Innovation) -> bool:
        """Add an innovation; True if the factors have changed."""
        if not self.is_on:
            return False
        if self._skip > 0:
            self._skip -= 1
            return False
        error = np.nan_to_num(innovation.residual / np.sqrt(innovation.variance))
        used = np.isfinite(innovation.residual)
        # an outlier must not decide: it is clipped to ten standard deviations
        error = np.clip(error, -10.0, 10.0)
        self._squares += float(error @ error)
        self._numbers += int(used.sum())
        self._shares += self.r_factor * float((self._leg_variance / innovation.variance)[used].sum())
        if self._last is not None:
            self._products += float(error @ self._last)
        self._last = error
        self._count += 1
        if self._count < _BLOCK:
            return False
        excess = self._squares / max(1, self._numbers)
        correlation = self._products / max(self._squares, 1e-12)
        common = min(_LARGEST_CHANGE, max(1.0 / _LARGEST_CHANGE, excess**_ANSWER))
        if self.mode == 'q' or self._shares < _LEAST_SHARE * self._numbers:
            self.q_factor *= common
        else:
            ratio = exp(_RATIO_GAIN * correlation)
            self.q_factor *= common * ratio
            self.r_factor *= common / ratio
        self.q_factor = min(_MOST, max(_LEAST, self.q_factor))
        self.r_factor = min(_MOST, max(_LEAST, self.r_factor))
        self._clear(_SETTLING)
        self._rescues = 0
        return True
