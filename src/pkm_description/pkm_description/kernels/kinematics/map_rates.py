"""Time derivative of the map from the platform's twist to the joints' rates, one sample and loops over samples."""

from __future__ import annotations

from pkm_description.arrays import Array
from pkm_description.kernels.jit import kernel
from pkm_description.kernels.kinematics.closures import carries, closure_rows, leg_rows
from pkm_description.kernels.kinematics.joint_motion import rates_of_pose
from pkm_description.kernels.kinematics.pose import start_at_home
from pkm_description.kernels.kinematics.tree import body_velocities
from pkm_description.kernels.linalg import (
    Vector,
    cross,
    dot,
    minus,
    plus,
    reflect_columns,
    substitute_back,
    turned,
    vector,
)
from pkm_description.kernels.model import OK, REVOLUTE, ModelData, ScratchData


@kernel
def closure_row_rates(model: ModelData, scratch: ScratchData, leg: int) -> None:
    """Time derivative of :func:`pkm_description.kernels.kinematics.closures.closure_rows` into ``scratch.square``.

    The bodies are placed and their velocities known.
    """
    first = model.closure_start[leg]
    begin, columns = model.column_start[leg], model.column_start[leg + 1] - model.column_start[leg]
    platform = len(model.kind)
    for row in range(leg_rows(model, leg)):
        for column in range(columns + 6):
            scratch.square[row, column] = 0.0
    for closure in range(first, model.closure_start[leg + 1]):
        body, other = model.closure_body[closure], model.closure_other[closure]
        here = turned(scratch.rotation, body, vector(model.closure_point, closure))
        there = turned(scratch.rotation, other, vector(model.closure_other_point, closure))
        for column in range(columns):
            joint = model.column_joint[begin + column]
            if carries(model, joint, body):
                _add_joint_rate(model, scratch, closure, column, joint, body, here, 1.0, leg)
            if carries(model, joint, other):
                _add_joint_rate(model, scratch, closure, column, joint, other, there, -1.0, leg)
        if other == platform:
            _add_platform_rate(model, scratch, closure, columns, there, -1.0, leg)
        if body == platform:
            _add_platform_rate(model, scratch, closure, columns, here, 1.0, leg)


@kernel
def _add_joint_rate(
    model: ModelData, scratch: ScratchData, closure: int, column: int, joint: int, body: int, arm: Vector, sign: float,
    leg: int,
) -> None:  # fmt: skip
    """Add the derivative of a joint's column; ``arm`` leads from the body's origin to the closing point."""
    row = model.row_start[closure] - model.row_start[model.closure_start[leg]]
    axis, spin = vector(scratch.axis, joint), vector(scratch.spin, joint)
    # an axis turns with the body that the joint moves: the own rotation does not change it
    turning = cross(spin, axis)
    matrix = scratch.square
    if model.kind[joint] != REVOLUTE:
        for i in range(model.position_rows[closure]):
            matrix[row + i, column] += sign * turning[i]
        return
    point = plus(vector(scratch.origin, body), arm)
    moving = plus(vector(scratch.velocity, body), cross(vector(scratch.spin, body), arm))
    change = plus(
        cross(turning, minus(point, vector(scratch.origin, joint))),
        cross(axis, minus(moving, vector(scratch.velocity, joint))),
    )
    for i in range(model.position_rows[closure]):
        matrix[row + i, column] += sign * change[i]
    row += model.position_rows[closure]
    for k in range(model.orientation_start[closure], model.orientation_start[closure + 1]):
        moment, moment_rate = _moment_and_rate(model, scratch, closure, k)
        matrix[row, column] += sign * (dot(turning, moment) + dot(axis, moment_rate))
        row += 1


@kernel
def _moment_and_rate(model: ModelData, scratch: ScratchData, closure: int, k: int) -> tuple[Vector, Vector]:
    """``u x v`` of an orientation row, and its time derivative."""
    body, other = model.closure_body[closure], model.closure_other[closure]
    u = turned(scratch.rotation, body, vector(model.orientation_axis, k))
    v = turned(scratch.rotation, other, vector(model.orientation_other_axis, k))
    du, dv = cross(vector(scratch.spin, body), u), cross(vector(scratch.spin, other), v)
    return cross(u, v), plus(cross(du, v), cross(u, dv))


@kernel
def _add_platform_rate(
    model: ModelData, scratch: ScratchData, closure: int, columns: int, arm: Vector, sign: float, leg: int
) -> None:
    """Add the derivative of the platform's columns: velocity component i is ``v_i + spin . (arm x e_i)``."""
    platform = len(model.kind)
    row = model.row_start[closure] - model.row_start[model.closure_start[leg]]
    moving = cross(vector(scratch.spin, platform), arm)
    matrix = scratch.square
    for i in range(model.position_rows[closure]):
        unit = (1.0 if i == 0 else 0.0), (1.0 if i == 1 else 0.0), (1.0 if i == 2 else 0.0)
        change = cross(moving, unit)
        for k in range(3):
            matrix[row, columns + 3 + k] += sign * change[k]
        row += 1
    for k in range(model.orientation_start[closure], model.orientation_start[closure + 1]):
        _, moment_rate = _moment_and_rate(model, scratch, closure, k)
        for i in range(3):
            matrix[row, columns + 3 + i] += sign * moment_rate[i]
        row += 1


@kernel
def leg_map_rate(model: ModelData, scratch: ScratchData, leg: int, result: Array, sample: int) -> None:
    """Derivative of the rows of ``joint_map`` of a leg into ``result`` (N, J, 6); joints, bodies and map are known.

    With closure rows ``A joints + B twist = 0`` and the map ``G = -A^+ B`` it is
    ``-A^+ (A' G + B') - (A^T A)^-1 A'^T (B + A G)``; the second part is that of legs that hold the platform.
    """
    begin, columns = model.column_start[leg], model.column_start[leg + 1] - model.column_start[leg]
    rows = leg_rows(model, leg)
    closure_rows(model, scratch, leg)
    closure_row_rates(model, scratch, leg)
    rate, matrix, outside = scratch.square, scratch.rows[leg], scratch.square_2
    for k in range(6):
        for row in range(rows):
            change, gap = rate[row, columns + k], matrix[row, columns + k]
            for column in range(columns):
                mapped = scratch.joint_map[model.column_joint[begin + column], k]
                change += rate[row, column] * mapped
                gap += matrix[row, column] * mapped
            outside[row, k], outside[row, 6 + k] = change, gap
    # columns behind the joints are free now: A' G + B'
    for row in range(rows):
        for k in range(6):
            matrix[row, columns + k] = outside[row, k]
    reflect_columns(matrix, scratch.reflections[leg], rows, 0, columns, columns + 6)
    for k in range(6):
        for i in range(columns):
            total = 0.0
            for row in range(rows):
                total += rate[row, i] * outside[row, 6 + k]
            # R^T y = A'^T (B + A G), forwards
            for j in range(i):
                total -= matrix[j, i] * scratch.vector[j]
            scratch.vector[i] = total / matrix[i, i]
        for i in range(columns):
            scratch.vector[i] += matrix[i, columns + k]
        substitute_back(matrix, columns, scratch.vector)
        for i in range(columns):
            result[sample, model.column_joint[begin + i], k] = -scratch.vector[i]


@kernel
def map_rates(
    model: ModelData, scratch: ScratchData, position: Array, rotation: Array, linear: Array, angular: Array,
    result: Array,
) -> int:  # fmt: skip
    """Derivatives (N, J, 6) of the map from twist to joint rates at poses and twists, each from home."""
    for sample in range(len(position)):
        start_at_home(model, scratch)
        status = rates_of_pose(model, scratch, position, rotation, linear, angular, sample)
        if status < 0:
            scratch.detail[0] = sample
            return status
        body_velocities(model, scratch, scratch.joint_rates)
        for joint in range(len(model.kind)):
            for k in range(6):
                result[sample, joint, k] = 0.0
        for leg in range(len(model.closed_form)):
            leg_map_rate(model, scratch, leg, result, sample)
    return OK
