"""Rigid-body regressor: drive forces as a linear function of inertial parameters; also at the rate of a controller."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from pkm_description.arrays import Array, packed
from pkm_description.dynamics.body_blocks import Groups, body_blocks
from pkm_description.errors import KinematicsError
from pkm_description.kernels.dynamics.regressor import drive_dynamics, drive_regressor, observations
from pkm_description.kinematics.arguments import (
    NO_WRENCH,
    of_samples,
    packed_wrench,
    require_drives,
    require_machine,
    require_machine_and_motion,
    require_platform,
    run_kernel,
)
from pkm_description.kinematics.joint_motion import packed_motion, start_of
from pkm_description.kinematics.pose_solver import FoundPose, PoseSolver
from pkm_description.machine import Machine, PlatformMotion

#: bytes of the regressor that :func:`regressor_parts` builds at once
_PART = 32_000_000


def rigid_body_regressor(
    machine: Machine,
    motion: PlatformMotion,
    identical_legs: bool = True,
    groups: Groups | None = None,
    start: Array | None = None,
) -> Array:
    """Regressor (N, A, P): drive forces without friction and rotors = regressor @ ``rigid_body_parameters``.

    Newton-Euler wrenches of every body, taken to the drives by virtual power (Heimann & Abdellatif, Eq. 1). Bodies
    that share parameters are summed on the way, so that the separate columns are never built. Long recordings do not
    fit into memory as one regressor: :func:`regressor_parts`.

    Parameters
    ----------
    motion : N samples
    identical_legs : as in :func:`pkm_description.dynamics.rigid_body_parameters`
    groups : bodies that share parameters instead, see :func:`pkm_description.dynamics.sharing_matrix`; the columns are
        those of its ``names``
    start : see :func:`pkm_description.kinematics.joint_positions`

    Raises
    ------
    SingularPoseError
        Where the drives do not determine the platform's motion, or a leg's angles are undefined; names the
        sample.
    """
    require_machine_and_motion(machine, motion)
    require_platform(machine, 'open_chain_regressor')
    require_drives(machine)
    block, count = body_blocks(machine, identical_legs, groups)
    result = np.empty((len(motion), machine.actuated_count, 10 * count))
    run_kernel(machine, observations, start_of(machine, start), *packed_motion(motion), block, result)
    return result


def regressor_parts(
    machine: Machine, motion: PlatformMotion, identical_legs: bool = True, groups: Groups | None = None
) -> Iterator[tuple[slice, Array]]:
    """Regressors of a long motion, part by part, in little memory: to sum up normal equations, or a QR.

    Parameters as :func:`rigid_body_regressor`; an error counts samples within the part.

    Yields
    ------
    samples : slice of the motion
    regressor : (n, A, P) of these samples
    """
    require_machine_and_motion(machine, motion)
    _, count = body_blocks(machine, identical_legs, groups)
    step = max(1, _PART // (8 * machine.actuated_count * 10 * count))
    parts = (slice(first, min(first + step, len(motion))) for first in range(0, len(motion), step))
    return ((part, rigid_body_regressor(machine, motion[part], identical_legs, groups)) for part in parts)


#: joints (1, J), position (1, 3), rotation (1, 3, 3), rates and accelerations of the drives (1, A), for kernels
KnownSample = tuple[Array, Array, Array, Array, Array]


class DriveDynamics:
    """Inverse dynamics of one sample after the other: forward kinematics starts from the pose of the last sample.

    Where the pose is in any doubt, at the first sample or after a jump, it is sought from home. One object for one
    thread; several do not influence each other.

    Parameters
    ----------
    machine : with a platform that the drives determine
    """

    def __init__(self, machine: Machine) -> None:
        require_machine(machine)
        require_platform(machine, 'the functions of dynamics.open_chain')
        require_drives(machine)
        self.machine = machine
        self._solver = PoseSolver(machine, 1e-12, 20)
        self._last: FoundPose | None = None

    def reset(self) -> None:
        """Let the next sample start from home, as the first one did."""
        self._last = None

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
        return self._forces(self._next(positions, velocities, accelerations), packed_wrench(external_wrench, 1))

    def _forces(self, sample: KnownSample, wrench: Array = NO_WRENCH) -> Array:
        forces = np.empty((1, self.machine.actuated_count))
        run_kernel(self.machine, drive_dynamics, *sample, True, 0.0, wrench, forces)
        return np.asarray(forces[0])

    def _next(self, positions: Array, velocities: Array, accelerations: Array) -> KnownSample:
        """Configuration, rates and accelerations of the next sample, from arrays (A,)."""
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
        return (
            found.joint_positions[None].copy(), found.position[None].copy(), found.rotation[None].copy(),
            packed(velocities), packed(accelerations),
        )  # fmt: skip


class DriveRows(NamedTuple):
    """Drive forces of one sample and how they depend on parameters.

    Attributes
    ----------
    forces : (A,) N, N m of the machine's own parameters, with rotors and all friction
    bodies : (A, P) by the inertial parameters, in the order of ``rigid_body_parameters``
    friction : (A, F) by the linear friction parameters of the drives, in the order of their laws
    """

    forces: Array
    bodies: Array
    friction: Array


class DriveRegressor(DriveDynamics):
    """Regressors of one sample after the other, as :class:`DriveDynamics` has the forces.

    Parameters
    ----------
    machine : as of :class:`DriveDynamics`
    identical_legs : as in :func:`pkm_description.dynamics.rigid_body_parameters`
    """

    def __init__(self, machine: Machine, identical_legs: bool = True) -> None:
        super().__init__(machine)
        self._block, blocks = body_blocks(machine, identical_legs, None)
        count = machine.actuated_count
        self._bodies, self._columns = np.zeros((1, count, 10 * blocks)), np.zeros((1, count, 4 * count))
        self._used = np.concatenate(
            [
                4 * place + np.arange(len(joint.friction.law.linear_parameter_names))
                for place, joint in enumerate(machine.actuated_joints)
            ]
        )

    def rows(
        self, positions: Array, velocities: Array, accelerations: Array, force_accelerations: Array | None = None
    ) -> DriveRows:
        """Forces and regressors of positions, velocities and accelerations (A,) of the drives.

        Parameters
        ----------
        force_accelerations : (A,) for the forces, where these are not to follow ``accelerations``

        Raises
        ------
        ShapeError
            Another number of values than drives.
        KinematicsError, SingularPoseError
            Drive positions without a trusted configuration, or numbers that are not finite.
        """
        sample = self._next(positions, velocities, accelerations)
        forces = np.empty((1, self.machine.actuated_count))
        run_kernel(
            self.machine, drive_regressor, *sample, NO_WRENCH, self._block, forces, self._bodies, self._columns
        )
        if force_accelerations is not None:
            forces[0] = self._forces((*sample[:-1], packed(force_accelerations[None])))
        return DriveRows(forces[0], self._bodies[0].copy(), self._columns[0][:, self._used])
