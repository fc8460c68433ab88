"""The parts of the estimator that have a state, with snapshots of all of it."""

from __future__ import annotations

from math import inf
from typing import Any, NamedTuple

import numpy as np
from pkm_description.machine import Machine, Pose

from pkm_estimation.config import EstimatorConfig
from pkm_estimation.filtering.adaptation import NoiseAdaptation
from pkm_estimation.filtering.assembly_side import AssemblySide, PoseWatch
from pkm_estimation.filtering.delay import DeclaredDelay
from pkm_estimation.filtering.legs_alone import LegsAlone
from pkm_estimation.filtering.platform_filter import PlatformFilter
from pkm_estimation.filtering.singular_reach import SingularReach
from pkm_estimation.legs.continuity import LegContinuity
from pkm_estimation.legs.gate import LegGate
from pkm_estimation.models import EstimatorGeometry
from pkm_estimation.models.imu_frame import ImuFrame
from pkm_estimation.stream.angular_acceleration import AngularAcceleration
from pkm_estimation.stream.baseline import BaselineStream
from pkm_estimation.stream.health import HealthMonitor
from pkm_estimation.stream.history import Memory
from pkm_estimation.stream.imu_causes import ImuCauses
from pkm_estimation.stream.imu_fault import ImuFault
from pkm_estimation.stream.imu_watch import ImuWatch
from pkm_estimation.stream.mode_doubt import ModeDoubt
from pkm_estimation.stream.output import OutputModel
from pkm_estimation.stream.samples import ImuSample, Instant

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


#: long ago
NO_POSES = LastPoses(-(2**62), (), -(2**62))


class TrackerParts:
    """Filter, gate, delay, baseline, derivatives, and how far they have come.

    Parameters
    ----------
    machine, config : the machine and the settings
    imu_frame : mounting of the IMU

    Attributes
    ----------
    filter, leg_gate, delay, noise, side, pose_watch, baseline, angular_acceleration : the parts
    health : gets all counters and events
    may_leave_out_imu : whether an IMU that fails may be left out
    alone, imu_watch, imu_fault, imu_causes, continuity : for that: the filter without it, its samples, its state, why,
        the legs' past
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
    """

    def __init__(self, machine: Machine, config: EstimatorConfig, imu_frame: ImuFrame) -> None:
        self.machine, self.config = machine, config
        legs = machine.leg_sensors
        leg_noise = np.diag(legs.position_noise**2 + np.square(legs.position_resolution) / 12.0)
        geometry = EstimatorGeometry.from_machine(machine)
        self.filter = PlatformFilter(geometry, imu_frame.noise_covariance, leg_noise, config, machine)
        self.health = HealthMonitor(machine.actuated_count, self.filter.layout.groups)
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
        self.reach = SingularReach(machine, self.filter, config.follow_modes)
        arm = np.array(config.reference_point) - geometry.imu_position
        self.doubt, self.alone_doubt = ModeDoubt(self.reach, arm), ModeDoubt(self.reach, arm, weighs=False)
        self.last_poses = NO_POSES
        self.imu_watch = ImuWatch(machine.imu, machine.driver.imu, bool(machine.gravity.any()), config.history)
        self.imu_fault, self.imu_causes = ImuFault(), ImuCauses()
        self.continuity = LegContinuity(np.sqrt(leg_noise.diagonal()))
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
