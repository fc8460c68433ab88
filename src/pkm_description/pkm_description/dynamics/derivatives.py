"""Jacobians of inverse and forward dynamics, exact: for control, excitation design and estimation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from pkm_description.arrays import Array, packed
from pkm_description.dynamics.forward import forward_dynamics
from pkm_description.dynamics.inverse import require_dynamics
from pkm_description.dynamics.open_chain import open_chain_forces
from pkm_description.errors import KinematicsError
from pkm_description.kernels.dynamics import derivatives as kernels
from pkm_description.kernels.model import constraint_row_count
from pkm_description.kinematics import drive_jacobian
from pkm_description.kinematics.arguments import (
    holds_platform,
    of_samples,
    poses,
    require_machine,
    require_platform,
    run_kernel,
)
from pkm_description.kinematics.joint_motion import FROM_HOME, packed_motion
from pkm_description.machine import Machine, PlatformMotion

#: what derivatives are taken by: positions of the drives, or the pose of the platform
Coordinates = Literal['drives', 'platform']


@dataclass(frozen=True)
class InverseDynamicsDerivatives:
    """Derivatives of the drive forces, N samples.

    Attributes
    ----------
    forces : (N, A) N or N m, of the drives
    by_position, by_velocity, by_acceleration : (N, A, C) by the coordinates and their time derivatives
    """

    forces: Array
    by_position: Array
    by_velocity: Array
    by_acceleration: Array


@dataclass(frozen=True)
class ForwardDynamicsDerivatives:
    """Derivatives of the accelerations of the coordinates under drive forces, N samples.

    Attributes
    ----------
    acceleration : (N, 6) of the platform, base axes
    by_position, by_velocity : (N, C, C) by the coordinates and their rates
    by_force : (N, C, A) by the drive forces
    """

    acceleration: Array
    by_position: Array
    by_velocity: Array
    by_force: Array


def inverse_dynamics_derivatives(
    machine: Machine,
    motion: PlatformMotion,
    coordinates: Coordinates = 'drives',
    friction: bool = True,
    sign_smoothing: float = 0.0,
    external_wrench: Array | None = None,
) -> InverseDynamicsDerivatives:
    """Derivatives of :func:`pkm_description.dynamics.inverse_dynamics`.

    The derivatives by the inertial parameters are the columns of ``rigid_body_regressor``, those by the linear friction
    parameters the columns of ``friction_regressor``.

    Parameters
    ----------
    coordinates : ``'drives'``: positions, rates and accelerations of the drives (N, A), of machines with one drive per
        degree of freedom; ``'platform'``: position and rotation vector (a turn ``exp(d theta) R``), twist and
        acceleration of the platform, base axes, of platforms that their legs do not hold; of planar machines x, y and
        the turn about z
    friction, sign_smoothing, external_wrench : as of the inverse dynamics. The sign of a velocity has the derivative 0,
        a smoothed one its own

    Raises
    ------
    KinematicsError
        Coordinates that are not those of the machine, or friction by loads that rigid bodies do not determine.
    """
    wrench = require_dynamics(machine, motion, external_wrench)
    count = _coordinate_count(machine, coordinates, friction)
    forces = np.empty((len(motion), machine.actuated_count))
    by_drives = np.zeros((len(motion), 3, machine.actuated_count, count))
    _differentiate(
        machine, motion, coordinates, friction, sign_smoothing, wrench, forces, False, by_drives,
        np.zeros((len(motion), 3, count, count)), np.zeros((0, 0, 0)),
    )  # fmt: skip
    return InverseDynamicsDerivatives(forces, by_drives[:, 0], by_drives[:, 1], by_drives[:, 2])


def forward_dynamics_derivatives(
    machine: Machine,
    position: Array,
    rotation_base_platform: Array,
    twist: Array,
    forces: Array,
    coordinates: Coordinates = 'drives',
    friction: bool = True,
    sign_smoothing: float = 0.0,
    external_wrench: Array | None = None,
) -> ForwardDynamicsDerivatives:
    """Derivatives of the accelerations of the coordinates under given drive forces.

    From those of the inverse dynamics f(x, v, a): ``da/dx = -M^-1 df/dx``, ``da/dv = -M^-1 df/dv``; the derivatives by
    parameters are ``-M^-1`` times the regressors.

    Parameters
    ----------
    position, rotation_base_platform, twist, forces : (N, 3), (N, 3, 3), (N, 6), (N, A), as of
        :func:`pkm_description.dynamics.forward_dynamics`; or one sample without the first axis, like the result then
    coordinates, friction, sign_smoothing, external_wrench : as of :func:`inverse_dynamics_derivatives`
    """
    require_machine(machine)
    require_platform(machine, 'open_chain_derivatives')
    position, rotation_base_platform, single = poses(position, rotation_base_platform)
    count, samples = _coordinate_count(machine, coordinates, friction), len(position)
    twist = of_samples('twist', twist, samples, 6)
    acceleration = forward_dynamics(
        machine, position, rotation_base_platform, twist, forces, friction, sign_smoothing, external_wrench
    )
    motion = PlatformMotion(
        np.zeros(samples), position, rotation_base_platform, twist[:, :3], twist[:, 3:], acceleration[:, :3],
        acceleration[:, 3:],
    )  # fmt: skip
    wrench = require_dynamics(machine, motion, external_wrench)
    found, effect = np.zeros((samples, 3, count, count)), _effect_of_forces(machine, motion, coordinates, count)
    given = packed(of_samples('forces', forces, samples, machine.actuated_count))
    _differentiate(
        machine, motion, coordinates, friction, sign_smoothing, wrench, given, True, np.zeros((0, 3, 0, 0)), found,
        effect,
    )  # fmt: skip
    solved = np.linalg.solve(found[:, 2], np.concatenate([-found[:, 0], -found[:, 1], effect], axis=-1))
    result = acceleration, *np.split(solved, [count, 2 * count], axis=-1)
    return ForwardDynamicsDerivatives(*(one[0] for one in result) if single else result)


def open_chain_derivatives(
    machine: Machine, positions: Array, velocities: Array, accelerations: Array, friction: bool = True,
    sign_smoothing: float = 0.0,
) -> InverseDynamicsDerivatives:  # fmt: skip
    """Derivatives of :func:`pkm_description.dynamics.open_chain.open_chain_forces`; the coordinates are the J joints.

    Parameters
    ----------
    positions, velocities, accelerations : (N, J)
    friction, sign_smoothing : as of :func:`inverse_dynamics_derivatives`
    """
    forces = open_chain_forces(machine, positions, velocities, accelerations, friction, sign_smoothing)
    found = np.zeros((len(forces), 3, forces.shape[1], forces.shape[1]))
    run_kernel(
        machine, kernels.open_chain_derivatives, packed(positions), packed(velocities), packed(accelerations),
        bool(friction), float(sign_smoothing), found,
    )  # fmt: skip
    return InverseDynamicsDerivatives(forces, found[:, 0], found[:, 1], found[:, 2])


def _coordinate_count(machine: Machine, coordinates: str, friction: bool) -> int:
    """Check the coordinates of a machine; returns how many there are."""
    freedoms = int(machine.model.degrees_of_freedom[0])
    _require_known_loads(machine, friction)
    if coordinates == 'drives':
        if machine.actuated_count != freedoms:
            raise KinematicsError(
                f'{machine.name} has {machine.actuated_count} drives for {freedoms} degrees of freedom: these are no '
                "coordinates; use coordinates='platform'"
            )
        return freedoms
    if coordinates != 'platform':
        raise ValueError(f"coordinates = {coordinates!r}: choose 'drives' or 'platform'")
    if holds_platform(machine):
        raise KinematicsError(
            f"{machine.name}: the legs hold the platform, its pose cannot change freely; use coordinates='drives'"
        )
    return freedoms


def _require_known_loads(machine: Machine, friction: bool) -> None:
    """Loads must follow from the motion alone: nothing may be held twice."""
    if not (friction and machine.model.friction_loads[0]):
        return
    if constraint_row_count(machine.model) > 6 - machine.degrees_of_freedom:
        raise KinematicsError(
            f'{machine.name}: friction depends on forces in the joints, and the legs hold the platform more than once, '
            'so that rigid bodies do not determine these forces; their derivatives are not known, use friction=False'
        )


def _differentiate(
    machine: Machine, motion: PlatformMotion, coordinates: str, friction: bool, smoothing: float, wrench: Array,
    forces: Array, given: bool, by_drives: Array, by_coordinates: Array, effect: Array,
) -> None:  # fmt: skip
    run_kernel(
        machine, kernels.derivatives, FROM_HOME, *packed_motion(motion), bool(friction), float(smoothing), wrench,
        kernels.DRIVES if coordinates == 'drives' else kernels.PLATFORM, forces, given, by_drives, by_coordinates,
        effect,
    )  # fmt: skip


def _effect_of_forces(machine: Machine, motion: PlatformMotion, coordinates: str, count: int) -> Array:
    """Forces on the coordinates per force of the drives, (N, C, A)."""
    if coordinates == 'drives':
        return np.repeat(np.eye(count)[None], len(motion), axis=0)
    jacobian = drive_jacobian(machine, motion.position, motion.rotation_base_platform)
    return np.swapaxes(jacobian[..., machine.model.freedom], 1, 2).copy()
