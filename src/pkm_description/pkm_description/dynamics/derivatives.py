"""Jacobians of the inverse dynamics, by central differences: for excitation design and estimation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from pkm_description.arrays import Array
from pkm_description.dynamics.inverse import require_dynamics
from pkm_description.errors import KinematicsError
from pkm_description.kernels.dynamics import inverse_dynamics as kernels
from pkm_description.kinematics.arguments import holds_platform, run_kernel
from pkm_description.kinematics.drive_map import motion_from_drives
from pkm_description.kinematics.joint_motion import FROM_HOME, joint_motion, packed_motion
from pkm_description.kinematics.rotation import rotation_exp
from pkm_description.machine import Machine, PlatformMotion, Pose

#: what derivatives are taken by: positions of the drives, or the pose of the platform
Coordinates = Literal['drives', 'platform']

#: steps of positions, velocities and accelerations, in rad and its time derivatives, or platform radii and theirs. But
#: for friction forces are linear in accelerations and quadratic in velocities, where central differences are exact
_STEPS = np.array([1e-5, 1e-5, 1e-2])


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
    """Derivatives of :func:`pkm_description.dynamics.inverse_dynamics`, by central differences, to about 1e-8.

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
        Coordinates that are not those of the machine, or a state next to which the machine does not admit another.
    """
    wrench = require_dynamics(machine, motion)
    scale = _scale(machine, coordinates)
    count, step = len(scale), np.multiply.outer(_STEPS, scale).ravel()
    # each sample, and its neighbours in steps forwards and backwards of one coordinate each
    changes = np.concatenate([np.zeros((1, 3 * count)), np.diag(step), -np.diag(step)]).reshape(-1, 3, count)
    beside = _moved_drives if coordinates == 'drives' else _moved_platform
    states = beside(machine, motion, changes)
    forces = np.empty((len(states), machine.actuated_count))
    run_kernel(
        machine, kernels.inverse_dynamics, FROM_HOME, *packed_motion(states), bool(friction), float(sign_smoothing),
        wrench, forces, len(changes),
    )  # fmt: skip
    here, ahead, behind = np.split(forces.reshape(len(motion), len(changes), -1), [1, 1 + 3 * count], axis=1)
    slopes = np.swapaxes((ahead - behind) / (2.0 * step[:, None]), 1, 2)
    return InverseDynamicsDerivatives(here[:, 0], *np.split(slopes, 3, axis=2))


def _moved_drives(machine: Machine, motion: PlatformMotion, changes: Array) -> PlatformMotion:
    """States N S with S changes (S, 3, C) of positions, rates and accelerations of the drives, sample by sample."""
    joints, columns = joint_motion(machine, motion), machine.drive_columns
    values = np.stack([joints.positions, joints.velocities, joints.accelerations], axis=1)[:, None, :, columns]
    moved = (values + changes).reshape(-1, *changes.shape[1:])
    time, *pose = (
        np.repeat(one, len(changes), axis=0) for one in (motion.time, motion.position, motion.rotation_base_platform)
    )
    return motion_from_drives(machine, time, moved[:, 0], moved[:, 1], moved[:, 2], Pose(*pose))


def _moved_platform(machine: Machine, motion: PlatformMotion, changes: Array) -> PlatformMotion:
    """The same with changes of pose, twist and acceleration of the platform."""
    full = np.zeros((*changes.shape[:2], 6))
    full[..., machine.model.freedom] = changes

    def moved(values: Array, part: Array) -> Array:
        return (values[:, None] + part).reshape(-1, 3)

    return PlatformMotion(
        np.repeat(motion.time, len(changes)),
        moved(motion.position, full[:, 0, :3]),
        (rotation_exp(full[:, 0, 3:]) @ motion.rotation_base_platform[:, None]).reshape(-1, 3, 3),
        *(
            moved(values, part)
            for values, part in zip(
                (motion.linear_velocity, motion.angular_velocity, motion.linear_acceleration,
                 motion.angular_acceleration),
                (full[:, 1, :3], full[:, 1, 3:], full[:, 2, :3], full[:, 2, 3:]), strict=True,
            )
        ),
    )  # fmt: skip


def _scale(machine: Machine, coordinates: str) -> Array:
    """Check the coordinates of a machine; returns the size (C,) of a step of 1 of each: 1 rad, or a platform radius."""
    radius = float(machine.model.radius[0])
    if coordinates == 'drives':
        if machine.actuated_count != machine.degrees_of_freedom:
            raise KinematicsError(
                f'{machine.name} has {machine.actuated_count} drives for {machine.degrees_of_freedom} degrees of '
                "freedom: these are no coordinates; use coordinates='platform'"
            )
        return np.array([1.0 if joint.kind == 'revolute' else radius for joint in machine.actuated_joints])
    if coordinates != 'platform':
        raise ValueError(f"coordinates = {coordinates!r}: choose 'drives' or 'platform'")
    if holds_platform(machine):
        raise KinematicsError(
            f"{machine.name}: the legs hold the platform, its pose cannot change freely; use coordinates='drives'"
        )
    return np.repeat([radius, 1.0], 3)[machine.model.freedom]
