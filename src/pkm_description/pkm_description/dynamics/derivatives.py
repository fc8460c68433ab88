"""Jacobians of the inverse dynamics, exact: for excitation design and estimation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from pkm_description.arrays import Array
from pkm_description.dynamics.inverse import require_dynamics
from pkm_description.errors import KinematicsError
from pkm_description.kernels.dynamics import derivatives as kernels
from pkm_description.kernels.model import constraint_row_count
from pkm_description.kinematics.arguments import holds_platform, run_kernel
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


def inverse_dynamics_derivatives(
    machine: Machine,
    motion: PlatformMotion,
    coordinates: Coordinates = 'drives',
    friction: bool = True,
    sign_smoothing: float = 0.0,
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
    friction, sign_smoothing : as of the inverse dynamics. The sign of a velocity has the derivative 0,
        a smoothed one its own

    Raises
    ------
    KinematicsError
        Coordinates that are not those of the machine, or friction by loads that rigid bodies do not determine.
    """
    wrench = require_dynamics(machine, motion)
    count = _coordinate_count(machine, coordinates, friction)
    forces = np.empty((len(motion), machine.actuated_count))
    by_drives = np.zeros((len(motion), 3, machine.actuated_count, count))
    run_kernel(
        machine, kernels.derivatives, FROM_HOME, *packed_motion(motion), bool(friction), float(sign_smoothing), wrench,
        kernels.DRIVES if coordinates == 'drives' else kernels.PLATFORM, forces, by_drives,
    )  # fmt: skip
    return InverseDynamicsDerivatives(forces, by_drives[:, 0], by_drives[:, 1], by_drives[:, 2])


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
