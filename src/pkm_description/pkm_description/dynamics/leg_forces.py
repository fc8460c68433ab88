"""Joint reaction forces for given friction torques: between legs and platform, and between the bodies of a leg.

The leg's own equation ``u = tau + J_tip^T f`` gives the part of the closing force f that moves its joints, the inverse
of the overall Jacobian the part along the directions that the leg holds (Mata et al. 2008, Eq. 10; Rosyid &
El-Khasawneh 2020, Eqs. 18 and 22).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pkm_description.arrays import Array
from pkm_description.dynamics.projection import platform_force
from pkm_description.dynamics.wrenches import chain_wrenches, platform_wrench, torques_of_wrenches
from pkm_description.kinematics.chain import chain_accelerations
from pkm_description.kinematics.leg_motion import ClosedLegs, leg_rates
from pkm_description.kinematics.overall_jacobian import inverse_overall_jacobian
from pkm_description.kinematics.rotation import cross
from pkm_description.machine import Machine, PlatformMotion


@dataclass(frozen=True)
class JointReactions:
    """Forces in a moving machine, N samples, base axes.

    Attributes
    ----------
    drive_forces : (N, A) N or N m
    closure_forces : (N, L, 3) N, of the leg's tip on the platform; of planar machines the part in the plane
    joint_forces, joint_moments : (N, L, J, 3) N, N m about the joint's origin, of the body before the joint (or the
        base) on the body behind it. The part along the axis is what drive and friction do.
    constraint_multipliers : (N, K) N or N m, along the rows of ``ClosedLegs.constraints``: forces of the legs on the
        platform along the directions that they hold; on planar machines the plane's force along z and its moments
        about x and y
    """

    drive_forces: Array
    closure_forces: Array
    joint_forces: Array
    joint_moments: Array
    constraint_multipliers: Array

    def loads_across(self, axes: Array) -> Array:
        """Size (N, L, J) N of the joint forces perpendicular to unit vectors (N, L, J, 3)."""
        return forces_across(self.joint_forces, axes)


def forces_across(forces: Array, axes: Array) -> Array:
    """Size (...) of the part of forces (..., 3) perpendicular to unit vectors (..., 3)."""
    across = forces - np.sum(forces * axes, axis=-1, keepdims=True) * axes
    return np.sqrt(np.sum(across * across, axis=-1))


def reactions_of(
    machine: Machine,
    legs: ClosedLegs,
    motion: PlatformMotion,
    friction: Array | None = None,
    external_wrench: Array | None = None,
) -> JointReactions:
    """Forces in legs that are already closed, with given friction torques (N, L, J)."""
    velocities, accelerations, rates = leg_rates(machine, legs, motion)
    second = chain_accelerations(machine, legs.chain, rates, velocities, accelerations)
    forces, moments = chain_wrenches(machine, legs.chain, rates, second)
    torques = torques_of_wrenches(machine, legs.chain, forces, moments) + machine.leg_rotor_inertia * accelerations
    if friction is not None:
        torques = torques + friction
    wrench = platform_wrench(machine, motion)
    if external_wrench is not None:
        wrench = wrench - external_wrench
    inverse = inverse_overall_jacobian(machine, legs)
    solution = ((wrench + platform_force(legs, torques))[:, None] @ inverse)[:, 0]
    drives, multipliers = np.split(solution, [machine.actuated_count], axis=1)

    applied = -torques
    applied[..., machine.actuated_index] += drives
    tip = (applied[..., None, :] @ legs.tip_jacobian_inverse)[..., 0, :]
    held = legs.held.shape[-1]
    if held:
        own = multipliers[:, : machine.leg_count * held].reshape(len(tip), machine.leg_count, held)
        tip = tip + (legs.held @ own[..., None])[..., 0]
    arms = legs.chain.tip
    joint_forces = np.stack([force + tip for force in forces], axis=2)
    joint_moments = np.stack(
        [moment + cross(arms - origin, tip) for moment, origin in zip(moments, legs.chain.origins, strict=True)],
        axis=2,
    )
    return JointReactions(drives, tip, joint_forces, joint_moments, multipliers)
