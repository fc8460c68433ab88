"""Simulated machine with its controller: the servo, or commanded forces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.errors import KinematicsError
from pkm_description.export.mjcf import TIME_STEP
from pkm_description.kinematics import forward_kinematics, measured_tolerance
from pkm_description.kinematics.rotation import angles_from_matrix
from pkm_description.machine import Machine, PlatformMotion

from pkm_bringup.control import EffortCommands, LegReference, LegServo, ServoSettings
from pkm_bringup.simulation.mujoco_simulation import MujocoSimulation, SimulationError
from pkm_bringup.simulation.sensors import Encoder, Sample

#: m or rad: PaLiDA's position sensors (Heimann & Abdellatif: about 20 um)
ENCODER_RESOLUTION = 20e-6
#: what drives the legs
CONTROLLERS = ('platform_reference', 'effort')


class ControlledSimulation:
    """Simulation whose servo works at the physics rate on the drives' signals.

    With ``controller='effort'`` commanded forces count as long as they come in time. Before the first command the servo
    holds home; after a time-out it holds the pose in which the platform is then, until commands come again.

    Parameters
    ----------
    machine, seed, noise, time_step, friction_laws : see :class:`MujocoSimulation`
    controller : one of :data:`CONTROLLERS`
    settings : of the servo
    belief : what the servo believes the machine to be; default: the simulated machine itself
    encoder : sensors of the servo; default: it gets the true positions and velocities of the drives
    command_timeout : s of simulation time

    Attributes
    ----------
    simulation, servo : the parts
    commanded : True while commanded forces drive the legs
    timeout_count : how often commands have stopped coming
    """

    def __init__(
        self,
        machine: Machine,
        seed: int = 0,
        *,
        noise: bool = True,
        controller: str = 'platform_reference',
        settings: ServoSettings | None = None,
        belief: Machine | None = None,
        encoder: Encoder | None = None,
        command_timeout: float = 0.2,
        time_step: float = TIME_STEP,
        friction_laws: bool = False,
    ) -> None:
        if controller not in CONTROLLERS:
            raise ValueError(f'controller = {controller!r}, expected one of {CONTROLLERS}')
        if not command_timeout > 0.0:
            raise ValueError(f'command_timeout = {command_timeout} s, expected a positive number')
        self.simulation = MujocoSimulation(machine, seed, noise, time_step, friction_laws)
        self.servo = LegServo(belief or machine, self.simulation.step_ns, settings)
        self._encoder = encoder
        self.commanded = False
        self.timeout_count = 0
        self._takes_commands = controller == 'effort'
        self._command_timeout_ns = round(command_timeout * 1e9)
        self._commands = self._no_commands()

    def _no_commands(self) -> EffortCommands:
        return EffortCommands(self.simulation.machine.actuated_joint_names, self._command_timeout_ns)

    def set_time(self, time_ns: int) -> None:
        """Call the present instant ``time_ns`` [ns]; what was planned or commanded by the old time is forgotten."""
        simulation = self.simulation
        simulation.start_ns = time_ns - simulation.step_index * simulation.step_ns
        self._commands, self.commanded = self._no_commands(), False
        if simulation.step_index:
            self._hold_here()

    def add_reference(self, motion: PlatformMotion, start_ns: int) -> LegReference:
        """Let the servo follow a motion, see :meth:`LegServo.add_reference`."""
        return self.servo.add_reference(motion, start_ns, self.simulation.time_ns)

    def receive_command(self, forces: Sequence[float]) -> None:
        """Take commanded forces, see :meth:`EffortCommands.receive`."""
        self._commands.receive(forces, self.simulation.time_ns)

    def step(self) -> Sample | None:
        """One physics step; what the sensors said at its beginning, see :meth:`MujocoSimulation.step`."""
        return self.simulation.step(self._commanded_forces() if self._takes_commands else self._servo_forces())

    def _servo_forces(self) -> Array:
        simulation = self.simulation
        positions, velocities = simulation.joint_positions, simulation.joint_velocities
        if self._encoder is not None:
            positions, velocities = self._encoder.measure(positions, velocities)
        return self.servo.forces(simulation.time_ns, positions, velocities)

    def _commanded_forces(self) -> Array:
        forces = self._commands.forces(self.simulation.time_ns)
        if forces is not None:
            self.commanded = True
            return forces
        if self.commanded:
            self.commanded = False
            self.timeout_count += 1
            self._hold_here()
        return self._servo_forces()

    def _hold_here(self) -> None:
        try:
            self.servo.hold(self.simulation.joint_positions)
        except KinematicsError:
            # bad commands can drive the loops to where the drives determine no pose; the way home is the safe one
            self.servo.hold_home()


@dataclass(frozen=True)
class TrackingRecord:
    """A motion as it was wanted and as it was; N control periods, A drives.

    Attributes
    ----------
    machine : the simulated machine
    time : (N,) s of the motion
    desired, actual : (N, A) m or rad, positions of the drives; ``actual`` is the truth of the physics
    forces : (N, A) N or N m
    saturation_count : (A,) control periods with a force at its limit
    """

    machine: Machine
    time: Array
    desired: Array
    actual: Array
    forces: Array
    saturation_count: NDArray[np.int_]

    @property
    def errors(self) -> Array:
        """Tracking errors (N, A) m or rad, desired minus actual (Heimann & Abdellatif, Fig. 4)."""
        return self.desired - self.actual

    def rms(self, between: tuple[float, float] | None = None) -> Array:
        """Root mean square of the tracking errors (A,), of the times between two if given [s]."""
        return np.asarray(np.sqrt(np.mean(self.errors[self.during(between)] ** 2, axis=0)))

    def during(self, between: tuple[float, float] | None) -> NDArray[np.bool_]:
        """Samples (N,) between two times [s], both included."""
        first, last = between or (-np.inf, np.inf)
        return np.asarray((self.time >= first) & (self.time <= last))

    def platform_errors(self, step: int = 1) -> tuple[Array, Array, Array]:
        """Cartesian errors by forward kinematics of the drive positions (Heimann & Abdellatif, Fig. 5).

        Parameters
        ----------
        step : take every so many samples

        Returns
        -------
        time (M,) s, position error (M, 3) m, errors of the cardan angles about x, y, z (M, 3) rad
        """
        poses = []
        for positions in (self.desired[::step], self.actual[::step]):
            solved = forward_kinematics(self.machine, positions, tolerance=measured_tolerance(self.machine)).require()
            poses.append((solved.position, angles_from_matrix(solved.rotation_base_platform)))
        (desired_position, desired_angles), (position, angles) = poses
        turn = np.unwrap(desired_angles - angles, period=2.0 * np.pi, axis=0)
        return self.time[::step], desired_position - position, turn


def track(
    machine: Machine,
    motion: PlatformMotion,
    settings: ServoSettings | None = None,
    *,
    belief: Machine | None = None,
    seed: int = 0,
) -> TrackingRecord:
    """Let the servo follow a motion on MuJoCo physics with friction, sensor noise and quantised positions.

    Parameters
    ----------
    machine : the simulated machine, with the friction laws of its file (load-dependent ones: the nearest pair)
    motion : begins and ends at rest, begins at home
    settings : of the servo
    belief : what the servo believes the machine to be; default: the simulated machine itself
    seed : of the sensor noise

    Raises
    ------
    ReferenceRefusedError
        The motion cannot be followed.
    SimulationError
        The servo stopped the machine on the way.
    """
    encoder = Encoder(machine.leg_sensors, seed, ENCODER_RESOLUTION)
    controlled = ControlledSimulation(
        machine, seed, settings=settings, belief=belief, encoder=encoder, friction_laws=True
    )
    simulation, servo = controlled.simulation, controlled.servo
    reference = controlled.add_reference(motion, 0)
    times = np.arange(0, reference.end_ns + 1, simulation.step_ns, dtype=np.int64)
    actual, forces = np.empty((2, len(times), machine.actuated_count))
    for sample in range(len(times)):  # physics is sequential
        actual[sample] = simulation.joint_positions
        controlled.step()
        forces[sample] = simulation.data.ctrl
    if servo.trip_reason:
        raise SimulationError(f'{machine.name}: the servo stopped the machine: {servo.trip_reason}')
    desired = reference.evaluate(times).positions
    time = times * 1e-9 + motion.time[0]
    return TrackingRecord(machine, time, desired, actual, forces, servo.saturation_count.copy())
