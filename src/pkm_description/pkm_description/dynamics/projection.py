"""From forces in the joints and on the platform to forces of the drives, by virtual power (Jourdain).

The legs, cut open at the platform joints, are trees. Joint velocities of a leg are ``G_leg @ twist`` and leg
rates ``J @ twist``, so joint torques tau and a platform wrench w need the drive forces ``J^-T (w + sum
G_leg^T tau)`` (Heimann & Abdellatif, Eqs. 1 and 3); reactions in the passive joints do no work and drop out.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pkm_description.errors import SingularPoseError
from pkm_description.kinematics.leg_lengths import length_jacobian
from pkm_description.kinematics.leg_motion import ClosedLegs
from pkm_description.mechanism import Mechanism

Array = NDArray[np.float64]

#: condition number from which drive forces are not computed: fewer than eight digits would be left
MAX_CONDITION = 1e8


def actuated_jacobian(mechanism: Mechanism, legs: ClosedLegs) -> Array:
    """Leg rates from the platform twist, (N, L, 6): the driven joints' rows of the joint map."""
    return legs.joint_map[:, :, mechanism.actuated_index]


def twist_from_leg_rates(mechanism: Mechanism, legs: ClosedLegs) -> Array:
    """Inverse (N, 6, L) of :func:`actuated_jacobian`.

    Raises
    ------
    SingularPoseError
        Naming the sample where the drives do not determine the platform's motion.
    """
    jacobian = actuated_jacobian(mechanism, legs)
    if jacobian.shape[-2:] != (6, 6):
        raise ValueError(
            f'{mechanism.machine.name}: six driven legs are needed, this machine has {mechanism.leg_count}'
        )
    return invert_jacobian(jacobian)


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
            f'sample {sample}: the length Jacobian is singular (condition number {condition[sample]:.3g}), '
            'no drive forces can hold the platform here'
        )
    return inverse


def _frobenius(matrix: Array) -> Array:
    return np.sqrt(np.sum(matrix * matrix, axis=(-2, -1)))


def inverse_length_jacobian(mechanism: Mechanism, position: Array, rotation_base_platform: Array) -> Array:
    """Platform twist per leg rate (N, 6, L) at poses (N, 3) m, (N, 3, 3); raises SingularPoseError."""
    return invert_jacobian(length_jacobian(mechanism, position, rotation_base_platform))


def platform_force(legs: ClosedLegs, joint_torques: Array) -> Array:
    """Force (N, 6) dual to the platform twist of joint torques (N, L, J): sum over legs of G_leg^T tau."""
    joint_map = legs.joint_map
    flat = joint_map.reshape(len(joint_map), -1, 6)
    generalised: Array = (joint_torques.reshape(len(flat), 1, -1) @ flat)[:, 0]
    return generalised


def drive_forces(jacobian_inverse: Array, generalised: Array) -> Array:
    """Drive forces (N, L) of generalised forces (N, 6) on the platform twist."""
    forces: Array = (generalised[:, None] @ jacobian_inverse)[:, 0]
    return forces
