"""Motion of the platform per motion of the drives: twist, and how well the drives determine it."""

from __future__ import annotations

from math import prod

import numpy as np

from pkm_description.arrays import Array, packed
from pkm_description.errors import ShapeError
from pkm_description.kernels.kinematics.drive_motion import motions_of_drives, twist_maps
from pkm_description.kinematics.arguments import (
    columns,
    numbers,
    of_samples,
    require_drives,
    require_machine,
    run_kernel,
)
from pkm_description.kinematics.closed_legs import ClosedLegs
from pkm_description.kinematics.forward import ForwardKinematicsResult, Start, forward_kinematics
from pkm_description.machine import Machine, PlatformMotion


def twist_per_drive(legs: ClosedLegs) -> Array:
    """Platform twist per rate of the drives (N, 6, A); of redundant drives what comes nearest to all rates.

    Raises
    ------
    SingularPoseError
        Naming the sample where the drives do not determine the platform's motion.
    KinematicsError
        If the machine has fewer drives than degrees of freedom.
    """
    machine = legs.machine
    require_drives(machine)
    twists = np.empty((len(legs.positions), 6, machine.actuated_count))
    run_kernel(
        machine, twist_maps, packed(legs.positions), packed(legs.position), packed(legs.rotation_base_platform), twists
    )
    return twists


def overall_jacobian(legs: ClosedLegs) -> Array:
    """Rows of the driven joints, then those of the constraints, (N, A + K, 6) (Joshi & Tsai 2002)."""
    return np.concatenate([legs.drive_map, legs.constraints], axis=1)


def reduced_jacobian(legs: ClosedLegs) -> Array:
    """Rates of the drives per admitted twist, (N, A, D), turns measured in platform radii; NaN as ``legs.admitted``."""
    return np.asarray(legs.drive_map @ legs.admitted)


def scaled_condition(legs: ClosedLegs) -> Array:
    """Condition number (N,) of :func:`overall_jacobian`, turns measured in platform radii, so free of units.

    Of planar machines without the plane's rows. Infinite where the drives do not determine the motion.
    """
    machine = legs.machine
    matrix = overall_jacobian(legs) / np.repeat([1.0, machine.model.radius[0]], 3)
    if machine.planar:
        matrix = matrix[:, :-3, [0, 1, 5]]
    values = np.linalg.svd(matrix, compute_uv=False)
    if values.shape[1] < matrix.shape[2]:
        return np.full(len(matrix), np.inf)
    with np.errstate(divide='ignore'):
        return np.asarray(values[:, 0] / values[:, -1])


def branch_signs(legs: ClosedLegs) -> Array:
    """Signs (N,) that change where a path, samples in order, passes a pose at which the drives lose the platform.

    The determinant of :func:`reduced_jacobian`, on a basis of admitted twists that is carried along the path; with
    more drives than degrees of freedom such poses are not passed, but met, and all signs are 1. NaN as
    ``legs.admitted``.
    """
    machine = legs.machine
    if machine.actuated_count != legs.admitted.shape[2]:
        return np.where(np.isnan(legs.admitted).any(axis=(1, 2)), np.nan, 1.0)
    size = np.repeat([1.0, machine.model.radius[0]], 3)[:, None]
    basis = legs.admitted * size
    carried = np.linalg.det(np.swapaxes(basis[:-1], 1, 2) @ basis[1:])
    turns = np.concatenate([[1.0], np.cumprod(np.sign(carried))])
    return np.asarray(np.sign(np.linalg.det(reduced_jacobian(legs))) * turns)


def motion_from_drives(
    machine: Machine,
    time: Array,
    positions: Array,
    velocities: Array,
    accelerations: Array,
    initial: Start | None = None,
    max_condition: float = 1e4,
) -> PlatformMotion:
    """Platform motion of given drive motions, exact on the constraints of legs and plane.

    Velocities by the inverse of the drives' and constraints' Jacobian, accelerations with its analytic time derivative.

    Parameters
    ----------
    time : (N,) s
    positions, velocities, accelerations : (N, A) of the driven joints, m or rad and time derivatives; of machines with
        more drives than degrees of freedom they must fit together
    initial, max_condition : see :func:`pkm_description.kinematics.forward_kinematics`

    Raises
    ------
    SingularPoseError, ConvergenceError, AssemblyModeError
        Where the drives do not give a configuration on the home branch; names the sample.
    ShapeError
        Arrays of other shapes, or of different numbers of samples.
    """
    require_machine(machine)
    count = machine.actuated_count
    positions = columns('positions', positions, count, 'drive')
    samples = len(positions)
    time = numbers('time', time, f'({samples},)')
    if time.shape != (samples,):
        raise ShapeError('time', f'({samples},), one per row of the positions', time.shape)
    velocities = of_samples('velocities', velocities, samples, count)
    accelerations = of_samples('accelerations', accelerations, samples, count)
    closed = forward_kinematics(machine, positions, initial, max_condition=max_condition).require()
    return motion_of_configurations(machine, time, closed, velocities, accelerations)


def motion_of_configurations(
    machine: Machine, time: Array, closed: ForwardKinematicsResult, velocities: Array, accelerations: Array
) -> PlatformMotion:
    """Platform motion of configurations that forward kinematics found already, see :func:`motion_from_drives`.

    Parameters
    ----------
    time : (N,) s
    closed : N configurations, all of them trusted
    velocities, accelerations : (N, A) of the driven joints
    """
    require_drives(machine)
    position, rotation = packed(closed.position), packed(closed.rotation_base_platform)
    joints = packed(closed.joint_positions)
    joints = joints.reshape(len(position), prod(joints.shape[1:]))
    found = [np.empty_like(position) for _ in range(4)]
    run_kernel(
        machine, motions_of_drives, joints, position, rotation, packed(velocities), packed(accelerations), *found
    )
    return PlatformMotion(time, position, rotation, *found)
