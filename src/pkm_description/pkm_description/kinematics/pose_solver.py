"""Poses from measured drive positions: sample by sample from the last one, or whole recordings at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pkm_description.arrays import Array, packed
from pkm_description.errors import KinematicsError, SingularPoseError
from pkm_description.kernels.forward_kinematics.continuation import REPORT_COLUMNS
from pkm_description.kernels.forward_kinematics.forward_samples import solve_near
from pkm_description.kinematics.arguments import require_machine
from pkm_description.kinematics.forward import ForwardKinematicsResult, checked_drives, home_branch, solve_from, starts
from pkm_description.machine import Machine

#: condition number beyond which the drives count as not holding the platform
_MAX_CONDITION = 1e4

#: part of the platform's radius by which measured positions of redundant drives may contradict each other
_CONTRADICTION = 0.05

#: one sample that follows from the last one
_GO_ON = np.zeros(1, dtype=bool)


def measured_tolerance(machine: Machine, tolerance: float = 1e-12) -> float:
    """Gap of a leg [m] that forward kinematics of measured drive positions may leave.

    Noise, zeros and geometry make positions of redundant drives contradict each other; the pose that fits them best is
    taken, unless they are so far off that it means nothing. Other drives are met within ``tolerance``.
    """
    require_machine(machine)
    return max(tolerance, _CONTRADICTION * float(machine.model.radius[0])) if machine.is_redundant else tolerance


class FoundPose:
    """A pose, or N of them along a leading axis.

    Parameters
    ----------
    values : (S,) or (N, S), as :func:`.forward_samples.solve_near` writes them
    drives : number of drives A
    """

    __slots__ = ('_drives', 'values')

    def __init__(self, values: Array, drives: int) -> None:
        self.values, self._drives = values, drives

    @property
    def position(self) -> Array:
        """Position (3,) m."""
        return self.values[..., :3]

    @property
    def rotation(self) -> Array:
        """Rotation (3, 3) of the platform."""
        return self.values[..., 3:12].reshape(*self.values.shape[:-1], 3, 3)

    @property
    def joint_positions(self) -> Array:
        """Positions (J,) of all joints, rad or m."""
        return self.values[..., 12 : -1 - 6 * self._drives]

    @property
    def inverse_jacobian(self) -> Array:
        """Twist [velocity, angular velocity], base axes, per rate of the drives, (6, A)."""
        return self.values[..., -1 - 6 * self._drives : -1].reshape(*self.values.shape[:-1], 6, self._drives)

    @property
    def iterations(self) -> NDArray[np.intp]:
        """Steps taken ()."""
        return np.asarray(self.values[..., -1], dtype=np.intp)

    def at(self, chosen: int | NDArray[np.bool_]) -> FoundPose:
        """One or some of N poses."""
        return FoundPose(self.values[chosen], self._drives)


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
    tolerance, max_iterations : of the iterations, m; what is found is one step better. Redundant drives may contradict
        each other by more, see :func:`measured_tolerance`
    """

    def __init__(self, machine: Machine, tolerance: float, max_iterations: int) -> None:
        self.machine = machine
        tolerance = measured_tolerance(machine, tolerance)
        self._tolerance, self._max_iterations = tolerance, max_iterations
        self._drives = machine.actuated_count
        self._width = 13 + len(machine.model.kind) + 6 * self._drives
        self._model, self._scratch, self._branch = machine.compiled_model, machine.scratch[1], home_branch(machine)
        self._options = np.array([tolerance, max_iterations, _MAX_CONDITION])
        self._report = np.zeros((1, REPORT_COLUMNS))
        self._wanted = np.empty((1, self._drives))

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
        wanted, found = self._wanted, np.empty((1, self._width))
        wanted[0] = drive_positions
        if last is not None and self._go_on(wanted, _GO_ON, 0, last.values[None], found) == 1:
            return FoundPose(found[0], self._drives)
        result = self.search(drive_positions, last)
        rotation = result.rotation_base_platform.reshape(1, 9)
        there = np.concatenate([result.position, rotation, result.joint_positions], axis=1)
        if self._go_on(wanted, _GO_ON, 0, there, found) != 1:
            raise SingularPoseError(f'condition number {result.condition[0]:.3g}: the drives do not hold the platform')
        found[0, -1] = result.iterations[0]
        return FoundPose(found[0], self._drives)

    def series(self, drive_positions: Array, begins: NDArray[np.bool_]) -> PoseSeries:
        """What :meth:`solve` finds for positions (N, A), each from the pose before unless ``begins`` (N,)."""
        drives = packed(drive_positions)
        count, begins = len(drives), begins.copy()
        begins[:1] = True
        found, errors = np.zeros((count, self._width)), dict[int, KinematicsError]()
        place = 0
        while place < count:
            # as long as nothing is in doubt one call goes through the samples
            last = max(place - 1, 0)
            place = self._go_on(drives, begins, place, found[last : last + 1], found)
            if place == count:
                break
            try:
                near = None if begins[place] else FoundPose(found[place - 1], self._drives)
                found[place] = self.solve(drives[place], near).values
            except KinematicsError as error:
                errors[place] = error
                begins[place + 1 : place + 2] = True
            place += 1
        return PoseSeries(FoundPose(found, self._drives), begins, errors)

    def _go_on(self, drives: Array, begins: NDArray[np.bool_], first: int, last: Array, found: Array) -> int:
        """Sample up to which each pose follows from the one before."""
        return solve_near(
            self._model, self._scratch, drives, begins, first, last, self._options, self._branch, found, self._report
        )

    def _from(self, drives: Array, start: tuple[Array, Array, Array], at_home: bool) -> ForwardKinematicsResult:
        return solve_from(
            self.machine, drives, start, self._branch, self._tolerance, self._max_iterations, _MAX_CONDITION, at_home
        )
