"""Measurements while the IMU is left out: estimates by the legs alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.errors import KinematicsError
from pkm_description.kinematics import forward_kinematics, measured_tolerance
from pkm_description.machine import Pose

from pkm_estimation.exchange.messages import LegMeasurement, LegSample, UserMeasurement
from pkm_estimation.exchange.output import EstimatorOutput
from pkm_estimation.exchange.samples import ImuSample, InputPath, Instant, seconds
from pkm_estimation.filtering.legs_alone import SurpriseError
from pkm_estimation.filtering.platform_filter import PlatformFilter
from pkm_estimation.filters import CovarianceError, Innovation
from pkm_estimation.models.inertial_process import INPUT_SIZE
from pkm_estimation.tracking.imu_judge import ImuJudge, ImuSuspectError
from pkm_estimation.tracking.mode_doubt import ModeDoubt, legs_correction

#: measurements for which a leg must have been left out to stay so when the IMU is found to be wrong
_JUST_BEFORE = 50


class ImuTrialTracker(ImuJudge):
    """Tries the IMU, and takes it back."""

    def _try_imu(
        self, measurement: LegMeasurement, path: InputPath, used: NDArray[np.intp], is_bad: bool
    ) -> Innovation | None:
        """Let the filter with the IMU run beside; its innovation if it is believed from now on."""
        fault, sample, due = self.imu_fault, measurement.sample, path.end.instant
        if fault.trial is None:
            if self.imu_watch.touching(due, Instant(due.epoch, due.stamp + 1)) is None:
                self._begin_trial(path.end)
            return None
        if is_bad:
            self._end_trial()
            return None
        limit = self.leg_gate.limit_of(len(used))
        try:
            innovation = self._advance_trial(sample, path, used, limit)
            self._check_plausible()
        except (CovarianceError, ImuSuspectError):
            self._end_trial()
            return None
        if innovation is None or innovation.nis > limit:
            self._end_trial()
            return None
        if not fault.has_passed(due, innovation, len(used)):
            return None
        if not fault.agrees:
            self._end_trial()
            return None
        self._take_imu_back(measurement)
        return innovation

    def _advance_trial(
        self, sample: LegSample, path: InputPath, used: NDArray[np.intp], limit: float
    ) -> Innovation | None:
        """Predict and correct the filter that is tried; ``None`` where the mode is in doubt and nothing fits."""
        filter_, doubt = self.filter, self.doubt

        def along() -> None:
            filter_.observe_leg_stamp(path.end.instant.stamp)
            self._predict_filter_along(path)

        self._differentiate_along(path)
        if doubt.is_open:
            doubt.predict(filter_, along)
        else:
            along()
            if not doubt.begins(filter_):
                innovation = filter_.update(sample.positions, used, limit)
                filter_.score_constants()
                return innovation
        return doubt.correct(
            filter_, lambda: legs_correction(filter_, sample.positions, used, doubt.noise_scale), limit,
            lambda: self.side.holds(filter_),
        )  # fmt: skip

    def _begin_trial(self, now: ImuSample) -> None:
        if self.filter.record is not None:
            self.filter.record.pause()
        parts, alone = [], self.alone
        best = alone.filter.snapshot()
        for part in self.alone_doubt.parts:
            alone.filter.restore(part.snapshot)
            alone.hand_over(self.filter)
            parts.append(part._replace(snapshot=self.filter.snapshot()))
        alone.filter.restore(best)
        alone.hand_over(self.filter)
        if parts:
            self.doubt.take(parts, self.alone_doubt.cause)
        else:
            self.doubt.end()
        self.since = now.instant
        self.angular_acceleration.reset()
        self.imu_fault.begin_trial(now.instant)

    def _take_imu_back(self, measurement: LegMeasurement) -> None:
        began, instant = self.imu_fault.began, measurement.instant
        self.imu_fault.end(instant)
        if self.alone_doubt.is_open and not self.doubt.is_open:
            self._end_doubt(instant.stamp)
        self.alone_doubt.end()
        self.health.mode_doubt = self.doubt.description if self.doubt.is_open else ''
        self.leg_gate.started()
        self.leg_gate.confirm_start()
        self.noise.started()
        self.lost_samples, self.health.left_out = 0, {}
        out = f', left out for {seconds(began, instant):.3g} s' if began and began.epoch == instant.epoch else ''
        self.health.event(instant.stamp, 'imu_returned', f'the IMU agrees with the legs again{out}')

    def _end_trial(self) -> None:
        """The IMU is not tried any more, or not believed."""
        self.imu_fault.trial = None
        self.doubt.end()


class LegsAloneTracker(ImuTrialTracker):
    """Leaves the IMU out, and estimates without it."""

    # -- leave it out --------------------------------------------------------------------------------------------------

    def _leave_out_imu(self, measurement: LegMeasurement, kind: str, detail: str) -> None:
        """Leave the IMU out from a measurement on."""
        self.imu_fault.begin(measurement.instant, kind, detail)
        self.imu_causes.reset()
        self._forgive_legs()
        self.health.event(
            measurement.instant.stamp, kind, f'{detail}; the IMU is left out, estimates are by the legs alone'
        )

    def _forgive_legs(self) -> None:
        """Use legs again that were left out just before the IMU was found to be wrong: they were left out for it."""
        self.leg_gate.forgive(_JUST_BEFORE)

    def _begin_alone(self, measurement: LegMeasurement, imu: ImuSample) -> bool:
        """Begin with a measurement alone: what was predicted for it is wrong. Whether that gives a pose."""
        sample, used = measurement.sample, self._believed(measurement.sample)
        self.alone.know_stamps_of(self.filter)
        snapshots: list[tuple[object, ...]] = []
        if self.alone_doubt.is_open:
            self._remember(measurement.instant.stamp, self.alone_doubt)
        try:
            if len(used) == self.machine.actuated_count:
                for pose in self._start_poses(measurement):
                    self.alone.start_at(pose, *self._pose_before(measurement, pose))
                    self.alone.update(sample.positions, used)
                    snapshots.append(self.alone.filter.snapshot())
            else:
                self.alone.go_on_from(self.filter, imu.value)
                self.alone.doubt()
                self.alone.update(sample.positions, used)
        except (KinematicsError, CovarianceError, SurpriseError) as error:
            self._fail(measurement.instant.stamp, 'start_failed', f'no pose by the legs alone: {error}')
            return False
        self.now, self.since = imu, imu.instant
        self._end_trial()
        self.angular_acceleration.reset()
        self._doubt_start(measurement.instant.stamp, self.alone_doubt, self.alone.filter, snapshots)
        return True

    def _pose_before(self, measurement: LegMeasurement, here: Pose) -> tuple[Pose | None, float]:
        """Pose at the measurement before one with the pose ``here``, if there is one, and the time between them [s]."""
        last = self.continuity.last
        duration = 0.0 if last is None else 1e-9 * (measurement.instant.stamp - last[0])
        if last is None or not 0.0 < duration <= self.config.maximum_imu_gap or not np.isfinite(last[1]).all():
            return None, 0.0
        before = forward_kinematics(self.machine, last[1], here, measured_tolerance(self.machine))
        return (Pose(before.position[0], before.rotation_base_platform[0]) if before.converged[0] else None), duration

    def _go_on_alone(self, measurement: LegMeasurement, imu: ImuSample) -> EstimatorOutput | None:
        """Estimate by a measurement alone, ``None`` if it gives no pose: the filter is stopped."""
        return self._output_alone(measurement, None, started=False) if self._begin_alone(measurement, imu) else None

    def _start_alone(self, measurement: LegMeasurement, imu: ImuSample) -> EstimatorOutput | None:
        """Start with a measurement, without the IMU; needs all legs."""
        stamp, sample = measurement.instant.stamp, measurement.sample
        if len(sample.used) < self.machine.actuated_count:
            self.health.event(stamp, 'too_few_legs_to_start', 'a start needs the positions of all legs: rejected')
            return None
        self.leg_gate.started()
        if not self._begin_alone(measurement, imu):
            return None
        self.pose_watch.reset()
        self.health.event(stamp, 'started', 'filter started (legs alone)')
        return self._output_alone(measurement, None, started=True)

    # -- estimate without it -------------------------------------------------------------------------------------------

    def _process_alone(self, measurement: LegMeasurement, path: InputPath) -> EstimatorOutput | None:
        """Estimate at a measurement without the IMU, and try whether the IMU is good again."""
        stamp, sample, now = measurement.instant.stamp, measurement.sample, self.now
        assert now is not None
        used = self._believed(sample)
        if not self.alone.is_moving and len(used) == self.machine.actuated_count:
            return self._go_on_alone(measurement, path.end) or self._start_alone(measurement, path.end)
        if not len(used):
            self.health.event(stamp, 'no_leg_believed', 'only legs that are left out are in the message: rejected')
            return None
        is_told = self.alone.tells(len(used))
        try:
            innovation = self._advance_alone(measurement, path.end.instant, used)
        except CovarianceError as error:
            self._fail(stamp, 'covariance_lost', str(error))
            return self._start_alone(measurement, path.end)
        except SurpriseError as error:
            return self._begin_anew(measurement, path.end, error)
        if not self.side.holds(self.alone.filter):
            self._fail(stamp, 'wrong_assembly_mode', 'the estimate lies on the other side of the base')
        elif not is_told and self.alone.is_lost:
            few = f'{len(used)} of {self.machine.actuated_count} legs and no IMU'
            self._fail(stamp, 'pose_lost', f'{few} do not tell the pose any more; a start needs all legs')
            return None
        else:
            if not self.alone_doubt.is_open and is_told:  # where the pose was known is where a start looks
                self._look_at_pose(stamp, self.alone.filter)
            if path.in_gap:
                self.now = path.end
                output = self._output_alone(measurement, innovation, started=False)
                self._after_gap(measurement, path)
                return output
            bad = self._bad_samples(now.instant, path.end.instant, sample)
            cause = bad or self._likely_cause(path.end)
            if cause is not None:
                self._name_imu_fault(stamp, *cause)
            back = self._try_imu(measurement, path, used, bad is not None)
            self.now = path.end
            if back is not None:
                return self._output(measurement, path.end.value, back, started=False)
            return self._output_alone(measurement, innovation, started=False)
        return self._start_alone(measurement, path.end)

    def _begin_anew(self, measurement: LegMeasurement, imu: ImuSample, why: SurpriseError) -> EstimatorOutput | None:
        """Begin anew with a motion that is not known: what came before says nothing of it."""
        stamp, sample = measurement.instant.stamp, measurement.sample
        self.continuity.reset()
        self._doubt_last_pose(stamp)
        if len(self._believed(sample)) < self.machine.actuated_count:
            self._fail(stamp, why.kind, str(why))
            return self._start_alone(measurement, imu)
        self.health.event(stamp, why.kind, f'{why}; the motion begins anew')
        return self._go_on_alone(measurement, imu)

    def _advance_alone(self, measurement: LegMeasurement, due: Instant, used: NDArray[np.intp]) -> Innovation | None:
        """Predict and correct the filter without the IMU; ``None`` where the mode is in doubt and nothing fits."""
        alone, doubt, now, sample = self.alone, self.alone_doubt, self.now, measurement.sample
        assert now is not None
        duration = seconds(now.instant, due)

        def along() -> None:
            alone.filter.observe_leg_stamp(due.stamp)
            alone.predict(duration, alone.tells(len(used)))

        if doubt.is_open:
            doubt.predict(alone.filter, along)
        else:
            along()
            if alone.is_lost and len(used) == self.machine.actuated_count:
                # far from linear: a correction would lead to any of the assembly modes, and call it certain
                why = 'no IMU, and legs that were silent or moved as no platform does: the pose is not known'
                raise SurpriseError(why, 'pose_lost')
            if not self._begins_doubt(measurement.instant.stamp, doubt, alone.filter):
                told = alone.update(sample.positions, used)
                alone.legs.add(duration, sample.positions, used)
                return told
        innovation = self._correct_in_doubt(measurement, doubt, alone.filter, used)
        alone.legs.add(duration, sample.positions, used)
        return innovation

    @property
    def doubt_in_use(self) -> ModeDoubt:
        """Doubt of the filter that is in use."""
        return self.alone_doubt if self.imu_fault.is_on else self.doubt

    def _correct_by_user_in_doubt(self, measurement: UserMeasurement, path: InputPath, limit: float) -> Innovation:
        """Correct all parts of a doubt with a user's measurement, which may end it; raises as an update by it."""
        doubt, now = self.doubt_in_use, self.now
        assert now is not None
        duration = seconds(now.instant, path.end.instant)
        if self.imu_fault.is_on:
            filter_, imu = self.alone.filter, np.zeros(INPUT_SIZE)
            doubt.predict(filter_, lambda: self.alone.predict(duration))
            self._end_trial()  # the trial does not know this measurement
        else:
            filter_, imu = self.filter, path.end.value
            self._differentiate_along(path)
            doubt.predict(filter_, lambda: self._predict_filter_along(path))
        self.now = path.end
        kept: list[Innovation] = []

        def correct() -> tuple[Innovation, float]:
            innovation = filter_.update_with(measurement.observe, measurement.value, measurement.covariance, imu)
            kept.append(innovation)
            # off the diagonal the parts' covariances differ little
            return innovation, float(np.log(innovation.variance).sum())

        innovation = doubt.correct(filter_, correct, limit, lambda: True)
        if not doubt.is_open:
            self._end_doubt(measurement.instant.stamp)
        self.health.mode_doubt = doubt.description if doubt.is_open else ''
        return innovation or min(kept, key=lambda one: one.nis)

    def _go_on_without(self, imu: Array) -> None:
        """Go on without the IMU from the present estimate, with the sample (6,) there."""
        if not self.doubt.is_open:
            self.alone.go_on_from(self.filter, imu)
            return
        parts = []
        for part in self.doubt.parts:
            self.filter.restore(part.snapshot)
            self.alone.go_on_from(self.filter, imu)
            parts.append(part._replace(snapshot=self.alone.filter.snapshot()))
        self.alone_doubt.take(parts, self.doubt.cause)
        self.doubt.end()

    def _predict_for_user(self, path: InputPath) -> tuple[PlatformFilter, Array]:
        """Predict to the end of a path the filter that is in use; also its input there."""
        if not self.imu_fault.is_on:
            self._predict_along(path)
            return self.filter, path.end.value
        assert self.now is not None
        self.alone.predict(seconds(self.now.instant, path.end.instant))
        self._end_trial()  # the trial does not know this measurement
        return self.alone.filter, np.zeros(INPUT_SIZE)

    def _after_gap(self, measurement: LegMeasurement, path: InputPath) -> None:
        """After a measurement whose path has no input; :class:`ImuGapTracker` ends the gap."""
        raise NotImplementedError

    def _output_alone(
        self, measurement: LegMeasurement, innovation: Innovation | None, started: bool
    ) -> EstimatorOutput:
        instant, sample = measurement.instant, measurement.sample
        self.health.count('by_legs_alone')
        self.health.left_out = {'IMU': self.imu_fault.description, **self.leg_gate.descriptions()}
        baseline = self.baseline.estimate(instant, sample) if self.baseline_wanted else None
        known, is_open = self.alone.known(), self.alone_doubt.is_open
        if is_open:
            known = self.alone_doubt.known(known, self.alone.filter.ukf.claim)
        if self.filter.record is not None:
            self.filter.record.pause()
            self.filter.record.estimated(self.filter, known)
        return EstimatorOutput(
            instant, started, known, self.output_model, innovation, None, sample.positions,
            sample.efforts, baseline, 1e-9 * self.delay.nanoseconds, by_legs_alone=True, mode_unknown=is_open,
        )  # fmt: skip
