"""A hydraulic machine in simulation: MuJoCo's mechanism, driven by simulated cylinders and valves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from pkm_description.arrays import Array
from pkm_description.errors import ConfigurationError
from pkm_description.machine import Machine, PlatformMotion

from pkm_bringup.control import LegReference, check_reference
from pkm_bringup.control.hydraulic import Cylinder, HydraulicAxes, HydraulicControlSettings, HydraulicSettings
from pkm_bringup.simulation.mujoco_simulation import MujocoSimulation, SimulationError
from pkm_bringup.simulation.sensors import Encoder

#: s of the mechanism; oil columns swing at more than 100 Hz
TIME_STEP = 2e-4

#: steps of valve and pressures in one of the mechanism
_SUBSTEPS = 4


class HydraulicDrives:
    """Valves of second order and compressible chambers of all drives.

    Parameters
    ----------
    cylinder : equations and data
    force : (A,) N that the drives carry at the begin

    Attributes
    ----------
    pressures : (2, A) Pa
    spool : (A,) opening of the valves, -1 .. 1
    """

    def __init__(self, cylinder: Cylinder, force: Array) -> None:
        self._cylinder = cylinder
        self._frequency = 2.0 * np.pi * cylinder.settings.valve_frequency
        self._damping = cylinder.settings.valve_damping
        self.pressures = cylinder.pressures_at_rest(force)
        self.spool, self._spool_rate = np.zeros((2, len(force)))

    def advance(self, command: Array, position: Array, speed: Array, step: float) -> Array:
        """Forces (A,) N after a step with commanded openings (A,); position from the lower end of the stroke."""
        small = step / _SUBSTEPS
        for _ in range(_SUBSTEPS):
            acceleration = (
                self._frequency**2 * (command - self.spool) - 2.0 * self._damping * self._frequency * self._spool_rate
            )
            self._spool_rate = self._spool_rate + small * acceleration
            self.spool = np.clip(self.spool + small * self._spool_rate, -1.0, 1.0)
            # Heun: the chambers are stiff against the flow
            first = self._cylinder.pressure_rates(self.spool, self.pressures, position, speed)
            guess = np.maximum(self.pressures + small * first, 0.0)
            second = self._cylinder.pressure_rates(self.spool, guess, position, speed)
            # oil takes no tension
            self.pressures = np.maximum(self.pressures + 0.5 * small * (first + second), 0.0)
        return self._cylinder.force(self.pressures)


@dataclass(frozen=True)
class HydraulicRecord:
    """A followed motion, N control periods.

    Attributes
    ----------
    time : (N,) s
    desired, actual : (N, A) m
    openings : (N, A)
    pressures : (N, 2, A) Pa
    """

    time: Array
    desired: Array
    actual: Array
    openings: Array
    pressures: Array

    @property
    def errors(self) -> Array:
        """Tracking errors (N, A) m."""
        return self.desired - self.actual


def track_hydraulically(
    machine: Machine,
    motion: PlatformMotion,
    data: HydraulicSettings | None = None,
    control: HydraulicControlSettings | None = None,
    *,
    believed: HydraulicSettings | None = None,
    seed: int = 0,
    control_rate: float = 1000.0,
) -> HydraulicRecord:
    """Let the axis controllers follow a motion on simulated cylinders, valves, mechanism and sensors.

    Parameters
    ----------
    machine : with prismatic drives
    motion : begins and ends at rest, begins at home
    data : of the simulated cylinders and valves; default: assumed
    control : gains; default: assumed
    believed : what the controller believes of ``data``; default: the truth
    seed : of the sensor noise
    control_rate : Hz, a whole fraction of 5 kHz

    Raises
    ------
    ConfigurationError
        A drive turns, or the rate does not fit.
    ReferenceRefusedError
        The motion cannot be followed.
    SimulationError
        The physics diverged.
    """
    data = data or HydraulicSettings()
    if any(joint.kind != 'prismatic' for joint in machine.actuated_joints):
        raise ConfigurationError(f'{machine.name}: cylinders drive prismatic joints only')
    every = round(1.0 / (control_rate * TIME_STEP))
    if every < 1 or abs(every * control_rate * TIME_STEP - 1.0) > 1e-9:
        whole = 1.0 / TIME_STEP
        raise ConfigurationError(f'control_rate = {control_rate:g} Hz: must be a whole fraction of {whole:g} Hz')
    check_reference(machine, motion)
    reference = LegReference(machine, motion, 0, 'rigid_body_friction')
    lower, upper = np.array([(joint.limits.lower, joint.limits.upper) for joint in machine.actuated_joints]).T
    axes = HydraulicAxes(Cylinder(believed or data, upper - lower), control)
    simulation = MujocoSimulation(machine, seed, time_step=TIME_STEP)
    encoder = Encoder(machine.leg_sensors, seed)
    drives = HydraulicDrives(Cylinder(data, upper - lower), simulation.data.ctrl.copy())
    times = np.arange(0, reference.end_ns, every * simulation.step_ns, dtype=np.int64)
    wanted, ahead = reference.evaluate(times), reference.evaluate(times + axes.lead_ns)
    actual, openings = np.empty((2, len(times), machine.actuated_count))
    pressures = np.empty((len(times), 2, machine.actuated_count))
    force = simulation.data.ctrl.copy()
    for sample in range(len(times)):  # physics is sequential
        actual[sample], pressures[sample] = simulation.joint_positions, drives.pressures
        measured, _ = encoder.measure(simulation.joint_positions, simulation.joint_velocities)
        error = wanted.positions[sample] - measured
        openings[sample] = axes.openings(error, ahead.rates[sample], force, ahead.forces[sample])
        for _ in range(every):
            position, speed = simulation.joint_positions - lower, simulation.joint_velocities
            force = drives.advance(openings[sample], position, speed, TIME_STEP)
            if not np.isfinite(force).all():
                raise SimulationError(f'{machine.name}: the oil pressures diverged at t = {simulation.time:.3f} s')
            simulation.step(force)
    return HydraulicRecord(1e-9 * times.astype(float), wanted.positions, actual, openings, pressures)
