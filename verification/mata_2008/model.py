"""Kinematics of a 3-RPS robot cut into a tree (Mata et al. 2008), as an oracle.

Shares nothing with the package's own kinematics: joint frames by modified Denavit-Hartenberg parameters, the loops cut
at two of the three spherical joints, nine joint coordinates. Limbs are numbered as in the paper; the limb that carries
the platform (the paper: the first) can be chosen, because no force may depend on where the loops are cut. Coordinates::

    carrier: R, P, S, S, S (joints 1-5 of the paper), then R, P of the next limb (6, 7) and of the last (8, 9)

A limb's base frame stands on the base circle, x radially outwards, z along the R axis, y down.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from pkm_description.arrays import Array
from pkm_description.errors import ConvergenceError
from scipy.spatial.transform import Rotation

JOINTS = 9
#: (parent joint, kind, twist angle alpha) of joints 1-9; parent -1 is the base
_ROWS = (
    (-1, 'R', 0.0),
    (0, 'P', np.pi / 2),
    (1, 'R', -np.pi / 2),
    (2, 'R', -np.pi / 2),
    (3, 'R', np.pi / 2),
    (-1, 'R', 0.0),
    (5, 'P', np.pi / 2),
    (-1, 'R', 0.0),
    (7, 'P', np.pi / 2),
)
#: places of the driven joints and of the others, in tree order
INDEPENDENT = np.array([1, 6, 8])
DEPENDENT = np.array([0, 2, 3, 4, 5, 7])
_Z = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True)
class TreeMotion:
    """Motion of the nine joint frames, each in its own axes, N samples.

    Attributes
    ----------
    rotations : 9 of (N, 3, 3), joint axes to base axes
    origins : 9 of (N, 3) m, base axes
    angular, angular_accelerations, accelerations : 9 of (N, 3), joint axes; the last of the origin, minus gravity
    """

    rotations: list[Array]
    origins: list[Array]
    angular: list[Array]
    angular_accelerations: list[Array]
    accelerations: list[Array]


@dataclass(frozen=True)
class ThreeRps:
    """A 3-RPS robot with an equilateral platform.

    Attributes
    ----------
    base_radius : m, of the circle of R joints
    side : m, of the triangle of S joints
    carrier : 0, 1, 2, limb whose spherical joint is not cut
    azimuth : rad, of limb 1 around the vertical; limbs 2 and 3 follow counter-clockwise
    """

    base_radius: float
    side: float
    carrier: int = 0
    azimuth: float = np.radians(210.0)

    @property
    def limbs(self) -> list[int]:
        """Limbs in the order of the coordinates."""
        return [self.carrier, *(limb for limb in range(3) if limb != self.carrier)]

    @property
    def platform_points(self) -> Array:
        """S joints (3, 3) m in the platform frame: origin in the first, x towards the second."""
        height = self.side * np.sqrt(3.0) / 2.0
        return np.array([[0.0, 0.0, 0.0], [self.side, 0.0, 0.0], [self.side / 2.0, height, 0.0]])

    def base_frame(self, limb: int) -> tuple[Array, Array]:
        """Rotation (3, 3) and origin (3,) of a limb's base frame."""
        angle = self.azimuth + limb * 2.0 * np.pi / 3.0
        radial = np.array([np.cos(angle), np.sin(angle), 0.0])
        tangential = np.cross(_Z, radial)
        return np.column_stack([radial, -_Z, tangential]), self.base_radius * radial

    def home(self, length: float) -> Array:
        """Coordinates (9,) of the level pose with legs of one length."""
        inward = self.base_radius - self.side / np.sqrt(3.0)
        lean = -np.arcsin(inward / length)
        # the platform's x axis is turned against limb 1 by -210 degrees
        platform = Rotation.from_euler('z', self.azimuth - np.radians(210.0)).as_matrix()
        rod = self.base_frame(self.carrier)[0] @ _about_z(lean) @ _about_x(np.pi / 2)
        q3, q4, q5 = Rotation.from_matrix(_about_x(np.pi / 2) @ rod.T @ platform).as_euler('ZYZ')
        return np.array([lean, length, q3 + np.pi, -q4, q5 + np.pi, lean, length, lean, length])

    def motion(self, q: Array, velocity: Array, acceleration: Array, gravity: Array) -> TreeMotion:
        """Frames, velocities and accelerations along the tree, (N, 9) each; recursion from the base, in joint axes."""
        result = TreeMotion([], [], [], [], [])
        bases = {0: 0, 5: 1, 7: 2}
        for joint, (parent, kind, alpha) in enumerate(_ROWS):
            if parent < 0:
                rotation, origin = self.base_frame(self.limbs[bases[joint]])
                before = (rotation, origin, np.zeros((len(q), 3)), np.zeros((len(q), 3)), -rotation.T @ gravity)
            else:
                before = (
                    result.rotations[parent],
                    result.origins[parent],
                    result.angular[parent],
                    result.angular_accelerations[parent],
                    result.accelerations[parent],
                )
            rotation, origin, spin, turning, proper = before
            angle, slide = (q[:, joint], np.zeros(len(q))) if kind == 'R' else (np.zeros(len(q)), q[:, joint])
            turn = _about_x(alpha) @ _about_z(angle)
            offset = slide[:, None] * (_about_x(alpha) @ _Z)
            proper = proper + np.cross(turning, offset) + np.cross(spin, np.cross(spin, offset))
            spin, turning, proper = (_back(turn, vector) for vector in (spin, turning, proper))
            along, second = velocity[:, joint, None] * _Z, acceleration[:, joint, None] * _Z
            if kind == 'R':
                turning = turning + np.cross(spin, along) + second
                spin = spin + along
            else:
                proper = proper + 2.0 * np.cross(spin, along) + second
            result.rotations.append(rotation @ turn)
            result.origins.append(origin + (rotation @ offset[..., None])[..., 0])
            result.angular.append(spin)
            result.angular_accelerations.append(turning)
            result.accelerations.append(proper)
        return result

    def _levers(self, motion: TreeMotion) -> list[Array]:
        """Vectors (N, 3), base axes, from the carrier's S joint to the two others."""
        points = self.platform_points
        return [motion.rotations[4] @ (points[limb] - points[self.carrier]) for limb in self.limbs[1:]]

    def closure(self, q: Array) -> Array:
        """Gaps (N, 6) m at the two cut S joints, Eq. (6)."""
        still = np.zeros_like(q)
        motion = self.motion(q, still, still, np.zeros(3))
        ends = (motion.origins[6], motion.origins[8])
        gaps = [motion.origins[4] + lever - end for lever, end in zip(self._levers(motion), ends, strict=True)]
        return np.concatenate(gaps, axis=1)

    def jacobian(self, q: Array) -> Array:
        """Matrix A (N, 6, 9) of Eq. (7)."""
        still = np.zeros_like(q)
        motion = self.motion(q, still, still, np.zeros(3))
        result = np.zeros((len(q), 6, JOINTS))
        for loop, (lever, own) in enumerate(zip(self._levers(motion), ((5, 6), (7, 8)), strict=True)):
            point = motion.origins[4] + lever
            for joints, sign in ((range(5), 1.0), (own, -1.0)):
                end = point if sign > 0.0 else motion.origins[own[1]]
                for joint in joints:
                    axis = motion.rotations[joint][..., 2]
                    column = np.cross(axis, end - motion.origins[joint]) if _ROWS[joint][1] == 'R' else axis
                    result[:, 3 * loop : 3 * loop + 3, joint] = sign * column
        return result

    def drift(self, q: Array, velocity: Array) -> Array:
        """``A_dot q_dot`` (N, 6): the gaps' accelerations without joint accelerations; ``-b`` of Eq. (7)."""
        motion = self.motion(q, velocity, np.zeros_like(q), np.zeros(3))

        def in_base(joint: int, vector: Array) -> Array:
            return np.asarray((motion.rotations[joint] @ vector[..., None])[..., 0], dtype=float)

        spin, turning = in_base(4, motion.angular[4]), in_base(4, motion.angular_accelerations[4])
        parts = []
        for lever, last in zip(self._levers(motion), (6, 8), strict=True):
            point = in_base(4, motion.accelerations[4]) + np.cross(turning, lever)
            point = point + np.cross(spin, np.cross(spin, lever))
            parts.append(point - in_base(last, motion.accelerations[last]))
        return np.concatenate(parts, axis=1)

    def projector(self, q: Array) -> Array:
        """X (N, 6, 3) of Eq. (10): dependent rates = -X independent rates."""
        matrix = self.jacobian(q)
        return np.asarray(np.linalg.solve(matrix[:, :, DEPENDENT], matrix[:, :, INDEPENDENT]), dtype=float)

    def complete(self, q: Array, drive_velocity: Array, drive_acceleration: Array) -> tuple[Array, Array]:
        """All joint velocities and accelerations (N, 9) from those of the drives (N, 3), tree order, Eq. (8)."""
        matrix, velocity, acceleration = self.jacobian(q), np.zeros_like(q), np.zeros_like(q)
        passive, active = matrix[:, :, DEPENDENT], matrix[:, :, INDEPENDENT]
        velocity[:, INDEPENDENT], acceleration[:, INDEPENDENT] = drive_velocity, drive_acceleration
        right = -(active @ drive_velocity[..., None])
        velocity[:, DEPENDENT] = np.linalg.solve(passive, right)[..., 0]
        right = -(active @ drive_acceleration[..., None]) - self.drift(q, velocity)[..., None]
        acceleration[:, DEPENDENT] = np.linalg.solve(passive, right)[..., 0]
        return velocity, acceleration

    def assemble(self, lengths: Array) -> Array:
        """Coordinates (N, 9) for leg lengths (N, 3) in tree order, by Newton from the level pose.

        Raises
        ------
        ConvergenceError
            The loops do not close within 1e-12 m.
        """
        q = np.tile(self.home(float(lengths.mean())), (len(lengths), 1))
        q[:, INDEPENDENT] = lengths
        for _ in range(30):
            gaps = self.closure(q)
            if np.abs(gaps).max() < 1e-15:
                break
            step = np.linalg.solve(self.jacobian(q)[:, :, DEPENDENT], gaps[..., None])[..., 0]
            q[:, DEPENDENT] -= step * np.minimum(1.0, 0.5 / np.abs(step).max(axis=1, keepdims=True).clip(1e-12))
        if not np.abs(self.closure(q)).max() < 1e-12:
            raise ConvergenceError(f'the loops stay open by {np.abs(self.closure(q)).max():.3g} m')
        return q


def _about_x(angle: float) -> Array:
    cosine, sine = np.cos(angle), np.sin(angle)
    return np.array([[1.0, 0.0, 0.0], [0.0, cosine, -sine], [0.0, sine, cosine]])


def _about_z(angle: Array | float) -> Array:
    """Rotations about z, (..., 3, 3)."""
    cosine, sine = np.cos(angle), np.sin(angle)
    zero, one = np.zeros_like(cosine), np.ones_like(cosine)
    flat = np.stack([cosine, -sine, zero, sine, cosine, zero, zero, zero, one], axis=-1)
    return np.asarray(flat.reshape(*np.shape(angle), 3, 3), dtype=float)


def _back(rotation: Array, vector: Array) -> Array:
    """Vectors in the axes that a rotation (N, 3, 3) leads to."""
    return np.asarray(np.einsum('nji,nj->ni', rotation, np.broadcast_to(vector, rotation.shape[:2])), dtype=float)
