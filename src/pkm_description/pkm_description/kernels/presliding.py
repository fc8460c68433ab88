"""How far contacts are deflected on their way from sticking to sliding (Dahl 1968, Canudas de Wit et al. 1995)."""

from __future__ import annotations

import math

from pkm_description.arrays import Array
from pkm_description.kernels.jit import kernel


@kernel
def deflect(
    velocities: Array, directions: Array, period: float, levels: Array, stiffnesses: Array, deflections: Array,
    slopes: Array,
) -> None:  # fmt: skip
    """Deflections of contacts that travel, as parts of those at which they slide.

    Bristles of a stiffness slide when they hold the level of friction, so the distance to there is ``level /
    stiffness``. Over the way x a deflection y goes to the direction of the motion, ``dy/d|x| = (direction - y) /
    distance`` (Dahl's model where the level is constant; the model of Canudas de Wit et al. without micro-damping). The
    first sample slides.

    Parameters
    ----------
    velocities : (N, A) m/s or rad/s
    directions : (N, A) from -1 to 1
    period : s, from sample to sample
    levels : (N, A) N or N m, friction of sliding; where it is not positive, contacts slide at once
    stiffnesses : (A,) N/m or N m/rad
    deflections, slopes : (N, A) results, and their derivatives by the stiffnesses
    """
    for joint in range(len(stiffnesses)):
        deflection, slope, stiffness = directions[0, joint], 0.0, stiffnesses[joint]
        deflections[0, joint], slopes[0, joint] = deflection, slope
        for sample in range(1, len(velocities)):
            way = 0.5 * period * (abs(velocities[sample - 1, joint]) + abs(velocities[sample, joint]))
            level, apart = levels[sample, joint], deflection - directions[sample, joint]
            left = math.exp(-stiffness * way / level) if level > 0.0 else 0.0
            deflection = directions[sample, joint] + left * apart
            slope = left * (slope - apart * way / level) if left > 0.0 else 0.0
            deflections[sample, joint], slopes[sample, joint] = deflection, slope
