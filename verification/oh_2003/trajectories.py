"""Trajectories of Oh (2003), Table 2.2, in his coordinates: position and z-x-z angles."""

from __future__ import annotations

import numpy as np
from pkm_description.arrays import Array
from pkm_description.machine import Pose
from pkm_description.motion.circles import CoordinateSines, oh_trajectory

from verification.oh_2003.kinematics import OhMotion


def in_coordinates(motion: CoordinateSines, time: Array) -> OhMotion:
    """Coordinates and their derivatives at times (N,) s."""
    value, rate, second = motion.values(time)
    return OhMotion(value[:, :3], value[:, 3:], rate[:, :3], rate[:, 3:], second[:, :3], second[:, 3:])


def sine(coordinates: tuple[int, ...], frequency: float, time: Array, home: Array) -> OhMotion:
    """Coordinates among 0 .. 5 (x, y, z, phi, theta, psi) that move at a frequency [rad/s] around a home (3,) m."""
    return in_coordinates(CoordinateSines(Pose(home, np.eye(3)), coordinates, frequency), time)


def case(number: int, frequency: float, time: Array, home: Array) -> OhMotion:
    """One of the six trajectories of Table 2.2 around a home (3,) m."""
    return in_coordinates(oh_trajectory(number, Pose(home, np.eye(3)), frequency), time)
