"""How much of a machine's stroke, speed and force a motion uses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pkm_description.dynamics.inverse import inverse_dynamics
from pkm_description.errors import KinematicsError
from pkm_description.kinematics.leg_motion import leg_motion
from pkm_description.mechanism import Mechanism
from pkm_description.motion.platform_motion import PlatformMotion


@dataclass(frozen=True)
class LimitUse:
    """Largest use of the limits of the actuated joints, 1 = at the limit.

    Attributes
    ----------
    position : distance from mid-stroke over half the stroke
    velocity, effort : over the limit
    joint : actuated joint with the largest of the three
    """

    position: float
    velocity: float
    effort: float
    joint: str

    @property
    def largest(self) -> float:
        """Largest of the three figures."""
        return max(self.position, self.velocity, self.effort)


def limit_use(mechanism: Mechanism, motion: PlatformMotion) -> LimitUse:
    """Compare leg positions, velocities and drive forces (friction included) with the joint limits."""
    legs = leg_motion(mechanism, motion)
    actuated = mechanism.actuated_index
    joints = mechanism.machine.actuated_joints
    lower = np.array([joint.limits.lower for joint in joints])
    upper = np.array([joint.limits.upper for joint in joints])
    bounded = np.isfinite(lower) & np.isfinite(upper)
    lower, upper = np.where(bounded, lower, -np.inf), np.where(bounded, upper, np.inf)
    middle = (np.where(bounded, lower, 0.0) + np.where(bounded, upper, 0.0)) / 2
    half_stroke = (upper - lower) / 2
    uses = np.stack(
        [
            np.abs(legs.positions[..., actuated] - middle).max(axis=0) / half_stroke,
            np.abs(legs.velocities[..., actuated]).max(axis=0) / [joint.limits.velocity for joint in joints],
            np.abs(inverse_dynamics(mechanism, motion)).max(axis=0)
            / [joint.limits.effort for joint in joints],
        ]
    )
    largest = uses.max(axis=1)
    worst_joint = joints[int(uses.max(axis=0).argmax())].name
    return LimitUse(float(largest[0]), float(largest[1]), float(largest[2]), worst_joint)


def largest_scale(
    mechanism: Mechanism,
    motion_of_scale: Callable[[float], PlatformMotion],
    margin: float,
    upper: float = 1.0,
) -> float:
    """Largest factor <= ``upper`` for which a motion uses at most ``1 - margin`` of every limit.

    Parameters
    ----------
    motion_of_scale : motion of a factor; factor 0 is standstill at home
    margin : part of the limits to keep free, 0 .. 1

    Raises
    ------
    KinematicsError
        If standing still at home already uses more.
    """

    def allowed(scale: float) -> bool:
        try:
            return limit_use(mechanism, motion_of_scale(scale)).largest <= 1.0 - margin
        except KinematicsError:  # a leg on its universal axis: far outside
            return False

    if allowed(upper):
        return upper
    if not allowed(0.0):
        raise KinematicsError(
            f'{mechanism.machine.name}: standing at home uses more than {1.0 - margin:.0%} of a leg limit '
            f'({limit_use(mechanism, motion_of_scale(0.0))})'
        )
    inside, outside = 0.0, upper
    for _ in range(20):  # bisection; each step evaluates the whole motion at once
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if allowed(middle) else (inside, middle)
    return inside
