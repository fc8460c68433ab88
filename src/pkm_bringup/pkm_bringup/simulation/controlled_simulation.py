"""Simulated machine with its controller: the servo, or commanded forces."""

from __future__ import annotations

from collections.abc import Sequence

from pkm_description.arrays import Array
from pkm_description.errors import KinematicsError
from pkm_description.export.mjcf import TIME_STEP
from pkm_description.machine import Machine, PlatformMotion

from pkm_bringup.control import EffortCommands, LegReference, LegServo, ServoSettings
from pkm_bringup.simulation.mujoco_simulation import MujocoSimulation
from pkm_bringup.simulation.samples import Sample
from pkm_bringup.simulation.sensors import Encoder

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
