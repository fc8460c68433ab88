"""Poses from which a filter may start: with the positions of all drives, near the last pose, or in another mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from pkm_description.arrays import Array
from pkm_description.errors import KinematicsError
from pkm_description.kinematics import drive_positions, forward_kinematics, measured_tolerance
from pkm_description.kinematics.closed_legs import admissible_home, close_legs
from pkm_description.kinematics.drive_map import reduced_jacobian
from pkm_description.kinematics.rotation import rotation_exp
from pkm_description.machine import Machine, Pose
from scipy.special import chdtri

from pkm_estimation.filtering.platform_filter import PlatformFilter
from pkm_estimation.filtering.singular_reach import SingularReach

#: probability of a contradiction by noise alone
_UNLIKELY = 1e-3
#: m and rad, poses nearer to each other than this are one
_SAME = 1e-6
#: ns for which a last pose is new, after which one that was in doubt is not any more, and after which it is forgotten
_NEW, _SETTLED, _FORGOTTEN = 500_000_000, 2_000_000_000, 60_000_000_000
#: part of the distance to another mode's pose that the platform is taken to move meanwhile at most, in a short time
#: and in a long one
_NEAR, _VERY_NEAR = 0.2, 0.02
#: how far from the last pose others are looked for, in the distance that it has moved at least
_STEPS, _AROUND, _FARTHEST = (0.5, 1.0, 2.0, 4.0), 12, 3.0


#: ns, later than all stamps
NEVER = 2**62


class LastPoses(NamedTuple):
    """Where the platform was when it was looked at for the last time.

    Attributes
    ----------
    stamp : ns
    poses : the pose, or those that were possible
    doubted : ns, when it was in doubt, or passed a singular pose, for the last time
    """

    stamp: int
    poses: tuple[Pose, ...]
    doubted: int


#: long ago
NO_POSES = LastPoses(-NEVER, (), -NEVER)


class StartPoses:
    """Looks for poses.

    Parameters
    ----------
    machine : the machine
    filter_ : knows zeros and noise of its drives
    reach : knows in which direction legs say least
    usual : the pose with positions (A,) of all drives that is reached from home; raises KinematicsError
    """

    def __init__(
        self, machine: Machine, filter_: PlatformFilter, reach: SingularReach, usual: Callable[[Array], Pose],
        offset_std: float,
    ) -> None:  # fmt: skip
        self._machine, self._filter, self._reach = machine, filter_, reach
        self._usual, self._offset_std = usual, offset_std

    def of(self, stamp: int, measured: Array, known: LastPoses) -> list[Pose]:
        """Poses with the measured positions (A,) of all drives that the platform may have; home's is one of them.

        Where the last pose is known, the pose near it is the only one. Where the platform may have passed a singular
        pose since then, those on its other side are looked for.

        Raises
        ------
        KinematicsError
            There is none.
        """
        positions = measured + self._filter.legs.zeros
        poses: list[Pose] = []
        trouble: KinematicsError | None = None
        try:
            poses.append(self._usual(positions))
        except KinematicsError as error:
            trouble = error
        age = abs(stamp - known.stamp)
        for last in known.poses if age < _FORGOTTEN else ():
            nearest = self.near(positions, last)
            if nearest is None:
                continue
            moved = _distance(nearest, last)
            others = [pose for pose in poses if _distance(pose, nearest) > _SAME]
            is_sure = len(known.poses) == 1 and stamp - known.doubted > _SETTLED
            if is_sure and others and moved < (_NEAR if age < _NEW else _VERY_NEAR) * _distance(nearest, others[0]):
                return [nearest]
            is_far = age > _NEW or len(known.poses) > 1
            around = [nearest, *self._poses_around(positions, last, moved)] if is_far else [nearest]
            for pose in around:
                if all(_distance(pose, other) > _SAME for other in poses):
                    poses.append(pose)
        if not poses:
            raise trouble or KinematicsError('no pose has these positions')
        together = self.contradiction(positions, poses[0])
        if together:
            raise KinematicsError(together)
        return poses

    def contradiction(self, positions: Array, pose: Pose) -> str:
        """How positions (A,) of redundant drives contradict each other beyond their noise; empty if they do not.

        A filter would take that for a wrong IMU, or for a motion.
        """
        if not self._machine.is_redundant or not np.isfinite(positions).all():
            return ''
        variance = self._filter.length_covariance.diagonal()[: len(positions)]
        if self._filter.layout.leg_offsets is not None:
            variance = variance + self._offset_std**2
        return contradiction(self._machine, positions, pose, np.sqrt(variance))

    def near(self, positions: Array, start: Pose) -> Pose | None:
        """The pose with positions (A,) of all drives to which Newton's steps lead from a start."""
        try:
            found = forward_kinematics(self._machine, positions, start, measured_tolerance(self._machine))
        except KinematicsError:
            return None
        return Pose(found.position[0], found.rotation_base_platform[0]) if found.converged[0] else None

    def _poses_around(self, positions: Array, last: Pose, moved: float) -> list[Pose]:
        """Poses to which a platform may have gone that moved about so far from the last pose, unseen.

        They are looked for along the direction in which the legs at the last pose say least, and all around.
        """
        radius = float(self._machine.model.radius[0]) or 1.0
        weakest = self._reach.weakest(self._filter, last)
        around = np.random.default_rng(0).normal(size=(_AROUND, 6))
        around /= np.linalg.norm(around, axis=1, keepdims=True)
        found: list[Pose] = []
        for direction in (weakest, -weakest, *around):
            for step in _STEPS:
                move = step * moved * direction
                turn = rotation_exp(move[3:] / radius)
                start = Pose(last.position + move[:3], turn @ last.rotation_base_platform)
                pose = self.near(positions, start)
                if pose is not None and _distance(pose, last) < _FARTHEST * moved:
                    found.append(pose)
        return found


def _distance(one: Pose, other: Pose) -> float:
    turn = np.abs(one.rotation_base_platform - other.rotation_base_platform).max()
    return float(max(np.abs(one.position - other.position).max(), turn))


def contradiction(machine: Machine, positions: Array, pose: Pose, std: Array) -> str:
    """How positions (A,) of redundant drives contradict each other beyond their noise, in words; empty if they do not.

    What no pose explains of them is compared with its noise: chi-square with as many degrees of freedom as there are
    drives to spare.

    Parameters
    ----------
    pose : near the one that fits them best
    std : (A,) m or rad, standard deviations of the positions

    Raises
    ------
    KinematicsError
        No pose near is one that the legs admit.
    """
    spare = machine.actuated_count - machine.degrees_of_freedom
    if spare <= 0:
        return ''
    # noise leaves the pose that fits best off what legs admit that hold the platform
    pose = admissible_home(machine, pose).pose
    legs = close_legs(machine, pose.position[None], pose.rotation_base_platform[None])
    jacobian = reduced_jacobian(legs)[0] / std[:, None]
    off = (positions - np.ravel(drive_positions(machine, pose.position, pose.rotation_base_platform))) / std
    off -= jacobian @ np.linalg.lstsq(jacobian, off, rcond=None)[0]
    if not float(off @ off) > float(chdtri(spare, _UNLIKELY)):
        return ''
    worst = int(np.argmax(np.abs(off)))
    size = 1e3 * abs(off[worst] * std[worst])
    return (
        f'redundant drives contradict each other: {machine.drive_labels[worst]} is '
        f'{size:.3g} m{machine.position_units[worst]} '
        f'({abs(off[worst]):.3g} standard deviations) off what fits all best. Calibrate the zeros of the drives, state '
        'a larger noise of their positions, or estimate: [leg_offsets]'
    )
