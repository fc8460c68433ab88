"""Processes measurements in order: start, prediction, correction, and the conditions for a restart."""

from __future__ import annotations

from collections import deque

import numpy as np
from pkm_description.arrays import Array
from pkm_description.errors import KinematicsError
from pkm_description.kernels.model import Integers
from pkm_description.machine import Machine

from pkm_estimation.config import EstimatorConfig
from pkm_estimation.exchange.health import HealthMonitor
from pkm_estimation.exchange.messages import LegMeasurement, LegSample, UserMeasurement
from pkm_estimation.exchange.output import EstimatorOutput
from pkm_estimation.exchange.samples import ImuSample, InputPath, Instant, samples_until, take_input
from pkm_estimation.filtering.point_motion import ObservationError
from pkm_estimation.filters import CovarianceError, Innovation
from pkm_estimation.models.extra_states import ImuFrame
from pkm_estimation.tracking.follower import Followed, Follower
from pkm_estimation.tracking.imu_gap import IMU_GAP, ImuGapTracker
from pkm_estimation.tracking.imu_judge import ImuSuspectError, LegsJumpedError


class Tracker(ImuGapTracker):
    """Takes the parts from measurement to measurement; parameters and attributes as those of the parts."""

    def __init__(
        self, machine: Machine, config: EstimatorConfig, imu_frame: ImuFrame, health: HealthMonitor | None = None
    ) -> None:
        super().__init__(machine, config, imu_frame, health)
        self._follower = Follower.of(self)

    def reset(self) -> None:
        """Stop the filter and reset baseline and gate; an estimated delay is kept."""
        self._stop()
        self.baseline.reset()
        self.leg_gate.reset()
        self.continuity.reset()
        self.stale.reset()
        self.imu_fault.reset()

    # -- measurements --------------------------------------------------------------------------------------------------

    def due(self, instant: Instant) -> Instant:
        """IMU stamp of the same instant as a measurement: later by the delay of the IMU's stamps."""
        delay = self.delay.nanoseconds
        return Instant(instant.epoch, instant.stamp + delay) if delay else instant

    def process_legs(self, measurement: LegMeasurement, queue: deque[ImuSample]) -> EstimatorOutput | None:
        """Estimate at a leg measurement; ``None`` if it is rejected, with an event that gives the reason."""
        stamp, sample, gate = measurement.instant.stamp, measurement.sample, self.leg_gate
        if self.now is not None and gate.disbelieves(sample.used):
            self.health.event(stamp, 'no_leg_believed', 'only legs that are left out are in the message: rejected')
            return None
        followed = self._follow_one(measurement, queue)
        if followed is not None:
            return followed
        path = self._path(measurement.instant, queue)
        if path is None:
            return None
        output = self._process_along(measurement, path)
        if self.stale.stamp != stamp:  # not all of its legs are stale
            self.continuity.add(np.array([stamp]), sample.positions[None])
            self.stale.add(np.array([stamp]), sample.positions[None])
        return output

    def _process_along(self, measurement: LegMeasurement, path: InputPath) -> EstimatorOutput | None:
        """Estimate at a measurement at the end of a path."""
        stamp, sample, gate = measurement.instant.stamp, measurement.sample, self.leg_gate
        if self.now is None:
            return self.start(measurement, path.end)
        if self.imu_fault.is_on:
            return self._process_alone(measurement, path)
        bad = self._bad_samples(self.now.instant, path.end.instant, sample)
        if bad is not None:
            self._leave_out_imu(measurement, *bad)
            if bad[0] == 'imu_frozen':  # not at once
                return self._go_on_alone(measurement, path.end) or self.start(measurement, path.end)
            self._go_on_without(self.now.value)
            return self._process_alone(measurement, path)
        if self.doubt.is_open:
            output = self._process_in_doubt(measurement, path, predict=True)
            return output or self._start_again(measurement, path.end)
        innovation = None
        self.filter.observe_leg_stamp(path.end.instant.stamp)
        try:
            self._check_scale()
            self._predict_along(path)
            if self._begins_doubt(stamp, self.doubt, self.filter):
                output = self._process_in_doubt(measurement, path, predict=False)
                return output or self._start_again(measurement, path.end)
            sample = self._read_anew(stamp, sample, path.end.value)
            if not len(sample.used):
                self.now = path.end
                return self._output(measurement, path.end.value, None, started=False)
            if gate.faults:
                innovation = self._correct_with_believed(stamp, sample)
            else:
                self.health.left_out = {}
                count = len(sample.used)
                used, limit = None if count == self.machine.actuated_count else sample.used, gate.limit(count)
                innovation = self.filter.update(sample.positions, used, limit, gate.noise_scale)
                if innovation.nis <= limit:
                    gate.accept(sample.positions, innovation)
                else:
                    innovation = self._correct_surprised(stamp, sample)
            self._check_plausible()
        except LegsJumpedError:
            self.health.event(stamp, 'legs_jumped', 'all legs are far from where they were going: rejected')
            self.now = path.end
            return None
        except ImuSuspectError as suspect:
            self._leave_out_imu(measurement, suspect.kind, suspect.detail)
            return self._go_on_alone(measurement, path.end) or self.start(measurement, path.end)
        except CovarianceError as error:
            self._fail(stamp, 'covariance_lost', str(error))
            innovation = None
        if innovation is None or not self._is_sound(stamp, path.end, innovation):
            return self.start(measurement, path.end)
        self.filter.score_constants()
        output = self._output(measurement, path.end.value, innovation, started=False)
        if self.delay.is_estimated:
            self.delay.absorb(self.filter.ukf, lambda name, detail: self.health.event(stamp, name, detail))
        return output

    def process_user(self, measurement: UserMeasurement, queue: deque[ImuSample]) -> bool:
        """Correct with a user's measurement; False if it is rejected, with an event that gives the reason."""
        name, stamp = measurement.name, measurement.instant.stamp
        if self.now is None:
            self.health.count(f'{name}_before_start')
            return False
        path = self._path(measurement.instant, queue)
        if path is None or self.now is None:
            return False
        limit = self.leg_gate.limit_of(len(measurement.value))
        try:
            if self.doubt_in_use.is_open:
                innovation = self._correct_by_user_in_doubt(measurement, path, limit)
            else:
                filter_, imu = self._predict_for_user(path)
                self.now = path.end  # also where the user's function raises
                innovation = filter_.update_with(
                    measurement.observe, measurement.value, measurement.covariance, imu, limit
                )
        except CovarianceError as error:
            self._fail(stamp, 'covariance_lost', str(error))
            return False
        except ObservationError as error:
            self.health.event(stamp, f'{name}_not_predicted', f'{name}: {error}: left out')
            return False
        self.health.user_measurement(name, innovation)
        if innovation.nis > limit:
            worst = float(np.abs(innovation.residual / innovation.std).max())
            detail = f'{name}: {worst:.3g} standard deviations off its prediction: left out'
            self.health.event(stamp, f'{name}_off_prediction', detail)
            return False
        return True

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
            if gap is not None and not (gap == IMU_GAP and self.imu_fault.is_on and self.bridges_gaps):
                self._fail(instant.stamp, gap, gap.replace('_', ' '))
        return path

    # -- ordinary measurements ---------------------------------------------------------------------------------------

    @property
    def can_follow(self) -> bool:
        """Whether :meth:`follow` can be called."""
        if self._follower is None or self.filter.record is not None:  # what is recorded goes step by step
            return False
        return not self.imu_fault.is_on and not self.doubt.is_open and self._follower.can_follow(self.now)

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
            self.health.left_out = {}
            self.continuity.add(followed.stamps, followed.positions)
            self.stale.add(followed.stamps, followed.positions)
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

    # -- prediction and correction -------------------------------------------------------------------------------------

    def _read_anew(self, stamp: int, sample: LegSample, imu: Array) -> LegSample:
        """The sample without legs that are stale; the filter is predicted to its stamp [ns], with the input (6,)."""
        stale, before = self.stale, set(self.stale.legs.tolist())
        repeated = stale.repeated(sample.positions)
        if not len(repeated):
            return sample
        innovation = self.filter.predicted_innovation(sample.positions, self.leg_gate.noise_scale)
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
            self.health.left_out = dict.fromkeys(names, 'stuck, not read anew')
            stale.skip(stamp)
        return sample._replace(used=fresh)

    def _correct_surprised(self, stamp: int, sample: LegSample) -> Innovation | None:
        """Correct with a measurement that does not fit the prediction; ``None`` if the filter was stopped."""
        if self.leg_gate.on_probation and self.config.start == 'forward_kinematics':
            together = self._contradiction(sample.positions + self.filter.legs.zeros, self.filter.pose)
            if together:
                self._fail(stamp, 'legs_contradict', together)
                return None
            if self.leg_gate.given_up_starts and self.judges_imu:
                raise ImuSuspectError('imu_off_prediction', 'no start fits what it predicts')
            self.leg_gate.give_up_start()
            self._fail(stamp, 'start_not_confirmed', 'the measurements after the start do not fit it')
            return None
        return self._correct_with_believed(stamp, sample)

    def _correct_with_believed(self, stamp: int, sample: LegSample) -> Innovation | None:
        """Correct with the legs that pass the gate; ``None`` if the filter was stopped."""
        gate, filter_ = self.leg_gate, self.filter

        def complain(reason: str, detail: str) -> None:
            self.health.event(stamp, reason, detail)

        predicted = filter_.predicted_innovation(sample.positions, gate.noise_scale)
        accused = gate.accused(sample.used, *predicted)
        if self._have_jumped(stamp, sample, accused, *predicted):
            self._fail(stamp, 'legs_jumped', 'all legs are elsewhere, again')
            return None
        if accused != () and self._is_not_the_legs(stamp, sample, accused, *predicted):
            if self.judges_imu:
                raise ImuSuspectError('imu_off_prediction', gate.misfit(sample.used, *predicted))
            return self._correct_for_adaptation(sample)
        judgement = gate.judge(sample.positions, sample.used, *predicted, complain)
        innovation = filter_.update(sample.positions, judgement.used, noise_scale=judgement.noise_scale)
        gate.accept(sample.positions, innovation)
        self.health.left_out = gate.descriptions()
        for name in self.health.left_out:
            self.health.count(f'{name}_left_out')
        return innovation

    def _correct_for_adaptation(self, sample: LegSample) -> Innovation:
        """Correct with all good legs where the prediction is wrong: the noise is adapted to such innovations."""
        gate = self.leg_gate
        self._forgive_legs()
        innovation = self.filter.update(sample.positions, self._believed(sample), noise_scale=gate.noise_scale)
        gate.accept(sample.positions, innovation)
        self.health.left_out = gate.descriptions()
        return innovation

    def _is_sound(self, stamp: int, now: ImuSample, innovation: Innovation) -> bool:
        """Check the filter after a correction; False if it was stopped."""
        self.now = now
        if self.delay.is_estimated and self.delay.is_impossible(self.filter.ukf):
            self.delay.reset()
            self._fail(stamp, 'imu_delay_lost', 'the estimated delay went beyond five times imu_delay_std')
            return False
        is_lost = not innovation.nis <= self.config.divergence_nis
        # a lost filter says nothing about the noise
        if not is_lost and self.noise.accept(innovation):
            self.health.noise_factors = self.noise.q_factor, self.noise.r_factor
            self.filter.set_noise(*self.health.noise_factors)
        if not self.side.holds(self.filter):
            self._fail(stamp, 'wrong_assembly_mode', 'the estimate lies on the other side of the base')
            return False
        self._look_at_pose(stamp)
        self.lost_samples = self.lost_samples + 1 if is_lost else 0
        excess = innovation.nis / self.config.divergence_nis
        if self.lost_samples >= self.config.divergence_samples and self.noise.rescue(excess):
            self.lost_samples, factors = 0, (self.noise.q_factor, self.noise.r_factor)
            self.health.noise_factors = factors
            self.filter.set_noise(*factors)
            self.health.event(stamp, 'noise_raised', f'NIS {innovation.nis:.3g} again and again: IMU noise raised')
        if self.lost_samples >= self.config.divergence_samples:
            self._fail(stamp, 'diverged', f'NIS {innovation.nis:.3g} for {self.lost_samples} measurements in a row')
            return False
        return True

    # -- start and stop ------------------------------------------------------------------------------------------------

    def _start_again(self, measurement: LegMeasurement, imu: ImuSample) -> EstimatorOutput | None:
        """Start at a measurement if the filter was stopped there."""
        return self.start(measurement, imu) if self.now is None else None

    def start(self, measurement: LegMeasurement, imu: ImuSample) -> EstimatorOutput | None:
        """Start the filter with this measurement; needs all legs."""
        stamp, sample = measurement.instant.stamp, measurement.sample
        before = Instant(imu.instant.epoch, imu.instant.stamp - 1)
        bad = None if self.imu_fault.is_on else self._bad_samples(before, imu.instant, sample)
        if bad is not None:
            self._leave_out_imu(measurement, *bad)
        if self.imu_fault.is_on:
            return self._start_alone(measurement, imu)
        age = 0.0
        if len(sample.used) < self.machine.actuated_count:
            self.gathered.add(stamp, sample.positions)
            age = self.gathered.age(stamp)
            if age > self.config.maximum_imu_gap:
                self.health.event(stamp, 'too_few_legs_to_start', 'a start needs the positions of all legs: rejected')
                return None
            measurement = measurement._replace(sample=sample._replace(positions=self.gathered.positions))
        sample, innovation, snapshots = measurement.sample, None, []
        self.filter.observe_leg_stamp(imu.instant.stamp)
        try:
            if self.config.start == 'printed':
                self.filter.start_as_printed()
                innovation = self.filter.first_update(sample.positions, self.side.is_home_mode)
                if innovation is None:
                    raise KinematicsError('no pose on the home assembly mode has these positions')
            else:
                for pose in self._start_poses(measurement):
                    self.filter.start_at(pose, imu=imu.value, age=age)
                    snapshots.append(self.filter.snapshot())
        except (KinematicsError, CovarianceError) as error:
            self.health.event(stamp, 'start_failed', f'no start from these positions: {error}')
            return None
        self.now, self.since = imu, imu.instant
        self.leg_gate.started()
        self.pose_watch.reset()
        self.noise.started()
        self.health.event(stamp, 'started', f'filter started ({self.config.start})')
        self._doubt_start(stamp, self.doubt, self.filter, snapshots)
        return self._output(measurement, imu.value, innovation, started=True)
