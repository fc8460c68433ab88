"""Numerical continuation along straight lines of leg lengths, to find the assembly mode of a pose."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pkm_description.arrays import Array
from pkm_description.kinematics.hexapod.pose_newton import newton_batch
from pkm_description.kinematics.leg_lengths import leg_lengths, length_jacobian
from pkm_description.machine import Machine

#: a step counts only if Newton's second step is this much shorter than the first: well inside of the neighbourhood
#: that holds one solution and no singular pose (Newton and Kantorovich: less than 1/2)
CONTRACTION = 0.2
FIRST_STEP, SHORTEST_STEP = 0.25, 2.0**-6
#: what a step's end misses its lengths by, as a fraction of the platform radius
STEP_ACCURACY = 1e-8


@dataclass(frozen=True)
class Continuation:
    """How far N samples could be followed.

    Attributes
    ----------
    position, rotation : (N, 3) m, (N, 3, 3), pose at the last length reached
    fraction : (N,), part of the line that was followed; 1 where the end was reached
    iterations : (N,), Newton steps taken
    """

    position: Array
    rotation: Array
    fraction: Array
    iterations: NDArray[np.intp]

    @property
    def reached(self) -> NDArray[np.bool_]:
        """Samples (N,) followed to the end."""
        return np.asarray(self.fraction >= 1.0)


def follow_lengths(machine: Machine, lengths: Array, position: Array, rotation: Array) -> Continuation:
    """Follow each pose while its leg lengths go on a straight line to the given ones.

    The step along the line adapts to every sample. It is repeated at half its length unless Newton's steps shrink
    fast, and the determinant of the length Jacobian keeps its sign: then the pose found is the one that the platform
    would move to, and no other. A sample ends where the line's next pose is singular.

    Parameters
    ----------
    lengths : (N, 6) m, ends of the lines
    position, rotation : (N, 3) m and (N, 3, 3), where they begin
    """
    count = len(lengths)
    position, rotation = np.array(position), np.array(rotation)
    begin = leg_lengths(machine, position, rotation)
    sign = np.sign(np.linalg.det(length_jacobian(machine, position, rotation)))
    fraction, step = np.zeros(count), np.full(count, FIRST_STEP)
    iterations = np.zeros(count, dtype=np.intp)
    accuracy = STEP_ACCURACY * machine.platform_radius
    active = np.flatnonzero(np.isfinite(lengths).all(axis=1) & (sign != 0.0))
    while len(active):
        ahead = np.minimum(fraction[active] + step[active], 1.0)
        target = begin[active] + ahead[:, None] * (lengths[active] - begin[active])
        run = newton_batch(machine, target, position[active], rotation[active], accuracy, 4)
        iterations[active] += run.iterations
        good = (run.residual <= accuracy) & (run.contraction <= CONTRACTION)
        determinant = np.linalg.det(length_jacobian(machine, run.position[good], run.rotation[good]))
        good[good] = determinant * sign[active[good]] > 0.0
        done = active[good]
        position[done], rotation[done], fraction[done] = run.position[good], run.rotation[good], ahead[good]
        step[active] *= np.where(good, 2.0, 0.5)
        active = active[(fraction[active] < 1.0) & (step[active] >= SHORTEST_STEP)]
    return Continuation(position, rotation, fraction, iterations)
