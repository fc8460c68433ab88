"""Drive forces from the motion of the drives: forward kinematics from the last pose, rates, and inverse dynamics."""

from __future__ import annotations

import math

from pkm_description.arrays import Array
from pkm_description.kernels.drive_motion import motion_of_drives
from pkm_description.kernels.inverse_dynamics import forces_of_state
from pkm_description.kernels.jit import kernel
from pkm_description.kernels.legs import accelerations_of_joints
from pkm_description.kernels.model import ModelData, ScratchData
from pkm_description.kernels.status import MOTION_NOT_FINITE
from pkm_description.kernels.tree import body_accelerations


@kernel
def drive_dynamics(
    model: ModelData, scratch: ScratchData, joints: Array, position: Array, rotation: Array, rates: Array,
    accelerations: Array, friction: bool, smoothing: float, external: Array, forces: Array,
) -> int:  # fmt: skip
    """Drive forces (1, A) of one sample whose configuration is known.

    Parameters
    ----------
    joints, position, rotation : (1, J), (1, 3) m, (1, 3, 3)
    rates, accelerations : (1, A) of the drives
    """
    total = 0.0
    for a in range(rates.shape[1]):
        total += rates[0, a] + accelerations[0, a]
    if not math.isfinite(total):
        return MOTION_NOT_FINITE
    status = motion_of_drives(model, scratch, joints, position, rotation, rates, accelerations, 0)
    if status < 0:
        return status
    accelerations_of_joints(model, scratch)
    body_accelerations(model, scratch, scratch.joint_rates, scratch.joint_accelerations)
    return forces_of_state(model, scratch, friction, smoothing, external, forces, 0)
