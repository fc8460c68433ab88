"""How much of a machine's limits a motion uses, and which it breaks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pkm_description.dynamics.inverse import inverse_dynamics
from pkm_description.errors import KinematicsError
from pkm_description.kinematics.joint_limits import (
    LimitedQuantity,
    LimitViolation,
    force_limits,
    has_cones,
    position_limits,
    speed_limits,
    tilt_limits,
)
from pkm_description.kinematics.leg_motion import close_legs, leg_motion
from pkm_description.machine import Machine, PlatformMotion

#: the limit that is named first where several are broken
_ORDER = ('position', 'tilt', 'speed', 'force')


def check_motion(machine: Machine, motion: PlatformMotion) -> list[LimitViolation]:
    """Every limit that a motion breaks, in order of samples.

    Positions of all joints, cones of the ball joints, speeds of all joints, forces of the drives with friction: the
    check before motion that machines need whose workspace is smaller than their strokes (Heimann & Abdellatif
    on their hydraulic hexapod MSI).

    Raises
    ------
    KinematicsError
        A pose that the legs cannot reach, or that is singular; names the sample.
    """
    found = [one for quantity in limited_quantities(machine, motion) for one in quantity.violations(motion.time)]
    return sorted(found, key=lambda one: one.sample)


def worst_violation(violations: list[LimitViolation]) -> LimitViolation:
    """The furthest excess of positions; if there is none that of tilts, then speeds, then forces."""
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
    joints = leg_motion(machine, motion)
    pose = motion.position, motion.rotation_base_platform
    legs = close_legs(machine, *pose, joints.positions) if has_cones(machine) else None
    return [
        position_limits(machine, joints.positions),
        tilt_limits(machine, legs, motion.rotation_base_platform),
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
    """

    position: float
    velocity: float
    effort: float
    joint: str

    @property
    def largest(self) -> float:
        """Largest of the three figures."""
        return max(self.position, self.velocity, self.effort)


def limit_use(machine: Machine, motion: PlatformMotion) -> LimitUse:
    """Compare joint positions, speeds and drive forces (friction included) with their limits."""
    positions, tilts, speeds, forces = limited_quantities(machine, motion)
    uses = {one.limit: one.use() for one in (positions, tilts, speeds, forces)}
    # a tilt counts from the middle of the cone, which is home
    uses['tilt'] = tilts.values.max(axis=0, initial=0.0) / tilts.upper
    largest = {limit: float(use.max(initial=0.0)) for limit, use in uses.items()}
    worst = max((positions, tilts, speeds, forces), key=lambda one: largest[one.limit])
    joint = worst.joints[int(uses[worst.limit].argmax())]
    return LimitUse(max(largest['position'], largest['tilt']), largest['speed'], largest['force'], joint)


def largest_scale(
    machine: Machine,
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
            return limit_use(machine, motion_of_scale(scale)).largest <= 1.0 - margin
        except KinematicsError:  # a leg on its universal axis: far outside
            return False

    if allowed(upper):
        return upper
    if not allowed(0.0):
        raise KinematicsError(
            f'{machine.name}: standing at home uses more than {1.0 - margin:.0%} of a leg limit '
            f'({limit_use(machine, motion_of_scale(0.0))})'
        )
    inside, outside = 0.0, upper
    for _ in range(20):  # bisection; each step evaluates the whole motion at once
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if allowed(middle) else (inside, middle)
    return inside
