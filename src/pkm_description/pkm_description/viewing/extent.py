"""Centre and size of a machine, to place arrows, labels and the camera."""

from __future__ import annotations

import numpy as np

from pkm_description.arrays import Array
from pkm_description.kinematics import joint_positions
from pkm_description.kinematics.closed_legs import body_poses, platform_joints
from pkm_description.machine import Machine


def home_positions(machine: Machine) -> Array:
    """Joint positions (J,) at home, loops closed."""
    home = machine.home
    if not machine.has_platform:
        return machine.home_positions
    return joint_positions(machine, home.position[None], home.rotation_base_platform[None])[0]


def machine_extent(machine: Machine) -> tuple[Array, float]:
    """Middle (3,) m in ``base_link`` and diagonal [m] of the box around all joints at home."""
    points = body_poses(machine, home_positions(machine)[None])[1][0]
    if machine.has_platform:
        home = machine.home
        points = np.concatenate([points, platform_joints(machine, home.position, home.rotation_base_platform)])
    lower, upper = points.min(axis=0), points.max(axis=0)
    return 0.5 * (lower + upper), float(np.linalg.norm(upper - lower))
