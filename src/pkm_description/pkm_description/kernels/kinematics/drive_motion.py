"""Motion of the platform from the motion of the drives: one sample, and loops over samples."""

from __future__ import annotations

import math

from pkm_description.arrays import Array
from pkm_description.kernels.jit import kernel
from pkm_description.kernels.kinematics.drive_map import map_drives
from pkm_description.kernels.kinematics.legs import (
    accelerations_of_joints,
    bias_of_joints,
    legs_where_they_are,
    rates_of_joints,
)
from pkm_description.kernels.kinematics.pose import set_pose
from pkm_description.kernels.kinematics.tree import body_velocities
from pkm_description.kernels.linalg import independence, reflect_columns, substitute_back_columns
from pkm_description.kernels.model import (
    DRIVES_DISAGREE,
    DRIVES_SINGULAR,
    MOTION_NOT_FINITE,
    OK,
    ModelData,
    ScratchData,
)

#: part of the largest rate by which redundant drives may differ from what the platform's motion gives them, and the
#: rate [m/s, rad/s] below which only rounding is left
AGREEMENT, RESTING = 1e-6, 1e-9


@kernel
def known_configuration(
    model: ModelData, scratch: ScratchData, joints: Array, position: Array, rotation: Array, sample: int
) -> int:
    """Map legs and drives at one row of configurations that are closed already."""
    status = set_pose(model, scratch, position, rotation, sample)
    if status < 0:
        return status
    for joint in range(len(model.kind)):
        scratch.joints[joint] = joints[sample, joint]
    status = legs_where_they_are(model, scratch)
    if status < 0:
        return status
    return map_drives(model, scratch)


@kernel
def twist_of_drives(model: ModelData, scratch: ScratchData, rates: Array, sample: int) -> None:
    """Set the platform's twist of one row of drive rates (N, A); the drives are mapped."""
    platform = len(model.kind)
    for i in range(3):
        linear, angular = 0.0, 0.0
        for a in range(len(model.drive_joint)):
            linear += scratch.twist_map[i, a] * rates[sample, a]
            angular += scratch.twist_map[3 + i, a] * rates[sample, a]
        scratch.velocity[platform, i] = linear
        scratch.spin[platform, i] = angular


@kernel
def acceleration_of_drives(model: ModelData, scratch: ScratchData, accelerations: Array, sample: int) -> int:
    """Set the platform's acceleration of one row of drive accelerations (N, A); the biases are known.

    Least squares of ``constraints a = constraint_bias`` and ``J_drives a = accelerations - joint_bias``, with turns
    measured in platform radii; exact, because drives and constraints agree.
    """
    radius, platform = model.radius[0], len(model.kind)
    constraints, drives = len(scratch.constraints), len(model.drive_joint)
    matrix, rows = scratch.square, constraints + drives
    if rows < 6:
        return DRIVES_SINGULAR
    for row in range(constraints):
        for i in range(6):
            matrix[row, i] = scratch.constraints[row, i] / (1.0 if i < 3 else radius)
        matrix[row, 6] = scratch.constraint_bias[row]
    for a in range(drives):
        joint = model.drive_joint[a]
        for i in range(6):
            matrix[constraints + a, i] = scratch.joint_map[joint, i] / (1.0 if i < 3 else radius)
        matrix[constraints + a, 6] = accelerations[sample, a] - scratch.joint_bias[joint]
    reflect_columns(matrix, scratch.vector, rows, 0, 6, 7)
    if not independence(matrix, 6) > 0.0:
        return DRIVES_SINGULAR
    substitute_back_columns(matrix, 6, 6, 7)
    for i in range(3):
        scratch.acceleration[platform, i] = matrix[i, 6]
        scratch.spin_rate[platform, i] = matrix[3 + i, 6] / radius
    return OK


@kernel
def drives_agree(model: ModelData, scratch: ScratchData, joints: Array, wanted: Array, sample: int) -> int:
    """Whether all joints (J,) do what one row of drives (N, A) is told; redundant drives may want different things."""
    largest, total = 0.0, 0.0
    for a in range(len(model.drive_joint)):
        largest = max(largest, abs(wanted[sample, a]))
        total += wanted[sample, a]
    if not math.isfinite(total):
        return MOTION_NOT_FINITE
    if len(model.drive_joint) == model.degrees_of_freedom[0]:
        return OK
    for a in range(len(model.drive_joint)):
        off = abs(joints[model.drive_joint[a]] - wanted[sample, a])
        if not off <= AGREEMENT * largest + RESTING:
            scratch.detail[1], scratch.detail[2] = a, off
            return DRIVES_DISAGREE
    return OK


@kernel
def motion_of_drives(
    model: ModelData, scratch: ScratchData, joints: Array, position: Array, rotation: Array, rates: Array,
    accelerations: Array, sample: int,
) -> int:  # fmt: skip
    """Set the platform's twist and acceleration at one row of known configurations and drive motions."""
    status = known_configuration(model, scratch, joints, position, rotation, sample)
    if status < 0:
        return status
    twist_of_drives(model, scratch, rates, sample)
    rates_of_joints(model, scratch)
    status = drives_agree(model, scratch, scratch.joint_rates, rates, sample)
    if status < 0:
        return status
    body_velocities(model, scratch, scratch.joint_rates, scratch.spin, scratch.velocity)
    bias_of_joints(model, scratch)
    status = acceleration_of_drives(model, scratch, accelerations, sample)
    if status < 0:
        return status
    accelerations_of_joints(model, scratch)
    return drives_agree(model, scratch, scratch.joint_accelerations, accelerations, sample)


@kernel
def motions_of_drives(
    model: ModelData, scratch: ScratchData, joints: Array, position: Array, rotation: Array, rates: Array,
    accelerations: Array, linear: Array, angular: Array, linear_acceleration: Array, angular_acceleration: Array,
) -> int:  # fmt: skip
    """Twists and accelerations of the platform (N, 3) of drive rates and accelerations (N, A)."""
    platform = len(model.kind)
    for sample in range(len(position)):
        status = motion_of_drives(model, scratch, joints, position, rotation, rates, accelerations, sample)
        if status < 0:
            scratch.detail[0] = sample
            return status
        for i in range(3):
            linear[sample, i] = scratch.velocity[platform, i]
            angular[sample, i] = scratch.spin[platform, i]
            linear_acceleration[sample, i] = scratch.acceleration[platform, i]
            angular_acceleration[sample, i] = scratch.spin_rate[platform, i]
    return OK


@kernel
def twist_maps(
    model: ModelData, scratch: ScratchData, joints: Array, position: Array, rotation: Array, twists: Array
) -> int:
    """Twists of the platform per drive rate (N, 6, A) at known configurations."""
    for sample in range(len(position)):
        status = known_configuration(model, scratch, joints, position, rotation, sample)
        if status < 0:
            scratch.detail[0] = sample
            return status
        for i in range(6):
            for a in range(len(model.drive_joint)):
                twists[sample, i, a] = scratch.twist_map[i, a]
    return OK
