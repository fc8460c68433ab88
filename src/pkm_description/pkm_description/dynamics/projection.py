"""Projection of joint and platform forces onto the drives, by virtual power (Jourdain).

The legs, cut open at the platform joints, are trees. Joint velocities of a leg are ``G_leg @ twist`` and leg
rates ``J @ twist``, so joint torques tau and a platform wrench w need the drive forces ``J^-T (w + sum
G_leg^T tau)`` (Heimann & Abdellatif, Eqs. 1 and 3); reactions in the passive joints do no work and drop out.
Where legs or a plane hold the platform, their constraints are further rows of J, the overall Jacobian of actuation and
constraint (Joshi & Tsai 2002); its inverse gives the constraint forces with the drive forces.
"""

from __future__ import annotations

from pkm_description.arrays import Array
from pkm_description.kinematics.leg_motion import ClosedLegs


def platform_force(legs: ClosedLegs, joint_torques: Array) -> Array:
    """Force (N, 6) dual to the platform twist of joint torques (N, L, J): sum over legs of G_leg^T tau."""
    joint_map = legs.joint_map
    flat = joint_map.reshape(len(joint_map), -1, 6)
    generalised: Array = (joint_torques.reshape(len(flat), 1, -1) @ flat)[:, 0]
    return generalised


def drive_forces(jacobian_inverse: Array, generalised: Array) -> Array:
    """Drive forces (N, A) of generalised forces (N, 6) on the platform twist."""
    forces: Array = (generalised[:, None] @ jacobian_inverse)[:, 0]
    return forces
