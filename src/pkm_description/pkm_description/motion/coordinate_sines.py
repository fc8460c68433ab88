"""Sines of single coordinates of the platform, among them the six trajectories of Oh (2003), Table 2.2."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pkm_description.arrays import Array
from pkm_description.kinematics.rotation_formats import angular_motion, matrix_from_angles
from pkm_description.machine import PlatformMotion, Pose

#: phi, theta, psi [rad] of the platform axes {P} at home in Oh's z-x-z angles: far from the angles' singularity
OH_HOME_ANGLES = (0.0, -0.5 * np.pi, 0.0)

#: rad/s: low, medium and high level of the thesis
OH_FREQUENCIES = {'low': np.pi, 'medium': 2.0 * np.pi, 'high': 4.0 * np.pi}

#: m, in x and in y: Table 2.2 gives its size, half an inch, and no direction
OH_OFFSET = (0.0127 / np.sqrt(2.0), 0.0127 / np.sqrt(2.0), 0.0)

#: number in Table 2.2 -> moving coordinates, and whether the middle of the motion is moved by the radial offset
OH_TRAJECTORIES: dict[int, tuple[tuple[int, ...], bool]] = {
    1: ((0,), False),
    2: ((0,), True),
    3: ((2,), False),
    4: ((2,), True),
    5: ((4, 5), False),
    6: ((4, 5), True),
}


@dataclass(frozen=True)
class CoordinateSines:
    """Chosen coordinates move as ``amplitude sin(frequency t)`` around a pose, all in phase; there is no fade-in.

    The rotation is described by z-x-z angles (Oh 2003, Eq. 2.9) of axes {P} that have the angles ``home_angles`` at
    home; the axes of ``platform_link`` turn with them.

    Attributes
    ----------
    home : pose in the middle of the motion, but for the offset
    coordinates : that move, among 0 .. 5: x, y, z, phi, theta, psi
    frequency : rad/s
    translation, rotation : amplitudes, m and rad (one inch and five degrees in Table 2.2)
    offset : (3,) m, added to the position of home
    home_angles : phi, theta, psi at home, rad; the sine of theta must not be zero
    """

    home: Pose
    coordinates: tuple[int, ...]
    frequency: float
    translation: float = 0.0254
    rotation: float = float(np.radians(5.0))
    offset: tuple[float, float, float] = (0.0, 0.0, 0.0)
    home_angles: tuple[float, float, float] = OH_HOME_ANGLES

    def __post_init__(self) -> None:
        if not set(self.coordinates) <= set(range(6)):
            raise ValueError(f'coordinates = {self.coordinates}: must be of 0 .. 5 (x, y, z, phi, theta, psi)')
        if not self.frequency >= 0.0:
            raise ValueError(f'frequency = {self.frequency} rad/s: must not be negative')

    def values(self, times: Array) -> tuple[Array, Array, Array]:
        """Position [m] and angles [rad], (N, 6), with their first and second derivatives, at times (N,) s."""
        amplitude = np.zeros(6)
        for coordinate in self.coordinates:
            amplitude[coordinate] = self.translation if coordinate < 3 else self.rotation
        phase = self.frequency * np.asarray(times, dtype=float)[:, None]
        sine = amplitude * np.sin(phase)
        middle = np.concatenate([self.home.position + self.offset, self.home_angles])
        return middle + sine, self.frequency * amplitude * np.cos(phase), -(self.frequency**2) * sine

    def evaluate(self, times: Array) -> PlatformMotion:
        """Motion of ``platform_link`` at times (N,) s."""
        value, rate, second = self.values(times)
        angular_velocity, angular_acceleration = angular_motion(value[:, 3:], rate[:, 3:], second[:, 3:], 'zxz')
        at_home = matrix_from_angles(np.array(self.home_angles), 'zxz')
        turned = matrix_from_angles(value[:, 3:], 'zxz') @ at_home.T
        return PlatformMotion(
            time=np.asarray(times, dtype=float),
            position=value[:, :3],
            rotation_base_platform=turned @ self.home.rotation_base_platform,
            linear_velocity=rate[:, :3],
            angular_velocity=angular_velocity,
            linear_acceleration=second[:, :3],
            angular_acceleration=angular_acceleration,
        )


def oh_trajectory(number: int, home: Pose, frequency: float) -> CoordinateSines:
    """One of the six trajectories of Oh (2003), Table 2.2, around a machine's home.

    Parameters
    ----------
    number : 1 .. 6
    home : pose, e.g. ``machine.home``
    frequency : rad/s, in the thesis one of :data:`OH_FREQUENCIES`

    Raises
    ------
    ValueError
        For another number.
    """
    if number not in OH_TRAJECTORIES:
        raise ValueError(f'trajectory {number}: Table 2.2 has {", ".join(map(str, OH_TRAJECTORIES))}')
    coordinates, has_offset = OH_TRAJECTORIES[number]
    offset = tuple(float(value) for value in OH_OFFSET) if has_offset else (0.0, 0.0, 0.0)
    return CoordinateSines(home, coordinates, frequency, offset=(offset[0], offset[1], offset[2]))
