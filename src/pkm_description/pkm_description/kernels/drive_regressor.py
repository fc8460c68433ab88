"""Drive forces and their regressors from the motion of the drives, one sample, for control and identification live."""

from __future__ import annotations

from pkm_description.arrays import Array
from pkm_description.kernels.body_map import map_bodies
from pkm_description.kernels.drive_dynamics import drive_dynamics
from pkm_description.kernels.drive_map import map_joints_to_drives
from pkm_description.kernels.friction import law_columns, sign_of
from pkm_description.kernels.jit import kernel
from pkm_description.kernels.model import Integers, ModelData, ScratchData
from pkm_description.kernels.regressor import add_blocks, clear
from pkm_description.kernels.status import OK


@kernel
def drive_regressor(
    model: ModelData, scratch: ScratchData, joints: Array, position: Array, rotation: Array, rates: Array,
    accelerations: Array, external: Array, block: Integers, forces: Array, bodies: Array, friction: Array,
) -> int:  # fmt: skip
    """Forces of a machine's own parameters and regressors of one sample whose configuration is known.

    Parameters
    ----------
    joints, position, rotation : (1, J), (1, 3) m, (1, 3, 3)
    rates, accelerations : (1, A) of the drives
    external : (1, 6) wrench on the platform, base axes
    block : see :func:`~pkm_description.kernels.regressor.add_blocks`
    forces : (1, A) with rotors and all friction
    bodies : (1, A, P) of the inertial parameters
    friction : (1, A, 4 A) of the linear parameters of each drive's friction law, unused ones zero
    """
    status = drive_dynamics(
        model, scratch, joints, position, rotation, rates, accelerations, True, 0.0, external, forces
    )
    if status < 0:
        return status
    map_joints_to_drives(model, scratch)
    clear(bodies, 0)
    drives = len(model.drive_joint)
    map_bodies(model, scratch, scratch.joint_per_drive, scratch.twist_map, drives)
    add_blocks(model, scratch, block, drives, bodies, 0)
    for d in range(drives):
        joint = model.drive_joint[d]
        rate = scratch.joint_rates[joint]
        sign = sign_of(rate, model.friction_sign[joint], model.friction_width[joint])
        columns = law_columns(model.friction_law[joint], rate, scratch.loads[joint], sign, model.friction_shape, joint)
        for a in range(drives):
            for k in range(4):
                friction[0, a, 4 * d + k] = scratch.joint_per_drive[joint, a] * columns[k]
    return OK
