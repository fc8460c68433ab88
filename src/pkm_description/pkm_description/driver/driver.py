"""The class ``Driver``: all that is foreign about a machine's driver."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pkm_description.arrays import Array
from pkm_description.driver.periodic_error import PeriodicError, quantised
from pkm_description.errors import ConfigurationError

_DEGREE = math.pi / 180.0
_TURN = 2.0 * math.pi

#: by kind of the driven joint
POSITION = {
    'prismatic': {'m': 1.0, 'dm': 1e-1, 'cm': 1e-2, 'mm': 1e-3, 'um': 1e-6, 'nm': 1e-9, 'in': 0.0254},
    'revolute': {'rad': 1.0, 'mrad': 1e-3, 'deg': _DEGREE, 'turn': _TURN},
}
VELOCITY = {
    kind: {f'{unit}/s': scale for unit, scale in units.items()} for kind, units in POSITION.items()
}
VELOCITY['revolute']['rpm'] = _TURN / 60.0
VELOCITY['prismatic']['mm/min'] = 1e-3 / 60.0

#: by quantity
EFFORT = {
    'force': {'N': 1.0, 'kN': 1e3, 'lbf': 4.4482216152605},
    'torque': {'N m': 1.0, 'Nm': 1.0, 'N mm': 1e-3, 'Nmm': 1e-3, 'kN m': 1e3},
    'current': {'A': 1.0, 'mA': 1e-3},
    'voltage': {'V': 1.0, 'mV': 1e-3},
    'pressure': {'Pa': 1.0, 'kPa': 1e3, 'MPa': 1e6, 'bar': 1e5, 'psi': 6894.757293168},
}
EFFORT['pressure_difference'] = EFFORT['pressure']

ACCELERATION = {'m/s2': 1.0, 'm/s^2': 1.0, 'mm/s2': 1e-3, 'g': 9.80665, 'mg': 9.80665e-3}
ANGULAR_RATE = {'rad/s': 1.0, 'mrad/s': 1e-3, 'deg/s': _DEGREE, 'rpm': _TURN / 60.0}
#: topics of the suite
JOINT_TOPIC, IMU_TOPIC, COMMAND_TOPIC = 'joint_states', 'imu/data_raw', 'leg_effort_controller/commands'


class ImuReading(NamedTuple):
    """What is measured in a ``sensor_msgs/Imu``: stamp [ns], angular rate, specific force; and its frame.

    ``covariances`` (18,) of specific force, then of angular rate, row by row, as the driver states them.
    """

    stamp: int
    angular_rate: tuple[float, ...]
    specific_force: tuple[float, ...]
    frame: str
    covariances: tuple[float, ...]


@dataclass(frozen=True)
class ImuConversion:
    """What an IMU driver publishes in the suite's convention (REP 145: SI units, +g upwards at rest).

    Turned axes are not here: ``sensors.imu.rpy`` of the machine file says how the sensor is mounted.

    Attributes
    ----------
    acceleration_scale : m/s^2 per unit of the driver; negative where the driver reports gravity instead of its reaction
    rate_scale : rad/s per unit of the driver
    """

    acceleration_scale: float = 1.0
    rate_scale: float = 1.0

    @property
    def is_standard(self) -> bool:
        """Whether nothing is to be converted."""
        return self.acceleration_scale == 1.0 and self.rate_scale == 1.0

    @property
    def scale(self) -> Array:
        """Factors (6,) of specific force and angular rate."""
        return np.repeat([self.acceleration_scale, self.rate_scale], 3)

    def specific_force(self, reading: ArrayLike) -> Array:
        """Specific force (..., 3) m/s^2 of the driver's acceleration (..., 3)."""
        return np.asarray(reading, dtype=float) * self.acceleration_scale

    def angular_rate(self, reading: ArrayLike) -> Array:
        """Angular velocity (..., 3) rad/s of the driver's (..., 3)."""
        return np.asarray(reading, dtype=float) * self.rate_scale

    def readings(self, specific_force: ArrayLike, angular_rate: ArrayLike) -> tuple[Array, Array]:
        """Acceleration and rate (..., 3) that the driver would publish."""
        return (
            np.asarray(specific_force, dtype=float) / self.acceleration_scale,
            np.asarray(angular_rate, dtype=float) / self.rate_scale,
        )


STANDARD_IMU = ImuConversion()


@dataclass(frozen=True, eq=False)
class Driver:
    """What the driver of a machine publishes and takes; ``None`` where it follows the suite's convention.

    The suite's convention: joints are called as in the machine file; SI units; joint positions count from the zero of
    the machine file, along its axis; efforts are forces or torques of the drives along the same axis.

    Attributes
    ----------
    joint_names : (A) the driver's names, by drive; empty: those of the machine
    order : (A) drives in the order of the driver's own list; empty: that of the machine
    ignore : names (with ``*`` and ``?``) of entries that belong to something else, e.g. a gripper
    joint_topic, imu_topic : where the driver publishes; without a leading ``/`` in the namespace of the robot
    command_topic : where the driver takes forces or currents
    position, effort, command : see the classes
    imu : see the class
    columns : column of a CSV recording -> the suite's name of the column
    path : file that says all this
    """

    joint_names: tuple[str, ...] = ()
    order: tuple[int, ...] = ()
    ignore: tuple[str, ...] = ()
    joint_topic: str = JOINT_TOPIC
    imu_topic: str = IMU_TOPIC
    command_topic: str = COMMAND_TOPIC
    position: PositionConversion | None = None
    effort: EffortConversion | None = None
    command: CommandConversion | None = None
    imu: ImuConversion = STANDARD_IMU
    columns: dict[str, str] = field(default_factory=dict)
    path: Path | None = None

    @property
    def converts_joints(self) -> bool:
        """Whether names or values of joint states are not the suite's."""
        return bool(self.joint_names or self.ignore) or self.position is not None or self.effort is not None

    @property
    def is_standard(self) -> bool:
        """Whether the driver follows the suite's convention in all, its topics too."""
        topics = (self.joint_topic, self.imu_topic, self.command_topic)
        usual = topics == (JOINT_TOPIC, IMU_TOPIC, COMMAND_TOPIC)
        return usual and not self.converts_joints and self.imu.is_standard and self.command is None

    def topic(self, standard: str) -> str:
        """Topic of the driver that carries what the suite has on its topic ``standard``; others stay."""
        return {JOINT_TOPIC: self.joint_topic, IMU_TOPIC: self.imu_topic}.get(standard, standard)

    def require_command(self) -> None:
        """Raise :class:`ConfigurationError` if nothing says what the driver takes."""
        if self.command is None and self.effort is not None:
            raise ConfigurationError(
                f'{self.path}: driver.effort is a {self.effort.quantity.replace("_", " ")}, and nothing says what the '
                'driver takes: add driver.command, e.g. command: {quantity: force}'
            )

    def command_of_forces(self, forces: Array) -> Array:
        """What the driver takes (..., A) for forces (..., A) by drive [N or N m]: its unit, its order."""
        return forces if self.command is None else self.command.command(forces)

    def forces_of_command(self, command: Sequence[float]) -> Sequence[float]:
        """Forces (A,) by drive [N or N m] of a command (A,); as it is where its length is wrong."""
        if self.command is None or len(command) != len(self.order):
            return command
        return self.command.forces(np.asarray(command, dtype=float)).tolist()

    def with_topics(self, joint_topic: str = '', imu_topic: str = '') -> Driver:
        """Same driver on other topics; empty: its own."""
        if not (joint_topic or imu_topic):
            return self
        return replace(self, joint_topic=joint_topic or self.joint_topic, imu_topic=imu_topic or self.imu_topic)


STANDARD_DRIVER = Driver()


@dataclass(frozen=True, eq=False)
class PositionConversion:
    """``position = r - e(r) + offset`` with the sensor's reading ``r = scale * x``, drive by drive.

    Attributes
    ----------
    linear : scale (A,) m or rad per unit of the driver, and offset (A,) m or rad; of absolute lengths the offset
        contains the leg's length at joint position zero
    velocity : the same for velocities; its scale is that of the positions unless the file gives one
    periodic_error : error ``e`` of the sensor, if there is a compensation
    velocity_is_of_sensor : the velocities come from the same sensor, and so have the derivative of its error
    resolution : (A,) m or rad of the sensor, for simulation; 0: without end
    """

    linear: LinearConversion
    velocity: LinearConversion
    periodic_error: PeriodicError | None
    velocity_is_of_sensor: bool
    resolution: Array

    def position(self, reading: Array) -> Array:
        """Joint positions (..., A) m or rad of a driver's readings (..., A)."""
        if self.periodic_error is None:
            return self.linear.value(reading)
        measured = reading * self.linear.scale
        return measured - self.periodic_error.error(measured) + self.linear.offset

    def rate(self, reading: Array, at: Array | None = None) -> Array:
        """Joint velocities (..., A) m/s or rad/s.

        Parameters
        ----------
        reading : (..., A) the driver's velocities
        at : (..., A) the driver's positions at the same time: needed to compensate velocities of a sensor with a
            periodic error
        """
        rate = self.velocity.value(reading)
        if self.periodic_error is None or not self.velocity_is_of_sensor or at is None:
            return rate
        slope = self.periodic_error.slope(at * self.linear.scale)
        return rate * (1.0 - slope)

    def reading(self, position: Array) -> Array:
        """Readings (..., A) that the driver would give at joint positions (..., A), with its sensor's resolution."""
        measured: Array = np.asarray(position, dtype=float) - self.linear.offset
        if self.periodic_error is not None:
            measured = self.periodic_error.reading(measured)
        return quantised(measured, self.resolution) / self.linear.scale

    def rate_reading(self, rate: Array, position: Array) -> Array:
        """Velocity readings (..., A) that the driver would give at joint velocities and positions (..., A)."""
        if self.periodic_error is not None and self.velocity_is_of_sensor:
            measured = self.periodic_error.reading(np.asarray(position, dtype=float) - self.linear.offset)
            rate = rate / (1.0 - self.periodic_error.slope(measured))
        return self.velocity.reading(rate)


@dataclass(frozen=True, eq=False)
class Channel:
    """One entry per drive among a driver's efforts.

    Attributes
    ----------
    names : (A) names of the entries, by drive
    scale : (A,) N or N m per unit of the driver, with its sign
    """

    names: tuple[str, ...]
    scale: Array


@dataclass(frozen=True, eq=False)
class EffortConversion:
    """``effort = sum over channels of scale * reading, + offset``, drive by drive.

    One channel for forces, torques, currents and pressure differences; two for the chambers of hydraulic cylinders.

    Attributes
    ----------
    channels : see there
    offset : (A,) N or N m
    quantity : ``'force'``, ``'torque'``, ``'current'``, ``'voltage'``, ``'pressure'`` or
        ``'pressure_difference'``
    """

    channels: tuple[Channel, ...]
    offset: Array
    quantity: str

    @property
    def takes_commands(self) -> bool:
        """Whether a driver that measures this can be commanded by the same; pressures are not."""
        return self.quantity in ('force', 'torque', 'current', 'voltage')

    def effort(self, readings: list[Array]) -> Array:
        """Efforts (..., A) N or N m of the readings (..., A) of each channel."""
        total = readings[0] * self.channels[0].scale
        for channel, reading in zip(self.channels[1:], readings[1:], strict=True):
            total = total + reading * channel.scale
        return total + self.offset

    def readings(self, effort: Array) -> list[Array]:
        """Readings (..., A) of each channel that a driver would give; of two chambers the one that pushes has all."""
        total: Array = np.asarray(effort, dtype=float) - self.offset
        if len(self.channels) == 1:
            return [total / self.channels[0].scale]
        return [np.maximum(total / channel.scale, 0.0) for channel in self.channels]


@dataclass(frozen=True, eq=False)
class CommandConversion:
    """Commands that a driver takes for forces and torques of the drives.

    Attributes
    ----------
    scale : (A,) N or N m per unit of the driver's command, by drive, with its sign
    order : (A,) drives in the order in which the driver takes them
    quantity : ``'force'``, ``'torque'``, ``'current'`` or ``'voltage'``
    """

    scale: Array
    order: tuple[int, ...]
    quantity: str

    def command(self, forces: Array) -> Array:
        """Commands (..., A) in the driver's order and unit for forces (..., A) by drive [N or N m]."""
        return (np.asarray(forces, dtype=float) / self.scale)[..., list(self.order)]

    def forces(self, command: Array) -> Array:
        """Forces (..., A) by drive [N or N m] of commands (..., A) in the driver's order and unit."""
        numbers = np.asarray(command, dtype=float)
        result = np.empty(numbers.shape)
        result[..., list(self.order)] = numbers
        result *= self.scale
        return result


@dataclass(frozen=True, eq=False)
class LinearConversion:
    """``value = scale * reading + offset``, drive by drive.

    Attributes
    ----------
    scale : (A,) SI unit per unit of the driver; the sign is that of the driver's direction; not zero
    offset : (A,) in the SI unit
    """

    scale: Array
    offset: Array

    def value(self, reading: Array) -> Array:
        """Values (..., A) in the suite's convention of a driver's readings (..., A)."""
        return reading * self.scale + self.offset

    def reading(self, value: Array) -> Array:
        """Readings (..., A) that a driver would give for values (..., A) in the suite's convention."""
        return (value - self.offset) / self.scale
