"""Joint reaction forces during a motion."""

from __future__ import annotations

from pkm_description.arrays import Array
from pkm_description.dynamics.friction_loads import motion_friction
from pkm_description.dynamics.leg_forces import JointReactions, reactions_of
from pkm_description.kinematics.arguments import require_machine_and_motion, require_wrench
from pkm_description.kinematics.leg_motion import close_legs, leg_rates
from pkm_description.machine import Machine, PlatformMotion

__all__ = ['JointReactions', 'joint_reactions', 'reactions_of']


def joint_reactions(
    machine: Machine,
    motion: PlatformMotion,
    friction: bool = True,
    sign_smoothing: float = 0.0,
    external_wrench: Array | None = None,
) -> JointReactions:
    """Forces in all joints during a motion under the drive forces of the inverse dynamics.

    Parameters as :func:`pkm_description.dynamics.inverse_dynamics`, and raises as it does.
    """
    require_machine_and_motion(machine, motion)
    require_wrench(external_wrench, len(motion))
    legs = close_legs(machine, motion.position, motion.rotation_base_platform)
    torques = None
    if friction:
        velocities, _, _ = leg_rates(machine, legs, motion)
        torques = motion_friction(machine, legs, motion, velocities, sign_smoothing, external_wrench)
    return reactions_of(machine, legs, motion, torques, external_wrench)
