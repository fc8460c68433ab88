"""Analytic time derivatives of the Jacobians."""

from __future__ import annotations

import numpy as np

from pkm_description.arrays import Array
from pkm_description.kinematics.arguments import require_machine_and_motion
from pkm_description.kinematics.chain import ChainPose, ChainRates, tip_jacobian
from pkm_description.kinematics.leg_motion import ClosedLegs, close_legs, leg_rates
from pkm_description.kinematics.rotation import cross
from pkm_description.machine import Machine, PlatformMotion


def tip_jacobian_rate(machine: Machine, chain: ChainPose, rates: ChainRates) -> Array:
    """Time derivative (N, L, 3, J) of :func:`pkm_description.kinematics.chain.tip_jacobian`."""
    columns = []
    for joint, kind in enumerate(machine.joint_kinds):
        # an axis turns with the body that the joint moves: the own rotation does not change it
        turning = cross(rates.angular[joint], chain.axes[joint])
        if kind == 'revolute':
            arm, moving = chain.tip - chain.origins[joint], rates.tip - rates.linear[joint]
            columns.append(cross(turning, arm) + cross(chain.axes[joint], moving))
        else:
            columns.append(turning)
    return np.stack(columns, axis=-1)


def joint_map_rate(machine: Machine, motion: PlatformMotion) -> Array:
    """Time derivative (N, L, J, 6) of the map from the platform's twist to joint velocities.

    Joint accelerations are ``joint_map @ acceleration + joint_map_rate @ twist``. Of legs that hold the platform
    (3-RPS) the map is the left inverse of the tip's Jacobian, and the identity holds for admissible motions.

    Raises
    ------
    As :func:`pkm_description.kinematics.leg_motion`.
    """
    require_machine_and_motion(machine, motion)
    legs = close_legs(machine, motion.position, motion.rotation_base_platform)
    _, _, rates = leg_rates(machine, legs, motion)
    inverse = legs.tip_jacobian_inverse
    inverse_rate = _inverse_rate(machine, legs, tip_jacobian_rate(machine, legs.chain, rates))
    lever_rates = cross(motion.angular_velocity[:, None], legs.levers)
    rotational = cross(legs.levers[..., None, :], inverse_rate) + cross(lever_rates[..., None, :], inverse)
    return np.concatenate([inverse_rate, rotational], axis=-1)


def drive_jacobian_rate(machine: Machine, motion: PlatformMotion) -> Array:
    """Time derivative (N, A, 6) of the Jacobian of the drives, see ``overall_jacobian``."""
    return joint_map_rate(machine, motion)[:, :, machine.actuated_index]


def _inverse_rate(machine: Machine, legs: ClosedLegs, jacobian_rate: Array) -> Array:
    """Time derivative (N, L, J, 3) of the (left) inverse P of a Jacobian J: ``-P J' P + (J^T J)^-1 J'^T (1 - J P)``."""
    rows = machine.closing_equations
    inverse = legs.tip_jacobian_inverse[..., :rows]
    derivative = jacobian_rate[..., :rows, :]
    result = np.zeros_like(legs.tip_jacobian_inverse)
    result[..., :rows] = -inverse @ derivative @ inverse
    if machine.joint_count < rows:
        jacobian = tip_jacobian(machine, legs.chain)[..., :rows, :]
        outside = np.eye(rows) - jacobian @ inverse
        gram = inverse @ np.swapaxes(inverse, -1, -2)  # (J^T J)^-1
        result[..., :rows] += gram @ np.swapaxes(derivative, -1, -2) @ outside
    return result
