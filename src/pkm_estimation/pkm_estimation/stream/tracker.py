"""Processes measurements in order: start, prediction, correction, and the conditions for a restart."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
from pkm_description.arrays import Array
from pkm_description.errors import KinematicsError
from pkm_description.machine import Machine

from pkm_estimation.config import EstimatorConfig
from pkm_estimation.filtering.adaptation import NoiseAdaptation
from pkm_estimation.filtering.assembly_side import AssemblySide, PoseWatch
from pkm_estimation.filtering.delay import DeclaredDelay
from pkm_estimation.filtering.platform_filter import PlatformFilter
from pkm_estimation.filtering.platform_points import ObservationError
from pkm_estimation.filters import CovarianceError, Innovation
from pkm_estimation.legs.gate import LegGate
from pkm_estimation.models import EstimatorGeometry
from pkm_estimation.models.imu_frame import ImuFrame
from pkm_estimation.stream.angular_acceleration import AngularAcceleration
from pkm_estimation.stream.baseline import BaselineStream
from pkm_estimation.stream.health import HealthMonitor
from pkm_estimation.stream.history import Memory
from pkm_estimation.stream.messages import LegMeasurement, LegSample, UserMeasurement
from pkm_estimation.stream.output import EstimatorOutput, OutputModel
from pkm_estimation.stream.samples import ImuSample, InputPath, Instant, take_input


class Tracker:
    """All parts with a state: filter, gate, delay, baseline, derivatives; with snapshots of all of it.

    Parameters
    ----------
    machine, config : the machine and the settings
    imu_frame : mounting of the IMU

    Attributes
    ----------
    filter, leg_gate, delay, pose_watch, baseline, angular_acceleration : its parts
    health : gets all counters and events
    """

    def __init__(self, machine: Machine, config: EstimatorConfig, imu_frame: ImuFrame) -> None:
        self.machine, self.config = machine, config
        self.filter = PlatformFilter(
            EstimatorGeometry.from_machine(machine),
            imu_frame.noise_covariance,
            np.diag(machine.leg_sensors.position_noise**2),
            config,
            machine,
        )
        self.health = HealthMonitor(machine.actuated_count, self.filter.layout.groups)
        self.baseline = BaselineStream(machine, config, self.health)
        self.angular_acceleration = AngularAcceleration(config.angular_acceleration_time_constant)
        self.delay = DeclaredDelay(config.imu_delay, config.imu_delay_std, self.filter.layout.imu_delay)
        self._side = AssemblySide(machine)
        self.pose_watch = PoseWatch(machine, self._side, config.maximum_condition)
        gate = 0.0 if config.filter == 'paper' else config.leg_gate
        self.leg_gate = LegGate(machine, gate)
        self.noise = NoiseAdaptation(config.adapt_noise)
        point = np.array(config.reference_point)
        self._output_model = OutputModel(
            self.filter.layout, self.filter.geometry, imu_frame, point, self.angular_acceleration
        )
        self.baseline_wanted = config.baseline
        self.now: ImuSample | None = None
        self._lost_samples = 0
        self._memory = Memory(
            self.leg_gate,
            self.delay,
            self.pose_watch,
            self.noise,
            *self.baseline.remembering,
            *self.angular_acceleration.remembering,
        )

    def reset(self) -> None:
        """Stop the filter and reset baseline and gate; an estimated delay is kept."""
        self._stop()
        self.baseline.reset()
        self.leg_gate.reset()

    def snapshot(self) -> tuple[Any, ...]:
        """State for :meth:`restore`."""
        return self.now, self._lost_samples, self.filter.snapshot(), self._memory.snapshot()

    def restore(self, snapshot: tuple[Any, ...]) -> None:
        """Restore a snapshot exactly, bit by bit."""
        self.now, self._lost_samples, filter_, parts = snapshot
        self.filter.restore(filter_)
        self._memory.restore(parts)

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
        path = self._path(measurement.instant, queue)
        if path is None:
            return None
        if self.now is None:
            return self._start(measurement, path.end)
        innovation = None
        try:
            self._predict_along(path)
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
        except CovarianceError as error:
            self._fail(stamp, 'covariance_lost', str(error))
            innovation = None
        if innovation is None or not self._is_sound(stamp, path.end, innovation):
            return self._start(measurement, path.end)
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
            self._predict_along(path)
            self.now = path.end  # also where the user's function raises
            innovation = self.filter.update_with(
                measurement.observe, measurement.value, measurement.covariance, path.end.value, limit
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
        path = take_input(queue, self.now, due, self.config.maximum_imu_gap)
        if isinstance(path, str):
            self.health.event(instant.stamp, path, 'measurement without IMU samples around it: rejected')
            return None
        if self.now is not None:
            gap = path.gap_after(self.now.instant, self.config.maximum_leg_gap, self.config.maximum_imu_gap)
            if gap is not None:
                self._fail(instant.stamp, gap, gap.replace('_', ' '))
        return path

    # -- prediction and correction -------------------------------------------------------------------------------------

    def _correct_surprised(self, stamp: int, sample: LegSample) -> Innovation | None:
        """Correct with a measurement that does not fit the prediction; ``None`` if the filter was stopped."""
        if self.leg_gate.on_probation and self.config.start == 'forward_kinematics':
            self.leg_gate.give_up_start()
            self._fail(stamp, 'start_not_confirmed', 'the measurements after the start do not fit it')
            return None
        return self._correct_with_believed(stamp, sample)

    def _correct_with_believed(self, stamp: int, sample: LegSample) -> Innovation:
        """Correct with the legs that pass the gate."""
        gate, filter_ = self.leg_gate, self.filter

        def complain(reason: str, detail: str) -> None:
            self.health.event(stamp, reason, detail)

        predicted = filter_.predicted_innovation(sample.positions, gate.noise_scale)
        judgement = gate.judge(sample.positions, sample.used, *predicted, complain)
        innovation = filter_.update(sample.positions, judgement.used, noise_scale=judgement.noise_scale)
        gate.accept(sample.positions, innovation)
        self.health.left_out = gate.descriptions()
        for name in self.health.left_out:
            self.health.count(f'{name}_left_out')
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
        if not is_lost and self.noise.is_on and self.noise.accept(innovation):
            self.health.noise_factors = self.noise.q_factor, self.noise.r_factor
            self.filter.set_noise(*self.health.noise_factors)
        if not self._side.holds(self.filter):
            self._fail(stamp, 'wrong_assembly_mode', 'the estimate lies on the other side of the base')
            return False
        trouble = self.pose_watch.look(self.filter, stamp)
        if trouble == 'wrong_assembly_mode':
            self._fail(stamp, trouble, 'the estimate has passed a singular pose')
            return False
        if trouble:
            self.health.event(stamp, 'near_singular_pose', trouble)
        self._lost_samples = self._lost_samples + 1 if is_lost else 0
        if self._lost_samples >= self.config.divergence_samples:
            self._fail(stamp, 'diverged', f'NIS {innovation.nis:.3g} for {self._lost_samples} measurements in a row')
            return False
        return True

    def _predict_along(self, path: InputPath) -> None:
        for segment in path.segments:
            if segment.is_empty:
                continue
            self.angular_acceleration.advance(segment)
            imu_interval = max(segment.duration, segment.imu_interval)
            for start, end, duration in segment.steps(self.config.maximum_step):
                self.filter.predict(start, end, duration, imu_interval)

    # -- start and stop ------------------------------------------------------------------------------------------------

    def _stop(self) -> None:
        self.now = None
        self.angular_acceleration.reset()
        self._lost_samples = 0
        self.health.left_out = {}

    def _fail(self, stamp: int, reason: str, detail: str) -> None:
        self.health.event(stamp, reason, f'{detail}: restarting the filter')
        self._stop()

    def _start(self, measurement: LegMeasurement, imu: ImuSample) -> EstimatorOutput | None:
        """Start the filter with this measurement; needs all legs."""
        stamp, sample = measurement.instant.stamp, measurement.sample
        if len(sample.used) < self.machine.actuated_count:
            self.health.event(stamp, 'too_few_legs_to_start', 'a start needs the positions of all legs: rejected')
            return None
        innovation = None
        try:
            if self.config.start == 'printed':
                self.filter.start_as_printed()
                innovation = self.filter.first_update(sample.positions, self._side.is_home_mode)
                if innovation is None:
                    raise KinematicsError('no pose on the home assembly mode has these positions')
            else:
                self.filter.start_at(self.baseline.estimator.pose(sample.positions)[0])
        except (KinematicsError, CovarianceError) as error:
            self.health.event(stamp, 'start_failed', f'no start from these positions: {error}')
            return None
        self.now = imu
        self.leg_gate.started()
        self.pose_watch.reset()
        self.noise.started()
        self.health.event(stamp, 'started', f'filter started ({self.config.start})')
        return self._output(measurement, imu.value, innovation, started=True)

    def _output(
        self, measurement: LegMeasurement, imu: Array, innovation: Innovation | None, started: bool
    ) -> EstimatorOutput:
        instant, sample = measurement.instant, measurement.sample
        baseline = self.baseline.estimate(instant, sample) if self.baseline_wanted else None
        return EstimatorOutput(
            instant, started, self.filter.known(imu), self._output_model, innovation,
            self.angular_acceleration.raw(), sample.positions, sample.efforts, baseline, 1e-9 * self.delay.nanoseconds,
        )  # fmt: skip
