"""Which legs and joints a pose asks too much of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pkm_description.errors import KinematicsError
from pkm_description.kinematics.leg_lengths import leg_lengths, length_jacobian
from pkm_description.kinematics.leg_motion import leg_motion
from pkm_description.kinematics.rotation import rotation_exp
from pkm_description.mechanism import Mechanism
from pkm_description.motion import PlatformMotion

Array = NDArray[np.float64]


@dataclass(frozen=True)
class LimitViolation:
    """A joint outside of its limits.

    Attributes
    ----------
    sample : index of the pose
    joint : joint name
    value, lower, upper : m or rad
    """

    sample: int
    joint: str
    value: float
    lower: float
    upper: float

    def __str__(self) -> str:
        return f'{self.joint} would be at {self.value:.4f}, its limits are {self.lower:.4f} and {self.upper:.4f}'


def position_violations(mechanism: Mechanism, motion: PlatformMotion) -> list[LimitViolation]:
    """Every joint of every sample that lies outside of its position limits, in order of samples.

    Parameters
    ----------
    motion : poses to check; velocities do not matter

    Raises
    ------
    SingularPoseError
        A leg lies on its first universal axis.
    """
    positions = leg_motion(mechanism, motion).positions
    outside = ~((positions >= mechanism.position_lower) & (positions <= mechanism.position_upper))
    return [
        LimitViolation(
            int(sample),
            mechanism.machine.legs[leg].joints[joint].name,
            float(positions[sample, leg, joint]),
            float(mechanism.position_lower[leg, joint]),
            float(mechanism.position_upper[leg, joint]),
        )
        for sample, leg, joint in np.argwhere(outside)
    ]


def require_positions(mechanism: Mechanism, motion: PlatformMotion) -> None:
    """Raise KinematicsError that names the first joint outside of its limits, with its time."""
    violations = position_violations(mechanism, motion)
    if violations:
        first = violations[0]
        raise KinematicsError(f't = {motion.time[first.sample]:.3f} s: {first}')


def single_axis_limits(mechanism: Mechanism, lower: Array, upper: Array, tolerance: float = 1e-6) -> Array:
    """How far the platform moves from home along or about one axis at a time, up to a leg's end or a singular pose.

    Parameters
    ----------
    lower, upper : (L,) m, shortest and longest leg lengths
    tolerance : m and rad, of the bisection

    Returns
    -------
    (6, 2) array
        Smallest and largest excursion along x, y, z [m] and about x, y, z [rad], home pose being 0.
    """
    limits = np.empty((6, 2))
    for axis in range(6):
        for side, sign in enumerate((-1.0, 1.0)):
            limits[axis, side] = sign * _reach(mechanism, axis, sign, lower, upper, tolerance)
    return limits


def _reach(mechanism: Mechanism, axis: int, sign: float, lower: Array, upper: Array, tolerance: float) -> float:
    """First excursion that is too far; a scan finds it, finer ones inside narrow it down."""
    home = mechanism.machine.home
    at_home = length_jacobian(mechanism, home.position[None], home.rotation_base_platform[None])
    near, far = 0.0, np.pi if axis >= 3 else 2.0 * float(upper.max())
    while far - near > tolerance:
        steps = np.linspace(near, far, 101)
        direction = np.zeros((len(steps), 6))
        direction[:, axis] = sign * steps
        pose = home.position + direction[:, :3], rotation_exp(direction[:, 3:]) @ home.rotation_base_platform
        lengths = leg_lengths(mechanism, *pose)
        outside = ((lengths < lower) | (lengths > upper)).any(axis=1)
        # beyond a singular pose the determinant has another sign
        outside |= np.linalg.det(length_jacobian(mechanism, *pose)) * np.linalg.det(at_home) <= 0.0
        if not outside.any():
            return far
        first = int(np.argmax(outside))
        if first == 0:
            return near
        near, far = float(steps[first - 1]), float(steps[first])
    return near
