"""The overall Jacobian of actuation and constraint, and the platform twist from the drive rates.

Rows of the driven joints and rows of the constraints that legs or a plane put on the platform (Joshi & Tsai 2002);
six in all where the machine has one drive per degree of freedom. A hexapod has no constraint rows.
"""

from __future__ import annotations

import numpy as np

from pkm_description.arrays import Array
from pkm_description.errors import KinematicsError, SingularPoseError
from pkm_description.kinematics.leg_motion import ClosedLegs
from pkm_description.machine import Machine

#: condition number from which drive forces are not computed: fewer than eight digits would be left
MAX_CONDITION = 1e8


def actuated_jacobian(machine: Machine, legs: ClosedLegs) -> Array:
    """Rates of the drives from the platform twist, (N, A, 6): the driven joints' rows of the joint map."""
    return legs.joint_map[:, :, machine.actuated_index]


def overall_jacobian(machine: Machine, legs: ClosedLegs) -> Array:
    """Rows of the driven joints, then those of the constraints, (N, A + K, 6)."""
    return np.concatenate([actuated_jacobian(machine, legs), legs.constraints], axis=1)


def inverse_overall_jacobian(machine: Machine, legs: ClosedLegs) -> Array:
    """Inverse (N, 6, A + K) of :func:`overall_jacobian`.

    Raises
    ------
    SingularPoseError
        Naming the sample where the drives do not determine the platform's motion.
    KinematicsError
        If the machine has more or fewer drives than degrees of freedom.
    """
    if machine.actuated_count != machine.degrees_of_freedom:
        raise KinematicsError(
            f'{machine.name} has {machine.actuated_count} drives for {machine.degrees_of_freedom} '
            'degrees of freedom: its drives do not determine the motion'
        )
    return invert_jacobian(overall_jacobian(machine, legs))


def twist_from_leg_rates(machine: Machine, legs: ClosedLegs) -> Array:
    """Platform twist per rate of the drives (N, 6, A); raises as :func:`inverse_overall_jacobian`."""
    return inverse_overall_jacobian(machine, legs)[..., : machine.actuated_count]


def invert_jacobian(jacobian: Array) -> Array:
    """Inverse of Jacobians (N, 6, 6); raises SingularPoseError naming the sample."""
    try:
        inverse = np.asarray(np.linalg.inv(jacobian), dtype=float)
        # rounding hides most singular matrices from the factorisation: look at the size of the result
        condition = _frobenius(jacobian) * _frobenius(inverse)
    except np.linalg.LinAlgError:
        condition = np.where(np.linalg.det(jacobian) == 0.0, np.inf, 0.0)
    if not condition.max(initial=0.0) <= MAX_CONDITION:
        sample = int(np.argmax(condition))
        raise SingularPoseError(
            f'sample {sample}: the Jacobian of the drives is singular (condition number {condition[sample]:.3g}), '
            'no drive forces can hold the platform here'
        )
    return inverse


def _frobenius(matrix: Array) -> Array:
    return np.sqrt(np.sum(matrix * matrix, axis=(-2, -1)))


def scaled_condition(machine: Machine, legs: ClosedLegs) -> Array:
    """Condition number (N,) of the overall Jacobian, rotations scaled by the platform's radius, so free of units."""
    radius = machine.platform_radius
    if machine.planar:
        matrix = actuated_jacobian(machine, legs)[..., [0, 1, 5]] / [1.0, 1.0, radius]
    else:
        matrix = overall_jacobian(machine, legs) / [1.0, 1.0, 1.0, radius, radius, radius]
    singular_values = np.linalg.svd(matrix, compute_uv=False)
    with np.errstate(divide='ignore'):
        condition: Array = singular_values[:, 0] / singular_values[:, -1]
    return condition
