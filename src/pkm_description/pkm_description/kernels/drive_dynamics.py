"""Drive forces from the motion of the drives: forward kinematics from the last pose, rates, and inverse dynamics."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from pkm_description.arrays import Array
from pkm_description.kernels.drive_motion import motion_of_drives
from pkm_description.kernels.forward_samples import solve_near
from pkm_description.kernels.inverse_dynamics import forces_of_state
from pkm_description.kernels.jit import kernel
from pkm_description.kernels.legs import accelerations_of_joints
from pkm_description.kernels.model import ModelData, ScratchData
from pkm_description.kernels.status import MOTION_NOT_FINITE, NOT_CONVERGED
from pkm_description.kernels.tree import body_accelerations


@kernel
def drive_dynamics(
    model: ModelData, scratch: ScratchData, begins: NDArray[np.bool_], most: int, tolerance: float,
    max_condition: float, branch: Array, joints: Array, position: Array, rotation: Array, inverse: Array,
    report: Array, motion: Array, friction: bool, smoothing: float, external: Array, forces: Array,
) -> int:  # fmt: skip
    """Drive forces (1, A) of the second of two samples, whose configuration is sought next to the first one's.

    Parameters
    ----------
    begins, most, tolerance, max_condition, branch, joints, position, rotation, inverse, report : see
        :func:`~pkm_description.kernels.forward_samples.solve_near`
    motion : (3, 2, A) positions, rates and accelerations of the drives; the second rows count

    Returns
    -------
    NOT_CONVERGED where the configuration is in the least doubt.
    """
    if solve_near(
        model, scratch, motion[0], begins, 1, most, tolerance, max_condition, branch, joints, position, rotation,
        inverse, report,
    ) != 2:  # fmt: skip
        return NOT_CONVERGED
    total = 0.0
    for a in range(motion.shape[2]):
        total += motion[1, 1, a] + motion[2, 1, a]
    if not math.isfinite(total):
        return MOTION_NOT_FINITE
    status = motion_of_drives(model, scratch, joints, position, rotation, motion[1], motion[2], 1)
    if status < 0:
        return status
    accelerations_of_joints(model, scratch)
    body_accelerations(model, scratch, scratch.joint_rates, scratch.joint_accelerations)
    return forces_of_state(model, scratch, friction, smoothing, external, forces, 0)
