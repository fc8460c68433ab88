"""Motion of all joints from the motion of the platform: one sample, and loops over samples."""

from __future__ import annotations

import math

from pkm_description.arrays import Array
from pkm_description.kernels.jit import kernel
from pkm_description.kernels.kinematics.closures import closure_rows, leg_rows
from pkm_description.kernels.kinematics.drive_map import admitted_twists
from pkm_description.kernels.kinematics.legs import (
    accelerations_of_joints,
    bias_of_joints,
    legs_where_they_are,
    rates_of_joints,
)
from pkm_description.kernels.kinematics.pose import place_leg, place_legs, pose_of_joints, set_pose, start_at_home
from pkm_description.kernels.kinematics.tree import (
    body_velocities,
    leg_poses,
    set_of_platform,
    set_platform,
)
from pkm_description.kernels.linalg import reflect_columns
from pkm_description.kernels.model import MOTION_NOT_FINITE, NOT_ADMITTED, NOT_REACHED, OK, ModelData, ScratchData

#: part of a twist, relative to its size, that the constraints may forbid
TWIST_TOLERANCE = 1e-6

#: m/s, speed below which only rounding is left
RESTING_SPEED = 1e-9


@kernel
def start_at(model: ModelData, scratch: ScratchData, start: Array) -> None:
    """Let iterations start from joint positions (J,); home where there are none (0,)."""
    if len(start) == 0:
        start_at_home(model, scratch)
    else:
        for joint in range(len(model.kind)):
            scratch.joints[joint] = start[joint]


@kernel
def keep(values: Array, sample: int, row: Array) -> None:
    """Write one row of an array (N, J)."""
    for joint in range(values.shape[1]):
        values[sample, joint] = row[joint]


@kernel
def admitted(model: ModelData, scratch: ScratchData) -> int:
    """Refuse twists that are no numbers, or that legs or plane forbid; the legs are mapped.

    An angular velocity moves the platform joints; what is forbidden is measured against their speed.
    """
    platform = len(model.kind)
    speed, spin, total = 0.0, 0.0, 0.0
    for i in range(3):
        speed = max(speed, abs(scratch.velocity[platform, i]))
        spin = max(spin, abs(scratch.spin[platform, i]))
        total += scratch.velocity[platform, i] + scratch.spin[platform, i]
    if not math.isfinite(total):
        return MOTION_NOT_FINITE
    limit = TWIST_TOLERANCE * (speed + spin * model.radius[0]) + RESTING_SPEED
    for row in range(len(scratch.constraints)):
        forbidden = 0.0
        for i in range(3):
            forbidden += scratch.constraints[row, i] * scratch.velocity[platform, i]
            forbidden += scratch.constraints[row, 3 + i] * scratch.spin[platform, i]
        if not abs(forbidden) <= limit:
            scratch.detail[1], scratch.detail[2] = row, abs(forbidden)
            return NOT_ADMITTED
    return OK


@kernel
def rates_of_pose(
    model: ModelData, scratch: ScratchData, position: Array, rotation: Array, linear: Array, angular: Array, sample: int
) -> int:
    """Joint positions and rates of one row of poses and twists, from ``scratch.joints``."""
    status = pose_of_joints(model, scratch, position, rotation, sample)
    if status < 0:
        return status
    set_of_platform(scratch.velocity, scratch.spin, linear, angular, sample)
    status = admitted(model, scratch)
    if status < 0:
        return status
    rates_of_joints(model, scratch)
    return OK


@kernel
def motion_of_joints(
    model: ModelData, scratch: ScratchData, position: Array, rotation: Array, linear: Array, angular: Array,
    linear_acceleration: Array, angular_acceleration: Array, sample: int,
) -> int:  # fmt: skip
    """Joint positions, rates and accelerations of one row of a motion, from ``scratch.joints``."""
    status = rates_of_pose(model, scratch, position, rotation, linear, angular, sample)
    if status < 0:
        return status
    body_velocities(model, scratch, scratch.joint_rates, scratch.spin, scratch.velocity)
    bias_of_joints(model, scratch)
    set_of_platform(scratch.acceleration, scratch.spin_rate, linear_acceleration, angular_acceleration, sample)
    total = 0.0
    for i in range(3):
        total += linear_acceleration[sample, i] + angular_acceleration[sample, i]
    if not math.isfinite(total):
        return MOTION_NOT_FINITE
    accelerations_of_joints(model, scratch)
    return OK


@kernel
def motions_of_joints(
    model: ModelData, scratch: ScratchData, start: Array, position: Array, rotation: Array, linear: Array,
    angular: Array, linear_acceleration: Array, angular_acceleration: Array, positions: Array, rates: Array,
    accelerations: Array,
) -> int:  # fmt: skip
    """Joint positions, rates and accelerations (N, J) at poses (N, 3) m, (N, 3, 3), twists and accelerations (N, 3).

    Without accelerations, or twists, (0, 3), what follows from them is not computed. With a start (J,) each sample
    follows the one before; without (0,) each starts from home. ``detail[0]`` is the sample of a negative status.
    """
    start_at(model, scratch, start)
    for sample in range(len(position)):
        if len(start) == 0:
            start_at_home(model, scratch)
        if len(linear_acceleration):
            status = motion_of_joints(
                model, scratch, position, rotation, linear, angular, linear_acceleration, angular_acceleration, sample
            )
        elif len(linear):
            status = rates_of_pose(model, scratch, position, rotation, linear, angular, sample)
        else:
            status = place_legs(model, scratch, position, rotation, sample)
        if status < 0:
            scratch.detail[0] = sample
            return status
        keep(positions, sample, scratch.joints)
        if len(linear):
            keep(rates, sample, scratch.joint_rates)
        if len(linear_acceleration):
            keep(accelerations, sample, scratch.joint_accelerations)
    return OK


@kernel
def maps_of_poses(
    model: ModelData, scratch: ScratchData, known: Array, position: Array, rotation: Array, positions: Array,
    joint_map: Array, constraints: Array, admitted_basis: Array,
) -> int:  # fmt: skip
    """Joint positions (N, J), joint rates per twist (N, J, 6), constraints (N, K, 6), admitted twists (N, 6, D).

    ``known`` are joint positions (N, J) that close the legs already; without (0, J) each sample starts from home.
    """
    for sample in range(len(position)):
        if len(known) == 0:
            start_at_home(model, scratch)
            status = pose_of_joints(model, scratch, position, rotation, sample)
        else:
            status = set_pose(model, scratch, position, rotation, sample)
            for joint in range(len(model.kind)):
                scratch.joints[joint] = known[sample, joint]
            if status >= 0:
                status = legs_where_they_are(model, scratch)
        if status < 0:
            scratch.detail[0] = sample
            return status
        keep(positions, sample, scratch.joints)
        for joint in range(len(model.kind)):
            for i in range(6):
                joint_map[sample, joint, i] = scratch.joint_map[joint, i]
        for row in range(len(scratch.constraints)):
            for i in range(6):
                constraints[sample, row, i] = scratch.constraints[row, i]
        freedoms = admitted_basis.shape[2]
        regular = admitted_twists(model, scratch) == freedoms
        for i in range(6):
            for k in range(freedoms):
                admitted_basis[sample, i, k] = scratch.admitted[i, k] if regular else math.nan
    return OK


@kernel
def bodies_of_joints(
    model: ModelData, scratch: ScratchData, positions: Array, rotations: Array, origins: Array
) -> None:
    """Poses of the J leg bodies at joint positions (N, J): rotations (N, J, 3, 3) to base axes, origins (N, J, 3) m."""
    for sample in range(len(positions)):
        for joint in range(len(model.kind)):
            scratch.joints[joint] = positions[sample, joint]
        for leg in range(len(model.closed_form)):
            leg_poses(model, scratch, leg)
        for joint in range(len(model.kind)):
            for i in range(3):
                origins[sample, joint, i] = scratch.origin[joint, i]
                for k in range(3):
                    rotations[sample, joint, i, k] = scratch.rotation[joint, i, k]


@kernel
def gaps_of_legs(model: ModelData, scratch: ScratchData, position: Array, rotation: Array, gaps: Array) -> int:
    """How far legs (N, L) m miss poses that they do not reach; zero where they close, and of legs in closed form."""
    for sample in range(len(position)):
        start_at_home(model, scratch)
        for leg in range(len(model.closed_form)):
            gaps[sample, leg] = 0.0
            status = set_pose(model, scratch, position, rotation, sample)
            if status < 0:
                scratch.detail[0] = sample
                return status
            if not model.closed_form[leg] and place_leg(model, scratch, leg) == NOT_REACHED:
                gaps[sample, leg] = scratch.detail[2]
    return OK


@kernel
def regularities_of_legs(
    model: ModelData, scratch: ScratchData, positions: Array, position: Array, rotation: Array, regularity: Array
) -> None:
    """How far legs (N, L) are from stretched or folded at joint positions (N, J): volume of their unit directions.

    0 .. 1, free of units; 1 of legs in closed form, which are neither.
    """
    for sample in range(len(position)):
        set_platform(model, scratch, position, rotation, sample)
        for joint in range(len(model.kind)):
            scratch.joints[joint] = positions[sample, joint]
        for leg in range(len(model.closed_form)):
            volume = 1.0
            if not model.closed_form[leg]:
                leg_poses(model, scratch, leg)
                closure_rows(model, scratch, leg)
                columns, rows = model.column_start[leg + 1] - model.column_start[leg], leg_rows(model, leg)
                for column in range(columns):
                    length = 0.0
                    for row in range(rows):
                        length += scratch.rows[leg, row, column] * scratch.rows[leg, row, column]
                    volume /= math.sqrt(length)
                reflect_columns(scratch.rows[leg], scratch.reflections[leg], rows, 0, columns, columns)
                for column in range(columns):
                    volume *= abs(scratch.rows[leg, column, column])
            regularity[sample, leg] = volume
