"""Assembly modes of a machine: all poses for given drive positions; continuation, which finds the present one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pkm_description.arrays import Array, packed
from pkm_description.errors import ArgumentError, SingularPoseError
from pkm_description.kernels.forward_kinematics.continuation import CONDITION, DETERMINANT, REPORT_COLUMNS
from pkm_description.kernels.forward_kinematics.forward_samples import (
    follow_samples,
    solve_samples,
    solve_starts,
)
from pkm_description.kernels.forward_kinematics.newton import struts_alone
from pkm_description.kernels.model import PRISMATIC
from pkm_description.kinematics.arguments import of_samples
from pkm_description.kinematics.forward import ANY_BRANCH, Start, checked_drives, starts
from pkm_description.kinematics.rotation import matrix_from_quaternion, rotation_exp
from pkm_description.machine import Machine

#: a hexapod has no more poses, complex ones included (Ronga and Vust 1992, Mourrain 1993); more than this many of
#: another machine are taken for a continuum
MOST_MODES, MOST_OF_OTHERS = 40, 500
#: starts of a batch: of machines of struts alone, whose starts lie near solutions and cost little, and of others
STARTS_PER_BATCH, STARTS_OF_OTHERS = 2000, 500
MAX_ITERATIONS = 40
#: poses nearer to each other than this are one: position over platform radius, and rotation matrix entries
SAME_POSE = 1e-5


@dataclass(frozen=True)
class AssemblyModes:
    """K poses with the same drive positions, the home branch's first, then by distance from home.

    Attributes
    ----------
    drive_positions : (A,) m, rad
    position, rotation_base_platform : (K, 3) m, (K, 3, 3)
    residual : (K,) m, largest gap of a leg
    condition : (K,), as in :class:`~pkm_description.kinematics.ForwardKinematicsResult`
    determinant_sign : (K,), of hexapods +1 or -1, sign of the length Jacobian's determinant; modes of different sign
        are separated by singular poses. 0 of other machines
    on_home_branch : (K,), True for the pose that home is moved to by drives that go straight to the given positions;
        none where a singular pose stands in the way
    hits : (K,), number of random starts that led there
    starts : number of random starts
    settled : the search ended because nothing new came up and (of hexapods) the signs balance, not at its bound
    """

    drive_positions: Array
    position: Array
    rotation_base_platform: Array
    residual: Array
    condition: Array
    determinant_sign: Array
    on_home_branch: NDArray[np.bool_]
    hits: NDArray[np.intp]
    starts: int
    settled: bool

    def __len__(self) -> int:
        return len(self.position)


def assembly_modes(
    machine: Machine,
    drive_positions: Array,
    seed: int = 0,
    tolerance: float = 1e-12,
    quiet_batches: int = 3,
    max_batches: int = 30,
) -> AssemblyModes:
    """Find all poses of a machine for given drive positions, by Newton iterations from random starts.

    Batches of starts are solved until ``quiet_batches`` of them in a row have found nothing new. Of hexapods of six
    struts a batch has 2000 starts, uniform in rotation and wide enough in position for every pose that the lengths
    allow; and the search goes on until as many poses have a positive determinant of the length Jacobian as have a
    negative one. That holds for every complete set of regular poses, because the lengths as a function of the pose
    have degree zero; so a missed pose is noticed unless an opposite one is missed too. That is strong evidence and no
    proof.

    Of other machines a batch has 500 starts, with random poses about the base and random passive joints, and nothing
    tells that the list is complete: a mode that few starts lead to (see ``hits``) may be missing. Configurations that
    differ in passive joints alone count as one. The same seed gives the same result.

    Parameters
    ----------
    drive_positions : (A,) m, rad; of hexapods leg lengths less ``machine.lengths_at_zero``
    seed : of the random starts
    tolerance : m, on the largest gap of a pose
    quiet_batches : batches without a new pose that end the search
    max_batches : bound of the search; see :attr:`AssemblyModes.settled`

    Raises
    ------
    SingularPoseError
        More poses than a hexapod can have: they are a continuum, the platform moves while all drives are locked.
    ArgumentError
        The positions are not finite numbers.
    KinematicsError
        The machine's drives do not determine its pose.
    """
    drives = checked_drives(machine, drive_positions)
    drives = of_samples('drive_positions', drives, 1, machine.actuated_count)
    if not np.isfinite(drives).all():
        raise ArgumentError(f'drive_positions {drives[0]} are not finite')
    random = np.random.default_rng(seed)
    modes = _Modes(machine, drives, tolerance)
    home_number = None
    followed = follow_drives(machine, drives)
    if followed.reached[0]:
        modes.solve((followed.joint_positions, followed.position, followed.rotation_base_platform))
        home_number = 0 if len(modes.position) else None
    modes.hits[:] = 0
    quiet = batches = 0
    while not (settled := quiet >= quiet_batches and modes.signs_balance()) and batches < max_batches:
        before = len(modes.position)
        modes.solve(modes.random_starts(random))
        quiet = quiet + 1 if len(modes.position) == before else 0
        batches += 1
    return modes.result(home_number, batches * modes.batch, bool(settled))


class _Modes:
    """Poses found so far, each once."""

    def __init__(self, machine: Machine, drives: Array, tolerance: float) -> None:
        self.machine, self.drives, self.tolerance = machine, drives, tolerance
        self.struts = bool(struts_alone(machine.compiled_model)) and machine.actuated_count == 6
        self.batch = STARTS_PER_BATCH if self.struts else STARTS_OF_OTHERS
        self.joints = np.zeros((0, len(machine.model.kind)))
        self.position, self.rotation, self.residual = np.zeros((0, 3)), np.zeros((0, 3, 3)), np.zeros(0)
        self.hits = np.zeros(0, dtype=np.intp)

    def solve(self, starts: tuple[Array, Array, Array]) -> None:
        """Iterate from starts (S, J), (S, 3), (S, 3, 3), take up the new ones, and count which ones were met."""
        joints, position, rotation = (packed(one) for one in starts)
        residual = np.zeros(len(joints))
        solve_starts(
            self.machine.compiled_model, self.machine.scratch[1], self.drives, joints, position, rotation,
            MAX_ITERATIONS, self.tolerance, residual,
        )  # fmt: skip
        left = np.flatnonzero(residual <= self.tolerance)
        most = MOST_MODES if self.struts else MOST_OF_OTHERS
        for number in range(most + 1):  # pose by pose, so that a new one takes its likes away with it
            if number == len(self.hits):
                if not len(left):
                    return
                one = left[:1]
                self.joints = np.concatenate([self.joints, joints[one]])
                self.position = np.concatenate([self.position, position[one]])
                self.rotation = np.concatenate([self.rotation, rotation[one]])
                self.residual = np.append(self.residual, residual[one])
                self.hits = np.append(self.hits, 0)
            alike = self._distance(number, position[left], rotation[left]) < SAME_POSE
            self.hits[number] += np.count_nonzero(alike)
            left = left[~alike]
        raise SingularPoseError(
            f'more than {most} poses have these drive positions, so they are not isolated: the platform moves while '
            f'all drives are locked (largest condition number of the Jacobian {self._report()[:, CONDITION].max():.3g})'
        )

    def _report(self) -> Array:
        """What the kernels say of the modes (K, R)."""
        count, report = len(self.joints), np.zeros((len(self.joints), REPORT_COLUMNS))
        drives = packed(np.broadcast_to(self.drives, (count, self.drives.shape[1])))
        where = self.joints.copy(), self.position.copy(), self.rotation.copy()
        solve_samples(
            self.machine.compiled_model, self.machine.scratch[1], drives, *where, 0, self.tolerance, np.inf, ANY_BRANCH,
            False, False, report,
        )  # fmt: skip
        return report

    def signs_balance(self) -> bool:
        """Whether as many determinants are positive as negative; nothing is known of machines other than hexapods."""
        return not self.struts or float(self._report()[:, DETERMINANT].sum()) == 0.0

    def result(self, home_number: int | None, starts: int, settled: bool) -> AssemblyModes:
        """All modes in order."""
        home = self.machine.home
        pose = home.position[None], home.rotation_base_platform[None]
        distance = np.array([self._distance(number, *pose)[0] for number in range(len(self.position))])
        on_home_branch = np.arange(len(distance)) == (-1 if home_number is None else home_number)
        order = np.lexsort([distance, ~on_home_branch])
        report = self._report()[order]
        return AssemblyModes(
            drive_positions=self.drives[0],
            position=self.position[order],
            rotation_base_platform=self.rotation[order],
            residual=self.residual[order],
            condition=report[:, CONDITION],
            determinant_sign=report[:, DETERMINANT] if self.struts else np.zeros(len(order)),
            on_home_branch=on_home_branch[order],
            hits=self.hits[order],
            starts=starts,
            settled=settled,
        )

    def _distance(self, number: int, position: Array, rotation: Array) -> Array:
        """Distances (N,) of poses from a mode: position over platform radius, or the rotation if that is more."""
        move = np.abs(position - self.position[number]).max(axis=1, initial=0.0) / self.machine.model.radius[0]
        return np.maximum(move, np.abs(rotation - self.rotation[number]).max(axis=(1, 2), initial=0.0))

    def random_starts(self, random: np.random.Generator) -> tuple[Array, Array, Array]:
        """Configurations of one batch (S, J), (S, 3), (S, 3, 3)."""
        model, count = self.machine.model, self.batch
        if self.machine.planar:
            turns = np.zeros((count, 3))
            turns[:, 2] = random.uniform(-np.pi, np.pi, count)
            rotation = rotation_exp(turns) @ model.home_rotation
        else:
            rotation = matrix_from_quaternion(random.normal(size=(count, 4)))
        joints = np.array(np.broadcast_to(model.home_joints, (count, len(model.kind))))
        if self.struts:
            return joints, self._at_end_of_leg(random, rotation), rotation
        on_platform = model.closure_other == len(model.kind)
        anchors = model.home_position + model.closure_other_point[on_platform] @ model.home_rotation.T
        # a box about the base, so that poses on its other side are as likely
        bases = model.translation[model.joint_start[:-1]]
        extent = float(np.linalg.norm(np.ptp(np.concatenate([anchors, bases]), axis=0)))
        position = bases.mean(axis=0) + random.uniform(-1.2, 1.2, (count, 3)) * extent
        if self.machine.planar:
            position[:, 2] = model.home_position[2]
        passive = model.is_driven == 0
        turning = passive & (model.kind != PRISMATIC)
        joints[:, turning] += random.uniform(-np.pi, np.pi, (count, int(turning.sum())))
        sliding = passive & (model.kind == PRISMATIC)
        joints[:, sliding] += random.uniform(-2.0, 2.0, (count, int(sliding.sum()))) * model.longest_step[sliding]
        return joints, position, rotation

    def _at_end_of_leg(self, random: np.random.Generator, rotation: Array) -> Array:
        """Positions in which one strut, any, has its length in a uniformly random direction."""
        model = self.machine.model
        lengths = self.drives[0] + model.strut_length
        direction = random.normal(size=(len(rotation), 3))
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        leg = random.integers(len(lengths), size=len(rotation))
        levers = (rotation @ model.closure_other_point[leg][..., None])[..., 0]
        return np.asarray(model.translation[model.joint_start[leg]] + lengths[leg, None] * direction - levers)


@dataclass(frozen=True)
class Continuation:
    """How far N samples could be followed.

    Attributes
    ----------
    position, rotation_base_platform : (N, 3) m, (N, 3, 3), pose at the last drive positions reached
    joint_positions : (N, J) rad, m
    fraction : (N,), part of the line that was followed; 1 where the end was reached
    """

    position: Array
    rotation_base_platform: Array
    joint_positions: Array
    fraction: Array

    @property
    def reached(self) -> NDArray[np.bool_]:
        """Samples (N,) followed to the end."""
        return np.asarray(self.fraction >= 1.0)


def follow_drives(machine: Machine, drive_positions: Array, initial: Start | None = None) -> Continuation:
    """Follow each configuration while its drives go on a straight line to the given positions.

    The step along the line adapts to every sample. It is repeated at half its length unless Newton's steps shrink fast,
    and the determinant of the closing equations keeps its sign: then the configuration found is the one that the
    machine would move to, and no other. A sample ends where the line's next configuration is singular. The end is
    accurate to 1e-8 of the platform radius.

    Parameters
    ----------
    drive_positions : (N, A) or (A,) m, rad, ends of the lines
    initial : where they begin, one or N; default home

    Raises
    ------
    KinematicsError, ShapeError
        As :func:`pkm_description.kinematics.forward_kinematics`.
    """
    drives = checked_drives(machine, drive_positions)
    joints, position, rotation = starts(machine, initial, len(drives))
    fraction = np.zeros(len(drives))
    follow_samples(machine.compiled_model, machine.scratch[1], drives, joints, position, rotation, fraction)
    return Continuation(position, rotation, joints, fraction)
