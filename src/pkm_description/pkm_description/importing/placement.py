"""Poses of frames: a position and a rotation, and how they follow each other."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from pkm_description.arrays import Array


@dataclass(frozen=True)
class Placement:
    """Pose of one frame in another.

    Attributes
    ----------
    position : (3,) m
    rotation : (3, 3), its columns are the axes of the placed frame
    """

    position: Array = field(default_factory=lambda: np.zeros(3))
    rotation: Array = field(default_factory=lambda: np.eye(3))

    def __matmul__(self, other: Placement) -> Placement:
        """Pose of ``other``'s frame in the frame that this one is given in."""
        return Placement(self.point(other.position), self.rotation @ other.rotation)

    def point(self, point: Array) -> Array:
        """Return a point (3,) m of the placed frame in the frame that this one is given in."""
        moved: Array = self.position + self.rotation @ point
        return moved

    @property
    def inverse(self) -> Placement:
        """Pose of the frame that this one is given in, in the placed frame."""
        return Placement(-self.rotation.T @ self.position, self.rotation.T)

    def seen_from(self, other: Placement) -> Placement:
        """Pose of this frame in ``other``, both given in the same frame."""
        return other.inverse @ self


HERE = Placement()


def turned(axis: Array, angle: float) -> Placement:
    """Turn by an angle [rad] about a unit vector (3,) through the origin."""
    x, y, z = axis
    sine, rest = math.sin(angle), 1.0 - math.cos(angle)
    return Placement(
        np.zeros(3),
        np.array(
            [
                [1.0 - rest * (y * y + z * z), rest * x * y - sine * z, rest * x * z + sine * y],
                [rest * x * y + sine * z, 1.0 - rest * (x * x + z * z), rest * y * z - sine * x],
                [rest * x * z - sine * y, rest * y * z + sine * x, 1.0 - rest * (x * x + y * y)],
            ]
        ),
    )


def moved(axis: Array, distance: float) -> Placement:
    """Displacement [m] along a unit vector (3,)."""
    return Placement(np.asarray(axis) * distance, np.eye(3))


def frame_along(axis: Array, point: Array | None = None) -> Placement:
    """Frame whose z axis is a unit vector (3,), at a point (3,) m."""
    axis = axis / np.linalg.norm(axis)
    helper = np.eye(3)[int(np.argmin(np.abs(axis)))]
    x = np.cross(helper, axis)
    x /= np.linalg.norm(x)
    origin = np.zeros(3) if point is None else np.asarray(point, dtype=float)
    return Placement(origin, np.column_stack([x, np.cross(axis, x), axis]))


def angle_about(axis: Array, rotation: Array) -> float:
    """Angle [rad] of the turn about a unit vector (3,) that comes nearest to a rotation (3, 3)."""
    sine = (
        0.5
        * axis
        @ np.array([rotation[2, 1] - rotation[1, 2], rotation[0, 2] - rotation[2, 0], rotation[1, 0] - rotation[0, 1]])
    )
    cosine = 0.5 * (np.trace(rotation) - axis @ rotation @ axis)
    return float(np.arctan2(sine, cosine))
