"""Stamp-ordered fusion of IMU and leg measurements: the same code in the node and offline, bit for bit."""

from __future__ import annotations

from bisect import insort
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import inf
from operator import attrgetter

import numpy as np
from pkm_description.arrays import Array
from pkm_description.errors import KinematicsError
from pkm_description.machine import Machine

from pkm_estimation.config import EstimatorConfig
from pkm_estimation.exchange.health import HealthMonitor
from pkm_estimation.exchange.history import History, Processed
from pkm_estimation.exchange.messages import (
    LegMeasurement,
    LegMessageReader,
    Measurement,
    MeasurementQueue,
    MessageNoise,
    UserMeasurement,
    checked_measurement,
    measurement_order,
)
from pkm_estimation.exchange.output import EstimatorOutput
from pkm_estimation.exchange.samples import ImuSample, Instant, StampGate
from pkm_estimation.exchange.stale import EncoderResolution
from pkm_estimation.filtering.constant_columns import with_imu_constants
from pkm_estimation.filtering.point_motion import PlatformPoints
from pkm_estimation.models.extra_states import ImuFrame
from pkm_estimation.models.inertial_process import INPUT_SIZE
from pkm_estimation.stream.lasting import LastingTest
from pkm_estimation.tracking.tracker import Tracker
from pkm_estimation.tracking.tracker_state import LatestPositions


class EstimatorPipeline:
    """Estimator driven by message stamps alone.

    A leg measurement is processed as soon as an IMU sample with the same or a later stamp has arrived; the IMU input at
    its stamp is interpolated. The result depends on the samples and on their order within each topic, not on
    the order in which messages of different topics arrive. (The queues are bounded: this holds as long as neither topic
    is more than ``queue_length`` samples behind the other, nor, with ``imu_silence``, the IMU further behind the legs.)

    With the setting ``history`` the order within a topic does not matter, either: on a late sample the filter goes back
    to its stamp and processes all later samples again. From then on the estimates are, bit by bit, those of samples
    that arrived in order. Estimates that were returned before are not returned again.

    Parameters
    ----------
    machine : the machine
    config : settings

    Attributes
    ----------
    tracker : processes the samples in order
    filter, baseline, angular_acceleration : its parts
    health : counters, events and statistics
    waits_for_imu : whether samples of a silent IMU are waited for however long it takes: in a recording they come
    """

    _imu: deque[ImuSample]
    _repeated: list[ImuSample]

    def __init__(self, machine: Machine, config: EstimatorConfig | None = None) -> None:
        if not machine.has_platform:
            raise KinematicsError(f'{machine.name} is an open chain, it has no platform: there is no pose to estimate')
        self.waits_for_imu = False
        self.config = config = config or EstimatorConfig()
        config.require_fitting(machine)
        self._know(machine, None, {}, 0.0)
        takes_noise = config.imu_noise == 'messages'
        self._message_noise = MessageNoise(self.imu_frame, self.filter, self.health) if takes_noise else None
        self._resolution = EncoderResolution(machine)
        # what is shorter than a gap is none
        self._silence = round(1e9 * max(config.imu_silence, config.maximum_imu_gap)) if config.imu_silence else None
        self._clear()

    def _know(
        self, machine: Machine, health: HealthMonitor | None, stds: dict[str, Array], zeros: Array | float
    ) -> None:
        """Begin with a machine, standard deviations of constants of the IMU that were found, and zeros of drives."""
        self.machine, self._stds, self._history = machine, stds, History.of(self.config)
        self.imu_frame = ImuFrame(machine.imu, machine.driver.imu)
        self.tracker = Tracker(machine, self.config, self.imu_frame, health)
        self.filter = self.tracker.filter
        self.baseline = self.tracker.baseline.estimator
        self.angular_acceleration, self.health = self.tracker.angular_acceleration, self.tracker.health
        self._reader = LegMessageReader(machine, self.config.minimum_legs)
        self.filter.legs.zeros[:] = zeros
        self.lasting = LastingTest(machine, self.config, self.tracker, self.health, stds)

    def _look_at_resolution(self, measurement: LegMeasurement) -> None:
        """Begin anew where the encoders turn out to have steps that the machine file does not state."""
        resolution, stamp = self._resolution, measurement.instant.stamp
        resolution.add(measurement.sample.positions)
        steps = resolution.unstated
        if not (resolution.is_known and steps.any()):
            return
        names = ', '.join(
            f'{name} {step:.3g}' for name, step in zip(self.machine.drive_labels, steps.tolist(), strict=True) if step
        )
        self.health.event(
            stamp, 'encoder_resolution', f'positions change in steps larger than their noise [m, rad]: {names}; taken '
            'into account. State them in the machine file: sensors.legs.position_resolution',
        )  # fmt: skip
        sensors = self.machine.leg_sensors
        known = np.where(steps > 0.0, steps, sensors.position_resolution)
        self._begin_anew(replace(self.machine, leg_sensors=replace(sensors, position_resolution=known)), self._stds, 0)

    def _begin_anew(self, machine: Machine, stds: dict[str, Array], later: int) -> None:
        """Begin anew with what was found of the machine, and with stamps of the IMU that are ``later`` [ns] by more."""
        before, delay = self.tracker, self.tracker.delay.nanoseconds
        zeros = before.filter.legs.zeros.copy()
        for leg, (off, _) in before.bank.moved.items():  # said beside another model, and not decided yet
            zeros[leg] += off
        self._know(self._with_walks(machine), self.health, stds, zeros)
        now = self.tracker
        now.baseline_wanted, now.paths.may_bridge = before.baseline_wanted, before.paths.may_bridge
        now.last_poses, now.imu_watch, now.filter.record = before.last_poses, before.imu_watch, before.filter.record
        now.delay.nanoseconds = delay + later
        if self._message_noise is not None:
            self._message_noise.go_on_with(self.imu_frame, self.filter)
        self._imu = deque(map(self._seen_anew, self._imu))
        self._repeated = list(map(self._seen_anew, self._repeated))

    def _seen_anew(self, sample: ImuSample) -> ImuSample:
        """The sample as an IMU that is mounted as is known now has taken it."""
        assert sample.raw is not None
        return sample._replace(value=self.imu_frame.to_platform(sample.raw))

    def _take_found(self) -> None:
        """Begin anew where innovations show that the IMU or gravity is far from what the machine file says."""
        found = self.lasting.found
        if not found:
            return
        machine, delay = self._with_constants({kind: size for kind, (size, _) in found.items()})
        stds = self._stds | {kind: std for kind, (_, std) in found.items()}
        self._begin_anew(machine, stds, round(1e9 * delay))

    def as_found(self) -> tuple[Machine, EstimatorConfig, Array]:
        """Machine, settings and zeros (A,) of the drives with the constants that were found, as well as known."""
        known, zeros = self.lasting.known_constants(), self.filter.legs.zeros.copy()
        for (kind, member), size in known.items():
            zeros[member] += float(size[0]) if kind == 'zero' else 0.0
        machine, delay = self._with_constants({kind: size for (kind, _), size in known.items()})
        return self._with_walks(machine), replace(self.config, imu_delay=self.imu_delay + delay), zeros

    def _with_walks(self, machine: Machine) -> Machine:
        """Machine with biases that walk as innovations have shown, too."""
        imu = machine.imu
        for kind, variance in self.lasting.walks.items():
            name = f'{kind.replace(" ", "_")}_walk'
            imu = replace(imu, **{name: np.hypot(getattr(imu, name), variance**0.5)})
        return replace(machine, imu=imu)

    def _with_constants(self, sizes: Mapping[str, Array]) -> tuple[Machine, float]:
        """Machine whose IMU and gravity are off by ``sizes``, SI, by kind, and what is to add to the delay."""
        return with_imu_constants(self.machine, sizes), float(sizes['delay'][0]) if 'delay' in sizes else 0.0

    @property
    def imu_delay(self) -> float:
        """Declared delay of the IMU's stamps [s], including what was estimated of it."""
        return 1e-9 * self.tracker.delay.nanoseconds

    @property
    def waiting(self) -> tuple[Measurement, ...]:
        """Measurements that wait for the IMU."""
        return tuple(self._waiting)

    @property
    def baseline_wanted(self) -> bool:
        """Whether the baseline runs next to the filter; can be changed at any time, the baseline then restarts."""
        return self.tracker.baseline_wanted

    @baseline_wanted.setter
    def baseline_wanted(self, wanted: bool) -> None:
        if wanted != self.tracker.baseline_wanted:
            self.tracker.baseline_wanted = wanted
            self.tracker.baseline.reset()

    def reset(self, stamp: int = 0) -> None:
        """Reset everything except counters, estimated delay and adapted noise; the next usable measurement starts anew.

        ``stamp`` [ns] is for the event.
        """
        for measurement in self._waiting:
            self.health.count(f'{measurement.topic}_dropped_by_reset')
        self._clear()
        self.health.event(stamp, 'reset', 'reset on request')

    def _clear(self) -> None:
        self._imu_gate, self._leg_gate = self._new_gate(), self._new_gate()
        self._user_gates: dict[str, StampGate] = {}
        self._imu = deque()
        self._repeated = []  # tell nothing new if the next one differs
        self._waiting = MeasurementQueue()
        self._last: Measurement | None = None
        self._legs_at_last: set[int] = set()  # that came with the last stamp
        self._received = LatestPositions(self.machine.actuated_count)  # in messages of some legs
        self._known: dict[tuple[Instant, str], bool] = {}  # what is processed again, and whether it was answered
        self._history = History.of(self.config)
        self.lasting.clear()
        self.tracker.reset()
        self.tracker.imu_watch.reset()

    def _new_gate(self) -> StampGate:
        return StampGate(self.config.clock_jump, self.config.history)

    # -- input ---------------------------------------------------------------------------------------------------------

    def add_imu(
        self,
        stamp: int,
        specific_force: Sequence[float] | Array,
        angular_rate: Sequence[float] | Array,
        covariances: Sequence[float] | Array | None = None,
    ) -> list[EstimatorOutput]:
        """Process an IMU sample, as its driver has it, of ``stamp`` [ns]; returns the estimates now possible.

        ``covariances`` (18,) of both vectors, row by row, matter with ``imu_noise: messages`` only.
        """
        self.health.count('imu_received')
        value = np.empty(INPUT_SIZE)
        if len(specific_force) == len(angular_rate) == 3:
            value[:3], value[3:] = specific_force, angular_rate
        else:
            value[:] = np.nan
        # the product is finite if all six are, except for numbers above 1e154
        if not (value.dot(value) < inf or np.isfinite(value).all()):
            numbers = [*specific_force, *angular_rate]
            self.health.event(stamp, 'imu_not_finite', f'IMU sample is not six finite numbers: {numbers}')
            return []
        instant = self._admit('imu', self._imu_gate, self._leg_gate, stamp)
        if instant is None:
            return []
        if self._message_noise is not None:
            self._message_noise.take(stamp, covariances)
        watch = self.tracker.imu_watch
        watch.take(instant, value)
        sample = ImuSample(instant, self.imu_frame.to_platform(value), value)
        if watch.is_repeated and not watch.is_frozen:
            self._repeated.append(sample)
            return []
        repeated, self._repeated = self._repeated if watch.is_frozen else [], []
        return [output for one in (*repeated, sample) for output in self._take_imu(one)]

    def _take_imu(self, sample: ImuSample) -> list[EstimatorOutput]:
        """Add a sample that tells something to those of the filter."""
        if len(self._imu) >= self.config.queue_length:
            self._imu.popleft()
            self.health.count('imu_queue_overflow')
            if self._history is not None:
                self._history.forget(self._imu[0].instant)
        if self._history is not None:
            self._history.add_imu(sample)
            if self._imu and sample.instant < self._imu[-1].instant:
                return self._take_late_imu(sample, self._history)
        self._imu.append(sample)
        return self._process_ready()

    def add_joint_positions(
        self,
        stamp: int,
        names: Sequence[str],
        positions: Sequence[float] | Array,
        efforts: Sequence[float] | Array | None = None,
    ) -> list[EstimatorOutput]:
        """Process joint positions by name at ``stamp`` [ns]; returns the estimates that are now possible."""

        def complain(reason: str, detail: str) -> None:
            # what other publishers give is not missing
            if reason != 'missing_joint' or self._received.age(stamp) > self.config.maximum_leg_gap:
                self.health.event(stamp, reason, detail)

        self.health.count('legs_received')
        sample = self._reader.read(names, positions, efforts, complain)
        if sample is None:
            self.health.count('legs_rejected')
            return []
        instant = self._admit_legs(stamp, set(sample.used.tolist()))
        if instant is None:
            return []
        if len(sample.used) < len(self._reader.all):
            self._received.add(stamp, sample.positions)
        return self._take(LegMeasurement(instant, sample))

    def add_measurement(
        self,
        stamp: int,
        observe: Callable[[PlatformPoints], Array],
        value: Sequence[float] | Array,
        covariance: Array,
        name: str,
    ) -> list[EstimatorOutput]:
        """Process a measurement of another sensor; it corrects the filter at its stamp if it passes its own gate.

        Parameters
        ----------
        stamp : ns; stamps of one ``name`` must be in order, and before the next leg measurement that is processed,
            unless ``history`` is set
        observe : predicts the measurement (m, N) from N possible motions, see :class:`PlatformPoints`
        value : (m,)
        covariance : (m, m) of its noise
        name : for stamps, gate, counters and statistics

        Returns
        -------
        Estimates that are now possible; the measurement itself gives none

        Raises
        ------
        ConfigurationError
            The covariance does not fit the value or is not positive definite.
        """
        numbers, noise = checked_measurement(value, covariance, name)
        if not np.isfinite(numbers).all():
            self.health.event(stamp, f'{name}_not_finite', f'{name} is not finite: {numbers.tolist()}')
            return []
        gate = self._user_gates.get(name)
        if gate is None:
            gate = self._user_gates[name] = self._new_gate()
            gate.epoch = self._leg_gate.epoch
        if not gate.follow(self._leg_gate, stamp):
            gate.follow(self._imu_gate, stamp)
        instant = self.health.admit(name, gate, stamp)
        return [] if instant is None else self._take(UserMeasurement(instant, name, observe, numbers, noise))

    def _admit_legs(self, stamp: int, legs: set[int]) -> Instant | None:
        """Instant of a message of some legs; drives with publishers of their own may give the same stamp."""
        gate = self._leg_gate
        if stamp == gate.last and not legs & self._legs_at_last:
            self._legs_at_last |= legs
            self.health.admitted('legs', 1, stamp, stamp)
            return Instant(gate.epoch, stamp)
        instant = self._admit('legs', gate, self._imu_gate, stamp)
        if instant is not None:
            self._legs_at_last = legs
        return instant

    def _admit(self, topic: str, gate: StampGate, other: StampGate, stamp: int) -> Instant | None:
        if gate.epoch != other.epoch and gate.join(other, stamp):
            self.health.event(stamp, 'clocks_disagree', f'the other topic restarted its clock, {topic} did not')
        return self.health.admit(topic, gate, stamp)

    def _take(self, measurement: Measurement) -> list[EstimatorOutput]:
        if len(self._waiting) >= self.config.queue_length:
            self._make_room(measurement.topic)
        # instants first: comparing the order of equal ones is slower
        if self._last is not None and measurement.instant <= self._last.instant and self._is_late(measurement):
            taken = None if self._history is None else self._history.rewind_to_measurement(measurement)
            if taken is None:
                self._drop_too_late(measurement.topic, measurement.instant)
                return []
            return self._process_again(taken, measurement)
        self._waiting.add(measurement)
        return self._process_ready()

    def _is_late(self, measurement: Measurement) -> bool:
        """Whether a measurement arrives late; without a history, measurements of equal time may come in any order."""
        assert self._last is not None
        if self._history is None:
            return measurement.instant < self._last.instant
        return measurement_order(measurement) < measurement_order(self._last)

    def _drop_too_late(self, topic: str, instant: Instant) -> None:
        stamp = instant.stamp
        self.health.taken_back(topic)
        self.health.event(stamp, f'{topic}_too_late', f'{topic} sample of {stamp} ns: too late, rejected')

    def _make_room(self, topic: str) -> None:
        """Drop the oldest measurement of a topic whose queue is full."""
        oldest = self._waiting.oldest_of_too_many(topic, self.config.queue_length)
        if oldest is not None:
            self._known.pop(measurement_order(oldest), None)
            self.health.count(f'{topic}_queue_overflow')

    # -- late samples --------------------------------------------------------------------------------------------------

    def _take_late_imu(self, sample: ImuSample, history: History) -> list[EstimatorOutput]:
        taken = history.rewind_to_imu(sample)
        if taken is None:
            self._drop_too_late('imu', sample.instant)
            return []
        if not taken:
            insort(self._imu, sample, key=attrgetter('instant'))
            return self._process_ready()
        return self._process_again(taken, None)

    def _process_again(self, taken: list[Processed], late: Measurement | None) -> list[EstimatorOutput]:
        """Restore the state before the measurements ``taken`` and process them again, together with the late one."""
        assert self._history is not None
        if taken:
            self.tracker.restore(taken[0].before)
        self._imu = deque(self._history.imu)
        self._waiting.extendleft(processed.measurement for processed in reversed(taken))
        if late is not None:
            self._waiting.add(late)
        self._known |= {measurement_order(processed.measurement): processed.answered for processed in taken}
        return self._process_ready()

    # -- processing ----------------------------------------------------------------------------------------------------

    def _process_ready(self) -> list[EstimatorOutput]:
        """Process all measurements that are ready; return outputs that were not returned before."""
        outputs = []
        while self._waiting and self._imu:
            due = self.tracker.due(self._waiting[0].instant)
            if self._imu[-1].instant < due and not self._is_silent(due):
                break
            measurement = self._waiting.popleft()
            output, answered = (self._process_silently if self._known else self._process)(measurement)
            if output is not None:
                self.health.output(output)
                self.lasting.add(output)
                outputs.append(output)
                self._take_found()
            if not answered:
                self.health.count(f'{measurement.topic}_rejected')
        return outputs

    def finish(self) -> list[EstimatorOutput]:
        """Process what would wait no longer for the IMU if all samples had arrived in time; no more will come."""
        self.waits_for_imu = False
        outputs = [output for sample in self._repeated for output in self._take_imu(sample)]
        self._repeated = []
        return outputs + self._process_ready()

    def _is_silent(self, due: Instant) -> bool:
        """Whether the IMU has been silent for so long, by the stamps of the legs, that nobody waits for it."""
        tracker, newest, last = self.tracker, self._leg_gate.last, self._imu[-1].instant
        if self.waits_for_imu or self._silence is None or newest is None or not tracker.paths.bridges_gaps:
            return False
        if tracker.now is None or not tracker.now.instant.epoch == last.epoch == due.epoch == self._leg_gate.epoch:
            return False
        return newest + tracker.delay.nanoseconds - last.stamp > self._silence

    def _process_silently(self, measurement: Measurement) -> tuple[EstimatorOutput | None, bool]:
        """Process a measurement, perhaps again; no output, event or rejection of it is reported twice."""
        answered_before = self._known.pop(measurement_order(measurement), None)
        self.health.muted = answered_before is not None
        try:
            output, answered = self._process(measurement, bool(answered_before))
        finally:
            self.health.muted = False
        if answered and answered_before is False:  # it was counted as rejected
            self.health.count(f'{measurement.topic}_answered_late')
        return None if answered_before else output, answered or answered_before is not None

    def _process(self, measurement: Measurement, answered_before: bool = False) -> tuple[EstimatorOutput | None, bool]:
        """Process a measurement; also whether it was used."""
        if isinstance(measurement, LegMeasurement) and not self._resolution.is_known:
            self._look_at_resolution(measurement)
        tracker, output = self.tracker, None
        before = None if self._history is None else (tracker.due(measurement.instant), tracker.snapshot())
        if isinstance(measurement, LegMeasurement):
            output = tracker.process_legs(measurement, self._imu)
            answered = output is not None
        else:
            answered = tracker.process_user(measurement, self._imu)
        self._last = measurement
        if self._history is not None and before is not None:
            self._history.add(Processed(measurement, *before, answered or answered_before))
        return output, answered
