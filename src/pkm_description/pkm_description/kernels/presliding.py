"""How far contacts are deflected on their way from sticking to sliding (Dahl 1968)."""

from __future__ import annotations

import math

from pkm_description.arrays import Array
from pkm_description.kernels.jit import kernel


@kernel
def deflect(
    velocities: Array, directions: Array, period: float, distances: Array, deflections: Array, slopes: Array
) -> None:
    """Deflections of contacts that travel, as parts of those at which they slide.

    Dahl's model: over the way x a deflection y goes to the direction of the motion, ``dy/d|x| = (direction - y) /
    distance``. The first sample slides.

    Parameters
    ----------
    velocities : (N, A) m/s or rad/s
    directions : (N, A) from -1 to 1
    period : s, from sample to sample
    distances : (A,) m or rad
    deflections, slopes : (N, A) results, and their derivatives by the distances
    """
    for joint in range(len(distances)):
        deflection, slope, distance = directions[0, joint], 0.0, distances[joint]
        deflections[0, joint], slopes[0, joint] = deflection, slope
        for sample in range(1, len(velocities)):
            way = 0.5 * period * (abs(velocities[sample - 1, joint]) + abs(velocities[sample, joint]))
            left, apart = math.exp(-way / distance), deflection - directions[sample, joint]
            deflection = directions[sample, joint] + left * apart
            slope = left * (slope + apart * way / distance**2)
            deflections[sample, joint], slopes[sample, joint] = deflection, slope
