"""Trajectories of Oh (2003), Table 2.2, in his coordinates: position and z-x-z angles."""

from __future__ import annotations

import numpy as np
from pkm_description.arrays import Array

from verification.oh_2003.kinematics import HOME_ANGLES, OhMotion

#: rad/s: low, medium and high level of the thesis
OH_FREQUENCIES = {'low': np.pi, 'medium': 2.0 * np.pi, 'high': 4.0 * np.pi}

#: m and rad, of x, y, z, phi, theta, psi: one inch and five degrees
AMPLITUDES = np.array([0.0254] * 3 + [float(np.radians(5.0))] * 3)

#: m, in x and in y: Table 2.2 gives its size, half an inch, and no direction
OFFSET = np.array([0.0127 / np.sqrt(2.0), 0.0127 / np.sqrt(2.0), 0.0])

#: number in Table 2.2 -> moving coordinates, and whether the middle of the motion is moved by the radial offset
OH_TRAJECTORIES: dict[int, tuple[tuple[int, ...], bool]] = {
    1: ((0,), False),
    2: ((0,), True),
    3: ((2,), False),
    4: ((2,), True),
    5: ((4, 5), False),
    6: ((4, 5), True),
}


def sine(coordinates: tuple[int, ...], frequency: float, time: Array, home: Array) -> OhMotion:
    """Coordinates among 0 .. 5 (x, y, z, phi, theta, psi) that move at a frequency [rad/s] around a home (3,) m.

    All in phase, without a fade-in.
    """
    amplitude = np.where(np.isin(np.arange(6), coordinates), AMPLITUDES, 0.0)
    phase = frequency * np.asarray(time, dtype=float)[:, None]
    moved = amplitude * np.sin(phase)
    value = np.concatenate([home, HOME_ANGLES]) + moved
    rate, second = frequency * amplitude * np.cos(phase), -(frequency**2) * moved
    return OhMotion(value[:, :3], value[:, 3:], rate[:, :3], rate[:, 3:], second[:, :3], second[:, 3:])


def case(number: int, frequency: float, time: Array, home: Array) -> OhMotion:
    """One of the six trajectories of Table 2.2 around a home (3,) m."""
    coordinates, has_offset = OH_TRAJECTORIES[number]
    return sine(coordinates, frequency, time, home + OFFSET if has_offset else home)
