"""Driven joints in Gazebo: its joint states and commands against those of the suite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from pkm_description.arrays import Array
from pkm_description.export.rest import start_configuration
from pkm_description.machine import Machine

from pkm_bringup.control.axis_controllers import EffortCommands
from pkm_bringup.simulation.sensors import JointSample, JointSensorModel

#: a command counts until the next one, as in Gazebo itself
_NO_TIMEOUT = 2**62


class GazeboDrives:
    """Driven joints of one machine.

    Gazebo counts joint positions from where the machine starts, publishes them at every step and knows no efforts. The
    effort of a sample is the **commanded force**, limited as the machine file says: Gazebo's drives give what they are
    told from its next step on.

    Parameters
    ----------
    machine : with leg sensors, whose rate the samples get
    start : coordinates of the platform at the start, as in :class:`~pkm_description.export.sdf_systems.SdfOptions`
    takes_forces : commands are forces (N, N m), else positions (m, rad), whose forces nobody knows
    seed : of the noise
    noise : add the noise of the machine file's leg sensors

    Attributes
    ----------
    start_positions : (A,) m, rad of the driven joints where Gazebo's are zero
    """

    def __init__(
        self, machine: Machine, start: Mapping[str, float], takes_forces: bool = True, seed: int = 0, noise: bool = True
    ) -> None:
        positions = start_configuration(machine, start).joint_positions
        self.start_positions = np.array([positions[name] for name in machine.actuated_joint_names])
        limits = [joint.limits for joint in machine.actuated_joints]
        if takes_forces:
            self._highest = np.array([limit.effort for limit in limits])
            self._lowest = -self._highest
        else:
            self._highest = np.array([limit.upper for limit in limits])
            self._lowest = np.array([limit.lower for limit in limits])
        self._takes_forces = takes_forces
        self._commands = EffortCommands(machine.actuated_joint_names, _NO_TIMEOUT)
        self._sensors = JointSensorModel(machine.leg_sensors, seed, noise)
        self._period_ns = round(1e9 / machine.leg_sensors.rate)
        self._due_ns = 0

    @property
    def commanded(self) -> bool:
        """Whether a command has come."""
        return self._commands.forces(0) is not None

    def command(self, values: Sequence[float]) -> Array:
        """Take a command (A,) N, N m or m, rad; returns what Gazebo is to be told (A,), within the limits.

        Raises
        ------
        CommandError
            Wrong number of values, or one that is not finite.
        """
        self._commands.receive(values, 0)
        limited = np.clip(np.asarray(values, dtype=float), self._lowest, self._highest)
        return limited if self._takes_forces else limited - self.start_positions

    def is_due(self, stamp_ns: int) -> bool:
        """Whether a joint state of this time is a sample: at the sensors' rate, and again after time went back."""
        if stamp_ns < self._due_ns - self._period_ns:
            self._due_ns = 0
        if stamp_ns < self._due_ns:
            return False
        self._due_ns = (stamp_ns // self._period_ns + 1) * self._period_ns
        return True

    def sample(self, positions: Array, velocities: Array) -> JointSample:
        """Sample of Gazebo's positions and velocities (A,); efforts are NaN where none are known."""
        forces = self._commands.forces(0) if self._takes_forces else None
        efforts = np.full(len(positions), np.nan) if forces is None else np.clip(forces, self._lowest, self._highest)
        return self._sensors.measure(positions + self.start_positions, velocities, efforts)
