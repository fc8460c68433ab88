"""Gap of the closures, for tests of closed loops."""

from __future__ import annotations

import numpy as np
from pkm_description.arrays import Array
from pkm_description.kinematics.closed_legs import closing_points
from pkm_description.machine import Machine


def closing_gap(machine: Machine, positions: Array, position: Array, rotation: Array) -> float:
    """Largest distance [m] between the two points of a closure, at joint positions (N, J) and poses."""
    own, other = closing_points(machine, positions, position, rotation)
    return float(np.linalg.norm(own - other, axis=-1).max())
