"""Coordinates that an excitation is designed in: of the platform, of a platform in a plane, or of the drives.

All are zero at home, and all are minimal: as many as the machine has degrees of freedom, so that any values near zero
are a motion of the machine.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np
from pkm_description.arrays import Array
from pkm_description.errors import ConfigurationError
from pkm_description.kinematics.arguments import holds_platform
from pkm_description.kinematics.closed_legs import mean_leg_length
from pkm_description.kinematics.drive_map import motion_of_configurations
from pkm_description.kinematics.forward import forward_kinematics
from pkm_description.kinematics.joint_motion import drive_positions
from pkm_description.machine import Machine, PlatformMotion
from pkm_description.motion.coordinates import motion_from_coordinates

#: makes a motion from times (N,), rates and accelerations (N, C) of the coordinates at values that are known
Mover = Callable[[Array, Array, Array], PlatformMotion]

COORDINATES = ('auto', 'platform', 'planar', 'drives')

#: swing of a drive without stroke limits [rad], and part of the mean leg length where no drive slides
_TURN, _PART_OF_LEG = 0.5, 0.15

#: rad, largest swing of the platform that amplitudes are measured by
_LARGEST_TILT = 0.4

#: condition number up to which forward kinematics of a drive motion is taken
_MAX_CONDITION = 1e4


class MotionCoordinates(ABC):
    """C coordinates of a machine.

    Attributes
    ----------
    machine : the machine
    names, units : C names, and ``'m'`` or ``'rad'``
    scale : (C,) swing to either side that is large for the machine; amplitudes are measured by it
    """

    machine: Machine
    names: tuple[str, ...]
    units: tuple[str, ...]
    scale: Array

    def __len__(self) -> int:
        return len(self.names)

    def motion(self, time: Array, value: Array, rate: Array, second: Array) -> PlatformMotion:
        """Motion of values (N, C) with their first and second time derivatives at times (N,) s."""
        return self.at(value)(time, rate, second)

    @abstractmethod
    def at(self, value: Array) -> Mover:
        """What makes motions with these values (N, C), whatever their rates: positions are solved once."""


class PlatformCoordinates(MotionCoordinates):
    """Displacement and rotation vector from home, see :mod:`pkm_description.motion.coordinates`; in a plane three."""

    def __init__(self, machine: Machine) -> None:
        if holds_platform(machine):
            raise ConfigurationError(
                f"{machine.name}: legs hold the platform, its pose cannot be chosen freely; use coordinates='drives'"
            )
        self.machine = machine
        self._rows = machine.model.freedom
        self.names = tuple(('x', 'y', 'z', 'theta_x', 'theta_y', 'theta_z')[row] for row in self._rows)
        self.units = tuple('m' if row < 3 else 'rad' for row in self._rows)
        strokes = [
            joint.limits.upper - joint.limits.lower for joint in machine.actuated_joints if joint.kind == 'prismatic'
        ]
        finite = [0.5 * stroke for stroke in strokes if np.isfinite(stroke)]
        swing = min([*finite, _PART_OF_LEG * 3.0 * mean_leg_length(machine)])
        tilt = min(swing / machine.platform_radius, _LARGEST_TILT)
        self.scale = np.array([swing if unit == 'm' else tilt for unit in self.units])

    def _six(self, values: Array) -> Array:
        full = np.zeros((len(values), 6))
        full[:, self._rows] = values
        return full

    def at(self, value: Array) -> Mover:
        """See the base class."""
        pose = self._six(value)

        def move(time: Array, rate: Array, second: Array) -> PlatformMotion:
            return motion_from_coordinates(time, pose, self._six(rate), self._six(second), self.machine.home)

        return move


class DriveCoordinates(MotionCoordinates):
    """Positions of the drives from home, of machines with one drive per degree of freedom."""

    def __init__(self, machine: Machine) -> None:
        if machine.actuated_count != machine.degrees_of_freedom:
            raise ConfigurationError(
                f'{machine.name} has {machine.actuated_count} drives for {machine.degrees_of_freedom} degrees of '
                "freedom: they are no coordinates; use coordinates='platform'"
            )
        self.machine = machine
        joints = machine.actuated_joints
        self.names = tuple(joint.name for joint in joints)
        self.units = tuple('m' if joint.kind == 'prismatic' else 'rad' for joint in joints)
        home = machine.home
        self.home = drive_positions(machine, home.position[None], home.rotation_base_platform[None])[0]
        self.scale = np.array([_swing(machine, joint.limits.upper - joint.limits.lower, unit)
                               for joint, unit in zip(joints, self.units, strict=True)])  # fmt: skip

    def at(self, value: Array) -> Mover:
        """See the base class; raises KinematicsError where the drives do not lead to a configuration."""
        closed = forward_kinematics(self.machine, self.home + value, max_condition=_MAX_CONDITION).require()

        def move(time: Array, rate: Array, second: Array) -> PlatformMotion:
            return motion_of_configurations(self.machine, time, closed, rate, second)

        return move


def coordinates_of(machine: Machine, name: str = 'auto') -> MotionCoordinates:
    """Coordinates by name; ``'auto'``: of the platform where it is free, otherwise of the drives.

    Raises
    ------
    ConfigurationError
        Another name, or coordinates that are not those of the machine.
    """
    if name not in COORDINATES:
        raise ConfigurationError(f'coordinates = {name!r}: choose {", ".join(COORDINATES)}')
    if not machine.has_platform:
        raise ConfigurationError(f'{machine.name} is an open chain: excitation needs a machine with a platform')
    if name == 'planar' and not machine.planar:
        raise ConfigurationError(f"{machine.name} does not move in a plane; use coordinates='platform' or 'drives'")
    if name == 'drives' or (name == 'auto' and holds_platform(machine)):
        return DriveCoordinates(machine)
    return PlatformCoordinates(machine)


def _swing(machine: Machine, stroke: float, unit: str) -> float:
    if unit == 'rad':
        return min(0.5 * stroke, _TURN)
    return 0.5 * stroke if np.isfinite(stroke) else _PART_OF_LEG * mean_leg_length(machine)
