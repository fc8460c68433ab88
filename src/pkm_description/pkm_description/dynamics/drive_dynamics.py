"""Drive forces at the rate of a controller, from measured or wanted motions of the drives."""

from __future__ import annotations

import numpy as np

from pkm_description.arrays import Array
from pkm_description.dynamics.inverse import packed_wrench
from pkm_description.kernels.continuation import REPORT_COLUMNS
from pkm_description.kernels.drive_dynamics import drive_dynamics
from pkm_description.kernels.status import NOT_CONVERGED
from pkm_description.kinematics.arguments import require_machine, require_platform
from pkm_description.kinematics.drive_map import require_drives
from pkm_description.kinematics.failures import require_ok
from pkm_description.kinematics.forward_start import home_branch
from pkm_description.kinematics.pose_solver import FoundPose, PoseSolver
from pkm_description.machine import Machine

#: of two samples the second one follows the first
_FROM_FIRST = np.array([True, False])

#: condition number beyond which the drives count as not holding the platform
_MAX_CONDITION = 1e4


class DriveDynamics:
    """Inverse dynamics of one sample after the other: forward kinematics starts from the pose of the last sample.

    Where the pose is in any doubt, at the first sample or after a jump, it is sought from home. One object for one
    thread; several do not influence each other.

    Parameters
    ----------
    machine : with a platform that the drives determine
    friction, sign_smoothing : as of :func:`pkm_description.dynamics.inverse_dynamics`
    tolerance, max_iterations : of forward kinematics, m
    """

    def __init__(
        self, machine: Machine, friction: bool = True, sign_smoothing: float = 0.0, tolerance: float = 1e-12,
        max_iterations: int = 20,
    ) -> None:  # fmt: skip
        require_machine(machine)
        require_platform(machine, 'open_chain_forces')
        require_drives(machine)
        self.machine = machine
        self._friction, self._smoothing = bool(friction), float(sign_smoothing)
        self._tolerance, self._max_iterations = tolerance, max_iterations
        self._solver = PoseSolver(machine, tolerance, max_iterations)
        self._branch = home_branch(machine)
        drives, joints = machine.actuated_count, len(machine.joints)
        self._motion = np.zeros((3, 2, drives))
        self._joints, self._position, self._rotation = np.zeros((2, joints)), np.zeros((2, 3)), np.zeros((2, 3, 3))
        self._inverse, self._report = np.zeros((2, 6, drives)), np.zeros((2, REPORT_COLUMNS))
        self._begun = False

    def forces(
        self, positions: Array, velocities: Array, accelerations: Array, external_wrench: Array | None = None
    ) -> Array:
        """Drive forces (A,) N, N m of positions, velocities and accelerations (A,) of the drives.

        Raises
        ------
        KinematicsError, SingularPoseError
            Drive positions without a trusted configuration, or numbers that are not finite.
        """
        motion = self._motion
        motion[0, 1], motion[1, 1], motion[2, 1] = positions, velocities, accelerations
        wrench = packed_wrench(external_wrench, 1)
        forces = np.empty((1, motion.shape[2]))
        status = self._solve(wrench, forces) if self._begun else NOT_CONVERGED
        if status == NOT_CONVERGED:
            self._take(FoundPose.of_result(self._solver.search(motion[0, 1], None)))
            status = self._solve(wrench, forces)
        if status < 0:
            self._begun = False
            require_ok(self.machine, status, self.machine.scratch[0].detail)
        self._joints[0], self._position[0], self._rotation[0] = self._joints[1], self._position[1], self._rotation[1]
        result: Array = forces[0]
        return result

    def _take(self, found: FoundPose) -> None:
        """Let the next sample start from a pose."""
        self._joints[0], self._position[0], self._rotation[0] = found.joint_positions, found.position, found.rotation
        self._begun = True

    def _solve(self, wrench: Array, forces: Array) -> int:
        status: int = drive_dynamics(
            self.machine.compiled_model, self.machine.scratch[1], _FROM_FIRST, self._max_iterations, self._tolerance,
            _MAX_CONDITION, self._branch, self._joints, self._position, self._rotation, self._inverse, self._report,
            self._motion, self._friction, self._smoothing, wrench, forces,
        )  # fmt: skip
        return status
