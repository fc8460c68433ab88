"""Drive forces at the rate of a controller, from measured or wanted motions of the drives."""

from __future__ import annotations

import numpy as np

from pkm_description.arrays import Array
from pkm_description.dynamics.drive_samples import DriveSamples
from pkm_description.dynamics.inverse import packed_wrench
from pkm_description.kernels.drive_dynamics import drive_dynamics
from pkm_description.kinematics.failures import require_ok
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
        self.machine = machine
        self._samples = DriveSamples(machine, 'open_chain_forces', tolerance, max_iterations)
        self._friction, self._smoothing = bool(friction), float(sign_smoothing)

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
        sample = self._samples.next(positions, velocities, accelerations)
        forces = np.empty((1, self.machine.actuated_count))
        status = drive_dynamics(
            self.machine.compiled_model, self.machine.scratch[1], *sample, self._friction, self._smoothing,
            packed_wrench(external_wrench, 1), forces,
        )  # fmt: skip
        require_ok(self.machine, status, self.machine.scratch[0].detail)
        result: Array = forces[0]
        return result
