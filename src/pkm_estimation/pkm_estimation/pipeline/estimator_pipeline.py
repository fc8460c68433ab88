"""Stamp-ordered fusion of IMU and leg measurements: the same code in the node and offline, bit for bit."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from math import ceil

import numpy as np
from numpy.typing import NDArray
from pkm_description.errors import KinematicsError
from pkm_description.machine.model import Machine
from pkm_description.mechanism import Mechanism

from pkm_estimation.filters import CovarianceError, Innovation
from pkm_estimation.models import BIASES, EstimatorGeometry
from pkm_estimation.models.drives import measured_at_zero
from pkm_estimation.pipeline.angular_acceleration import AngularAcceleration
from pkm_estimation.pipeline.assembly_side import AssemblySide, PoseWatch
from pkm_estimation.pipeline.baseline_stream import BaselineStream
from pkm_estimation.pipeline.config import EstimatorConfig
from pkm_estimation.pipeline.health import HealthMonitor
from pkm_estimation.pipeline.imu_frame import ImuFrame
from pkm_estimation.pipeline.leg_gate import LegGate
from pkm_estimation.pipeline.leg_message import LegMessageReader, LegSample
from pkm_estimation.pipeline.output import EstimatorOutput
from pkm_estimation.pipeline.platform_filter import PlatformFilter
from pkm_estimation.pipeline.samples import ImuSample, InputPath, LegMeasurement, Segment, seconds, take_input
from pkm_estimation.pipeline.stamps import Instant, StampGate, admit

Array = NDArray[np.float64]


class EstimatorPipeline:
    """Estimator driven by stamps alone.

    A leg measurement is processed as soon as an IMU sample with the same or a later stamp is there; the IMU input at
    its stamp is interpolated linearly. So the result depends on what the samples say and on the order within each
    topic, not on which topic's message came first. (Bounded queues: as long as neither topic is more than
    ``queue_length`` samples behind the other.)

    Parameters
    ----------
    machine : the machine as its file describes it
    config : settings

    Attributes
    ----------
    filter, baseline : the two estimators
    angular_acceleration : derivative of the angular rate
    leg_gate : which legs are believed
    health : counters, events and statistics of everything that happens
    """

    def __init__(self, machine: Machine, config: EstimatorConfig | None = None) -> None:
        self.machine = machine
        self.config = config = config or EstimatorConfig()
        self.mechanism = Mechanism(machine)
        self.imu_frame = ImuFrame(machine.imu)
        length_covariance = np.diag(machine.leg_sensors.position_noise**2)
        self.filter = PlatformFilter(
            EstimatorGeometry.from_machine(machine),
            self.imu_frame.noise_covariance,
            length_covariance,
            config,
            self.mechanism,
        )
        self.health = HealthMonitor(self.mechanism.leg_count, self.filter.layout.groups)
        self._baseline = BaselineStream(self.mechanism, config, self.health)
        self.baseline = self._baseline.estimator
        self.angular_acceleration = AngularAcceleration(config.angular_acceleration_time_constant)
        self._reference_point = np.array(config.reference_point)
        self._reader = LegMessageReader(self.mechanism, config.minimum_legs)
        self._side = AssemblySide(self.mechanism)
        self._pose_watch = PoseWatch(self.mechanism, self._side, config.maximum_condition)
        self.leg_gate = LegGate(
            machine, measured_at_zero(self.mechanism), 0.0 if config.filter == 'paper' else config.leg_gate
        )
        self._clear()

    def reset(self, stamp: int = 0) -> None:
        """Forget all but the counters; the next usable measurement is a start. ``stamp`` [ns] is for the event."""
        self._clear()
        self.health.event(stamp, 'reset', 'reset on request')

    def _clear(self) -> None:
        self._imu_gate, self._leg_gate = StampGate(self.config.clock_jump), StampGate(self.config.clock_jump)
        self._imu: deque[ImuSample] = deque()
        self._legs: deque[LegMeasurement] = deque()
        self._baseline.reset()
        self.angular_acceleration.reset()
        self.leg_gate.reset()
        self._now: ImuSample | None = None
        self._lost_samples: int = 0

    # -- input ---------------------------------------------------------------------------------------------------------

    def add_imu(
        self, stamp: int, specific_force: Sequence[float], angular_rate: Sequence[float]
    ) -> list[EstimatorOutput]:
        """Take an IMU sample (IMU axes) of ``stamp`` [ns]; returns the estimates that it makes possible."""
        value = np.array([*specific_force, *angular_rate], dtype=float)
        if value.shape != (6,) or not np.isfinite(value).all():
            self.health.event(stamp, 'imu_not_finite', f'IMU sample is not six finite numbers: {value.tolist()}')
            return []
        instant = self._admit('imu', self._imu_gate, stamp)
        if instant is None:
            return []
        if len(self._imu) >= self.config.queue_length:
            self._imu.popleft()
            self._overflow('imu', stamp)
        self._imu.append(ImuSample(instant, self.imu_frame.to_platform(value)))
        return self._process_ready()

    def add_joint_positions(
        self, stamp: int, names: Sequence[str], positions: Sequence[float], efforts: Sequence[float] | None = None
    ) -> list[EstimatorOutput]:
        """Take joint positions of ``stamp`` [ns] by name; returns the estimates that they make possible."""

        def complain(reason: str, detail: str) -> None:
            self.health.event(stamp, reason, detail)

        sample = self._reader.read(names, positions, efforts, complain)
        if sample is None:
            self.health.count('legs_rejected')
            return []
        instant = self._admit('legs', self._leg_gate, stamp)
        if instant is None:
            return []
        if len(self._legs) >= self.config.queue_length:
            self._legs.popleft()
            self._overflow('legs', stamp)
        self._legs.append(LegMeasurement(instant, sample))
        return self._process_ready()

    def _admit(self, topic: str, gate: StampGate, stamp: int) -> Instant | None:
        return admit(topic, gate, stamp, self.health)

    def _overflow(self, topic: str, stamp: int) -> None:
        """One topic waits for the other in vain; clocks that were restarted in one topic only never meet again."""
        self.health.count(f'{topic}_queue_overflow')
        if self._imu_gate.epoch != self._leg_gate.epoch:
            self.health.event(stamp, 'clocks_disagree', 'only one of the two topics restarted its clock: starting anew')
            self._clear()

    # -- processing ----------------------------------------------------------------------------------------------------

    def _process_ready(self) -> list[EstimatorOutput]:
        outputs = []
        while self._legs and self._imu and self._imu[-1].instant >= self._legs[0].instant:
            output = self._process(self._legs.popleft())
            if output is None:
                self.health.count('legs_rejected')
            else:
                self.health.output(output)
                outputs.append(output)
        return outputs

    def _process(self, measurement: LegMeasurement) -> EstimatorOutput | None:
        instant = measurement.instant
        path = take_input(self._imu, self._now, instant, self.config.maximum_imu_gap)
        if isinstance(path, str):
            self.health.event(instant.stamp, path, 'leg measurement without IMU samples around it: rejected')
            return None
        reason = self._cause_to_restart(instant, path)
        if reason:
            self._fail(instant.stamp, reason, reason.replace('_', ' '))
        if self._now is not None:
            innovation = self._advance(path, measurement.sample)
            if innovation is not None:
                return self._output(measurement, path.end.value, innovation, started=False)
        return self._start(measurement, path.end)

    def _cause_to_restart(self, instant: Instant, path: InputPath) -> str | None:
        if self._now is None:
            return None
        if instant.epoch != self._now.instant.epoch:
            return 'clock_reset'
        if seconds(self._now.instant, instant) > self.config.maximum_leg_gap:
            return 'leg_gap'
        if any(max(segment.duration, segment.imu_interval) > self.config.maximum_imu_gap for segment in path.segments):
            return 'imu_gap'
        return None

    def _advance(self, path: InputPath, sample: LegSample) -> Innovation | None:
        """Predict along the path and correct; ``None`` if the filter had to be stopped."""
        stamp = path.end.instant.stamp
        try:
            for segment in path.segments:
                self._predict(segment)
            innovation = self._correct(stamp, sample)
        except CovarianceError as error:
            self._fail(stamp, 'covariance_lost', str(error))
            return None
        if innovation is None:
            return None
        self._now = path.end
        if not self._side.is_home_side(self.filter.imu_point):
            self._fail(stamp, 'wrong_assembly_mode', 'the estimate lies on the other side of the base')
            return None
        trouble = self._pose_watch.look(self.filter)
        if trouble == 'wrong_assembly_mode':
            self._fail(stamp, trouble, 'the estimate has passed a singular pose')
            return None
        if trouble:
            self.health.event(stamp, 'near_singular_pose', trouble)
        self._lost_samples = 0 if innovation.nis <= self.config.divergence_nis else self._lost_samples + 1
        if self._lost_samples >= self.config.divergence_samples:
            self._fail(stamp, 'diverged', f'normalised innovation squared {innovation.nis:.3g} does not come down')
            return None
        return innovation

    def _correct(self, stamp: int, sample: LegSample) -> Innovation | None:
        """Correct the filter with the legs that can be believed; ``None`` if the filter had to be stopped."""
        gate, filter_ = self.leg_gate, self.filter
        if not gate.faults:
            self.health.left_out = {}
            count = len(sample.used)
            used = None if count == self.mechanism.leg_count else sample.used
            limit = gate.limit(count)
            innovation = filter_.update(sample.lengths, used, limit, gate.noise_scale)
            if innovation.nis <= limit:
                gate.accept(sample.lengths, innovation)
                return innovation
            if gate.on_probation and self.config.start == 'forward_kinematics':
                gate.give_up_start()
                self._fail(stamp, 'start_not_confirmed', 'the measurements after the start do not fit it')
                return None

        def complain(reason: str, detail: str) -> None:
            self.health.event(stamp, reason, detail)

        predicted = filter_.predicted_innovation(sample.lengths, gate.noise_scale)
        judgement = gate.judge(sample.lengths, sample.used, *predicted, complain)
        innovation = filter_.update(sample.lengths, judgement.used, noise_scale=judgement.noise_scale)
        gate.accept(sample.lengths, innovation)
        self.health.left_out = gate.descriptions()
        for leg in gate.faults:
            self.health.count(f'{self.machine.legs[leg].name}_left_out')
        return innovation

    def _predict(self, segment: Segment) -> None:
        """Predict over a segment in steps that are not too long."""
        self.angular_acceleration.advance(segment)
        first, change = segment.start.value, segment.end.value - segment.start.value
        duration = segment.duration
        steps = max(1, ceil(duration / self.config.maximum_step - 1e-9))
        imu_interval = max(duration, segment.imu_interval)
        for step in range(1, steps + 1):
            last = segment.end.value if step == steps else segment.start.value + (step / steps) * change
            self.filter.predict(first, last, duration / steps, imu_interval)
            first = last

    # -- start and stop ------------------------------------------------------------------------------------------------

    def _stop(self) -> None:
        self._now = None
        self.angular_acceleration.reset()
        self._lost_samples = 0

    def _fail(self, stamp: int, reason: str, detail: str) -> None:
        self.health.event(stamp, reason, f'{detail}: starting anew')
        self._stop()

    def _start(self, measurement: LegMeasurement, imu: ImuSample) -> EstimatorOutput | None:
        """Start the filter with this measurement; all legs are needed for that."""
        stamp, sample = measurement.instant.stamp, measurement.sample
        if len(sample.used) < self.mechanism.leg_count:
            self.health.event(stamp, 'too_few_legs_to_start', 'a start needs the positions of all legs: rejected')
            return None
        innovation = None
        try:
            if self.config.start == 'printed':
                self.filter.start_as_printed()
                innovation = self.filter.first_update(sample.lengths, self._side.is_home_mode)
                if innovation is None:
                    raise KinematicsError('no pose on the home assembly mode explains them')
            else:
                self.filter.start_at(self.baseline.pose(sample.lengths)[0])
        except (KinematicsError, CovarianceError) as error:
            self.health.event(stamp, 'start_failed', f'no start from these leg lengths: {error}')
            return None
        self._now = imu
        self.leg_gate.started()
        self.health.event(stamp, 'started', f'filter started ({self.config.start})')
        return self._output(measurement, imu.value, innovation, started=True)

    def _output(
        self, measurement: LegMeasurement, imu: Array, innovation: Innovation | None, started: bool
    ) -> EstimatorOutput:
        frame, filter_ = self.imu_frame, self.filter
        state, covariance = filter_.state, filter_.covariance
        biases = state[BIASES]
        motion = filter_.point_motion(imu, self._reference_point)
        corrected = frame.to_imu(imu - biases)
        gravity_felt = motion.rotation_base_platform.T @ self.machine.gravity
        biases_imu = frame.to_imu(biases)
        bias_covariance = frame.covariance_to_imu(covariance[BIASES, BIASES])
        imu_covariance = frame.covariance_to_imu(filter_.imu_covariance)
        return EstimatorOutput(
            stamp=measurement.instant.stamp,
            started=started,
            motion=motion,
            specific_force=corrected[:3],
            angular_rate=corrected[3:],
            imu_covariance=bias_covariance + imu_covariance,
            angular_acceleration=self.angular_acceleration.estimate(frame, imu_covariance),
            linear_acceleration=frame.to_imu(np.concatenate([imu[:3] - biases[:3] + gravity_felt, np.zeros(3)]))[:3],
            accelerometer_bias=biases_imu[:3],
            gyroscope_bias=biases_imu[3:],
            bias_deviation=np.sqrt(bias_covariance.diagonal()),
            innovation=innovation,
            state=state.copy(),
            state_deviation=np.sqrt(covariance.diagonal()),
            lengths=measurement.sample.lengths,
            efforts=measurement.sample.efforts,
            baseline=self._baseline.estimate(measurement.instant, measurement.sample) if self.config.baseline else None,
        )
