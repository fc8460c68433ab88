"""Poses from measured drive positions: sample by sample from the last one, or whole recordings at once.

Of hexapods the lengths of the struts are given, which the models of the legs work with, of other machines the drives'
positions; both are called lengths here.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pkm_description.arrays import Array
from pkm_description.errors import KinematicsError
from pkm_description.kinematics.closed_legs import close_legs
from pkm_description.kinematics.closure import solve_closure
from pkm_description.kinematics.drive_map import twist_per_drive
from pkm_description.kinematics.forward_result import ForwardKinematicsResult
from pkm_description.kinematics.hexapod.forward import forward_from_lengths
from pkm_description.kinematics.hexapod.warm_start import LONGEST_STEP, FoundPose, WarmStart, corrected
from pkm_description.kinematics.leg_lengths import leg_lengths, length_jacobian
from pkm_description.kinematics.overall_jacobian import invert_jacobian
from pkm_description.machine import Machine, Pose

Booleans = NDArray[np.bool_]

#: samples that are solved at once: their matrices stay in the processor's cache
_BLOCK = 1000


class PoseSeries(NamedTuple):
    """Poses of N samples in order.

    Attributes
    ----------
    found : the poses; numbers without meaning where there is none
    begins : (N,), True where nothing is known from before: as asked for, and after samples without a pose
    errors : why there is no pose, by place
    """

    found: FoundPose
    begins: Booleans
    errors: dict[int, KinematicsError]


class PoseSolver:
    """Newton iterations from the last pose or from home; hexapods in their own way, other machines by their closure.

    Parameters
    ----------
    machine : the machine
    tolerance, max_iterations : of the iterations of a hexapod (Miletovic et al. 2017, Eq. 5), m
    """

    def __init__(self, machine: Machine, tolerance: float, max_iterations: int) -> None:
        self.machine = machine
        self._tolerance, self._max_iterations = tolerance, max_iterations
        self._warm = WarmStart(machine, tolerance) if machine.is_strut_hexapod else None

    def search(self, lengths: Array, last: FoundPose | None) -> ForwardKinematicsResult:
        """Solve one set of lengths (L,), from the last pose, or from home if that fails.

        Raises
        ------
        KinematicsError
            No convergence, singular pose or wrong assembly mode.
        """
        if last is not None and self.machine.is_strut_hexapod:
            try:
                return self._iterate(lengths[None], Pose(last.position, last.rotation)).require()
            except KinematicsError:
                pass  # a jump: the iteration from home decides
        return self._iterate(lengths[None]).require()

    def solve(self, lengths: Array, last: FoundPose | None) -> FoundPose:
        """Pose of one set of lengths (L,), quickly where it is near the last one; raises like :meth:`search`."""
        if last is not None and self._warm is not None:
            near = self._warm.solve(lengths, last)
            if near is not None:
                return near
        result = self.search(lengths, last)
        position, rotation, inverse = self._with_jacobian(lengths[None], result, np.ones(1, dtype=bool))
        return FoundPose(position[0], rotation[0], inverse[0], np.array(result.iterations[0]))

    def series(self, lengths: Array, begins: Booleans) -> PoseSeries:
        """What :meth:`solve` finds for lengths (N, L), each from the last pose that was found since ``begins`` (N,).

        All are solved from home at once. Where that fails, or gives a pose that is not near the one before, which may
        be another solution of the same lengths, :meth:`solve` decides.
        """
        count, begins = len(lengths), begins.copy()
        begins[:1] = True
        found, good = self.from_home(lengths)
        doubtful = ~good
        doubtful[1:] |= ~begins[1:] & ~self._near(found.position, found.rotation)
        errors: dict[int, KinematicsError] = {}
        place = _next(doubtful, 0)
        while place < count:
            try:
                last = None if begins[place] else found.at(place - 1)
                for values, value in zip(found, self.solve(lengths[place], last), strict=True):
                    values[place] = value
            except KinematicsError as error:
                errors[place] = error
            if place + 1 < count:
                begins[place + 1] |= place in errors
                pair = slice(place, place + 2)
                near = begins[place + 1] or self._near(found.position[pair], found.rotation[pair])[0]
                doubtful[place + 1] = not (good[place + 1] and near)
            place = _next(doubtful, place + 1)
        return PoseSeries(found, begins, errors)

    def from_home(self, lengths: Array) -> tuple[FoundPose, Booleans]:
        """Solve lengths (N, L) from home; also which of them are to be trusted."""
        count, drives = lengths.shape
        found = FoundPose(
            np.zeros((count, 3)), np.zeros((count, 3, 3)), np.zeros((count, 6, drives)), np.zeros(count, dtype=np.intp)
        )
        good = np.zeros(count, dtype=bool)
        for first in range(0, count, _BLOCK):
            block = slice(first, first + _BLOCK)
            result = self._iterate(lengths[block])
            trusted = result.trusted
            try:
                poses = self._with_jacobian(lengths[block], result, trusted)
            except KinematicsError:
                continue  # one of them is singular: which one is seen when each is solved by itself
            for values, some in zip(found, (*poses, result.iterations[trusted]), strict=True):
                values[block][trusted] = some
            good[block] = trusted
        return found, good

    def _iterate(self, lengths: Array, start: Pose | None = None) -> ForwardKinematicsResult:
        """Solve lengths (N, L) from one start, default home."""
        machine = self.machine
        if not machine.is_strut_hexapod:
            # from home, followed in small steps if need be; the last configuration could be used, but is not needed
            return solve_closure(machine, lengths)
        start = start or machine.home
        return forward_from_lengths(machine, lengths, start, self._tolerance, self._max_iterations)

    def _with_jacobian(
        self, lengths: Array, result: ForwardKinematicsResult, good: Booleans
    ) -> tuple[Array, Array, Array]:
        """Poses and inverse Jacobians of those M samples that are ``good`` (N,); raises where one is singular."""
        position, rotation = result.position[good], result.rotation_base_platform[good]
        if not self.machine.is_strut_hexapod:
            legs = close_legs(self.machine, position, rotation, result.joint_positions[good])
            return position, rotation, twist_per_drive(legs)
        inverse = invert_jacobian(length_jacobian(self.machine, position, rotation))
        error = lengths[good] - leg_lengths(self.machine, position, rotation)
        return *corrected(position, rotation, inverse, error), inverse

    def _near(self, position: Array, rotation: Array) -> Booleans:
        """Which of N poses are so near to the one before that a warm start finds them, (N - 1,)."""
        moves, turns = np.diff(position, axis=0), np.diff(rotation, axis=0)
        near = np.abs(moves).max(axis=1) <= LONGEST_STEP * self.machine.platform_radius
        # a turn by a small angle a changes a rotation matrix by sqrt(2) a
        return np.asarray(near & (np.sqrt(np.sum(turns * turns, axis=(1, 2))) <= sqrt(2.0) * LONGEST_STEP))


def _next(marked: Booleans, begin: int) -> int:
    """First marked place from ``begin`` on; the number of places if there is none."""
    rest = marked[begin:]
    return begin + int(rest.argmax()) if rest.any() else len(marked)
