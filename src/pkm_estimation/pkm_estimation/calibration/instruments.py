"""What external instruments, and an IMU at rest, measure of static poses; their own frames and targets are unknown."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Self

import numpy as np
from pkm_description.arrays import Array
from pkm_description.kernels.model import Integers
from pkm_description.kinematics.rotation import rotation_exp, rotation_log
from scipy.optimize import least_squares
from scipy.spatial.transform import Rotation

#: step of the differences that slopes are taken by, m and rad
_STEP = 1e-6


@dataclass(frozen=True)
class Instrument(ABC):
    """Measurements of N static poses, and the unknown constants of what measures them, e of them.

    Attributes
    ----------
    measured : (N, ...) NaN where nothing was measured
    prior : standard deviations (e,) of the constants; infinite where nothing is known
    away : by how much the constants (e,) are away from what is known of them
    """

    measured: Array
    prior: Array
    away: Array

    @abstractmethod
    def residuals(self, position: Array, rotation: Array) -> Array:
        """Whitened residuals (N, m, d), measured less expected, at poses (N, 3), (N, 3, 3): m vectors of d numbers."""

    @abstractmethod
    def _moved(self, step: Array) -> Self:
        """The same with other constants, by a step (e,)."""

    def moved(self, step: Array) -> Self:
        """The same with other constants, by a step (e,)."""
        return replace(self._moved(step), away=self.away + step)

    def at(self, rows: Integers) -> Self:
        """The measurements of some poses."""
        return replace(self, measured=self.measured[rows])

    def aligned(self, position: Array, rotation: Array) -> Instrument:
        """The same with constants that fit roughly known poses."""
        return self

    def slopes(self, position: Array, rotation: Array) -> tuple[Array, Array]:
        """Slopes of what is expected, by the twist of the pose (N, m, d, 6) and by the constants (N, m, d, e)."""
        by_pose, by_constants = [], []
        for axis in np.eye(6):
            ends = [self.residuals(*displaced(position, rotation, s * _STEP * axis)) for s in (-1.0, 1.0)]
            by_pose.append((ends[0] - ends[1]) / (2.0 * _STEP))
        for axis in np.eye(len(self.prior)):
            ends = [self.moved(s * _STEP * axis).residuals(position, rotation) for s in (-1.0, 1.0)]
            by_constants.append((ends[0] - ends[1]) / (2.0 * _STEP))
        return np.stack(by_pose, axis=-1), np.stack(by_constants, axis=-1)


def displaced(position: Array, rotation: Array, twist: Array) -> tuple[Array, Array]:
    """Poses (N, 3), (N, 3, 3) displaced by twists (6,) or (N, 6): m, and rad about base axes."""
    return position + twist[..., :3], rotation_exp(twist[..., 3:]) @ rotation


@dataclass(frozen=True)
class Points(Instrument):
    """Places of K targets on the platform, in a frame of the instrument (laser tracker, measuring arm).

    Attributes
    ----------
    measured : (N, K, 3) m
    noise : m, standard deviation of each component
    names : of the targets
    targets : (K, 3) m in ``platform_link``
    frame_position, frame_rotation : of ``base_link`` in the frame of the instrument
    """

    noise: float
    names: tuple[str, ...]
    targets: Array
    frame_position: Array = field(default_factory=lambda: np.zeros(3))
    frame_rotation: Array = field(default_factory=lambda: np.eye(3))

    @classmethod
    def of(
        cls, measured: Array, noise: float, names: tuple[str, ...], reach: float, known: Array | None = None
    ) -> Points:
        """Points (N, K, 3) of targets that are within ``reach`` [m] of ``known`` (K, 3), else of the origin."""
        targets = np.zeros((measured.shape[1], 3)) if known is None else known
        prior = np.concatenate([np.full(6, np.inf), np.full(targets.size, reach)])
        return cls(measured, prior, np.zeros(len(prior)), noise, names, targets)

    def expected(self, position: Array, rotation: Array) -> Array:
        """Places (N, K, 3) in the frame of the instrument."""
        places = position[:, None] + np.einsum('nij,kj->nki', rotation, self.targets)
        return np.asarray(places @ self.frame_rotation.T + self.frame_position)

    def residuals(self, position: Array, rotation: Array) -> Array:
        """See the base class."""
        return np.nan_to_num((self.measured - self.expected(position, rotation)) / self.noise)

    def _moved(self, step: Array) -> Self:
        return replace(
            self, frame_position=self.frame_position + step[:3],
            frame_rotation=rotation_exp(step[3:6]) @ self.frame_rotation,
            targets=self.targets + step[6:].reshape(-1, 3),
        )  # fmt: skip

    def aligned(self, position: Array, rotation: Array) -> Points:
        """See the base class: for each rotation of the frame, its place and the targets are linear least squares."""
        known = self.targets - self.away[6:].reshape(-1, 3)

        def solved(frame: Array) -> Points:
            seen = np.isfinite(self.measured).all(axis=2)
            turned = frame @ rotation
            count, targets = np.count_nonzero(seen), len(self.names)
            rows, right = np.zeros((count, 3, 3 + 3 * targets)), np.zeros((count, 3))
            for row, (pose, target) in enumerate(np.argwhere(seen)):
                rows[row, :, :3] = np.eye(3)
                rows[row, :, 3 + 3 * target : 6 + 3 * target] = turned[pose]
                right[row] = self.measured[pose, target] - frame @ position[pose]
            weight = self.noise / self.prior[6]
            ruler = weight * np.eye(3 + 3 * targets)[3:]
            found = np.linalg.lstsq(
                np.vstack([rows.reshape(3 * count, -1), ruler]),
                np.concatenate([right.ravel(), weight * known.ravel()]), rcond=None,
            )[0]  # fmt: skip
            targets = found[3:].reshape(-1, 3)
            away = np.concatenate([np.zeros(6), (targets - known).ravel()])
            return replace(self, away=away, frame_position=found[:3], frame_rotation=frame, targets=targets)

        def cost(turn: Array, start: Array) -> Array:
            return solved(rotation_exp(turn) @ start).residuals(position, rotation).ravel()

        starts = [
            turn for signs in product((1.0, -1.0), repeat=3) for order in _ORDERS
            if np.linalg.det(turn := np.diag(signs) @ np.eye(3)[list(order)]) > 0.0
        ]
        starts.sort(key=lambda start: float(np.sum(cost(np.zeros(3), start) ** 2)))
        tried = [(least_squares(cost, np.zeros(3), args=(start,)), start) for start in starts[:_STARTS]]
        best, rough = min(tried, key=lambda one: float(np.median(np.abs(one[0].fun))))
        # once more, with outliers counting less
        usual = 1.0 + float(np.median(np.abs(best.fun)))
        best = least_squares(cost, best.x, args=(rough,), loss='soft_l1', f_scale=usual)
        return solved(rotation_exp(best.x) @ rough)


#: rotations that an alignment begins with, of the 24 that map axes to axes
_STARTS = 4
_ORDERS = ((0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0))


@dataclass(frozen=True)
class Poses(Instrument):
    """Poses of a body on the platform in a frame of the instrument (camera and tag, motion capture).

    Attributes
    ----------
    measured : (N, 3) m
    rotation : (N, 3, 3)
    noise, noise_rotation : m, rad, standard deviation of each component
    point : place of the body, and the frame of the instrument
    mounting : (3, 3) maps axes of the body to platform axes
    """

    rotation: Array
    noise: float
    noise_rotation: float
    point: Points
    mounting: Array

    @classmethod
    def of(cls, measured: Array, rotation: Array, noise: float, noise_rotation: float, reach: float) -> Poses:
        """Poses of a body within about ``reach`` [m] of the platform's origin."""
        point = Points.of(measured[:, None], noise, ('body',), reach)
        prior = np.concatenate([point.prior, np.full(3, np.inf)])
        return cls(measured, prior, np.zeros(len(prior)), rotation, noise, noise_rotation, point, np.eye(3))

    def residuals(self, position: Array, rotation: Array) -> Array:
        """See the base class."""
        expected = self.point.frame_rotation @ rotation @ self.mounting
        turn = rotation_log(self.rotation @ expected.transpose(0, 2, 1)) / self.noise_rotation
        return np.concatenate([self.point.residuals(position, rotation), turn[:, None]], axis=1)

    def _moved(self, step: Array) -> Self:
        return replace(self, point=self.point.moved(step[:9]), mounting=rotation_exp(step[9:]) @ self.mounting)

    def at(self, rows: Integers) -> Poses:
        """See the base class."""
        return replace(self, measured=self.measured[rows], rotation=self.rotation[rows], point=self.point.at(rows))

    def aligned(self, position: Array, rotation: Array) -> Poses:
        """See the base class."""
        point = self.point.aligned(position, rotation)
        turns = Rotation.from_matrix((point.frame_rotation @ rotation).transpose(0, 2, 1) @ self.rotation)
        away = np.concatenate([point.away, np.zeros(3)])
        return replace(self, away=away, point=point, mounting=turns.mean().as_matrix())


@dataclass(frozen=True)
class Inclination(Instrument):
    """Specific force of an IMU at rest: which way is up.

    Attributes
    ----------
    measured : (N, 3) m/s^2, IMU axes, mean of the rest
    noise : m/s^2, of each component
    gravity : (3,) m/s^2 in ``base_link``
    rotation_platform_imu : (3, 3)
    bias : (3,) m/s^2, IMU axes
    """

    noise: float
    gravity: Array
    rotation_platform_imu: Array
    bias: Array

    @classmethod
    def of(cls, measured: Array, noise: float, gravity: Array, rotation: Array, bias: Array) -> Inclination:
        """Specific force of a usual MEMS unit, with a bias as in the machine file, and mounted by eye."""
        return cls(measured, np.array([1.0] * 3 + [5e-2] * 3), np.zeros(6), noise, gravity, rotation, bias)

    def residuals(self, position: Array, rotation: Array) -> Array:
        """See the base class."""
        expected = self.bias - np.einsum('nji,j->ni', rotation @ self.rotation_platform_imu, self.gravity)
        return np.nan_to_num((self.measured - expected) / self.noise)[:, None]

    def _moved(self, step: Array) -> Self:
        turned = rotation_exp(step[3:]) @ self.rotation_platform_imu
        return replace(self, bias=self.bias + step[:3], rotation_platform_imu=turned)
