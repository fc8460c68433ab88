"""All assembly modes of a hexapod: its poses for given leg lengths."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pkm_description.arrays import Array
from pkm_description.errors import ArgumentError, SingularPoseError
from pkm_description.kinematics.arguments import of_samples
from pkm_description.kinematics.hexapod.continuation import follow_lengths
from pkm_description.kinematics.hexapod.forward import checked_lengths
from pkm_description.kinematics.hexapod.pose_newton import NewtonRun, newton_batch
from pkm_description.kinematics.leg_lengths import length_jacobian
from pkm_description.kinematics.rotation import matrix_from_quaternion
from pkm_description.machine import Machine

#: a hexapod has no more poses, complex ones included (Ronga and Vust 1992, Mourrain 1993)
MOST_MODES = 40
STARTS_PER_BATCH, MAX_ITERATIONS = 2000, 40
#: poses nearer to each other than this are one: position over platform radius, and rotation matrix entries
SAME_POSE = 1e-5


@dataclass(frozen=True)
class AssemblyModes:
    """K poses with the same leg lengths, the home branch's first, then by distance from home.

    Attributes
    ----------
    lengths : (6,) m
    position, rotation_base_platform : (K, 3) m, (K, 3, 3)
    residual : (K,) m, largest length residual
    condition : (K,), condition number of the length Jacobian in m and rad
    determinant_sign : (K,), +1 or -1, sign of the length Jacobian's determinant; modes of different sign are separated
        by singular poses
    on_home_branch : (K,), True for the pose that home is moved to by lengths that go straight to the given ones; none
        where a singular pose stands in the way
    hits : (K,), number of random starts that led there
    starts : number of random starts
    settled : the search ended because nothing new came up and the signs balance, not at its bound
    """

    lengths: Array
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
    lengths: Array,
    seed: int = 0,
    tolerance: float = 1e-12,
    quiet_batches: int = 3,
    max_batches: int = 30,
) -> AssemblyModes:
    """Find all poses of a hexapod for given leg lengths, by Newton iterations from random starts.

    Batches of 2000 starts, uniform in rotation and wide enough in position for every pose that the lengths allow, are
    solved until ``quiet_batches`` of them in a row have found nothing new and as many poses have a positive
    determinant of the length Jacobian as have a negative one. The latter holds for every complete set of regular
    poses, because the lengths as a function of the pose have degree zero; so a missed pose is noticed unless an
    opposite one is missed too. That is strong evidence and no proof. The same seed gives the same result.

    Parameters
    ----------
    lengths : (6,) m
    seed : of the random starts
    tolerance : m, on the largest length residual of a pose
    quiet_batches : batches without a new pose that end the search
    max_batches : bound of the search; see :attr:`AssemblyModes.settled`

    Raises
    ------
    SingularPoseError
        More poses than a hexapod can have: they are a continuum, the platform moves while all legs are locked.
    ArgumentError
        The lengths are not six finite numbers.
    KinematicsError
        The machine's drives are not six struts.
    """
    lengths = checked_lengths(machine, of_samples('lengths', lengths, 1, 6))
    if not np.isfinite(lengths).all():
        raise ArgumentError(f'lengths {lengths[0]} are not finite')
    random = np.random.default_rng(seed)
    modes = _Modes(machine)
    home, home_number = machine.home, None
    followed = follow_lengths(machine, lengths, home.position[None], home.rotation_base_platform[None])
    if followed.reached[0]:
        modes.add(newton_batch(machine, lengths, followed.position, followed.rotation, tolerance, 5), tolerance)
        home_number = 0 if len(modes.position) else None
    modes.hits[:] = 0
    quiet = batches = 0
    while not (settled := quiet >= quiet_batches and modes.signs().sum() == 0.0) and batches < max_batches:
        before = len(modes.position)
        starts = _random_starts(machine, lengths[0], random)
        every = np.broadcast_to(lengths, (STARTS_PER_BATCH, 6))
        modes.add(newton_batch(machine, every, *starts, tolerance, MAX_ITERATIONS, damped=True), tolerance)
        quiet = quiet + 1 if len(modes.position) == before else 0
        batches += 1
    return modes.result(lengths[0], home_number, batches * STARTS_PER_BATCH, bool(settled))


class _Modes:
    """Poses found so far, each once."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.position, self.rotation, self.residual = np.zeros((0, 3)), np.zeros((0, 3, 3)), np.zeros(0)
        self.hits = np.zeros(0, dtype=np.intp)

    def add(self, run: NewtonRun, tolerance: float) -> None:
        """Take up the new ones among the converged poses of a run, and count which ones were met."""
        left = np.flatnonzero(run.residual <= tolerance)
        for number in range(MOST_MODES + 1):  # pose by pose, so that a new one takes its likes away with it
            if number == len(self.hits):
                if not len(left):
                    return
                self.position = np.concatenate([self.position, run.position[left[:1]]])
                self.rotation = np.concatenate([self.rotation, run.rotation[left[:1]]])
                self.residual = np.append(self.residual, run.residual[left[0]])
                self.hits = np.append(self.hits, 0)
            alike = self._distance(number, run.position[left], run.rotation[left]) < SAME_POSE
            self.hits[number] += np.count_nonzero(alike)
            left = left[~alike]
        worst = np.linalg.cond(length_jacobian(self.machine, self.position, self.rotation)).max()
        raise SingularPoseError(
            f'more than {MOST_MODES} poses have these leg lengths, so they are not isolated: the platform moves while '
            f'all legs are locked (largest condition number of the length Jacobian {worst:.3g})'
        )

    def signs(self) -> Array:
        """Signs (K,) of the determinants."""
        return np.asarray(np.sign(np.linalg.det(length_jacobian(self.machine, self.position, self.rotation))))

    def result(self, lengths: Array, home_number: int | None, starts: int, settled: bool) -> AssemblyModes:
        """All modes in order."""
        home = self.machine.home
        distance = self._distances(home.position, home.rotation_base_platform)
        on_home_branch = np.arange(len(distance)) == (-1 if home_number is None else home_number)
        order = np.lexsort([distance, ~on_home_branch])
        position, rotation = self.position[order], self.rotation[order]
        return AssemblyModes(
            lengths=lengths,
            position=position,
            rotation_base_platform=rotation,
            residual=self.residual[order],
            condition=np.linalg.cond(length_jacobian(self.machine, position, rotation)),
            determinant_sign=self.signs()[order],
            on_home_branch=on_home_branch[order],
            hits=self.hits[order],
            starts=starts,
            settled=settled,
        )

    def _distance(self, number: int, position: Array, rotation: Array) -> Array:
        """Distances (N,) of poses from a mode: position over platform radius, or the rotation if that is more."""
        move = np.abs(position - self.position[number]).max(axis=1, initial=0.0) / self.machine.platform_radius
        return np.maximum(move, np.abs(rotation - self.rotation[number]).max(axis=(1, 2), initial=0.0))

    def _distances(self, position: Array, rotation: Array) -> Array:
        """Distances (K,) of all modes from one pose."""
        every = range(len(self.position))
        return np.array([self._distance(number, position[None], rotation[None])[0] for number in every])


def _random_starts(machine: Machine, lengths: Array, random: np.random.Generator) -> tuple[Array, Array]:
    """Poses with a uniformly random rotation in which one leg, any, has its length in a uniformly random direction."""
    rotation = matrix_from_quaternion(random.normal(size=(STARTS_PER_BATCH, 4)))
    direction = random.normal(size=(STARTS_PER_BATCH, 3))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    leg = random.integers(len(lengths), size=STARTS_PER_BATCH)
    levers = (rotation @ machine.platform_points[leg][..., None])[..., 0]
    return machine.base_points[leg] + lengths[leg, None] * direction - levers, rotation
