"""A motion for machines of any kind: sines of the drives around home, faded in; the legs decide the platform's way."""

from __future__ import annotations

import numpy as np
from pkm_description.kinematics import drive_positions, motion_from_drives
from pkm_description.mechanism import Mechanism
from pkm_description.motion import PlatformMotion
from pkm_description.motion.envelope import product

#: s
_FADE_IN = 2.0
#: m or rad, and part of a drive's stroke; the smaller one counts
_LARGEST, _PART_OF_STROKE = 0.02, 0.1
#: Hz, of the first and of the last drive
_FREQUENCIES = 0.4, 0.7


def drive_sines(mechanism: Mechanism, duration: float, rate: float) -> PlatformMotion:
    """Admissible motion of ``duration`` s sampled at ``rate`` Hz; it begins at home at rest."""
    time = np.arange(round(duration * rate)) / rate
    home = mechanism.machine.home
    centre = drive_positions(mechanism, home.position[None], home.rotation_base_platform[None])[0]
    limits = [joint.limits for joint in mechanism.machine.actuated_joints]
    size = np.array([min(_LARGEST, _PART_OF_STROKE * (limit.upper - limit.lower)) for limit in limits])
    frequency = 2.0 * np.pi * np.linspace(*_FREQUENCIES, mechanism.actuated_count)
    part = np.clip(time / _FADE_IN, 0.0, 1.0)[:, None]
    fade = (
        part**3 * (10.0 - 15.0 * part + 6.0 * part**2),
        30.0 * part**2 * (1.0 - part) ** 2 / _FADE_IN,
        (60.0 * part - 180.0 * part**2 + 120.0 * part**3) / _FADE_IN**2,
    )
    angle = time[:, None] * frequency
    wave = size * np.sin(angle), size * frequency * np.cos(angle), -size * frequency**2 * np.sin(angle)
    positions, velocities, accelerations = product(fade, wave)
    return motion_from_drives(mechanism, time, centre + positions, velocities, accelerations)
