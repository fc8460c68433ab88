"""Real-time forward kinematics of a hexapod: Gauss-Newton from the previous sample."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pkm_description.arrays import Array
from pkm_description.kinematics.hexapod.assembly_mode import home_branch
from pkm_description.kinematics.leg_lengths import leg_vectors
from pkm_description.kinematics.rotation import cross, rotated, rotation_exp
from pkm_description.machine import Machine

#: product of the Jacobian's norm and that of its inverse (at least the condition number) beyond which we do not judge
_MAX_CONDITION = 1e3
#: a warm start needs no more steps, unless something has happened
_MAX_ITERATIONS = 6
#: a step with an old Jacobian must leave no more than this part of the error
_SHRINKS = 0.02
#: longest step that a warm start takes: rad, m per metre of platform radius
LONGEST_STEP = 0.1


class FoundPose(NamedTuple):
    """A pose, or N of them along a leading axis.

    Attributes
    ----------
    position, rotation : (3,) m, (3, 3)
    inverse_jacobian : (6, A), twist [velocity, angular velocity], base axes, per rate of the A drives
    iterations : () steps taken
    """

    position: Array
    rotation: Array
    inverse_jacobian: Array
    iterations: NDArray[np.intp]

    def at(self, chosen: int | NDArray[np.bool_]) -> FoundPose:
        """One or some of N poses."""
        return FoundPose(
            self.position[chosen], self.rotation[chosen], self.inverse_jacobian[chosen], self.iterations[chosen]
        )


def corrected(position: Array, rotation: Array, inverse: Array, error: Array) -> tuple[Array, Array]:
    """Poses (..., 3) m, (..., 3, 3) after a Newton step; ``error`` (..., L) m is what their lengths lack."""
    return moved(position, rotation, rotated(inverse, error))


def moved(position: Array, rotation: Array, step: Array) -> tuple[Array, Array]:
    """Poses after small steps (..., 6): metres, and a turn about base axes [rad]."""
    return position + step[..., :3], rotation_exp(step[..., 3:]) @ rotation


class WarmStart:
    """Solves leg lengths near the last pose (Miletovic et al. 2017, Eq. 5); gives up at the least doubt.

    What it finds has passed the tests of :func:`~pkm_description.kinematics.hexapod.forward.forward_from_lengths`
    (convergence, condition, sign of the determinant, side of the base); whatever does not is left to that function,
    which also says what is wrong.
    """

    def __init__(self, machine: Machine, tolerance: float) -> None:
        self._machine, self._tolerance = machine, tolerance
        self._branch = home_branch(machine)
        self._reach = np.array([1.0, 1.0, 1.0, *3 * (machine.platform_radius,)])

    def solve(self, lengths: Array, start: FoundPose) -> FoundPose | None:
        """Pose of lengths (L,) m near ``start``; ``None`` if in doubt.

        The Jacobian of the start serves as long as its steps shrink the error well: from sample to sample it changes
        little, and a new one costs more than a step.
        """
        machine = self._machine
        position, rotation, inverse, _ = start
        longest = LONGEST_STEP * machine.platform_radius
        before = np.inf
        for iteration in range(_MAX_ITERATIONS + 1):
            vectors, levers = leg_vectors(machine, position, rotation)
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
                    # the new inverse is there: what remains of the error costs one product
                    pose = corrected(position, rotation, inverse, error)
                    return self._judged(FoundPose(*pose, inverse, np.array(iteration)), jacobian)
            before = largest
            step = inverse @ error
            if not np.abs(step * self._reach).max() <= longest:  # also if it is NaN
                return None
            position, rotation = moved(position, rotation, step)
        return None

    def _judged(self, found: FoundPose, jacobian: Array) -> FoundPose | None:
        squares = float(np.vdot(jacobian, jacobian)) * float(np.vdot(found.inverse_jacobian, found.inverse_jacobian))
        if not squares <= _MAX_CONDITION**2:
            return None
        if not self._branch.contains(found.position, jacobian):
            return None
        return found
