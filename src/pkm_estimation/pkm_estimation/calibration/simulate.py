"""Calibration data of a machine that was built otherwise than its file says: poses, targets, noise, outliers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from pkm_description.arrays import Array
from pkm_description.kinematics import drive_positions, forward_kinematics
from pkm_description.kinematics.geometry_constants import geometry_constants, with_geometry
from pkm_description.kinematics.rotation import rotation_exp
from pkm_description.machine import Machine

from pkm_estimation.calibration.instruments import Points

#: poses at which errors of the platform are looked at
_LOOKED_AT = 40


def built_machine(machine: Machine, random: np.random.Generator) -> Machine:
    """Machine with constants of the geometry drawn from the tolerances of its file."""
    return with_geometry(machine, random.normal(size=len(geometry_constants(machine).kind)))


def drives_in_reach(machine: Machine, count: int, random: np.random.Generator, part: float = 0.8) -> Array:
    """Positions of the drives (N, A) that the machine gets to, within a part of the limits of its joints."""
    limits = [joint.limits for joint in machine.actuated_joints]
    home = machine.model.home_joints[machine.model.drive_joint]
    low, high = (np.array([getattr(one, side) for one in limits]) for side in ('lower', 'upper'))
    found: list[Array] = []
    reach = part
    for _ in range(200):
        tried = home + reach * random.uniform(low - home, high - home, size=(4 * count, len(home)))
        result = forward_kinematics(machine, tried, tolerance=1e-9 if not machine.is_redundant else np.inf)
        good = result.trusted
        drives = drive_positions(machine, result.position[good], result.rotation_base_platform[good])
        inside = np.all((drives > low) & (drives < high), axis=1)
        found += list(drives[inside])
        if len(found) >= count:
            return np.array(found[:count])
        if len(found) < count // 20:
            reach *= 0.8
    raise ValueError(f'{machine.name}: no {count} poses in reach were found')


def targets_around(machine: Machine, count: int) -> Array:
    """Targets (K, 3) m on the platform, around its origin and above each other."""
    angles = 2.0 * np.pi * np.arange(count) / count
    unit = np.stack([0.8 * np.cos(angles), 0.8 * np.sin(angles), 0.1 * (1.0 + np.arange(count) % 2)], axis=-1)
    return np.asarray(machine.platform_radius * unit)


def measured_targets(
    machine: Machine, drives: Array, targets: Array, noise: float, random: np.random.Generator,
    outliers: float = 0.0, leg_noise: bool = True,
) -> tuple[Array, Points]:  # fmt: skip
    """Drives (N, A) as measured and targets (K, 3), platform axes, as an instrument somewhere sees them.

    Parameters
    ----------
    machine : as it was built
    noise : m, of each component
    outliers : part of the points that are off by a hundred times as much
    leg_noise : whether drives have that of the machine file
    """
    found = forward_kinematics(machine, drives, tolerance=1e-9).require()
    frame = rotation_exp(random.normal(size=3))
    place = machine.platform_radius * random.normal(size=3) * 2.0
    names = tuple(f'target{number + 1}' for number in range(len(targets)))
    known = Points.of(np.zeros((len(drives), len(targets), 3)), noise, names, 1.0, targets)
    true = replace(known, frame_position=place, frame_rotation=frame)
    seen = true.expected(found.position, found.rotation_base_platform)
    size = np.where(random.random(seen.shape[:2]) < outliers, 100.0, 1.0)[..., None]
    seen = seen + noise * size * random.normal(size=seen.shape)
    told = drives + leg_noise * np.asarray(machine.leg_sensors.position_noise) * random.normal(size=drives.shape)
    return told, Points.of(seen, noise, names, 3.0 * machine.platform_radius)


def poses_in_reach(machine: Machine) -> tuple[Array, Array]:
    """Poses (N, 3), (N, 3, 3) at which errors are looked at."""
    drives = drives_in_reach(machine, _LOOKED_AT, np.random.default_rng(0), 0.6)
    found = forward_kinematics(machine, drives, tolerance=1e-9 if not machine.is_redundant else np.inf)
    return found.position, found.rotation_base_platform
