"""Processes measurements in order: prediction, hypotheses, correction, output, and the conditions for a restart."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from math import inf, log
from typing import Any, NamedTuple

import numpy as np
from pkm_description.arrays import Array
from pkm_description.errors import KinematicsError
from pkm_description.kernels.model import Integers
from pkm_description.kinematics import forward_kinematics, measured_tolerance
from pkm_description.machine import Machine, Pose
from scipy.special import chdtri

from pkm_estimation.config import EstimatorConfig
from pkm_estimation.exchange.baseline import BaselineStream
from pkm_estimation.exchange.health import HealthMonitor
from pkm_estimation.exchange.history import Memory
from pkm_estimation.exchange.messages import LegMeasurement, LegSample, UserMeasurement
from pkm_estimation.exchange.output import AngularAcceleration, EstimatorOutput, OutputModel
from pkm_estimation.exchange.samples import (
    NANOSECOND,
    ImuSample,
    InputPath,
    Instant,
    samples_until,
    seconds,
    take_input,
)
from pkm_estimation.filtering.legs_alone import LegsAlone, RecentPositions, SurpriseError
from pkm_estimation.filtering.platform_filter import PlatformFilter
from pkm_estimation.filtering.point_motion import ObservationError
from pkm_estimation.filtering.singular_reach import AssemblySide, PoseWatch, SingularReach
from pkm_estimation.filters import CovarianceError, Innovation
from pkm_estimation.models import BIASES, EstimatorGeometry
from pkm_estimation.models.extra_states import ImuFrame
from pkm_estimation.models.inertial_process import INPUT_SIZE
from pkm_estimation.tracking.bank import BIRTHS, Bank, Candidate
from pkm_estimation.tracking.follower import Followed, Follower
from pkm_estimation.tracking.hypotheses import GOOD, Hypothesis, Label
from pkm_estimation.tracking.imu_watch import ImuCauses, ImuWatch
from pkm_estimation.tracking.leg_reports import LegReports
from pkm_estimation.tracking.leg_sets import Explanation, LegSets, Offsets
from pkm_estimation.tracking.stale import StaleEncoders
from pkm_estimation.tracking.start_poses import NEVER, NO_POSES, LastPoses, StartPoses
from pkm_estimation.tracking.tracker_state import (
    DeclaredDelay,
    ImuReport,
    InnovationFit,
    LatestPositions,
    NoiseAdaptation,
)

#: kind of failure, and name of the event
IMU_GAP = 'imu_gap'
#: 1/s, how often the IMU fails, is well again, and the platform is elsewhere than all legs said before
IMU_FAULTS, IMU_RECOVERIES, RESTARTS = 1e-4, 2.0, 1e-6
#: 1/s, how often a platform whose legs were calm moves as lively as any, and a measurement is of another time than its
#: stamp; s, by how much
_MANOEUVRES, _LATE, _LATE_BY = 1.0, 0.1, 0.005
#: how wrong an IMU may have been already when that shows, see :meth:`LegsAlone.doubt_motion`
_WRONG = 0.05, 1.0
#: probability that a start was wrong, or the IMU is from the start, and for how many measurements that may show
_WRONG_START, _CONFIRMED = 1e-2, 10
#: probability of a NIS of legs that are where they should be
_UNUSUAL = 1e-3
#: logarithm of the probability, to that of the likeliest, below which a hypothesis is not born
_HOPELESS = -14.0
#: the same below which nothing is born of it
_UNLIKELY = -7.0
#: the same at which a hypothesis that uses an IMU that is perhaps well again is contradicted by one measurement
_CONTRADICTED = -7.0
#: largest probability of a change
_CHANCE = 0.5
#: biases beyond so many standard deviations of the prior, and beyond m/s^2 and rad/s, are those of no sensor
_IMPLAUSIBLE, _LARGEST_BIASES = 5.0, (5.0, 0.5)
#: running mean square of normalised innovations beyond which nothing is ordinary
_LARGEST_SCALE = 9.0
#: standard deviations of its noise within which a leg stands still
_STILL = 6.0
#: s after a failure until which its cause is looked for
_LATEST_NAMING = 2.0
#: standard deviations of the legs: a wrong input that moves them further is seen at the first measurement
_TOLD_AT_ONCE = 55.0
#: failures after which the last pose is as good as before
_HARMLESS = (IMU_GAP, 'leg_gap', 'pose_lost')
#: standard deviation of one of two independent halves of a variance
_HALF = 0.5**0.5


class _Corrected(NamedTuple):
    """A candidate after the correction; no innovation where no leg was used."""

    candidate: Candidate
    hypothesis: Hypothesis
    innovation: Innovation | None


class Tracker:
    """Takes the hypotheses from measurement to measurement.

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
    may_bridge : False where a gap of the IMU's samples is to start the filter anew
    largest_biases : (6,) m/s^2, rad/s, beyond which they are those of no sensor
    largest_constraint_nis : normalised innovation squared of constraints beyond which the prediction is wrong
    largest_scale : running mean square of the normalised innovations beyond which no measurement is ordinary
    last_poses : where the platform was
    output_model : maps the filter's state to the outputs
    now : IMU sample at the filter's state, ``None`` while it is stopped
    since : instant of that sample at the start
    zero_columns : place of the column of each drive's zero in the sensitivity
    on_zeros_moved : is told of zeros that have moved; ``None``: they do not
    tested_at : ns, stamp of the measurement after which what innovations say of constants is tested
    """

    def __init__(
        self, machine: Machine, config: EstimatorConfig, imu_frame: ImuFrame, health: HealthMonitor | None = None
    ) -> None:
        self.machine, self.config, self.tested_at, self.may_bridge = machine, config, NEVER, True
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
        self.imu_report, self._imu_causes = ImuReport(), ImuCauses()
        self._leg_noise = np.maximum(np.sqrt(leg_noise.diagonal()), 1e-12)
        self.legs, self._leg_sets = LegReports(machine), LegSets(machine)
        self.stale = StaleEncoders(np.sqrt(leg_noise.diagonal()))
        self._gathered, self._last, self._recent = LatestPositions(drives), LatestPositions(drives), RecentPositions()
        priors = np.repeat([config.start_accelerometer_bias_std, config.start_gyroscope_bias_std], 3)
        largest = np.maximum(_IMPLAUSIBLE * priors, np.repeat(_LARGEST_BIASES, 3))
        self.largest_biases = largest if self.may_leave_out_imu else np.full(6, inf)
        constraints = self.filter.legs.constraint_count
        usual = self.fit.limit_of(constraints) if constraints and self.may_leave_out_imu else inf
        self.largest_constraint_nis = min(config.iteration_nis, usual)
        # where noise is adapted, innovations that are too large are its task
        self._judges_imu = self.may_leave_out_imu and not self.noise.is_on
        self.largest_scale = _LARGEST_SCALE if self._judges_imu else inf
        point = np.array(config.reference_point)
        self.output_model = OutputModel(
            self.filter.layout, self.filter.geometry, imu_frame, point, self.angular_acceleration
        )
        self.baseline_wanted = config.baseline
        self.zero_columns = {one.member: one.place for one in self.filter.columns if one.kind == 'zero'}
        self.on_zeros_moved: Callable[[Offsets], None] | None = None
        self.now: ImuSample | None = None
        self.since: Instant | None = None
        self.lost_samples = self._stamp = 0
        self._memory = Memory(
            self.bank, self.fit, self.delay, self.pose_watch, self.noise, self.imu_report, self._imu_causes, self.legs,
            self._leg_sets, self.stale, self._gathered, self._last, self._recent,
            *self.baseline.remembering, *self.angular_acceleration.remembering,
        )  # fmt: skip
        self._follower = Follower.of(self)

    def snapshot(self) -> tuple[Any, ...]:
        """State for :meth:`restore`."""
        filters = self.filter.snapshot(), self.alone.snapshot()
        return self.now, self.since, self.lost_samples, self.last_poses, *filters, self._memory.snapshot()

    def restore(self, snapshot: tuple[Any, ...]) -> None:
        """Restore a snapshot exactly, bit by bit."""
        self.now, self.since, self.lost_samples, self.last_poses, filter_, alone, parts = snapshot
        self.alone.restore(alone)
        self.filter.restore(filter_)
        self._memory.restore(parts)

    def reset(self) -> None:
        """Stop the filter and reset all else; an estimated delay is kept."""
        self._stop()
        self.baseline.reset()
        self.stale.reset()
        self.imu_report.end()
        self._last = LatestPositions(self.machine.actuated_count)

    # -- measurements --------------------------------------------------------------------------------------------------

    def due(self, instant: Instant) -> Instant:
        """IMU stamp of the same instant as a measurement: later by the delay of the IMU's stamps."""
        delay = self.delay.nanoseconds
        return Instant(instant.epoch, instant.stamp + delay) if delay else instant

    def process_legs(self, measurement: LegMeasurement, queue: deque[ImuSample]) -> EstimatorOutput | None:
        """Estimate at a leg measurement; ``None`` if it is rejected, with an event that gives the reason."""
        followed = self._follow_one(measurement, queue)
        if followed is not None:
            return followed
        path = self._path(measurement.instant, queue)
        if path is None:
            return None
        stamp, positions = measurement.instant.stamp, measurement.sample.positions
        output = self.start(measurement, path.end) if self.now is None else self._estimate(measurement, path)
        if self.stale.stamp != stamp:  # not all of its legs are stale
            self.stale.add(np.array([stamp]), positions[None])
            self._last.add(stamp, positions)
            self._recent.add(np.array([stamp]), positions[None])
        return output

    def process_user(self, measurement: UserMeasurement, queue: deque[ImuSample]) -> bool:
        """Correct with a user's measurement; False if it is rejected, with an event that gives the reason."""
        name, stamp, bank = measurement.name, measurement.instant.stamp, self.bank
        if self.now is None:
            self.health.count(f'{name}_before_start')
            return False
        path = self._path(measurement.instant, queue)
        if path is None or self.now is None:
            return False
        limit = self.fit.limit_of(len(measurement.value))
        found: list[tuple[Innovation, Hypothesis]] = []
        try:
            bank.collect()
            predicted = self._predicted(bank.hypotheses, path, None, self.machine.actuated_count)
            self.now = path.end  # also where the user's function raises
            for one in predicted:
                imu = path.end.value if one.label.uses_imu else np.zeros(INPUT_SIZE)
                innovation = bank.load(one).update_with(
                    measurement.observe, measurement.value, measurement.covariance, imu, limit
                )
                # off the diagonal the covariances differ little
                weight = -0.5 * (min(innovation.nis, limit) + float(np.log(innovation.variance).sum()))
                found.append((innovation, bank.held(one.label, one.logarithm + weight, one.moved)))
            bank.keep([hypothesis for _, hypothesis in found])
        except CovarianceError as error:
            self._fail(stamp, 'covariance_lost', str(error))
            return False
        except ObservationError as error:
            bank.keep(predicted)
            self.health.event(stamp, f'{name}_not_predicted', f'{name}: {error}: left out')
            return False
        self._tell_modes(stamp)
        innovation = min((one for one, _ in found), key=lambda one: one.nis)
        self.health.user_measurement(name, innovation)
        if innovation.nis > limit:
            worst = float(np.abs(innovation.residual / innovation.std).max())
            detail = f'{name}: {worst:.3g} standard deviations off its prediction: left out'
            self.health.event(stamp, f'{name}_off_prediction', detail)
            return False
        return True

    # -- ordinary measurements ---------------------------------------------------------------------------------------

    @property
    def can_follow(self) -> bool:
        """Whether :meth:`follow` can be called."""
        if self._follower is None or self.filter.record is not None:  # what is recorded goes step by step
            return False
        return self.now is not None and self.bank.is_plain and self._follower.can_follow(self.now)

    def follow(self, imu_stamps: Integers, samples: Array, stamps: Integers, positions: Array) -> Followed | None:
        """Follow measurements of the same epoch up to the first that needs a decision, see :class:`Follower`.

        ``None`` where already the first one does: it repeats a position.
        """
        count = min(self.stale.fresh(positions), int(np.searchsorted(stamps, self.tested_at)) + 1)
        if not count:
            return None
        assert self._follower is not None
        assert self.now is not None
        assert self.since is not None
        followed = self._follower.follow(
            self.now, self.since.stamp, imu_stamps, samples, stamps[:count], positions[:count], self.delay.nanoseconds
        )
        self.now = followed.now
        if len(followed):
            self.lost_samples = 0
            self.stale.add(followed.stamps, followed.positions)
            self._last.add(int(followed.stamps[-1]), followed.positions[-1])
            self._recent.add(followed.stamps, followed.positions)
            self.legs.see(followed.positions[-1])
            self._look_at_pose(int(followed.stamps[-1]))
        return followed

    def _follow_one(self, measurement: LegMeasurement, queue: deque[ImuSample]) -> EstimatorOutput | None:
        """Estimate at a measurement if it needs no decision."""
        sample = measurement.sample
        if not self.can_follow or self.now is None or len(sample.used) < self.machine.actuated_count:
            return None
        if measurement.instant.epoch != self.now.instant.epoch:
            return None
        due = self.due(measurement.instant)
        if queue[-1].instant < due or not self.imu_watch.is_quiet(self.now.instant, due):
            return None
        needed = samples_until(queue, due)
        if needed is None:
            return None
        followed = self.follow(*needed, np.array([measurement.instant.stamp]), sample.positions[None])
        if not followed:
            return None
        for _ in range(followed.place):
            queue.popleft()
        baseline = self.baseline.estimate(measurement.instant, sample) if self.baseline_wanted else None
        return followed.output(0, sample.efforts, baseline)

    # -- all others ----------------------------------------------------------------------------------------------------

    def _estimate(self, measurement: LegMeasurement, path: InputPath) -> EstimatorOutput | None:
        """Estimate at a measurement at the end of a path."""
        stamp = measurement.instant.stamp
        try:
            innovation, count = self._step(measurement, path)
            self.now = path.end
            if self.bank.is_vague and len(measurement.sample.used) == self.machine.actuated_count:
                raise CovarianceError('more poses are possible than can be followed')
        except CovarianceError as error:
            self._fail(stamp, 'covariance_lost', str(error))
            return self.start(measurement, path.end)
        if not self._is_sound(stamp, innovation):
            return self.start(measurement, path.end)
        alone, label = self.alone, self.bank.label
        if not label.uses_imu and not alone.tells(count) and alone.is_lost:
            told = f'{count} of {self.machine.actuated_count} legs and no IMU'
            self._fail(stamp, 'pose_lost', f'{told} do not tell the pose any more; a start needs all legs')
            return None
        output = self._output(measurement, innovation, started=False)
        if path.gap_ends and self.imu_report.kind == IMU_GAP:
            self._end_gap(measurement.instant, path.end)
        if self.delay.is_estimated and label.uses_imu:
            self.delay.absorb(self.filter.ukf, lambda name, detail: self.health.event(stamp, name, detail))
        return output

    def _step(self, measurement: LegMeasurement, path: InputPath) -> tuple[Innovation | None, int]:
        """Predict and correct all hypotheses, and weigh them; the innovation of the likeliest, and of how many legs.

        Raises CovarianceError where none explains the measurement.
        """
        now, stamp, sample, bank = self.now, measurement.instant.stamp, measurement.sample, self.bank
        assert now is not None
        duration = seconds(now.instant, path.end.instant)
        bad = None if path.in_gap else self._bad_samples(now.instant, path.end.instant, sample)
        bank.collect()
        self._stamp = stamp
        self._leg_sets.forget(stamp)
        label = bank.label
        before = bank.hypotheses if path.in_gap or bad is not None else self._with_imu(duration)
        predicted = self._predicted(before, path, bad, len(sample.used))
        if bad is not None and all(one.label.uses_imu for one in before):
            predicted += self._without_imu(before, duration, 0.0)
        if not predicted:
            raise CovarianceError('no hypothesis can be predicted')
        sample = self._read_anew(stamp, sample, path.end.value, predicted[0])
        if not len(sample.used):
            bank.keep(predicted)
            return None, 0
        explained = [(one, why) for one in predicted for why in self._explanations(one, sample, duration)]
        candidates = bank.weigh(explained)
        if self.fit.is_on and bad is None and self._is_surprised(candidates):
            born = self._born(before, predicted, duration, len(sample.used))
            explained += [(one, why) for one in born for why in self._explanations(one, sample, duration)]
            explained += self._started_anew(measurement, sample, path.end, duration, candidates)
            candidates = bank.weigh(explained)
        corrected = self._corrected(candidates, sample, duration)
        if not corrected and self._judges_imu:  # an IMU with such biases is none
            born = [one for wrong in _WRONG for one in self._without_imu(before, duration, 0.0, wrong)]
            explained = [(one, why) for one in born for why in self._explanations(one, sample, duration)]
            corrected = self._corrected(bank.weigh(explained), sample, duration)
        bank.keep([one.hypothesis for one in corrected])
        first = next(one for one in corrected if one.candidate.label == bank.label)
        if bank.label == GOOD and first.innovation is not None:
            self.fit.accept(first.innovation)
        why = first.candidate.explanation
        self._leg_sets.learn(label.outliers, why.outliers | why.moved, why.offsets)
        self._tell(measurement, path.end, label, bad, first)
        return first.innovation, len(first.candidate.explanation.used)

    def _predicted(
        self, hypotheses: Sequence[Hypothesis], path: InputPath, bad: object, count: int
    ) -> list[Hypothesis]:
        """Hypotheses at the end of a path; where its samples are bad, only those without the IMU."""
        now, uses_imu = self.now, bad is None and not path.in_gap
        assert now is not None
        duration, due = seconds(now.instant, path.end.instant), path.end.instant.stamp
        if uses_imu and any(one.label.uses_imu for one in hypotheses):
            for segment in path.segments:
                if not segment.is_empty:
                    self.angular_acceleration.advance(segment)
        if self.filter.record is not None and len(hypotheses) > 1:
            self.filter.record.pause()

        def move(one: Hypothesis) -> None:
            if one.label.uses_imu and not uses_imu:
                raise CovarianceError('there is no input')
            self.bank.filter_of(one.label).observe_leg_stamp(due)
            if one.label.uses_imu:
                self._predict_along(path)
            else:
                self.alone.predict(duration, self.alone.tells(count - len(one.label.outliers)))

        return self.bank.predict(hypotheses, move)

    def _loaded(self, predicted: Hypothesis) -> PlatformFilter:
        """The filter with a hypothesis at the present measurement."""
        filter_ = self.bank.load(predicted)
        filter_.doubt_leg_stamp(_LATE_BY * predicted.label.is_late)
        return filter_

    def _explanations(self, one: Hypothesis, sample: LegSample, duration: float) -> list[Explanation]:
        """What would explain a measurement by a predicted hypothesis."""
        filter_, label, used = self._loaded(one), one.label, sample.used
        noise = label.noise * self.bank.noise_scale if label.uses_imu else self.alone.legs.scale
        try:
            residual, spread = filter_.predicted_innovation(sample.positions, noise)
            if self.fit.is_on:
                variance = self.bank.noise_scale * filter_.length_covariance.diagonal()
                scale = max(1.0, self.fit.scale) if label.uses_imu else 1.0
                found = self._leg_sets.explanations(
                    label.outliers, label.noise, used, residual, spread, variance, sample.positions,
                    self._last.positions, duration, scale, label.uses_imu, self.on_zeros_moved is not None,
                )  # fmt: skip
                return found if not self.noise.is_on else [why for why in found if len(why.outliers) < 2]
            spread, off = spread[np.ix_(used, used)], residual[used]
            nis = float(off @ np.linalg.solve(spread, off))
            size = -0.5 * float(np.linalg.slogdet(spread)[1])
            return [Explanation(label.outliers, label.noise, size - 0.5 * nis, size, nis, used)]
        except (CovarianceError, np.linalg.LinAlgError):
            return []

    def _is_surprised(self, candidates: Sequence[Candidate]) -> bool:
        """Whether nothing ordinary explains a measurement."""
        if not candidates:
            return True
        best = candidates[0]
        is_new = best.label != best.predicted.label
        bound = float(chdtri(max(1, len(best.explanation.used)), _UNUSUAL))
        return is_new or best.explanation.nis > bound

    def _born(
        self, before: Sequence[Hypothesis], predicted: Sequence[Hypothesis], duration: float, count: int
    ) -> list[Hypothesis]:
        """Hypotheses that may explain a measurement that surprises all others: what may have changed since the last."""
        least = before[0].logarithm + _UNLIKELY
        before, predicted = ([one for one in ones if one.logarithm > least] for ones in (before, predicted))
        late = log(min(_CHANCE, _LATE * duration))
        born = [
            one._replace(
                logarithm=one.logarithm + late, label=one.label._replace(is_late=True), family=5 * BIRTHS + one.family
            )
            for one in predicted
        ]
        born += self._livelier(before, duration, count)
        if self._judges_imu:
            is_new = self.fit.accepted <= _CONFIRMED
            fails = log(0.5 * (_WRONG_START if is_new else min(_CHANCE, IMU_FAULTS * duration)))
            for wrong in _WRONG:
                born += self._without_imu(before, duration, fails, wrong)
        return born

    def _started_anew(
        self, measurement: LegMeasurement, sample: LegSample, imu: ImuSample, duration: float,
        candidates: Sequence[Candidate],
    ) -> list[tuple[Hypothesis, Explanation]]:  # fmt: skip
        """Where all legs are elsewhere, or a start was wrong: the platform is where they say, whatever was before."""
        chance = min(_CHANCE, RESTARTS * duration) if self.fit.accepted > _CONFIRMED else _WRONG_START
        best = candidates[0].logarithm if candidates else -inf
        logarithm = log(chance) + self._leg_sets.anywhere(sample.used)
        if len(sample.used) < self.machine.actuated_count or logarithm < best + _HOPELESS:
            return []
        label, born = Label(self.bank.label.uses_imu), []
        why = Explanation(label.outliers, label.noise, 0.0, 0.0, 0.0, sample.used[:0])  # the measurement is in it
        try:
            poses = self.start_poses.of(measurement.instant.stamp, sample.positions, self.last_poses)
            for pose in poses:
                self._start_at(pose, measurement, imu, label.uses_imu, 0.0)
                new = self.bank.held(label, logarithm - log(len(poses)))
                born.append((new._replace(family=BIRTHS + len(born)), why))
        except (KinematicsError, CovarianceError, SurpriseError):
            return born
        return born

    def _without_imu(
        self, hypotheses: Sequence[Hypothesis], duration: float, logarithm: float, wrong: float = 0.0
    ) -> list[Hypothesis]:
        """The same at the next measurement without the IMU; ``wrong``: how much it may have been so already."""
        found: list[Hypothesis] = []
        now = self.now
        if not self.may_leave_out_imu or now is None:
            return found
        for family, one in enumerate(one for one in hypotheses if one.label.uses_imu):
            self.bank.load(one)
            self.alone.go_on_from(self.filter, now.value, self._recent)
            if wrong:
                self.alone.doubt_motion(wrong)
            label = one.label._replace(uses_imu=False, noise=1.0)
            try:
                few = self.machine.actuated_count - len(label.outliers)
                self.alone.predict(duration, self.alone.tells(few))
            except CovarianceError:
                continue
            new = self.bank.held(label, one.logarithm + logarithm, one.moved)
            found.append(new._replace(family=(2 + (wrong == 1.0)) * BIRTHS + family))
        return self.bank.cut(found)

    def _livelier(self, hypotheses: Sequence[Hypothesis], duration: float, count: int) -> list[Hypothesis]:
        """Those without the IMU, where the motion has become as lively as any."""
        found: list[Hypothesis] = []
        for family, one in enumerate(one for one in hypotheses if not one.label.uses_imu):
            self.bank.load(one)
            self.alone.legs.liveliness = max(1.0, self.alone.legs.liveliness)
            try:
                self.alone.predict(duration, self.alone.tells(count - len(one.label.outliers)))
            except CovarianceError:
                continue
            logarithm = one.logarithm + log(min(_CHANCE, _MANOEUVRES * duration))
            found.append(self.bank.held(one.label, logarithm, one.moved)._replace(family=4 * BIRTHS + family))
        return self.bank.cut(found)

    def _with_imu(self, duration: float) -> tuple[Hypothesis, ...]:
        """All hypotheses, and where the likeliest leaves the IMU out, those in which it is well again."""
        bank, now = self.bank, self.now
        assert now is not None
        if bank.label.uses_imu or not self.alone.is_moving:
            return bank.hypotheses
        logarithm = bank.hypotheses[0].logarithm + log(min(_CHANCE, IMU_RECOVERIES * duration))
        # one that was contradicted begins anew from what is known without it
        others = tuple(
            one._replace(logarithm=max(one.logarithm, logarithm)) if one.label.uses_imu else one
            for one in bank.hypotheses
            if not one.label.uses_imu or one.logarithm > logarithm + _CONTRADICTED
        )
        if any(one.label.uses_imu for one in others):
            return others
        born = []
        for one in bank.parts:
            bank.load(one)
            self.alone.hand_over(self.filter)
            again = one.logarithm - bank.hypotheses[0].logarithm + logarithm
            born.append(bank.held(one.label._replace(uses_imu=True), again, one.moved))
        self.since = now.instant
        self.angular_acceleration.reset()
        return *others, *born

    def _corrected(self, candidates: Sequence[Candidate], sample: LegSample, duration: float) -> list[_Corrected]:
        """Correct the candidates; those that are not possible are left out."""
        found: list[_Corrected] = []
        scored, record = False, self.filter.record
        if record is not None and sum(one.label.uses_imu for one in candidates) > 1:
            record.pause()
        for candidate in candidates:
            label, used = candidate.label, candidate.explanation.used
            filter_ = self._loaded(candidate.predicted)
            new = {leg: candidate.explanation.offsets[leg] for leg in sorted(candidate.explanation.moved)}
            for leg, (off, _) in new.items():
                filter_.legs.zeros[leg] -= off
                self.alone.legs.move_zero(leg, off)
                filter_.ukf.sensitivity[:, self.zero_columns[leg]] = 0.0
            try:
                innovation = self._correct(filter_, label, sample, used, duration) if len(used) else None
            except (CovarianceError, SurpriseError):
                continue
            if not self._is_possible(filter_, label):
                continue
            if label.uses_imu and innovation is not None and not scored:
                filter_.score_constants()
                scored = True
            held = self.bank.held(label, candidate.logarithm, {**candidate.predicted.moved, **new})
            found.append(_Corrected(candidate, held, innovation))
        return found

    def _correct(
        self, filter_: PlatformFilter, label: Label, sample: LegSample, used: Integers, duration: float
    ) -> Innovation:
        if label.uses_imu:
            some = None if len(used) == self.machine.actuated_count else used
            return filter_.update(sample.positions, some, noise_scale=label.noise * self.bank.noise_scale)
        if self.alone.is_lost and len(used) == self.machine.actuated_count:
            # far from linear: a correction would lead to any of the assembly modes, and call it certain
            raise SurpriseError('the pose is not known', 'pose_lost')
        innovation = self.alone.update(sample.positions, used)
        self.alone.legs.add(self._since_last(duration), sample.positions, used)
        return innovation

    def _since_last(self, duration: float) -> float:
        """Time [s] since the last measurement of the legs; that since the last estimate where there was none."""
        stamps = self._recent.stamps
        return 1e-9 * (self._stamp - int(stamps[-1])) if len(stamps) and self._stamp > stamps[-1] else duration

    def _is_possible(self, filter_: PlatformFilter, label: Label) -> bool:
        """Whether what a filter holds is possible: on the machine's side of the base, with biases of a sensor."""
        if not self.side.holds(filter_):
            return False
        if not label.uses_imu or not self.may_leave_out_imu:
            return True
        if filter_.constraint_nis > self.largest_constraint_nis:
            return False
        return bool((np.abs(filter_.ukf.state[BIASES]) <= self.largest_biases).all())

    def _read_anew(self, stamp: int, sample: LegSample, imu: Array, predicted: Hypothesis) -> LegSample:
        """The sample without legs that are stale, at its stamp [ns], with the input (6,)."""
        stale, before = self.stale, set(self.stale.legs.tolist())
        repeated = np.setdiff1d(stale.repeated(sample.positions), list(predicted.label.outliers))
        if not len(repeated) or not self.fit.is_on:
            return sample
        noise = self.bank.noise_scale if predicted.label.uses_imu else self.alone.legs.scale
        innovation = self._loaded(predicted).predicted_innovation(sample.positions, noise)
        assert self.now is not None
        change = imu - self.now.value
        turned = float(change @ np.linalg.solve(2.0 * self.filter.imu_covariance, change))
        if not stale.judge(stamp, repeated, *innovation, turned):
            return sample
        names, fresh = [self.machine.drive_labels[leg] for leg in repeated], np.setdiff1d(sample.used, repeated)
        if not before.issuperset(repeated.tolist()):
            self.health.event(
                stamp, 'leg_stuck' if len(fresh) else 'encoders_stale', f'{", ".join(names)}: stuck, the last position '
                'again while the platform moves: not read anew, not used until it changes. Check driver and bus',
            )  # fmt: skip
        for name in names:
            self.health.count(f'{name}_left_out')
        if not len(fresh):
            stale.skip(stamp)
        return sample._replace(used=fresh)

    # -- the IMU's samples ---------------------------------------------------------------------------------------------

    def _bad_samples(self, now: Instant, due: Instant, sample: LegSample) -> tuple[str, str] | None:
        """Kind and detail of samples from ``now`` to ``due`` that cannot be right; ``None`` if there are none."""
        span = self.imu_watch.touching(now, due) if self.may_leave_out_imu else None
        if span is None:
            return None
        if not span.is_certain:
            moved = np.abs(sample.positions - self.imu_report.moved_since(span.first, sample.positions))
            if not (moved > _STILL * self._leg_noise).any():
                return None
        return span.kind, span.detail

    def _input_at(self, samples: Sequence[ImuSample], instant: Instant) -> Array:
        """IMU input (6,) at an instant, as the process model has it."""
        process = self.filter.process
        process.take([sample.instant.stamp for sample in samples], [sample.value for sample in samples])
        return process.input_at(seconds(samples[1].instant, instant))

    def _predict_along(self, path: InputPath) -> None:
        """Predict the filter with the IMU along a path."""
        jumped = self._jumped_along(path)
        if jumped is not None:  # half of it before: it moves the pose already on the way
            self.filter.widen(*jumped)
        for segment in path.segments:
            if segment.is_empty:
                continue
            around = [sample.instant.stamp for sample in segment.samples], [sample.value for sample in segment.samples]
            for begin, duration in segment.steps(self.config.maximum_step):
                self.filter.predict_between(*around, begin, duration)
        if jumped is not None:
            self.filter.widen(*jumped)

    def _jumped_along(self, path: InputPath) -> tuple[float, float] | None:
        """Standard deviations [m/s, rad] of half of what jumps of the IMU add along a path.

        ``None`` without a jump, for the printed filter, and where the legs tell at once whether the IMU is wrong.
        """
        if not path.segments or not self.fit.is_on:
            return None
        begin, end = path.segments[0].start.instant, path.end.instant
        jumped = self.imu_watch.jumps.between(begin, end)
        if jumped is None:
            return None
        velocity, angle = jumped
        moved = velocity * seconds(begin, end) + angle * max(self.filter.geometry.radius, 1e-3)
        if moved > _TOLD_AT_ONCE * self.filter.length_covariance.diagonal().max() ** 0.5:
            return None
        return _HALF * velocity, _HALF * angle

    # -- the way to a measurement, and gaps ----------------------------------------------------------------------------

    @property
    def bridges_gaps(self) -> bool:
        """Whether a gap of the IMU's samples is bridged; with a history they may still come."""
        return self.may_bridge and self.may_leave_out_imu and self.config.history <= 0.0

    def _path(self, instant: Instant, queue: deque[ImuSample]) -> InputPath | None:
        """IMU input up to a measurement; after a gap or clock reset the filter is stopped."""
        due = self.due(instant)
        if self.now is not None and due < self.now.instant and due.epoch == self.now.instant.epoch:
            detail = 'the IMU delay became shorter, the filter is already past this stamp: rejected'
            self.health.event(instant.stamp, 'before_the_filter', detail)
            return None
        bridge = self._bridge(instant.stamp, due, queue)
        if bridge is not None:
            return bridge
        path = take_input(queue, self.now, self.since, due, self.config.maximum_imu_gap, self._input_at)
        if isinstance(path, str):
            self.health.event(instant.stamp, path, 'measurement without IMU samples around it: rejected')
            return None
        if self.now is not None:
            gap = path.gap_after(self.now.instant, self.config.maximum_leg_gap, self.config.maximum_imu_gap)
            # what the IMU lacks is no matter while it is left out
            if gap is not None and not (gap == IMU_GAP and not self.bank.label.uses_imu and self.bridges_gaps):
                self._fail(instant.stamp, gap, gap.replace('_', ' '))
        return path

    def _bridge(self, stamp: int, due: Instant, queue: deque[ImuSample]) -> InputPath | None:
        """Path without input to a measurement whose time since the last one touches a gap; ``None`` outside of gaps.

        What is done at a measurement inside a gap does not depend on when the gap ends, so that estimates are the same
        whether the end is known already, in a recording, or not, live.
        """
        now, longest, was_in_gap = self.now, self.config.maximum_imu_gap, self.imu_report.kind == IMU_GAP
        if not self.bridges_gaps:
            return None
        if now is None or due.epoch != now.instant.epoch or seconds(now.instant, due) > self.config.maximum_leg_gap:
            if was_in_gap:  # whatever starts next starts with the IMU
                self.imu_report.end()
            return None
        last = _last_before_gap(queue, now.instant, due, longest)
        if last is None and not was_in_gap:
            return None
        if last is not None and self.bank.label.uses_imu and not self._begin_gap(stamp, last, queue):
            return None
        found = take_input(queue, None, None, due, longest, self._input_at)
        if isinstance(found, InputPath):
            return InputPath([], found.end, in_gap=True, gap_ends=True)
        return InputPath([], ImuSample(due, now.value), in_gap=True)

    def _begin_gap(self, stamp: int, last: ImuSample, queue: deque[ImuSample]) -> bool:
        """Predict up to the last sample, and leave the IMU out from there on; False if the filter was stopped."""
        assert self.now is not None
        longest, bank = self.config.maximum_imu_gap, self.bank
        bank.collect()
        try:
            if self.now.instant < last.instant:
                path = take_input(queue, self.now, self.since, last.instant, longest, self._input_at)
                assert isinstance(path, InputPath)
                predicted = self._predicted(bank.hypotheses, path, None, self.machine.actuated_count)
                self.now = path.end
                bank.begin(predicted)
            bank.begin(self._without_imu(bank.hypotheses, 0.0, 0.0))
        except CovarianceError as error:
            self._fail(stamp, 'covariance_lost', str(error))
            return False
        detail = f'no samples for more than {longest:g} s'
        self.imu_report.begin(self.now.instant, IMU_GAP, detail)
        self.health.event(stamp, IMU_GAP, f'{detail}; until they come again, estimates are by the legs alone')
        return True

    def _end_gap(self, instant: Instant, now: ImuSample) -> None:
        """Use the IMU again: it was not wrong, so what was known of its biases still is, but for what they walked."""
        began, filter_, bank = self.imu_report.began, self.filter, self.bank
        assert began is not None
        biases, covariance = filter_.ukf.state[BIASES].copy(), filter_.covariance[BIASES, BIASES].copy()
        duration, hypotheses = seconds(began, now.instant), []
        if filter_.walk is not None:
            covariance += np.diag(duration * filter_.walk[BIASES])
        bank.collect()
        for one in bank.hypotheses:
            bank.load(one)
            self.alone.hand_over(filter_)
            filter_.ukf.state[BIASES], filter_.covariance[BIASES, BIASES] = biases, covariance
            hypotheses.append(bank.held(one.label._replace(uses_imu=True), one.logarithm))
        bank.begin(hypotheses)
        self.since, self.lost_samples = now.instant, 0
        self.angular_acceleration.reset()
        self.imu_report.end()
        self.health.event(instant.stamp, 'imu_returned', f'samples of the IMU come again after {duration:.3g} s')

    # -- start and stop ------------------------------------------------------------------------------------------------

    def start(self, measurement: LegMeasurement, imu: ImuSample) -> EstimatorOutput | None:
        """Start the filter with this measurement; needs all legs."""
        stamp, sample = measurement.instant.stamp, measurement.sample
        bad = self._bad_samples(Instant(imu.instant.epoch, imu.instant.stamp - 1), imu.instant, sample)
        if bad is not None:
            self._tell_imu_is_bad(measurement.instant, *bad)
        uses_imu, age = not self.imu_report.kind, 0.0
        if len(sample.used) < self.machine.actuated_count:
            self._gathered.add(stamp, sample.positions)
            age = self._gathered.age(stamp)
            if age > self.config.maximum_imu_gap:
                self.health.event(stamp, 'too_few_legs_to_start', 'a start needs the positions of all legs: rejected')
                return None
            measurement = measurement._replace(sample=sample._replace(positions=self._gathered.positions))
        innovation, hypotheses = None, []
        self.filter.observe_leg_stamp(imu.instant.stamp)
        try:
            if self.config.start == 'printed' and uses_imu:
                self.filter.start_as_printed()
                innovation = self.filter.first_update(measurement.sample.positions, self.side.is_home_mode)
                if innovation is None:
                    raise KinematicsError('no pose on the home assembly mode has these positions')
                hypotheses.append(self.bank.held(GOOD))
            else:
                for pose in self.start_poses.of(stamp, measurement.sample.positions, self.last_poses):
                    self._start_at(pose, measurement, imu, uses_imu, age)
                    hypotheses.append(self.bank.held(Label(uses_imu)))
            self.bank.begin(hypotheses)
        except (KinematicsError, CovarianceError, SurpriseError) as error:
            self.health.event(stamp, 'start_failed', f'no start from these positions: {error}')
            return None
        self.now, self.since = imu, imu.instant
        self.fit.started()
        self.legs.reset()
        self.pose_watch.reset()
        self.noise.started()
        how = self.config.start if uses_imu else 'legs alone'
        self.health.event(stamp, 'started', f'filter started ({how})')
        self._tell_modes(stamp)
        return self._output(measurement, innovation, started=True)

    def _start_at(self, pose: Pose, measurement: LegMeasurement, imu: ImuSample, uses_imu: bool, age: float) -> None:
        """Start the filter with the IMU, or that without it, from a pose."""
        if uses_imu:
            self.filter.start_at(pose, imu=imu.value, age=age)
            return
        self.alone.know_stamps_of(self.filter)
        self.alone.start_at(pose, *self._pose_before(measurement, pose))
        self.alone.update(measurement.sample.positions, np.arange(self.machine.actuated_count))

    def _pose_before(self, measurement: LegMeasurement, here: Pose) -> tuple[Pose | None, float]:
        """Pose at the measurement before one with the pose ``here``, if there is one, and the time between them [s]."""
        duration = self._last.age(measurement.instant.stamp)
        if not 0.0 < duration <= self.config.maximum_imu_gap:
            return None, 0.0
        before = forward_kinematics(self.machine, self._last.positions, here, measured_tolerance(self.machine))
        return (Pose(before.position[0], before.rotation_base_platform[0]) if before.converged[0] else None), duration

    def _is_sound(self, stamp: int, innovation: Innovation | None) -> bool:
        """Check the filter after a correction; False if it was stopped."""
        if self.delay.is_estimated and self.delay.is_impossible(self.filter.ukf):
            self.delay.reset()
            self._fail(stamp, 'imu_delay_lost', 'the estimated delay went beyond five times imu_delay_std')
            return False
        if innovation is not None and self.bank.label.uses_imu:
            is_lost = not innovation.nis <= self.config.divergence_nis
            self.lost_samples = self.lost_samples + 1 if is_lost else 0
            # a lost filter says nothing about the noise
            if not is_lost and self.noise.accept(innovation):
                self._set_noise()
            excess = innovation.nis / self.config.divergence_nis
            if self.lost_samples >= self.config.divergence_samples and self.noise.rescue(excess):
                self.lost_samples = 0
                self._set_noise()
                told = f'NIS {innovation.nis:.3g} again and again: IMU noise raised'
                self.health.event(stamp, 'noise_raised', told)
            if self.lost_samples >= self.config.divergence_samples:
                told = f'NIS {innovation.nis:.3g} for {self.lost_samples} measurements in a row'
                self._fail(stamp, 'diverged', told)
                return False
        if len(self.bank.parts) == 1:
            self._look_at_pose(stamp)
        return True

    def _set_noise(self) -> None:
        self.health.noise_factors = self.noise.q_factor, self.noise.r_factor
        self.filter.set_noise(*self.health.noise_factors)

    def _look_at_pose(self, stamp: int) -> None:
        """Look at the pose, if it is time to."""
        looked_at = self.pose_watch.look(self.bank.filter_of(self.bank.label), stamp)
        if looked_at.pose is not None:
            self.last_poses = LastPoses(stamp, (looked_at.pose,), self.last_poses.doubted)
        if looked_at.trouble:
            name, _ = looked_at.trouble
            self.health.event(stamp, *looked_at.trouble)
            if name == 'assembly_mode_changed':
                self._doubt_last_pose(stamp)

    def _doubt_last_pose(self, stamp: int) -> None:
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

    def _fail(self, stamp: int, reason: str, detail: str) -> None:
        self.health.event(stamp, reason, f'{detail}: restarting the filter')
        if reason not in _HARMLESS:
            self._doubt_last_pose(stamp)
        self._stop()

    # -- what is told --------------------------------------------------------------------------------------------------

    def _tell(
        self, measurement: LegMeasurement, imu: ImuSample, before: Label, bad: tuple[str, str] | None, found: _Corrected
    ) -> None:
        """Tell what the likeliest hypothesis says of sensors and pose."""
        instant, label, sample = measurement.instant, self.bank.label, measurement.sample
        if label.outliers or label.moved or self.legs.reports:
            self.legs.update(
                label.outliers | {leg for leg, _ in label.moved}, found.candidate.explanation.offsets, sample.positions,
                lambda name, detail: self.health.event(instant.stamp, name, detail),
            )  # fmt: skip
            moved = self.bank.take_moved_zeros()
            for leg, (off, variance) in moved.items():
                self.legs.settle(leg)
                self._recent.move_zero(leg, off)
                name, unit = self.machine.drive_labels[leg], self.machine.position_units[leg]
                self.health.event(
                    instant.stamp, 'leg_offset', f'{name}: its zero has moved by {1e3 * off:.3g} m{unit} '
                    f'(+- {1e3 * variance**0.5:.2g}), which is taken into account: calibrate, or check the encoder',
                )  # fmt: skip
            if moved and self.on_zeros_moved is not None:
                self.on_zeros_moved(moved)
            for name in self.legs.descriptions():
                self.health.count(f'{name}_left_out')
        else:
            self.legs.see(sample.positions)
        if label.noise > before.noise == 1.0:
            self.health.event(instant.stamp, 'legs_noisy', 'burst of noise of all legs: their noise variance is raised')
        if label.uses_imu and not before.uses_imu:
            began = self.imu_report.began
            out = f', left out for {seconds(began, instant):.3g} s' if began and began.epoch == instant.epoch else ''
            self.imu_report.end()
            self.noise.started()
            self.health.event(instant.stamp, 'imu_returned', f'the IMU agrees with the legs again{out}')
        elif before.uses_imu and not label.uses_imu:
            nis = found.candidate.explanation.nis
            why = f'legs go on smoothly where its prediction is not (NIS {nis:.3g} without it)'
            self._tell_imu_is_bad(instant, *(bad or ('imu_off_prediction', why)))
        elif not label.uses_imu:
            self._name_imu_fault(instant.stamp, bad or self._likely_cause(imu))
        self._tell_modes(instant.stamp)

    def _tell_modes(self, stamp: int) -> None:
        """Tell whether the assembly mode is known."""
        was, now = self.health.mode_doubt, self.bank.description
        if now and not was:
            self.health.event(stamp, 'assembly_mode_unknown', now)
        if was and not now:
            self._doubt_last_pose(stamp)
            self.health.event(stamp, 'assembly_mode_decided', 'IMU and legs fit one of the possible poses only')
        self.health.mode_doubt = now

    def _tell_imu_is_bad(self, instant: Instant, kind: str, detail: str) -> None:
        if not self.imu_report.kind:
            self.imu_report.begin(instant, kind, detail)
            self._imu_causes.reset()
            self.health.event(instant.stamp, kind, f'{detail}; the IMU is left out, estimates are by the legs alone')

    def _likely_cause(self, imu: ImuSample) -> tuple[str, str] | None:
        """Kind and sentence on why the IMU does not fit, once there is enough to say so."""
        report, causes, frame, alone = self.imu_report, self._imu_causes, self.output_model.imu_frame, self.alone
        if report.began is None or report.named or seconds(report.began, imu.instant) > _LATEST_NAMING:
            return None
        gravity = alone.filter.rotation.T @ alone.filter.geometry.gravity
        covariance = frame.covariance_to_imu(alone.felt_covariance)
        felt = frame.to_imu(alone.felt)
        causes.add(frame.to_imu(imu.value), felt, covariance.diagonal(), frame.vector_to_imu(gravity))
        return causes.likeliest()

    def _name_imu_fault(self, stamp: int, cause: tuple[str, str] | None) -> None:
        """Say what is wrong with an IMU that is left out already."""
        if cause is not None and cause[0] not in (self.imu_report.kind, *self.imu_report.named):
            self.imu_report.name(*cause)
            self.health.event(stamp, cause[0], f'the IMU, left out already: {cause[1]}')

    def _output(
        self, measurement: LegMeasurement, innovation: Innovation | None, started: bool
    ) -> EstimatorOutput:
        instant, sample, bank, health = measurement.instant, measurement.sample, self.bank, self.health
        uses_imu, record = bank.label.uses_imu, self.filter.record
        assert self.now is not None
        stale = {self.machine.drive_labels[leg]: 'stuck, not read anew' for leg in self.stale.legs.tolist()}
        imu = {} if uses_imu else {'IMU': self.imu_report.description}
        health.left_out = imu | stale | self.legs.descriptions()
        if not uses_imu:
            health.count('by_legs_alone')
        baseline = self.baseline.estimate(instant, sample) if self.baseline_wanted else None
        if record is not None:
            can_be_smoothed = len(bank.hypotheses) == 1 and uses_imu and self.filter.can_be_smoothed
            (record.go_on if can_be_smoothed else record.pause)()
        if uses_imu:
            jumped = self.imu_watch.jumps.at(self.now.instant) if self.fit.is_on else None
            since = 0.0 if jumped is None else self._last.age(instant.stamp)
            known = self.filter.known(self.now.value, jumped, min(since, self.config.maximum_imu_gap))
        else:
            known = self.alone.known()
        known = bank.known(known, bank.filter_of(bank.label).ukf.claim)
        if record is not None and not uses_imu:
            record.estimated(self.filter, known)
        is_open = len(bank.parts) > 1
        return EstimatorOutput(
            instant, started, known, self.output_model, innovation,
            self.angular_acceleration.raw() if uses_imu else None, sample.positions, sample.efforts, baseline,
            NANOSECOND * self.delay.nanoseconds, by_legs_alone=not uses_imu, mode_unknown=is_open,
        )  # fmt: skip


def _last_before_gap(
    samples: deque[ImuSample], now: Instant, due: Instant, maximum_gap: float
) -> ImuSample | None:
    """Sample after which none came for more than ``maximum_gap`` s, in a gap that touches the time from now to due.

    ``None`` where there is no such gap. After the last sample there is one: whoever asks has waited for long enough.
    """
    last = None
    for sample in samples:
        if sample.instant.epoch != due.epoch:
            last = None
            continue
        if last is not None and sample.instant > now and seconds(last.instant, sample.instant) > maximum_gap:
            return last
        if sample.instant >= due:
            return None
        last = sample
    return last
