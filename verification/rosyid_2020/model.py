"""Kinematics of a planar 3-PRR in redundant coordinates (Rosyid & El-Khasawneh 2020, section 2), as an oracle.

Shares nothing with the package's own kinematics: 12 coordinates, 9 constraint equations, all motion from the
constraint Jacobian. Coordinates, with the guides along x and the plane of motion x-y::

    q = [x1 x2 x3, y1 y2 y3, a1 a2 a3, x y theta]

``x_i`` sliders, ``y_i`` their displacement across the guide (held at zero, kept for the normal forces), ``a_i`` leg
angles from x, then the platform. The constraints are the corrected ones: the printed equations leave ``y_i`` out of the
loops, and then their multipliers, which shall be the guides' normal forces, are identically zero (``printed=True``
keeps that form).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.errors import ConvergenceError, KinematicsError, SingularPoseError

COORDINATES = 12
CONSTRAINTS = 9
#: places of the driven coordinates, of the passive ones and of the platform's pose
ACTIVE = np.arange(3)
PASSIVE = np.arange(3, 12)
POSE = np.arange(9, 12)
#: passive coordinates count as undetermined beyond this condition number of their Jacobian (lengths in metres)
SINGULAR_CONDITION = 1e7


@dataclass(frozen=True)
class PlanarGeometry:
    """Geometry of a 3-PRR whose sliders share the line y = 0.

    Attributes
    ----------
    leg_lengths : (3,) m
    pin_offsets : (3,) m, place of each leg's pin along the platform's x axis
    sides : (3,) +1 or -1, the slider stands at smaller (+1) or larger (-1) x than its pin: the assembly mode
    printed : use the constraints as printed
    """

    leg_lengths: Array
    pin_offsets: Array
    sides: Array
    printed: bool = False

    def coordinates(self, pose: Array) -> Array:
        """Coordinates (N, 12) of poses (N, 3) = x, y, theta (closed form).

        Raises
        ------
        KinematicsError
            A pin lies farther from the guide than its leg is long; names sample and leg.
        """
        pins_x = pose[:, :1] + self.pin_offsets * np.cos(pose[:, 2:])
        pins_y = pose[:, 1:2] + self.pin_offsets * np.sin(pose[:, 2:])
        inside = self.leg_lengths**2 - pins_y**2
        if (inside <= 0.0).any():
            sample, leg = (int(index) for index in np.argwhere(inside <= 0.0)[0])
            raise KinematicsError(
                f'pose {sample} is out of reach: pin {leg + 1} is {abs(pins_y[sample, leg]):.4g} m from the guide, '
                f'leg {leg + 1} is {self.leg_lengths[leg]:.4g} m long'
            )
        run = self.sides * np.sqrt(inside)
        angles = np.arctan2(pins_y, run)
        return np.concatenate([pins_x - run, np.zeros_like(run), angles, pose], axis=1)

    def closure(self, q: Array) -> Array:
        """Residuals (N, 9) m of the constraints, guides first, then x and y of each loop (Eqs. 12-13, corrected)."""
        sliders, across, angles = q[:, 0:3], q[:, 3:6], q[:, 6:9]
        if self.printed:
            across = np.zeros_like(across)
        horizontal = q[:, 9:10] + self.pin_offsets * np.cos(q[:, 11:12]) - sliders - self.leg_lengths * np.cos(angles)
        vertical = q[:, 10:11] + self.pin_offsets * np.sin(q[:, 11:12]) - across - self.leg_lengths * np.sin(angles)
        loops = np.stack([horizontal, vertical], axis=-1).reshape(len(q), 6)
        return np.concatenate([q[:, 3:6], loops], axis=1)

    def jacobian(self, q: Array) -> Array:
        """Constraint Jacobian B (N, 9, 12)."""
        result = np.zeros((len(q), CONSTRAINTS, COORDINATES))
        cosine, sine = np.cos(q[:, 11]), np.sin(q[:, 11])
        for leg in range(3):
            angle, horizontal, vertical = q[:, 6 + leg], 3 + 2 * leg, 4 + 2 * leg
            result[:, leg, 3 + leg] = 1.0
            result[:, horizontal, leg] = -1.0
            result[:, horizontal, 6 + leg] = self.leg_lengths[leg] * np.sin(angle)
            result[:, horizontal, 9] = 1.0
            result[:, horizontal, 11] = -self.pin_offsets[leg] * sine
            result[:, vertical, 3 + leg] = 0.0 if self.printed else -1.0
            result[:, vertical, 6 + leg] = -self.leg_lengths[leg] * np.cos(angle)
            result[:, vertical, 10] = 1.0
            result[:, vertical, 11] = self.pin_offsets[leg] * cosine
        return result

    def drift(self, q: Array, velocity: Array) -> Array:
        """``B_dot q_dot`` (N, 9)."""
        result = np.zeros((len(q), CONSTRAINTS))
        turn, swing = velocity[:, 11:12] ** 2, velocity[:, 6:9] ** 2
        angles, theta = q[:, 6:9], q[:, 11:12]
        result[:, 3::2] = -self.pin_offsets * np.cos(theta) * turn + self.leg_lengths * np.cos(angles) * swing
        result[:, 4::2] = -self.pin_offsets * np.sin(theta) * turn + self.leg_lengths * np.sin(angles) * swing
        return result

    def velocities(self, q: Array, known: NDArray[np.intp], values: Array) -> Array:
        """All velocities (N, 12) from those of three coordinates, by ``B q_dot = 0`` (Eq. 15)."""
        return self._complete(q, known, values, np.zeros((len(q), CONSTRAINTS)))

    def accelerations(self, q: Array, velocity: Array, known: NDArray[np.intp], values: Array) -> Array:
        """All accelerations (N, 12) from those of three coordinates, by ``B q_ddot + B_dot q_dot = 0``."""
        return self._complete(q, known, values, self.drift(q, velocity))

    def _complete(self, q: Array, known: NDArray[np.intp], values: Array, drift: Array) -> Array:
        jacobian, rest = self.jacobian(q), np.setdiff1d(np.arange(COORDINATES), known)
        right = -(jacobian[:, :, known] @ values[:, :, None])[..., 0] - drift
        result = np.empty((len(q), COORDINATES))
        result[:, known] = values
        result[:, rest] = np.linalg.solve(jacobian[:, :, rest], right[..., None])[..., 0]
        return result

    def condition(self, q: Array) -> Array:
        """Condition number (N,) of the passive part B_p: large where the sliders do not hold the platform."""
        return np.linalg.cond(self.jacobian(q)[:, :, PASSIVE])

    def require_regular(self, q: Array) -> None:
        """Refuse poses at which the sliders do not determine the platform's motion (R2-13)."""
        condition = self.condition(q)
        if (condition > SINGULAR_CONDITION).any():
            sample = int(np.argmax(condition))
            raise SingularPoseError(
                f'sample {sample} is singular: condition number {condition[sample]:.3g} of the passive coordinates'
            )

    def assemble(self, sliders: Array, start: Array, iterations: int = 50) -> Array:
        """Coordinates (N, 12) from slider positions (N, 3), by Newton from a nearby assembly ``start`` (N, 12).

        Raises
        ------
        ConvergenceError
            The loops do not close within 1e-13 m.
        """
        q = start.copy()
        q[:, ACTIVE] = sliders
        for _ in range(iterations):
            residual = self.closure(q)
            if np.abs(residual).max() < 1e-14:
                return q
            q[:, PASSIVE] -= np.linalg.solve(self.jacobian(q)[:, :, PASSIVE], residual[..., None])[..., 0]
        if np.abs(self.closure(q)).max() > 1e-13:
            raise ConvergenceError(f'the loops stay open by {np.abs(self.closure(q)).max():.3g} m')
        return q

    def singular_coordinates(self) -> Array:
        """Coordinates (1, 12) with rod 2 along the platform: the lines of all rods meet in the pin of legs 1 and 3."""
        angle = 0.7
        return self.coordinates(np.array([[0.0, self.leg_lengths[1] * np.sin(angle), angle]]))


@dataclass(frozen=True)
class PlanarSamples:
    """Random states: all coordinates, velocities and accelerations (N, 12)."""

    q: Array
    velocity: Array
    acceleration: Array


def random_planar(geometry: PlanarGeometry, center: Array, count: int, seed: int = 0) -> PlanarSamples:
    """Unrelated states around a pose (3,) = x, y, theta."""
    random = np.random.default_rng(seed)
    q = geometry.coordinates(center + random.uniform(-1.0, 1.0, (count, 3)) * [0.15, 0.08, 0.25])
    velocity = geometry.velocities(q, POSE, random.uniform(-1.0, 1.0, (count, 3)))
    return PlanarSamples(q, velocity, geometry.accelerations(q, velocity, POSE, random.uniform(-5.0, 5.0, (count, 3))))
