"""Trajectories of Oh (2003), Table 2.2: sines of one inch or five degrees around home, some with a radial offset."""

from __future__ import annotations

import numpy as np
from pkm_description.arrays import Array

from verification.oh_2003.kinematics import HOME_ANGLES, OhMotion

#: m and rad
TRANSLATION, ROTATION = 0.0254, np.radians(5.0)

#: rad/s: low, medium and high level
FREQUENCIES = {'low': np.pi, 'medium': 2.0 * np.pi, 'high': 4.0 * np.pi}

#: number -> moving coordinates among x, y, z, phi, theta, psi, and whether the radial offset is there
CASES: dict[int, tuple[tuple[int, ...], bool]] = {
    1: ((0,), False),
    2: ((0,), True),
    3: ((2,), False),
    4: ((2,), True),
    5: ((4, 5), False),
    6: ((4, 5), True),
}

#: m, in x and in y; the table gives its size, half an inch, and no direction
OFFSET = 0.0127 / np.sqrt(2.0) * np.array([1.0, 1.0, 0.0])


def sine(
    coordinates: tuple[int, ...], frequency: float, time: Array, home: Array, offset: Array | None = None
) -> OhMotion:
    """Coordinates that move as amplitude sin(frequency t) around home.

    Parameters
    ----------
    coordinates : among 0 .. 5: x, y, z, phi, theta, psi
    frequency : rad/s
    time : (N,) s
    home, offset : (3,) m
    """
    amplitude = np.zeros(6)
    for coordinate in coordinates:
        amplitude[coordinate] = TRANSLATION if coordinate < 3 else ROTATION
    phase = frequency * np.asarray(time, dtype=float)[:, None]
    value = amplitude * np.sin(phase)
    rate = frequency * amplitude * np.cos(phase)
    acceleration = -(frequency**2) * value
    value = value + np.concatenate([home if offset is None else home + offset, HOME_ANGLES])
    return OhMotion(value[:, :3], value[:, 3:], rate[:, :3], rate[:, 3:], acceleration[:, :3], acceleration[:, 3:])


def case(number: int, frequency: float, time: Array, home: Array) -> OhMotion:
    """One of the six trajectories of Table 2.2."""
    coordinates, has_offset = CASES[number]
    return sine(coordinates, frequency, time, home, OFFSET if has_offset else None)
