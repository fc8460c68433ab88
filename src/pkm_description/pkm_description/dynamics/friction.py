"""Joint friction, viscous and Coulomb, linear in its parameters (Heimann & Abdellatif, Eqs. 2-4)."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pkm_description.kinematics.leg_motion import LegMotion, close_legs
from pkm_description.kinematics.overall_jacobian import twist_from_leg_rates
from pkm_description.machine.model import Joint, Machine
from pkm_description.mechanism import Mechanism

Array = NDArray[np.float64]

JointSelection = Literal['actuated', 'all']


def smooth_sign(velocity: Array, smoothing: float) -> Array:
    """Sign of a velocity; ``tanh(velocity / smoothing)`` where ``smoothing`` > 0 (in the velocity's unit)."""
    return np.tanh(velocity / smoothing) if smoothing > 0.0 else np.sign(velocity)


def friction_regressor(
    mechanism: Mechanism,
    leg_motion: LegMotion,
    joints: JointSelection = 'actuated',
    sign_smoothing: float = 0.0,
) -> Array:
    """Regressor (N, L, F): friction's share of the drive forces [N] = regressor @ ``friction_parameters``.

    The friction of a passive joint reaches the drives by virtual power, so its share depends on the pose.

    Parameters
    ----------
    leg_motion : N samples
    joints : ``'actuated'``: F = 2 L; ``'all'``: F = 2 L J
    sign_smoothing : velocity [m/s or rad/s] of a tanh in place of the sign; 0 keeps the sign

    Raises
    ------
    SingularPoseError
        With ``'all'``, where the drives do not determine the platform's motion.
    """
    velocities = leg_motion.velocities
    samples, leg_count, joint_count = velocities.shape
    if joints == 'actuated':
        driven = velocities[..., mechanism.actuated_index]
        result = np.zeros((samples, leg_count, leg_count, 2))
        leg = np.arange(leg_count)
        result[:, leg, leg, 0], result[:, leg, leg, 1] = driven, smooth_sign(driven, sign_smoothing)
        return result.reshape(samples, leg_count, 2 * leg_count)
    _check_selection(joints)
    legs = close_legs(mechanism, leg_motion.position, leg_motion.rotation_base_platform)
    joint_rate_per_leg_rate = legs.joint_map @ twist_from_leg_rates(mechanism, legs)[:, None]
    laws = np.stack([velocities, smooth_sign(velocities, sign_smoothing)], axis=-1)
    columns = joint_rate_per_leg_rate[..., None] * laws[:, :, :, None]  # (N, leg of the joint, J, L, 2)
    return np.moveaxis(columns, 3, 1).reshape(samples, leg_count, 2 * leg_count * joint_count)


def friction_torques(mechanism: Mechanism, velocities: Array, sign_smoothing: float = 0.0) -> Array:
    """Friction torques and forces (N, L, J) that the machine file gives for joint velocities (N, L, J)."""
    return mechanism.viscous * velocities + mechanism.coulomb * smooth_sign(velocities, sign_smoothing)


def friction_parameters(machine: Machine, joints: JointSelection = 'actuated') -> Array:
    """Viscous and Coulomb coefficient of each joint (F,), joint by joint, leg by leg."""
    return np.array(
        [
            value
            for joint in _selected(machine, joints)
            for value in (joint.friction.viscous, joint.friction.coulomb)
        ]
    )


def friction_parameter_names(machine: Machine, joints: JointSelection = 'actuated') -> list[str]:
    """Names (F,) such as ``leg1_prismatic.viscous``, ``leg1_prismatic.coulomb``."""
    return [f'{joint.name}.{law}' for joint in _selected(machine, joints) for law in ('viscous', 'coulomb')]


def _selected(machine: Machine, joints: str) -> tuple[Joint, ...]:
    _check_selection(joints)
    return (
        machine.actuated_joints
        if joints == 'actuated'
        else tuple(joint for leg in machine.legs for joint in leg.joints)
    )


def _check_selection(joints: str) -> None:
    if joints not in ('actuated', 'all'):
        raise ValueError(f"joints = {joints!r}: choose 'actuated' or 'all'")
