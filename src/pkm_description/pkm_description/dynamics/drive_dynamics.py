"""Drive forces at the rate of a controller, from measured or wanted motions of the drives."""

from __future__ import annotations

import numpy as np

from pkm_description.arrays import Array, packed
from pkm_description.dynamics.inverse import packed_wrench
from pkm_description.errors import KinematicsError
from pkm_description.kernels.drive_dynamics import drive_dynamics
from pkm_description.kinematics.arguments import of_samples, require_machine, require_platform
from pkm_description.kinematics.drive_map import require_drives
from pkm_description.kinematics.failures import require_ok
from pkm_description.kinematics.pose_solver import FoundPose, PoseSolver
from pkm_description.machine import Machine


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
        self._solver = PoseSolver(machine, tolerance, max_iterations)
        self._last: FoundPose | None = None

    def forces(
        self, positions: Array, velocities: Array, accelerations: Array, external_wrench: Array | None = None
    ) -> Array:
        """Drive forces (A,) N, N m of positions, velocities and accelerations (A,) of the drives.

        Raises
        ------
        ShapeError
            Another number of values than drives.
        KinematicsError, SingularPoseError
            Drive positions without a trusted configuration, or numbers that are not finite.
        """
        count = self.machine.actuated_count
        positions = of_samples('positions', positions, 1, count)[0]
        velocities = of_samples('velocities', velocities, 1, count)
        accelerations = of_samples('accelerations', accelerations, 1, count)
        try:
            found = self._solver.solve(positions, self._last)
        except KinematicsError:
            self._last = None
            raise
        self._last = found
        forces = np.empty((1, count))
        status = drive_dynamics(
            self.machine.compiled_model, self.machine.scratch[1], found.joint_positions[None].copy(),
            found.position[None].copy(), found.rotation[None].copy(), packed(velocities), packed(accelerations),
            self._friction, self._smoothing, packed_wrench(external_wrench, 1), forces,
        )  # fmt: skip
        require_ok(self.machine, status, self.machine.scratch[0].detail)
        result: Array = forces[0]
        return result
