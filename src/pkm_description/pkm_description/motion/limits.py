"""Check a motion against the limits of the machine, and scale motions to fit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pkm_description.arrays import Array
from pkm_description.dynamics.inverse import inverse_dynamics
from pkm_description.errors import KinematicsError
from pkm_description.kinematics.arguments import require_machine_and_motion
from pkm_description.kinematics.closed_legs import close_legs, leg_regularity
from pkm_description.kinematics.joint_limits import (
    LimitedQuantity,
    LimitViolation,
    force_limits,
    has_cones,
    position_limits,
    reach_limits,
    speed_limits,
    tilt_limits,
)
from pkm_description.kinematics.joint_motion import joint_motion
from pkm_description.machine import Machine, PlatformMotion

#: the limit that is named first where several are broken
_ORDER = ('reach', 'position', 'tilt', 'speed', 'force')


def check_motion(machine: Machine, motion: PlatformMotion) -> list[LimitViolation]:
    """Every limit that a motion breaks, in order of samples.

    Reach of the legs, positions of all joints, cones of the ball joints, speeds of all joints, forces of the drives
    with friction: the check before motion that machines need whose workspace is smaller than their strokes (Heimann &
    Abdellatif on their hydraulic hexapod MSI). Where a leg does not reach its platform joint the other limits cannot be
    judged.

    Raises
    ------
    KinematicsError
        A pose that is singular, leaves a planar machine's plane or contains NaN, or a velocity that the machine does
        not admit; names the sample.
    """
    require_machine_and_motion(machine, motion)
    reach = reach_limits(machine, motion.position, motion.rotation_base_platform)
    missed = np.asarray(reach.outside().any(axis=1))
    found = reach.violations(motion.time)
    if not missed.all():
        # a reachable sample stands in for the others, so that messages count samples as the caller does
        stand_in = np.where(missed, np.argmin(missed), np.arange(len(missed)))
        reachable = motion[stand_in]
        for quantity in limited_quantities(machine, reachable):
            found += [one for one in quantity.violations(motion.time) if not missed[one.sample]]
    return sorted(found, key=lambda one: one.sample)


def worst_violation(violations: list[LimitViolation]) -> LimitViolation:
    """The furthest leg out of reach; if there is none, the furthest of positions, then tilts, speeds, forces."""
    return min(violations, key=lambda one: (_ORDER.index(one.limit), -one.excess))


def require_motion(machine: Machine, motion: PlatformMotion) -> None:
    """Raise KinematicsError that names joint, limit and time of the worst violation of a motion.

    Raises
    ------
    KinematicsError
        Also where :func:`check_motion` raises.
    """
    violations = check_motion(machine, motion)
    if violations:
        worst = worst_violation(violations)
        raise KinematicsError(f'{worst} at t = {worst.time:.3f} s ({len(violations)} violations in all)')


def limited_quantities(machine: Machine, motion: PlatformMotion) -> list[LimitedQuantity]:
    """Positions, tilts, speeds and drive forces of a motion with their limits."""
    joints = joint_motion(machine, motion)
    pose = motion.position, motion.rotation_base_platform
    legs = close_legs(machine, *pose, joints.positions) if has_cones(machine) else None
    return [
        position_limits(machine, joints.positions),
        tilt_limits(machine, legs, len(motion)),
        speed_limits(machine, joints),
        force_limits(machine, inverse_dynamics(machine, motion)),
    ]


@dataclass(frozen=True)
class LimitUse:
    """Largest use of the limits of all joints, 1 = at the limit.

    Attributes
    ----------
    position : distance from the middle of the stroke over half the stroke; tilts over their cones
    velocity, effort : over the limit
    joint : joint with the largest of the three
    reach : 0 = legs as far from stretched or folded as at home, 1 = a leg is stretched or folded; 0 of struts on
        universal joints, which are neither
    """

    position: float
    velocity: float
    effort: float
    joint: str
    reach: float = 0.0

    @property
    def largest(self) -> float:
        """Largest of the four figures."""
        return max(self.position, self.velocity, self.effort, self.reach)


def limit_use(machine: Machine, motion: PlatformMotion) -> LimitUse:
    """Compare joint positions, speeds and drive forces (friction included) with their limits."""
    require_machine_and_motion(machine, motion)
    positions, tilts, speeds, forces = limited_quantities(machine, motion)
    uses = {one.limit: one.use() for one in (positions, tilts, speeds, forces)}
    # a tilt counts from the middle of the cone, which is home
    uses['tilt'] = tilts.values.max(axis=0, initial=0.0) / tilts.upper
    largest = {limit: float(use.max(initial=0.0)) for limit, use in uses.items()}
    worst = max((positions, tilts, speeds, forces), key=lambda one: largest[one.limit])
    joint = worst.joints[int(uses[worst.limit].argmax())]
    return LimitUse(
        max(largest['position'], largest['tilt']), largest['speed'], largest['force'], joint,
        _reach_use(machine, motion, positions.values),
    )  # fmt: skip


def _reach_use(machine: Machine, motion: PlatformMotion, positions: Array) -> float:
    """How near the legs come to being stretched or folded at joint positions (N, J): 0 as at home, 1 there."""
    if not len(positions):
        return 0.0
    home = machine.home.position[None], machine.home.rotation_base_platform[None]
    at_home = leg_regularity(machine, *home, machine.model.home_joints[None])
    regularity = leg_regularity(machine, motion.position, motion.rotation_base_platform, positions)
    with np.errstate(divide='ignore', invalid='ignore'):
        return float(max(0.0, 1.0 - np.nan_to_num(regularity / at_home, nan=0.0).min()))


def largest_scale(
    machine: Machine,
    motion_of_scale: Callable[[float], PlatformMotion],
    margin: float,
) -> float:
    """Largest factor <= 1 for which a motion uses at most ``1 - margin`` of every limit.

    Parameters
    ----------
    motion_of_scale : motion of a factor; factor 0 is standstill at home
    margin : part of the limits to keep free, 0 .. 1

    Raises
    ------
    KinematicsError
        If standing still at home already uses more, or no factor above zero is allowed: the machine lacks the freedoms.
    """
    reason = ''

    def allowed(scale: float) -> bool:
        nonlocal reason
        try:
            use = limit_use(machine, motion_of_scale(scale))
        except KinematicsError as error:  # a leg on its universal axis: far outside
            reason = str(error)
            return False
        reason = str(use)
        return use.largest <= 1.0 - margin

    if allowed(1.0):
        return 1.0
    if not allowed(0.0):
        raise KinematicsError(
            f'{machine.name}: standing at home uses more than {1.0 - margin:.0%} of a leg limit '
            f'({limit_use(machine, motion_of_scale(0.0))})'
        )
    inside, outside = 0.0, 1.0
    for _ in range(20):  # bisection; each step evaluates the whole motion at once
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if allowed(middle) else (inside, middle)
    if inside == 0.0:
        allowed(outside)
        raise KinematicsError(f"{machine.name} can do no part of this motion, 'drives' suits any machine: {reason}")
    return inside
