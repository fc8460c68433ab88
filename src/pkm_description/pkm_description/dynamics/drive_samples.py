"""Samples of the drives' motion, one after the other, with the configuration that forward kinematics finds."""

from __future__ import annotations

from pkm_description.arrays import Array, packed
from pkm_description.errors import KinematicsError
from pkm_description.kinematics.arguments import of_samples, require_machine, require_platform
from pkm_description.kinematics.drive_map import require_drives
from pkm_description.kinematics.pose_solver import FoundPose, PoseSolver
from pkm_description.machine import Machine

#: joints (1, J), position (1, 3), rotation (1, 3, 3), rates and accelerations of the drives (1, A), for kernels
KnownSample = tuple[Array, Array, Array, Array, Array]


class DriveSamples:
    """Forward kinematics starts from the pose of the last sample, or from home where that is in any doubt.

    Parameters
    ----------
    machine : with a platform that the drives determine
    remedy : function for machines without a platform, for the message
    tolerance, max_iterations : of forward kinematics, m
    """

    def __init__(self, machine: Machine, remedy: str, tolerance: float, max_iterations: int) -> None:
        require_machine(machine)
        require_platform(machine, remedy)
        require_drives(machine)
        self._solver = PoseSolver(machine, tolerance, max_iterations)
        self._last: FoundPose | None = None
        self._count = machine.actuated_count

    def reset(self) -> None:
        """Let the next sample start from home, as the first one did."""
        self._last = None

    def next(self, positions: Array, velocities: Array, accelerations: Array) -> KnownSample:
        """Configuration, rates and accelerations of the next sample, from arrays (A,).

        Raises
        ------
        ShapeError
            Another number of values than drives.
        KinematicsError, SingularPoseError
            Drive positions without a trusted configuration.
        """
        positions = of_samples('positions', positions, 1, self._count)[0]
        velocities = of_samples('velocities', velocities, 1, self._count)
        accelerations = of_samples('accelerations', accelerations, 1, self._count)
        try:
            found = self._solver.solve(positions, self._last)
        except KinematicsError:
            self._last = None
            raise
        self._last = found
        return (
            found.joint_positions[None].copy(), found.position[None].copy(), found.rotation[None].copy(),
            packed(velocities), packed(accelerations),
        )  # fmt: skip
