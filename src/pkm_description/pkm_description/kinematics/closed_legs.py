"""Legs closed onto poses of the platform: their joints, and how the joints move with the platform."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pkm_description.arrays import Array, packed
from pkm_description.kernels.joint_motion import bodies_of_joints, maps_of_poses, regularities_of_legs
from pkm_description.kernels.model import Integers, constraint_row_count
from pkm_description.kinematics.failures import require_ok
from pkm_description.kinematics.joint_motion import require_legs
from pkm_description.machine import Machine


@dataclass(frozen=True)
class ClosedLegs:
    """Legs closed onto N poses of the platform.

    Attributes
    ----------
    machine : whose legs they are
    position, rotation_base_platform : (N, 3) m, (N, 3, 3)
    positions : (N, J) rad, m, of all joints
    joint_map : (N, J, 6), joint rates = ``joint_map @ [velocity of the platform origin, angular velocity]``
    constraints : (N, K, 6), rows with ``constraints @ twist = 0``: of the legs, then of a plane; rows may repeat others
    admitted : (N, 6, D), columns: the twists that legs and plane admit, an orthonormal basis if lengths are measured in
        platform radii; NaN where there are more or fewer than at home
    """

    machine: Machine
    position: Array
    rotation_base_platform: Array
    positions: Array
    joint_map: Array
    constraints: Array
    admitted: Array

    @property
    def drive_map(self) -> Array:
        """Rates of the drives from the platform's twist, (N, A, 6): the driven joints' rows of the joint map."""
        return self.joint_map[:, self.machine.drive_columns]

    def body_poses(self) -> tuple[Array, Array]:
        """Poses of the J leg bodies, see :func:`body_poses`."""
        return body_poses(self.machine, self.positions)


def close_legs(
    machine: Machine, position: Array, rotation_base_platform: Array, positions: Array | None = None
) -> ClosedLegs:
    """Close all legs onto platform poses (N, 3) m, (N, 3, 3).

    ``positions`` (N, J) are joint positions that are known to close the legs there; they are not solved again.

    Raises
    ------
    SingularPoseError, AssemblyModeError, KinematicsError
        As :func:`pkm_description.kinematics.joint_motion`.
    """
    require_legs(machine)
    data, scratch = machine.scratch
    count, joints = len(position), len(data.joints)
    known = np.zeros((0, joints)) if positions is None else packed(positions).reshape(count, joints)
    found = np.empty((count, joints))
    joint_map = np.empty((count, joints, 6))
    constraints = np.empty((count, constraint_row_count(machine.model), 6))
    admitted = np.empty((count, 6, int(machine.model.degrees_of_freedom[0])))
    status = maps_of_poses(
        machine.compiled_model, scratch, known, packed(position), packed(rotation_base_platform), found, joint_map,
        constraints, admitted,
    )  # fmt: skip
    if status < 0:
        require_ok(machine, status, data.detail)
    return ClosedLegs(machine, position, rotation_base_platform, found, joint_map, constraints, admitted)


def body_poses(machine: Machine, positions: Array) -> tuple[Array, Array]:
    """Poses of the J leg bodies at joint positions (N, J), of open chains too.

    Returns
    -------
    rotations : (N, J, 3, 3), link axes to base axes
    origins : (N, J, 3) m, of the link frames
    """
    positions = packed(positions)
    rotations, origins = np.empty((*positions.shape, 3, 3)), np.empty((*positions.shape, 3))
    bodies_of_joints(machine.compiled_model, machine.scratch[1], positions, rotations, origins)
    return rotations, origins


def leg_regularity(machine: Machine, position: Array, rotation_base_platform: Array, positions: Array) -> Array:
    """How far the legs are from stretched or folded: volume of their unit joint directions (N, L), 0 .. 1.

    Parameters
    ----------
    positions : (N, J), joint positions that close the legs onto the poses (N, 3) m, (N, 3, 3)
    """
    regularity = np.empty((len(position), machine.leg_count))
    regularities_of_legs(
        machine.compiled_model, machine.scratch[1], packed(positions), packed(position), packed(rotation_base_platform),
        regularity,
    )  # fmt: skip
    return regularity


def closing_points(machine: Machine, positions: Array, position: Array, rotation: Array) -> tuple[Array, Array]:
    """Points (N, C, 3) m of all closures on their own body and on the other one, base axes.

    Parameters
    ----------
    positions : (N, J) of the joints
    position, rotation : (N, 3) m, (N, 3, 3) of the platform
    """
    rotations, origins = body_poses(machine, positions)
    base = np.broadcast_to(np.eye(3), rotation.shape)
    rotations = np.concatenate([rotations, rotation[:, None], base[:, None]], axis=1)
    origins = np.concatenate([origins, position[:, None], np.zeros((len(position), 1, 3))], axis=1)
    model = machine.model

    def points(bodies: Integers, local: Array) -> Array:
        return origins[:, bodies] + (rotations[:, bodies] @ local[..., None])[..., 0]

    own = points(model.closure_body, model.closure_point)
    return own, points(model.closure_other, model.closure_other_point)


def platform_joints(machine: Machine, position: Array, rotation_base_platform: Array) -> Array:
    """Centres (..., P, 3) m, base axes, of all closures on the platform, leg by leg, at poses (..., 3), (..., 3, 3)."""
    points = np.array([closure.other_point for leg in machine.legs for closure in leg.platform_closures])
    return position[..., None, :] + points @ np.swapaxes(rotation_base_platform, -1, -2)


def mean_leg_length(machine: Machine) -> float:
    """Mean distance [m] between the platform joints at home and the first joints of their legs."""
    home = machine.home
    bases = np.array([leg.base_point for leg in machine.legs for _ in leg.platform_closures])
    ends = platform_joints(machine, home.position, home.rotation_base_platform)
    return float(np.linalg.norm(ends - bases, axis=1).mean())
