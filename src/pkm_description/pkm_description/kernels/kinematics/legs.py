"""Legs closed onto a pose of the platform: joint positions, and the map from the platform's motion to the joints.

One elimination per leg: Householder's QR of the joint columns of its closure rows ``[joints | twist | gap]``. The rows
above give the joints' rates per twist, the rows below what the leg forbids the platform.
"""

from __future__ import annotations

import math

from pkm_description.arrays import Array
from pkm_description.kernels.jit import kernel
from pkm_description.kernels.kinematics.closures import closure_gaps, closure_rows, gap_accelerations, leg_rows
from pkm_description.kernels.kinematics.tree import body_accelerations, leg_poses
from pkm_description.kernels.linalg import (
    Vector,
    cross,
    dot,
    independence,
    minus,
    plus,
    reflect,
    reflect_columns,
    substitute_back,
    substitute_back_columns,
    turned,
    vector,
)
from pkm_description.kernels.model import (
    LEG_SINGULAR,
    OK,
    REVOLUTE,
    UNIVERSAL_SINGULAR,
    ModelData,
    ScratchData,
)

#: relative length that a joint's direction must have across the others' before the leg counts as stretched or folded
LEG_SINGULARITY = 1e-9

#: part of the platform's radius; a joint that moves its leg's closures by less, at its longest step, moves nothing: the
#: direction of such a column is rounding, and tells nothing about whether it depends on others
NEGLIGIBLE_ARM = 1e-11

#: sine of the angle between strut and first universal axis below which the joint angles are refused
UNIVERSAL_SINGULARITY = 1e-3

#: change of the joints, relative to the longest step, at which iterations end
CONVERGED = 1e-13

#: change below which iterations end as soon as they stop improving: rounding of badly conditioned legs
ROUNDING = 1e-10


@kernel
def close_strut(model: ModelData, scratch: ScratchData, leg: int) -> int:
    """Joint positions of a U-P leg in closed form: two angles, and the distance from base to platform joint."""
    joint, closure = model.joint_start[leg], model.closure_start[leg]
    platform = model.closure_other[closure]
    anchor = plus(
        vector(scratch.origin, platform),
        turned(scratch.rotation, platform, vector(model.closure_other_point, closure)),
    )
    strut = minus(anchor, vector(model.translation, joint))
    x = _along(model, leg, 0, strut)
    y = _along(model, leg, 1, strut)
    z = _along(model, leg, 2, strut)
    across, length = math.sqrt(y * y + z * z), math.sqrt(dot(strut, strut))
    if not across >= UNIVERSAL_SINGULARITY * length:
        scratch.detail[1] = leg
        scratch.detail[2] = across / length
        return UNIVERSAL_SINGULAR
    side = model.universal_side[leg]
    scratch.joints[joint] = math.atan2(-side * y, side * z)
    scratch.joints[joint + 1] = wrapped(math.atan2(x, side * across) - model.universal_angle[leg], 0.0)
    scratch.joints[joint + 2] = length - model.strut_length[leg]
    return OK


@kernel
def _along(model: ModelData, leg: int, column: int, strut: Vector) -> float:
    basis = model.universal_basis
    along: float = (
        basis[leg, 0, column] * strut[0] + basis[leg, 1, column] * strut[1] + basis[leg, 2, column] * strut[2]
    )
    return along


@kernel
def wrapped(angle: float, middle: float) -> float:
    """Return the angle [rad] within half a turn of ``middle``."""
    if -math.pi <= angle - middle < math.pi:
        return angle  # nearly always, and a remainder takes longer than an arcus tangent
    return middle + (angle - middle + math.pi) % (2.0 * math.pi) - math.pi


@kernel
def close_leg(model: ModelData, scratch: ScratchData, leg: int, most: int) -> float:
    """Newton's iterations on the joints of one leg, from where ``scratch.joints`` has them; the platform is placed.

    Steps are limited. Leaves the QR of the leg in ``scratch.rows``. Whether the leg closes is for the caller to look at
    (:func:`closure_gaps`): legs that hold the platform do so on admissible poses only.

    Returns
    -------
    Size of the second step relative to the first; infinite where the first was limited, or the iterations do not end.
    """
    begin, columns = model.column_start[leg], model.column_start[leg + 1] - model.column_start[leg]
    last, contraction = math.inf, 0.0
    for iteration in range(most):
        leg_poses(model, scratch, leg)
        closure_gaps(model, scratch, leg)
        eliminate(model, scratch, leg)
        rows = leg_rows(model, leg)
        reflect(scratch.rows[leg], scratch.reflections[leg], rows, columns, scratch.bias)
        largest = 0.0
        for i in range(columns - 1, -1, -1):
            total = -scratch.bias[i]
            for k in range(i + 1, columns):
                total -= scratch.rows[leg, i, k] * scratch.vector[k]
            diagonal = scratch.rows[leg, i, i]
            scratch.vector[i] = total / diagonal if diagonal != 0.0 else 0.0
            size = abs(scratch.vector[i]) / model.longest_step[model.column_joint[begin + i]]
            if not size <= largest:
                largest = size
        if largest <= CONVERGED or (largest <= ROUNDING and largest >= last):
            return contraction
        if not largest < math.inf:
            return math.inf
        if iteration == 0 and largest > 1.0:
            contraction = math.inf
        elif iteration == 1:
            contraction = max(contraction, largest / max(last, ROUNDING))
        last = largest
        scale = 1.0 / max(largest, 1.0)
        for i in range(columns):
            scratch.joints[model.column_joint[begin + i]] += scale * scratch.vector[i]
    return math.inf


@kernel
def eliminate(model: ModelData, scratch: ScratchData, leg: int) -> float:
    """QR of the joint columns of a leg where it is; returns how far its joints are from dependent, 0 .. 1."""
    closure_rows(model, scratch, leg)
    columns = model.column_start[leg + 1] - model.column_start[leg]
    rows = leg_rows(model, leg)
    reflect_columns(scratch.rows[leg], scratch.reflections[leg], rows, 0, columns, columns + 6)
    return independence(scratch.rows[leg], columns)


@kernel
def map_joints(model: ModelData, scratch: ScratchData, leg: int) -> int:
    """Rows of ``joint_map`` and ``constraints`` of a leg at its present positions.

    Gap rates ``A joints + B twist = 0`` with ``A = Q [R; 0]``: joint rates ``-R^-1 (Q^T B)_above twist``, and what the
    leg forbids ``(Q^T B)_below twist = 0``.
    """
    regular = eliminate(model, scratch, leg)
    begin, columns = model.column_start[leg], model.column_start[leg + 1] - model.column_start[leg]
    rows = leg_rows(model, leg)
    for i in range(columns):
        moved = abs(scratch.rows[leg, i, i]) * model.longest_step[model.column_joint[begin + i]]
        if not moved >= NEGLIGIBLE_ARM * model.radius[0]:
            regular = 0.0
    if not regular >= LEG_SINGULARITY:
        scratch.detail[1] = leg
        scratch.detail[2] = regular
        return LEG_SINGULAR
    # attributes are read once: inside of a loop each access would cost more than the loop
    matrix, joint_map, constraints = scratch.rows[leg], scratch.joint_map, scratch.constraints
    substitute_back_columns(matrix, columns, columns, columns + 6)
    for i in range(columns):
        joint = model.column_joint[begin + i]
        for k in range(6):
            joint_map[joint, k] = -matrix[i, columns + k]
    row = constraint_start(model, leg)
    for i in range(columns, rows):
        for k in range(6):
            constraints[row, k] = matrix[i, columns + k]
        row += 1
    return OK


@kernel
def constraint_start(model: ModelData, leg: int) -> int:
    """First row of ``constraints`` that belongs to a leg."""
    start: int = model.row_start[model.closure_start[leg]] - model.column_start[leg]
    return start


@kernel
def map_plane(model: ModelData, scratch: ScratchData) -> None:
    """Rows of ``constraints`` of a plane: the components of the twist that the platform cannot have."""
    row = constraint_start(model, len(model.closed_form))
    place = 0
    for k in range(6):
        if place < len(model.freedom) and model.freedom[place] == k:
            place += 1
            continue
        for i in range(6):
            scratch.constraints[row, i] = 1.0 if i == k else 0.0
        scratch.constraint_bias[row] = 0.0
        row += 1


@kernel
def legs_where_they_are(model: ModelData, scratch: ScratchData) -> int:
    """Map the motion of all legs at ``scratch.joints``, which close them; the joint poses are set here."""
    for leg in range(len(model.closed_form)):
        leg_poses(model, scratch, leg)
        status = map_joints(model, scratch, leg)
        if status < 0:
            return status
    map_plane(model, scratch)
    return OK


@kernel
def rates_of_joints(model: ModelData, scratch: ScratchData) -> None:
    """``scratch.joint_rates`` of the platform's twist."""
    platform = len(model.kind)
    v, w = vector(scratch.velocity, platform), vector(scratch.spin, platform)
    for joint in range(platform):
        scratch.joint_rates[joint] = along_twist(scratch.joint_map, joint, v, w)


@kernel
def along_twist(joint_map: Array, joint: int, linear: Vector, angular: Vector) -> float:
    """One row of the joint map times a twist or its rate."""
    m = joint_map
    total: float = (
        m[joint, 0] * linear[0] + m[joint, 1] * linear[1] + m[joint, 2] * linear[2]
        + m[joint, 3] * angular[0] + m[joint, 4] * angular[1] + m[joint, 5] * angular[2]
    )  # fmt: skip
    return total


@kernel
def bias_of_joints(model: ModelData, scratch: ScratchData) -> None:
    """``joint_bias`` and ``constraint_bias``: what velocities alone make of a platform that does not accelerate.

    The joint rates and the velocities of the bodies are known. Overwrites the accelerations of all bodies.
    """
    platform = len(model.kind)
    for i in range(3):
        scratch.acceleration[platform, i] = 0.0
        scratch.spin_rate[platform, i] = 0.0
    for joint in range(platform):
        scratch.joint_bias[joint] = 0.0
    body_accelerations(model, scratch, scratch.joint_bias)
    for leg in range(len(model.closed_form)):
        gap_accelerations(model, scratch, leg)
        _split_bias(model, scratch, leg)


@kernel
def _split_bias(model: ModelData, scratch: ScratchData, leg: int) -> None:
    """What ``scratch.bias``, the accelerations that a leg's gaps have already, asks of joints and platform.

    The leg's joints into ``joint_bias``, what it forbids the platform into ``constraint_bias``.
    """
    bias, joint_bias, constraint_bias = scratch.bias, scratch.joint_bias, scratch.constraint_bias
    begin, columns = model.column_start[leg], model.column_start[leg + 1] - model.column_start[leg]
    rows = leg_rows(model, leg)
    matrix = scratch.rows[leg]
    reflect(matrix, scratch.reflections[leg], rows, columns, bias)
    substitute_back(matrix, columns, bias)
    for joint in range(model.joint_start[leg], model.joint_start[leg + 1]):
        joint_bias[joint] = 0.0
    for i in range(columns):
        joint_bias[model.column_joint[begin + i]] = -bias[i]
    row = constraint_start(model, leg)
    for i in range(columns, rows):
        constraint_bias[row] = -bias[i]
        row += 1


@kernel
def accelerations_of_joints(model: ModelData, scratch: ScratchData) -> None:
    """``scratch.joint_accelerations`` of the platform's acceleration, with ``joint_bias``."""
    platform = len(model.kind)
    v, w = vector(scratch.acceleration, platform), vector(scratch.spin_rate, platform)
    for joint in range(platform):
        scratch.joint_accelerations[joint] = scratch.joint_bias[joint] + along_twist(scratch.joint_map, joint, v, w)


@kernel
def leg_orientation(model: ModelData, scratch: ScratchData, leg: int) -> Vector:
    """Signed volume of the joint directions of a leg, after its QR: zero between one branch and another.

    Legs with as many joints as rows: the determinant, in the first component. Legs of two joints on a ball: the area
    vector, normal to the plane in which their end moves. Others: zero.
    """
    columns = model.column_start[leg + 1] - model.column_start[leg]
    rows = leg_rows(model, leg)
    if columns == rows:
        volume = 1.0
        for i in range(columns):
            volume *= scratch.rows[leg, i, i]
            if scratch.reflections[leg, i] != 0.0:
                volume = -volume
        return volume, 0.0, 0.0
    if columns == 2 and rows == 3:
        return cross(_direction(model, scratch, leg, 0), _direction(model, scratch, leg, 1))
    return 0.0, 0.0, 0.0


@kernel
def _direction(model: ModelData, scratch: ScratchData, leg: int, column: int) -> Vector:
    """How a joint moves the end of a leg that is closed by one ball."""
    closure = model.closure_start[leg]
    joint = model.column_joint[model.column_start[leg] + column]
    body = model.closure_body[closure]
    end = plus(vector(scratch.origin, body), turned(scratch.rotation, body, vector(model.closure_point, closure)))
    axis = vector(scratch.axis, joint)
    if model.kind[joint] == REVOLUTE:
        return cross(axis, minus(end, vector(scratch.origin, joint)))
    return axis
