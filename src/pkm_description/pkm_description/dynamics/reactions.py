"""Forces in the joints during a motion: of legs on the platform, of bodies on each other, of constraints."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pkm_description.dynamics.friction_loads import motion_friction
from pkm_description.dynamics.leg_forces import JointReactions, reactions_of
from pkm_description.kinematics.leg_motion import close_legs, leg_rates
from pkm_description.mechanism import Mechanism
from pkm_description.motion.platform_motion import PlatformMotion

__all__ = ['JointReactions', 'joint_reactions', 'reactions_of']

Array = NDArray[np.float64]


def joint_reactions(
    mechanism: Mechanism,
    motion: PlatformMotion,
    friction: bool = True,
    sign_smoothing: float = 0.0,
    external_wrench: Array | None = None,
) -> JointReactions:
    """Forces in all joints during a motion under the drive forces of the inverse dynamics.

    Parameters as :func:`pkm_description.dynamics.inverse_dynamics`, and raises as it does.
    """
    legs = close_legs(mechanism, motion.position, motion.rotation_base_platform)
    torques = None
    if friction:
        velocities, _, _ = leg_rates(mechanism, legs, motion)
        torques = motion_friction(mechanism, legs, motion, velocities, sign_smoothing, external_wrench)
    return reactions_of(mechanism, legs, motion, torques, external_wrench)
