"""Drive forces that hold a machine still at home."""

from __future__ import annotations

import numpy as np

from pkm_description.arrays import Array
from pkm_description.kernels.dynamics import drive_forces, force_on_twist, joint_forces, tree_wrenches
from pkm_description.machine import Machine


def home_forces(machine: Machine) -> Array:
    """Forces (A,) N, N m; legs and drives are mapped at home already."""
    model, (memory, scratch) = machine.compiled_model, machine.scratch
    for still in (memory.spin, memory.spin_rate, memory.acceleration, memory.joint_accelerations):
        still[:] = 0.0
    tree_wrenches(model, scratch)
    joint_forces(model, scratch)
    force_on_twist(model, scratch)
    forces = np.zeros((1, machine.actuated_count))
    drive_forces(model, scratch, forces, 0)
    return forces[0]
