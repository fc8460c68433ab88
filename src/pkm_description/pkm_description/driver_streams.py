"""What a machine's driver would publish: the inverse of reading it, for simulators and tests of driver files."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pkm_description.arrays import Array
from pkm_description.machine import Machine


class DriverJointStates(NamedTuple):
    """Arrays (..., M) as a driver's joint states have them, in its names, order and units."""

    names: tuple[str, ...]
    positions: Array
    velocities: Array
    efforts: Array


class DriverStreams:
    """Turns values in the suite's convention into what the machine's driver publishes.

    Parameters
    ----------
    machine : with its driver; of a standard one the values stay as they are

    Attributes
    ----------
    names : (M) entries of a joint state
    """

    def __init__(self, machine: Machine) -> None:
        self._driver = driver = machine.driver
        joint_names = driver.joint_names or machine.actuated_joint_names
        order = driver.order or tuple(range(len(joint_names)))
        names = [joint_names[drive] for drive in order]
        channels = driver.effort.channels if driver.effort else ()
        for channel in channels:
            names += [name for name in channel.names if name not in names]
        self.names = tuple(names)
        self._joints = [names.index(name) for name in joint_names]
        self._channels = [[names.index(name) for name in channel.names] for channel in channels]
        self._plain = not driver.converts_joints

    def joint_states(self, positions: Array, velocities: Array, efforts: Array) -> DriverJointStates:
        """Joint states of drives at positions (..., A) m or rad, with velocities and efforts (..., A)."""
        if self._plain:
            return DriverJointStates(self.names, positions, velocities, efforts)
        conversion, effort = self._driver.position, self._driver.effort
        if conversion is not None:
            velocities = conversion.rate_reading(velocities, positions)
            positions = conversion.reading(positions)
        if effort is None:
            shown = self._placed([efforts], [self._joints])
        else:
            shown = self._placed(effort.readings(efforts), self._channels)
        return DriverJointStates(
            self.names, self._placed([positions], [self._joints]), self._placed([velocities], [self._joints]), shown
        )

    def imu(self, specific_force: Array, angular_rate: Array) -> tuple[Array, Array]:
        """Acceleration and angular rate (..., 3) as the driver's IMU has them."""
        if self._driver.imu.is_standard:
            return specific_force, angular_rate
        return self._driver.imu.readings(specific_force, angular_rate)

    def _placed(self, parts: list[Array], places: list[list[int]]) -> Array:
        """Values by drive at their entries; zero where an entry measures something else."""
        result = np.zeros((*np.shape(parts[0])[:-1], len(self.names)))
        for part, entries in zip(parts, places, strict=True):
            result[..., entries] = part
        return result
