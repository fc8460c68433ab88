"""Gauss-Newton from one sample to the next: the real-time part of the forward kinematics of a hexapod."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pkm_description.kinematics.hexapod.assembly_mode import home_branch
from pkm_description.kinematics.leg_lengths import leg_vectors
from pkm_description.kinematics.rotation import cross, rotation_exp
from pkm_description.machine.model import Pose
from pkm_description.mechanism import Mechanism

Array = NDArray[np.float64]

#: product of the Jacobian's norm and that of its inverse (at least the condition number) beyond which we do not judge
_MAX_CONDITION = 1e3
#: a warm start needs no more steps, unless something has happened
_MAX_ITERATIONS = 6
#: a step with an old Jacobian must leave no more than this part of the error
_SHRINKS = 0.02
#: longest step that a warm start takes: rad, m per metre of platform radius
_LONGEST_STEP = 0.1


class WarmPose(NamedTuple):
    """Pose, the inverse (6, 6) of the length Jacobian there, and the steps taken."""

    pose: Pose
    inverse_jacobian: Array
    iterations: int


class WarmStart:
    """Solves leg lengths near the last pose (Miletovic et al. 2017, Eq. 5); gives up at the least doubt.

    What it finds has passed the tests of :func:`pkm_description.kinematics.forward_kinematics` (convergence, condition,
    sign of the determinant, side of the base); whatever does not is left to that function, which also says what is
    wrong.
    """

    def __init__(self, mechanism: Mechanism, tolerance: float) -> None:
        self._mechanism, self._tolerance = mechanism, tolerance
        self._branch = home_branch(mechanism)
        self._reach = np.array([1.0, 1.0, 1.0, *3 * (mechanism.platform_radius,)])

    def solve(self, lengths: Array, start: WarmPose) -> WarmPose | None:
        """Pose of lengths (L,) m near ``start``; ``None`` if in doubt.

        The Jacobian of the start serves as long as its steps shrink the error well: from sample to sample it changes
        little, and a new one costs more than a step.
        """
        mechanism, inverse = self._mechanism, start.inverse_jacobian
        position, rotation = start.pose.position, start.pose.rotation_base_platform
        longest = _LONGEST_STEP * mechanism.platform_radius
        before = np.inf
        for iteration in range(_MAX_ITERATIONS + 1):
            vectors, levers = leg_vectors(mechanism, position, rotation)
            current = np.sqrt((vectors * vectors).sum(axis=1))
            error = lengths - current
            largest = float(np.abs(error).max())
            done = largest <= self._tolerance
            if done or largest > _SHRINKS * before:
                directions = vectors / current[:, None]
                jacobian = np.concatenate([directions, cross(levers, directions)], axis=1)
                try:
                    inverse = np.linalg.inv(jacobian)
                except np.linalg.LinAlgError:
                    return None
                if done:
                    return self._judged(WarmPose(Pose(position, rotation), inverse, iteration), jacobian)
            before = largest
            step = inverse @ error
            if not np.abs(step * self._reach).max() <= longest:  # also if it is NaN
                return None
            position = position + step[:3]
            rotation = rotation_exp(step[3:]) @ rotation
        return None

    def _judged(self, found: WarmPose, jacobian: Array) -> WarmPose | None:
        squares = float(np.vdot(jacobian, jacobian)) * float(np.vdot(found.inverse_jacobian, found.inverse_jacobian))
        if not squares <= _MAX_CONDITION**2:
            return None
        if not self._branch.contains(found.pose.position, jacobian):
            return None
        return found
