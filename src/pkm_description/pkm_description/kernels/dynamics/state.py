"""State of one sample: all joints and bodies from pose, velocity and acceleration of the platform."""

from __future__ import annotations

import math

from pkm_description.arrays import Array
from pkm_description.kernels.jit import kernel
from pkm_description.kernels.kinematics.joint_motion import motion_of_joints, rates_of_pose, start_at
from pkm_description.kernels.kinematics.tree import body_accelerations, body_velocities, leg_poses
from pkm_description.kernels.linalg import store
from pkm_description.kernels.model import MOTION_NOT_FINITE, OK, ModelData, ScratchData

_NO_VECTOR = 0.0, 0.0, 0.0


@kernel
def begin(model: ModelData, scratch: ScratchData, start: Array, sample: int) -> None:
    """Set where the iterations of a sample start: from joint positions (J,), then each from the last; or from home."""
    scratch.detail[0] = sample
    if sample == 0 or len(start) == 0:
        start_at(model, scratch, start)


@kernel
def coast(
    model: ModelData, scratch: ScratchData, start: Array, position: Array, rotation: Array, linear: Array,
    angular: Array, sample: int,
) -> int:  # fmt: skip
    """Positions and velocities of joints and bodies: poses (N, 3), (N, 3, 3), velocities (N, 3), (N, 3)."""
    begin(model, scratch, start, sample)
    status = rates_of_pose(model, scratch, position, rotation, linear, angular, sample)
    if status < 0:
        return status
    body_velocities(model, scratch, scratch.joint_rates, scratch.spin, scratch.velocity)
    return OK


@kernel
def move(
    model: ModelData, scratch: ScratchData, start: Array, position: Array, rotation: Array, linear: Array,
    angular: Array, linear_rate: Array, angular_rate: Array, sample: int,
) -> int:  # fmt: skip
    """Full state of one sample: as :func:`coast`, and accelerations (N, 3), (N, 3) of the platform."""
    begin(model, scratch, start, sample)
    status = motion_of_joints(
        model, scratch, position, rotation, linear, angular, linear_rate, angular_rate, sample
    )
    if status < 0:
        return status
    body_accelerations(model, scratch, scratch.joint_accelerations)
    return OK


@kernel
def move_joints(
    model: ModelData, scratch: ScratchData, positions: Array, rates: Array, accelerations: Array, sample: int
) -> int:
    """State of an open chain from positions, rates and accelerations (N, J) of its joints."""
    scratch.detail[0] = sample
    platform, total = len(model.kind), 0.0
    # a chain has no platform; its place among the bodies rests
    store(scratch.spin, platform, _NO_VECTOR)
    store(scratch.velocity, platform, _NO_VECTOR)
    store(scratch.spin_rate, platform, _NO_VECTOR)
    store(scratch.acceleration, platform, _NO_VECTOR)
    for joint in range(platform):
        scratch.joints[joint] = positions[sample, joint]
        scratch.joint_rates[joint] = rates[sample, joint]
        scratch.joint_accelerations[joint] = accelerations[sample, joint]
        total += positions[sample, joint] + rates[sample, joint] + accelerations[sample, joint]
    if not math.isfinite(total):
        return MOTION_NOT_FINITE
    for leg in range(len(model.closed_form)):
        leg_poses(model, scratch, leg)
    body_velocities(model, scratch, scratch.joint_rates, scratch.spin, scratch.velocity)
    body_accelerations(model, scratch, scratch.joint_accelerations)
    return OK
