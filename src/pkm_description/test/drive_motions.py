"""Motions of any machine, given by its drives."""

from __future__ import annotations

import numpy as np
from pkm_description.arrays import Array
from pkm_description.kinematics import drive_positions, motion_from_drives
from pkm_description.machine import Machine, PlatformMotion

#: s
TIME = np.linspace(0.1, 1.9, 12)


def home_drives(machine: Machine) -> Array:
    home = machine.home
    return drive_positions(machine, home.position[None], home.rotation_base_platform[None])[0]


def drive_motion(machine: Machine, time: Array) -> PlatformMotion:
    """Drives on sines of their own frequencies around home."""
    count = machine.actuated_count
    frequency, phase = np.linspace(3.0, 5.0, count), np.linspace(0.0, 2.0, count)
    angle = np.asarray(time)[:, None] * frequency + phase
    size = 0.03
    return motion_from_drives(
        machine, np.asarray(time), home_drives(machine) + size * np.sin(angle),
        size * frequency * np.cos(angle), -size * frequency**2 * np.sin(angle),
    )  # fmt: skip
