"""Coordinates that an excitation is designed in: of the platform, of a platform in a plane, or of the drives.

All are zero at home, and all are minimal: as many as the machine has degrees of freedom, so that any values near zero
are a motion of the machine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

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


@dataclass(frozen=True)
class MotionCoordinates:
    """C coordinates of a machine.

    Attributes
    ----------
    machine : the machine
    names, units : C names, and ``'m'`` or ``'rad'``
    scale : (C,) swing to either side that is large for the machine; amplitudes are measured by it
    at : what makes motions with values (N, C), whatever their rates: positions are solved once
    are_drives : whether they are positions of the drives
    """

    machine: Machine
    names: tuple[str, ...]
    units: tuple[str, ...]
    scale: Array
    at: Callable[[Array], Mover]
    are_drives: bool = False

    def __len__(self) -> int:
        return len(self.names)

    def motion(self, time: Array, value: Array, rate: Array, second: Array) -> PlatformMotion:
        """Motion of values (N, C) with their first and second time derivatives at times (N,) s."""
        return self.at(value)(time, rate, second)


def _platform_coordinates(machine: Machine) -> MotionCoordinates:
    """Displacement and rotation vector from home, see :mod:`pkm_description.motion.coordinates`; in a plane three."""
    if holds_platform(machine):
        raise ConfigurationError(
            f"{machine.name}: legs hold the platform, its pose cannot be chosen freely; use coordinates='drives'"
        )
    rows = machine.model.freedom
    units = tuple('m' if row < 3 else 'rad' for row in rows)
    strokes = [
        joint.limits.upper - joint.limits.lower for joint in machine.actuated_joints if joint.kind == 'prismatic'
    ]
    finite = [0.5 * stroke for stroke in strokes if np.isfinite(stroke)]
    swing = min([*finite, _PART_OF_LEG * 3.0 * mean_leg_length(machine)])
    tilt = min(swing / machine.platform_radius, _LARGEST_TILT)

    def six(values: Array) -> Array:
        full = np.zeros((len(values), 6))
        full[:, rows] = values
        return full

    def at(value: Array) -> Mover:
        pose = six(value)
        return lambda time, rate, second: motion_from_coordinates(time, pose, six(rate), six(second), machine.home)

    names = tuple(('x', 'y', 'z', 'theta_x', 'theta_y', 'theta_z')[row] for row in rows)
    return MotionCoordinates(machine, names, units, np.array([swing if unit == 'm' else tilt for unit in units]), at)


def _drive_coordinates(machine: Machine) -> MotionCoordinates:
    """Positions of the drives from home, of machines with one drive per degree of freedom.

    Motions raise KinematicsError where the drives do not lead to a configuration.
    """
    if machine.actuated_count != machine.degrees_of_freedom:
        raise ConfigurationError(
            f'{machine.name} has {machine.actuated_count} drives for {machine.degrees_of_freedom} degrees of '
            "freedom: they are no coordinates; use coordinates='platform'"
        )
    joints, pose = machine.actuated_joints, machine.home
    units = tuple('m' if joint.kind == 'prismatic' else 'rad' for joint in joints)
    home = drive_positions(machine, pose.position[None], pose.rotation_base_platform[None])[0]
    swings = [_swing(machine, joint.limits.upper - joint.limits.lower, unit)
              for joint, unit in zip(joints, units, strict=True)]  # fmt: skip

    def at(value: Array) -> Mover:
        closed = forward_kinematics(machine, home + value, max_condition=_MAX_CONDITION).require()
        return lambda time, rate, second: motion_of_configurations(machine, time, closed, rate, second)

    return MotionCoordinates(machine, tuple(joint.name for joint in joints), units, np.array(swings), at, True)


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
        return _drive_coordinates(machine)
    return _platform_coordinates(machine)


def _swing(machine: Machine, stroke: float, unit: str) -> float:
    if unit == 'rad':
        return min(0.5 * stroke, _TURN)
    return 0.5 * stroke if np.isfinite(stroke) else _PART_OF_LEG * mean_leg_length(machine)
