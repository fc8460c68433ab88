"""How forces in single joints reach the drives: by virtual power."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pkm_description.arrays import Array
from pkm_description.kinematics.closed_legs import close_legs
from pkm_description.kinematics.drive_map import twist_per_drive
from pkm_description.kinematics.joint_motion import JointMotion
from pkm_description.machine import Machine


def joint_shares(machine: Machine, joint_motion: JointMotion, columns: NDArray[np.int64]) -> Array:
    """Drive forces (N, C, A) per unit of force in each of C joints, ``columns`` among all joints.

    The rates of these joints per rate of the drives. The force in a driven joint is its own drive's, but for redundant
    drives, which share it.
    """
    samples, drives = len(joint_motion.positions), machine.actuated_count
    if drives == machine.model.degrees_of_freedom[0] and np.isin(columns, machine.drive_columns).all():
        own = (columns[:, None] == machine.drive_columns).astype(float)
        return np.broadcast_to(own, (samples, len(columns), drives))
    legs = close_legs(
        machine, joint_motion.position, joint_motion.rotation_base_platform, joint_motion.positions
    )
    return np.asarray(legs.joint_map[:, columns] @ twist_per_drive(legs))
