"""Processes measurements in order: prediction, hypotheses, correction, output, and the conditions for a restart."""

from __future__ import annotations

from collections import deque

import numpy as np
from pkm_description.arrays import Array
from pkm_description.errors import KinematicsError
from pkm_description.kernels.model import Integers
from pkm_description.machine import Machine

from pkm_estimation.config import EstimatorConfig
from pkm_estimation.exchange.health import HealthMonitor
from pkm_estimation.exchange.messages import LegMeasurement, UserMeasurement
from pkm_estimation.exchange.output import EstimatorOutput
from pkm_estimation.exchange.samples import (
    NANOSECOND,
    ImuSample,
    InputPath,
    Instant,
    samples_until,
)
from pkm_estimation.exchange.stale import read_anew
from pkm_estimation.filtering.legs_alone import SurpriseError
from pkm_estimation.filtering.point_motion import ObservationError
from pkm_estimation.filters import CovarianceError, Innovation
from pkm_estimation.models.extra_states import ImuFrame
from pkm_estimation.models.inertial_process import INPUT_SIZE
from pkm_estimation.tracking.births import Births
from pkm_estimation.tracking.follower import Followed, Follower
from pkm_estimation.tracking.gaps import Paths
from pkm_estimation.tracking.hypotheses import GOOD, Hypothesis, Label
from pkm_estimation.tracking.start_poses import LastPoses
from pkm_estimation.tracking.step import Step, Teller
from pkm_estimation.tracking.tracker_state import (
    IMU_GAP,
    LatestPositions,
    TrackerParts,
)


class Tracker(TrackerParts):
    """Takes the hypotheses from measurement to measurement; parameters and attributes as those of the parts.

    Attributes
    ----------
    step, paths, teller : what is done at a measurement
    """

    def __init__(
        self, machine: Machine, config: EstimatorConfig, imu_frame: ImuFrame, health: HealthMonitor | None = None
    ) -> None:
        super().__init__(machine, config, imu_frame, health)
        self._births, self.teller = Births(self), Teller(self)
        self.step = Step(self, self._births, self.teller)
        self.paths = Paths(self, self.step, self._births)
        self._follower = Follower.of(self)

    def reset(self) -> None:
        """Stop the filter and reset all else; an estimated delay is kept."""
        self._stop()
        self.baseline.reset()
        self.stale.reset()
        self.imu_report.end()
        self.last = LatestPositions(self.machine.actuated_count)

    def process_legs(self, measurement: LegMeasurement, queue: deque[ImuSample]) -> EstimatorOutput | None:
        """Estimate at a leg measurement; ``None`` if it is rejected, with an event that gives the reason."""
        followed = self._follow_one(measurement, queue)
        if followed is not None:
            return followed
        path = self.paths.path(measurement.instant, queue)
        if path is None:
            return None
        stamp, positions = measurement.instant.stamp, measurement.sample.positions
        output = self.start(measurement, path.end) if self.now is None else self._estimate(measurement, path)
        if self.stale.stamp != stamp:  # not all of its legs are stale
            self.stale.add(np.array([stamp]), positions[None])
            positions = read_anew(positions, self.stale.legs)
            self.last.add(stamp, positions)
            self.recent.add(np.array([stamp]), positions[None])
        return output

    def process_user(self, measurement: UserMeasurement, queue: deque[ImuSample]) -> bool:
        """Correct with a user's measurement; False if it is rejected, with an event that gives the reason."""
        name, stamp, bank = measurement.topic, measurement.instant.stamp, self.bank
        if self.now is None:
            self.health.count(f'{name}_before_start')
            return False
        path = self.paths.path(measurement.instant, queue)
        if path is None or self.now is None:
            return False
        limit = self.fit.limit_of(len(measurement.value))
        found: list[tuple[Innovation, Hypothesis]] = []
        try:
            bank.collect()
            predicted = self.step.predicted(bank.hypotheses, path, None)
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
            self.fail(stamp, 'covariance_lost', str(error))
            return False
        except ObservationError as error:
            bank.keep(predicted)
            self.health.event(stamp, f'{name}_not_predicted', f'{name}: {error}: left out')
            return False
        self.teller.tell_modes(stamp)
        innovation = min((one for one, _ in found), key=lambda one: one.nis)
        self.health.user_measurement(name, innovation)
        if innovation.nis > limit:
            worst = float(np.abs(innovation.residual / innovation.std).max())
            detail = f'{name}: {worst:.3g} standard deviations off its prediction: left out'
            self.health.event(stamp, f'{name}_off_prediction', detail)
            return False
        return True

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
            self.last.add(int(followed.stamps[-1]), followed.positions[-1])
            self.recent.add(followed.stamps, followed.positions)
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

    def _estimate(self, measurement: LegMeasurement, path: InputPath) -> EstimatorOutput | None:
        """Estimate at a measurement at the end of a path."""
        stamp = measurement.instant.stamp
        try:
            innovation = self.step.step(measurement, path)
            self.now = path.end
            if self.bank.is_vague and len(measurement.sample.used) == self.machine.actuated_count:
                raise CovarianceError('more poses are possible than can be followed')
        except CovarianceError as error:
            self.fail(stamp, 'covariance_lost', str(error))
            return self.start(measurement, path.end)
        except SurpriseError as error:
            self.fail(stamp, error.kind, str(error))
            return self.start(measurement, path.end)
        if not self._is_sound(stamp, innovation):
            return self.start(measurement, path.end)
        output = self._output(measurement, innovation, started=False)
        if path.gap_ends and self.imu_report.kind == IMU_GAP:
            self.paths.end_gap(measurement.instant, path.end)
        if self.delay.is_estimated and self.bank.label.uses_imu:
            self.delay.absorb(self.filter.ukf, lambda name, detail: self.health.event(stamp, name, detail))
        return output

    def start(self, measurement: LegMeasurement, imu: ImuSample) -> EstimatorOutput | None:
        """Start the filter with this measurement; needs all legs."""
        stamp, sample = measurement.instant.stamp, measurement.sample
        bad = self.step.bad_samples(Instant(imu.instant.epoch, imu.instant.stamp - 1), imu.instant, sample)
        if bad is not None:
            self.teller.tell_imu_is_bad(measurement.instant, *bad)
        uses_imu, age = not self.imu_report.kind, 0.0
        stale = self.stale.still_stale(stamp, sample.positions)
        if len(stale):
            positions = read_anew(sample.positions, stale)
            sample = sample._replace(positions=positions, used=np.setdiff1d(sample.used, stale))
        if len(sample.used) < self.machine.actuated_count:
            self.gathered.add(stamp, sample.positions)
            age = self.gathered.age(stamp)
            if age > self.config.maximum_imu_gap:
                self.health.event(stamp, 'too_few_legs_to_start', 'a start needs the positions of all legs: rejected')
                return None
            measurement = measurement._replace(sample=sample._replace(positions=self.gathered.positions))
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
                    self._births.start_at(pose, measurement, imu, uses_imu, age)
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
        self.teller.tell_modes(stamp)
        return self._output(measurement, innovation, started=True)

    def _is_sound(self, stamp: int, innovation: Innovation | None) -> bool:
        """Check the filter after a correction; False if it was stopped."""
        if self.delay.is_estimated and self.delay.is_impossible(self.filter.ukf):
            self.delay.reset()
            self.fail(stamp, 'imu_delay_lost', 'the estimated delay went beyond five times imu_delay_std')
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
                self.fail(stamp, 'diverged', told)
                return False
        seen = 0 if innovation is None else int(np.isfinite(innovation.residual).sum())
        # where the pose was known is where a start looks
        if len(self.bank.parts) == 1 and (self.bank.label.uses_imu or self.alone.tells(seen)):
            self._look_at_pose(stamp)
        return True

    def _set_noise(self) -> None:
        self.health.noise_factors = self.noise.q_factor, self.noise.r_factor
        self.filter.set_noise(*self.health.noise_factors)

    def _look_at_pose(self, stamp: int) -> None:
        """Look at the pose, if it is time to."""
        pose, trouble = self.pose_watch.look(self.bank.filter_of(self.bank.label), stamp)
        if pose is not None:
            self.last_poses = LastPoses(stamp, (pose,), self.last_poses.doubted)
        if trouble is not None:
            self.health.event(stamp, *trouble)
            if trouble[0] == 'assembly_mode_changed':
                self.doubt_last_pose(stamp)

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
            since = 0.0 if jumped is None else self.last.age(instant.stamp)
            known = self.filter.known(self.now.value, jumped, min(since, self.config.maximum_imu_gap))
        else:
            known = self.alone.known()
        ukf = bank.filter_of(bank.label).ukf
        known = bank.known(known, ukf.claim, ukf.scale.item())
        if record is not None and not uses_imu:
            record.estimated(self.filter, known)
        is_open = len(bank.parts) > 1
        return EstimatorOutput(
            instant, started, known, self.output_model, innovation,
            self.angular_acceleration.raw() if uses_imu else None, sample.positions, sample.efforts, baseline,
            NANOSECOND * self.delay.nanoseconds, by_legs_alone=not uses_imu, mode_unknown=is_open,
        )  # fmt: skip
