"""Static poses as least squares: each pose is unknown, legs and instruments measure it.

Rows of a pose, whitened: drives less what closed legs make of pose and constants, and instruments. What legs hold of
the platform follows from the constants; the rest of the pose is eliminated by a QR of its columns, the constants of the
instruments by one of what is left (a block arrow). What stays are rows of the machine's constants, given as score and
information as the filter has them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from pkm_description.arrays import Array
from pkm_description.kernels.model import Integers
from pkm_description.kinematics import forward_kinematics
from pkm_description.kinematics.pose_solver import measured_tolerance
from pkm_description.kinematics.rotation import quaternion_from_matrix
from pkm_description.machine import Machine
from scipy.linalg import qr

from pkm_estimation.calibration.constants import Constants
from pkm_estimation.calibration.instruments import Instrument, displaced
from pkm_estimation.filtering.constant_columns import ConstantScore
from pkm_estimation.models import ATTITUDE, POSITION, STATE_SIZE
from pkm_estimation.models.leg_model import DriveModel

#: singular values of the legs' constraints, by the largest, that count as zero
_EXACT = 1e-9
#: standard deviations (of a vector's length) from which on a measurement counts less, and not at all (Hampel 1974)
_DOUBTED, _OUTLIER = 3.4, 10.0
#: every so many poses is held out
_HELD_OUT = 5
#: Gauss-Newton steps of poses and instruments, and the steps that end them: m and rad of the poses, standard deviations
#: of what is unknown of the instruments
_STEPS, _SMALL, _SMALL_OWN = 20, 1e-8, 0.02
#: how often the step of a pose is halved, and what a sum of squares may grow by
_HALVED, _NOTHING = 6, 1e-3
_STEP = 1e-6
#: part of the platform radius by which the legs of a machine that is not yet calibrated may miss a measured pose
_ROUGH = 1e-2


class LegRows:
    """What drives measure at poses, and how it changes with pose and geometry.

    Parameters
    ----------
    machine : with tolerances, the units of the constants of the geometry
    """

    def __init__(self, machine: Machine) -> None:
        self._model = DriveModel(machine, np.zeros(3), tolerances=machine.tolerances)
        self._at_zero = self._model.measured(np.zeros(machine.actuated_count))
        self._count = len(self._model.constants())
        self.constraints = self._model.constraint_count

    def values(self, position: Array, rotation: Array) -> Array:
        """Positions of the drives and gaps (N, A + K)."""
        return self._model.observe(_states(position, rotation)) - self._at_zero

    def at(self, position: Array, rotation: Array) -> tuple[Array, Array, Array]:
        """Positions of the drives and gaps (N, A + K), slopes by twist (N, A + K, 6) and by constants (N, A + K, p)."""
        values, by_twist, by_constants = [], [], []
        turned = np.concatenate([np.zeros((1, 6)), _STEP * np.eye(6), -_STEP * np.eye(6)])
        for place, attitude in zip(position, rotation, strict=True):
            points = _states(*displaced(np.tile(place, (13, 1)), np.tile(attitude, (13, 1, 1)), turned))
            seen = self._model.observe(points) - self._at_zero
            values.append(seen[0])
            by_twist.append((seen[1:7] - seen[7:]).T / (2.0 * _STEP))
            by_constants.append(self._model.slopes_by_constants(points[:1])[:, : self._count])
        return np.array(values), np.array(by_twist), np.array(by_constants)


def _states(position: Array, rotation: Array) -> Array:
    """States (N, n) of a platform at rest."""
    points, quaternion = np.zeros((len(position), STATE_SIZE)), quaternion_from_matrix(rotation)
    points[:, POSITION], points[:, ATTITUDE] = position, quaternion[:, :3] * np.sign(quaternion[:, 3:])
    return points


@dataclass
class StaticPoses:
    """Static poses, measured by drives and instruments.

    Attributes
    ----------
    constants : of the problem
    drives : (N, A) m or rad
    noise : (A,) m or rad, of a drive at rest
    instruments : with N measurements each
    is_robust : whether outliers are left out
    poses : position (N, 3) and rotation (N, 3, 3) as found last
    weights : (N, m) of the vectors of each instrument, 0 of outliers
    is_near : whether the constants are near enough for outliers to be told from errors of the geometry
    """

    constants: Constants
    drives: Array
    noise: Array
    instruments: list[Instrument]
    is_robust: bool = True
    poses: tuple[Array, Array] | None = None
    weights: list[Array] = field(default_factory=list)
    is_near: bool = False

    def __len__(self) -> int:
        return len(self.drives)

    def at(self, rows: Integers) -> StaticPoses:
        """Some of the poses."""
        return StaticPoses(
            self.constants, self.drives[rows], self.noise, [one.at(rows) for one in self.instruments], self.is_robust,
            None if self.poses is None else (self.poses[0][rows], self.poses[1][rows]),
        )  # fmt: skip

    def part(self) -> StaticPoses:
        """See :class:`~pkm_estimation.calibration.problem.Measurement`."""
        return self.at(np.flatnonzero(np.arange(len(self)) % _HELD_OUT != _HELD_OUT - 1))

    def leaves_out(self) -> bool:
        """See :class:`~pkm_estimation.calibration.problem.Measurement`."""
        changes, self.is_near = self.is_robust and not self.is_near, True
        return changes

    def told(self) -> list[str]:
        """See :class:`~pkm_estimation.calibration.problem.Measurement`: how many poses, and the part of outliers."""
        if not self.weights:
            return []
        out = float(np.mean([np.mean(weight == 0.0) for weight in self.weights]))
        return [f'{len(self)} static poses; outliers left out: {100.0 * out:.1f} %']

    def start(self, machine: Machine) -> None:
        """Poses by the legs of a machine, and instruments aligned with them; raises KinematicsError.

        A pose that the machine as it is does not get to begins where the nearest other one is.
        """
        found = forward_kinematics(machine, self.drives, tolerance=measured_tolerance(machine))
        if not found.trusted.all():
            found = forward_kinematics(machine, self.drives, tolerance=_ROUGH * machine.platform_radius)
        if 2 * np.count_nonzero(found.trusted) < len(self):  # another machine
            found.require()
        good = np.flatnonzero(found.trusted)
        nearest = good[np.argmin(np.linalg.norm(self.drives[:, None] - self.drives[good], axis=2), axis=1)]
        self.poses = found.position[nearest], found.rotation_base_platform[nearest]
        self.instruments = [one.aligned(*self.poses) for one in self.instruments]

    def score(self, values: Array) -> ConstantScore:
        """What the poses say of the constants, counted from (p,) values; poses and instruments are found anew."""
        machine = self.constants.machine_at(values)
        legs = LegRows(machine)
        if self.poses is None:
            self.start(machine)
        for _ in range(_STEPS):
            below, *back = self._eliminated(legs)
            extra = sum(len(one.prior) for one in self.instruments)
            priors = np.concatenate([np.zeros(0), *(1.0 / one.prior for one in self.instruments)])
            columns = below.shape[1]
            known = np.eye(extra, columns) * priors[:, None]
            known[:, -1] = -priors * np.concatenate([np.zeros(0), *(one.away for one in self.instruments)])
            rows = np.vstack([below, known])
            triangle = qr(rows, mode='r')[0][:columns]
            step = np.linalg.lstsq(triangle[:extra, :extra], triangle[:extra, -1], rcond=1e-12)[0]
            own = float(np.linalg.norm(triangle[:extra, :extra] @ step))
            if self._move(legs, back, step) < _SMALL and own < _SMALL_OWN:
                break
        geometry = len(self.constants.geometry.kind)
        left = triangle[extra:, extra:]
        score, information = np.zeros(len(self.constants)), np.zeros((len(self.constants),) * 2)
        score[:geometry] = left[:, :-1].T @ left[:, -1]
        information[:geometry, :geometry] = left[:, :-1].T @ left[:, :-1]
        count = float(np.count_nonzero(np.abs(below).max(axis=1) > 0.0) - min(extra, len(below)))
        return ConstantScore(score, information, np.array([left[:, -1] @ left[:, -1], count]))

    def rows_of_poses(self) -> Array:
        """Rows (N, r, e + p) of instruments and constants, without the poses: what each pose tells."""
        below = self._eliminated(LegRows(self.constants.machine))[0]
        return below.reshape(len(self), -1, below.shape[1])[..., :-1]

    def _eliminated(self, legs: LegRows) -> tuple[Array, Array, Array]:
        """Rows of instruments, constants and residual without the poses (R, e + p + 1), and twists by these (N, 6, ..).

        Twists that legs which hold the platform ask for, and those along what they leave free.
        """
        assert self.poses is not None
        values, by_twist, by_constants = legs.at(*self.poses)
        count = len(self)
        drives = self.drives.shape[1]
        extra = [len(one.prior) for one in self.instruments]
        total = sum(extra)
        rows = np.concatenate([by_twist, np.zeros((*values.shape, total)), by_constants, -values[..., None]], axis=2)
        rows[:, :drives, -1] += self.drives
        held, blocks = rows[:, drives:], [rows[:, :drives] / self.noise[:, None]]
        self.weights, first = [], 0
        for one, own in zip(self.instruments, extra, strict=True):
            residuals = one.residuals(*self.poses)
            by_pose, by_own = one.slopes(*self.poses)
            size = np.linalg.norm(residuals, axis=2)
            weight = np.minimum(1.0, _DOUBTED / np.maximum(size, 1e-300)) if self.is_robust else np.ones_like(size)
            weight[(size > _OUTLIER) & self.is_robust & self.is_near] = 0.0
            self.weights.append(weight)
            shape = count, residuals.shape[1] * residuals.shape[2]
            row = np.zeros((*shape, blocks[0].shape[2]))
            row[..., :6] = by_pose.reshape(*shape, 6)
            row[..., 6 + first : 6 + first + own] = by_own.reshape(*shape, own)
            row[..., -1] = residuals.reshape(shape)
            blocks.append(row * np.sqrt(np.repeat(weight, residuals.shape[2], axis=1))[..., None])
            first += own
        rows = np.concatenate(blocks, axis=1)
        along, free = np.zeros((count, 6, rows.shape[2] - 6)), np.tile(np.eye(6), (count, 1, 1))
        if legs.constraints:
            # legs that hold the platform: where it is, across what they leave free, follows from the constants
            freedoms = self.constants.machine.degrees_of_freedom
            free = np.linalg.svd(held[..., :6])[2][:, -freedoms:].transpose(0, 2, 1)
            along = np.linalg.pinv(held[..., :6], rcond=_EXACT) @ held[..., 6:]
        rest = rows[..., 6:] - rows[..., :6] @ along
        turn, triangle = np.linalg.qr(rows[..., :6] @ free, mode='complete')
        turned = turn.transpose(0, 2, 1) @ rest
        width = free.shape[2]
        back = free @ np.linalg.solve(triangle[:, :width], turned[:, :width])
        return turned[:, width:].reshape(-1, turned.shape[2]), along, back

    def _move(self, legs: LegRows, back: list[Array], step: Array) -> float:
        """Move instruments and poses by a Gauss-Newton step (e,); returns the largest part of the poses, m and rad.

        A pose that would fit worse moves by less: near a singularity, or out of reach of the machine as it is, the step
        is too long.
        """
        assert self.poses is not None
        held, free = (twists[..., -1] - twists[..., : len(step)] @ step for twists in back)
        first, moved = 0, []
        for one in self.instruments:
            own = len(one.prior)
            moved.append(one.moved(step[first : first + own]))
            first += own
        self.instruments, parts = moved, np.ones(len(self))
        before = self._squares(legs, displaced(*self.poses, held))
        for _ in range(_HALVED):
            poses = displaced(*self.poses, held + parts[:, None] * free)
            is_worse = ~(self._squares(legs, poses) < before + _NOTHING)
            if not is_worse.any():
                break
            parts[is_worse] *= 0.5
        self.poses = poses
        return float(np.abs(held + free).max(initial=0.0))

    def _squares(self, legs: LegRows, poses: tuple[Array, Array]) -> Array:
        """Squares of the residuals of each pose (N,), those of the instruments as they are weighed."""
        drives = self.drives.shape[1]
        squares = np.sum(((self.drives - legs.values(*poses)[:, :drives]) / self.noise) ** 2, axis=1)
        for one, weight in zip(self.instruments, self.weights, strict=True):
            squares += np.sum(weight * np.sum(one.residuals(*poses) ** 2, axis=2), axis=1)
        return squares
