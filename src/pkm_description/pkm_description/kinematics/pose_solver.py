"""Poses from measured drive positions: sample by sample from the last one, or whole recordings at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pkm_description.arrays import Array
from pkm_description.errors import KinematicsError, SingularPoseError
from pkm_description.kernels.continuation import ITERATIONS, REPORT_COLUMNS
from pkm_description.kernels.forward_samples import solve_near
from pkm_description.kinematics.forward import checked_drives, solve_from
from pkm_description.kinematics.forward_result import ForwardKinematicsResult
from pkm_description.kinematics.forward_start import home_branch, starts
from pkm_description.machine import Machine

#: condition number beyond which the drives count as not holding the platform
_MAX_CONDITION = 1e4

#: of two rows the second one follows the first
_FROM_FIRST = np.array([True, False])


class FoundPose(NamedTuple):
    """A pose, or N of them along a leading axis.

    Attributes
    ----------
    position, rotation : (3,) m, (3, 3)
    inverse_jacobian : (6, A), twist [velocity, angular velocity], base axes, per rate of the A drives
    joint_positions : (J,) rad or m, of all joints
    iterations : () steps taken
    """

    position: Array
    rotation: Array
    inverse_jacobian: Array
    joint_positions: Array
    iterations: NDArray[np.intp]

    @classmethod
    def of_result(cls, result: ForwardKinematicsResult) -> FoundPose:
        """First pose of a result, without its Jacobian."""
        drives = result.machine.actuated_count
        return cls(
            result.position[0], result.rotation_base_platform[0], np.zeros((6, drives)), result.joint_positions[0],
            result.iterations[0],
        )  # fmt: skip

    def at(self, chosen: int | NDArray[np.bool_]) -> FoundPose:
        """One or some of N poses."""
        position, rotation, inverse, joints, iterations = self
        return FoundPose(position[chosen], rotation[chosen], inverse[chosen], joints[chosen], iterations[chosen])


class PoseSeries(NamedTuple):
    """Poses of N samples in order.

    Attributes
    ----------
    found : the poses; numbers without meaning where there is none
    begins : (N,), True where nothing is known from before: as asked for, and after samples without a pose
    errors : why there is no pose, by place
    """

    found: FoundPose
    begins: NDArray[np.bool_]
    errors: dict[int, KinematicsError]


class PoseSolver:
    """Newton iterations from the last pose (Miletovic et al. 2017, Eq. 5), or from home where that is in doubt.

    Parameters
    ----------
    machine : the machine
    tolerance, max_iterations : of the iterations, m; what is found is one step better
    """

    def __init__(self, machine: Machine, tolerance: float, max_iterations: int) -> None:
        self.machine = machine
        self._model, self._scratch, self._branch = machine.compiled_model, machine.scratch[1], home_branch(machine)
        self._tolerance, self._max_iterations = tolerance, max_iterations
        self._drives, self._report = np.zeros((2, machine.actuated_count)), np.zeros((2, REPORT_COLUMNS))

    def search(self, drive_positions: Array, last: FoundPose | None) -> ForwardKinematicsResult:
        """Solve one set of drive positions (A,), from the last pose, or from home if that fails.

        Raises
        ------
        KinematicsError
            No convergence, singular pose or wrong assembly mode.
        """
        drives = checked_drives(self.machine, drive_positions)
        if last is not None:
            start = last.joint_positions[None].copy(), last.position[None].copy(), last.rotation[None].copy()
            try:
                return self._from(drives, start, False).require()
            except KinematicsError:
                pass  # a jump: the iteration from home decides
        return self._from(drives, starts(self.machine, None, 1), True).require()

    def solve(self, drive_positions: Array, last: FoundPose | None) -> FoundPose:
        """Pose of drive positions (A,), quickly where it is near the last one; raises like :meth:`search`."""
        if last is not None:
            found = self._memory(2)
            self._drives[1] = drive_positions
            if self._next(self._drives, found, last):
                return found.at(1)
        result = self.search(drive_positions, last)
        found, best = self._memory(2), FoundPose.of_result(result)
        self._drives[1] = drive_positions
        if not self._next(self._drives, found, best):
            raise SingularPoseError(f'condition number {result.condition[0]:.3g}: the drives do not hold the platform')
        found.iterations[1] = result.iterations[0]
        return found.at(1)

    def series(self, drive_positions: Array, begins: NDArray[np.bool_]) -> PoseSeries:
        """What :meth:`solve` finds for positions (N, A), each from the pose before unless ``begins`` (N,)."""
        drives = np.ascontiguousarray(drive_positions)
        count, begins = len(drives), begins.copy()
        begins[:1] = True
        found, errors = self._memory(count), dict[int, KinematicsError]()
        report = np.zeros((count, REPORT_COLUMNS))
        place = 0
        while place < count:
            # as long as nothing is in doubt one call goes through the samples
            first = place
            place = solve_near(
                self._model, self._scratch, drives, begins, first, self._max_iterations, self._tolerance,
                _MAX_CONDITION, self._branch, found.joint_positions, found.position, found.rotation,
                found.inverse_jacobian, report,
            )  # fmt: skip
            found.iterations[first:place] = report[first:place, ITERATIONS]
            if place == count:
                break
            try:
                one = self.solve(drives[place], None if begins[place] else found.at(place - 1))
                for values, value in zip(found, one, strict=True):
                    values[place] = value
            except KinematicsError as error:
                errors[place] = error
                begins[place + 1 : place + 2] = True
            place += 1
        return PoseSeries(found, begins, errors)

    def _from(self, drives: Array, start: tuple[Array, Array, Array], at_home: bool) -> ForwardKinematicsResult:
        return solve_from(
            self.machine, drives, start, self._branch, self._tolerance, self._max_iterations, _MAX_CONDITION, at_home
        )

    def _memory(self, count: int) -> FoundPose:
        """Room for N poses."""
        drives, joints = self._drives.shape[1], len(self.machine.model.kind)
        return FoundPose(
            np.zeros((count, 3)), np.zeros((count, 3, 3)), np.zeros((count, 6, drives)), np.zeros((count, joints)),
            np.zeros(count, dtype=np.intp),
        )  # fmt: skip

    def _next(self, drives: Array, found: FoundPose, last: FoundPose) -> bool:
        """Solve the second row of drives (2, A) from the last pose into the second row of ``found``."""
        found.position[0], found.rotation[0] = last.position, last.rotation
        found.joint_positions[0] = last.joint_positions
        reached = solve_near(
            self._model, self._scratch, drives, _FROM_FIRST, 1, self._max_iterations, self._tolerance, _MAX_CONDITION,
            self._branch, found.joint_positions, found.position, found.rotation, found.inverse_jacobian, self._report,
        )  # fmt: skip
        found.iterations[1] = self._report[1, ITERATIONS]
        return bool(reached == 2)
