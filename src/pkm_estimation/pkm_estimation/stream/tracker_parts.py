"""The parts of the estimator that have a state, with snapshots of all of it."""

from __future__ import annotations

from typing import Any

import numpy as np
from pkm_description.machine import Machine

from pkm_estimation.config import EstimatorConfig
from pkm_estimation.filtering.adaptation import NoiseAdaptation
from pkm_estimation.filtering.assembly_side import AssemblySide, PoseWatch
from pkm_estimation.filtering.delay import DeclaredDelay
from pkm_estimation.filtering.platform_filter import PlatformFilter
from pkm_estimation.legs.gate import LegGate
from pkm_estimation.models import EstimatorGeometry
from pkm_estimation.models.imu_frame import ImuFrame
from pkm_estimation.stream.angular_acceleration import AngularAcceleration
from pkm_estimation.stream.baseline import BaselineStream
from pkm_estimation.stream.health import HealthMonitor
from pkm_estimation.stream.history import Memory
from pkm_estimation.stream.output import OutputModel
from pkm_estimation.stream.samples import ImuSample


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
    output_model : maps the filter's state to the outputs
    now : IMU sample at the filter's state, ``None`` while it is stopped
    lost_samples : measurements in a row that did not fit at all
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
        self.side = AssemblySide(machine)
        self.pose_watch = PoseWatch(machine, self.side, config.maximum_condition)
        gate = 0.0 if config.filter == 'paper' else config.leg_gate
        self.leg_gate = LegGate(machine, gate)
        self.noise = NoiseAdaptation(config.adapt_noise)
        point = np.array(config.reference_point)
        self.output_model = OutputModel(
            self.filter.layout, self.filter.geometry, imu_frame, point, self.angular_acceleration
        )
        self.baseline_wanted = config.baseline
        self.now: ImuSample | None = None
        self.lost_samples = 0
        self._memory = Memory(
            self.leg_gate,
            self.delay,
            self.pose_watch,
            self.noise,
            *self.baseline.remembering,
            *self.angular_acceleration.remembering,
        )

    def snapshot(self) -> tuple[Any, ...]:
        """State for :meth:`restore`."""
        return self.now, self.lost_samples, self.filter.snapshot(), self._memory.snapshot()

    def restore(self, snapshot: tuple[Any, ...]) -> None:
        """Restore a snapshot exactly, bit by bit."""
        self.now, self.lost_samples, filter_, parts = snapshot
        self.filter.restore(filter_)
        self._memory.restore(parts)
