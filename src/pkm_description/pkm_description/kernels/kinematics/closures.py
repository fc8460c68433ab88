"""Closures of a leg: gaps, their Jacobian as rows, and how the rates of the gaps change along a direction.

A closure is rows, not a kind: gaps of a point along base axes, and directions of both bodies that must stay
perpendicular (ball 3 + 0 rows, universal 3 + 1, pin 3 + 2, fixed 3 + 3; in a plane 2 + 0 and 2 + 1). The direction on
the closure's own body has the platform's radius as length, so that the gaps of all rows are in m.
"""

from __future__ import annotations

from pkm_description.arrays import Array
from pkm_description.kernels.jit import kernel
from pkm_description.kernels.kinematics.drive_map import span_constraints
from pkm_description.kernels.linalg import (
    Vector,
    cross,
    dot,
    minus,
    plus,
    reflect,
    reflect_back,
    reflect_columns,
    substitute_back,
    substitute_transposed,
    turned,
    vector,
)
from pkm_description.kernels.model import REVOLUTE, ModelData, ScratchData


@kernel
def leg_rows(model: ModelData, leg: int) -> int:
    """Return the number of closure rows of a leg."""
    first, last = model.closure_start[leg], model.closure_start[leg + 1]
    rows: int = model.row_start[last] - model.row_start[first]
    return rows


@kernel
def closure_gaps(model: ModelData, scratch: ScratchData, leg: int) -> float:
    """Gaps of a leg into ``scratch.bias``; returns the largest one [m]. Body minus other body."""
    first = model.closure_start[leg]
    rotation, origin, bias = scratch.rotation, scratch.origin, scratch.bias
    largest = 0.0
    for closure in range(first, model.closure_start[leg + 1]):
        row = model.row_start[closure] - model.row_start[first]
        body, other = model.closure_body[closure], model.closure_other[closure]
        here = plus(vector(origin, body), turned(rotation, body, vector(model.closure_point, closure)))
        there = plus(vector(origin, other), turned(rotation, other, vector(model.closure_other_point, closure)))
        gap = minus(here, there)
        for i in range(model.position_rows[closure]):
            bias[row] = gap[i]
            row += 1
        for k in range(model.orientation_start[closure], model.orientation_start[closure + 1]):
            u = turned(rotation, body, vector(model.orientation_axis, k))
            v = turned(rotation, other, vector(model.orientation_other_axis, k))
            bias[row] = dot(u, v)
            row += 1
    for row in range(leg_rows(model, leg)):
        size = abs(bias[row])
        if not size <= largest:  # NaN counts as largest
            largest = size
    return largest


@kernel
def turned_over(model: ModelData, scratch: ScratchData, leg: int) -> bool:
    """Whether a pin or a fixed closure of a leg is closed upside down: its axes are parallel, but opposed."""
    for closure in range(model.closure_start[leg], model.closure_start[leg + 1]):
        first = model.orientation_start[closure]
        count = model.orientation_start[closure + 1] - first
        if count == 0 or (count == 1 and model.position_rows[closure] == 3):
            continue  # ball, universal
        body, other = model.closure_body[closure], model.closure_other[closure]
        own = turned(scratch.rotation, body, vector(model.orientation_axis, first))
        along = turned(scratch.rotation, other, vector(model.orientation_other_axis, first))
        if count == 1:  # in a plane, row x . y'
            if not dot(own, cross(along, (0.0, 0.0, 1.0))) > 0.0:
                return True
            continue
        # rows z . x', z . y', of fixed ones x . y' too
        across = turned(scratch.rotation, other, vector(model.orientation_other_axis, first + 1))
        if not dot(own, cross(along, across)) > 0.0:
            return True
        if count == 3:
            own = turned(scratch.rotation, body, vector(model.orientation_axis, first + 2))
            if not dot(own, along) > 0.0:
                return True
    return False


@kernel
def closure_rows(model: ModelData, scratch: ScratchData, leg: int) -> None:
    """Jacobian of the gaps into ``scratch.rows[leg]``: columns of the leg's joints, then the platform's twist.

    Columns in the order of ``column_joint``. The gaps' rates are ``rows @ [joint rates, twist]``.
    """
    first = model.closure_start[leg]
    begin, columns = model.column_start[leg], model.column_start[leg + 1] - model.column_start[leg]
    platform = len(model.kind)
    matrix = scratch.rows[leg]
    rotation, origin = scratch.rotation, scratch.origin
    for row in range(leg_rows(model, leg)):
        for column in range(columns + 6):
            matrix[row, column] = 0.0
    for closure in range(first, model.closure_start[leg + 1]):
        row = model.row_start[closure] - model.row_start[first]
        body, other = model.closure_body[closure], model.closure_other[closure]
        here = plus(vector(origin, body), turned(rotation, body, vector(model.closure_point, closure)))
        there = plus(vector(origin, other), turned(rotation, other, vector(model.closure_other_point, closure)))
        for column in range(columns):
            joint = model.column_joint[begin + column]
            if carries(model, joint, body):
                _add_joint(model, scratch, matrix, closure, row, column, joint, here, 1.0)
            if carries(model, joint, other):
                _add_joint(model, scratch, matrix, closure, row, column, joint, there, -1.0)
        if other == platform:
            _add_platform(model, scratch, matrix, closure, row, columns, there, -1.0)
        if body == platform:
            _add_platform(model, scratch, matrix, closure, row, columns, here, 1.0)


@kernel
def carries(model: ModelData, joint: int, body: int) -> bool:
    """Whether a joint moves a body: whether it stands between the body and the base."""
    bodies = len(model.kind)
    while body > joint and body < bodies:
        body = model.parent[body]
    return body == joint


@kernel
def _add_joint(
    model: ModelData, scratch: ScratchData, matrix: Array, closure: int, row: int, column: int, joint: int,
    point: Vector, sign: float,
) -> None:  # fmt: skip
    """Add what a joint's rate does to the rows of a closure, through the body on one side."""
    axis = vector(scratch.axis, joint)
    if model.kind[joint] == REVOLUTE:
        moved = cross(axis, minus(point, vector(scratch.origin, joint)))
        for i in range(model.position_rows[closure]):
            matrix[row + i, column] += sign * moved[i]
        row += model.position_rows[closure]
        for k in range(model.orientation_start[closure], model.orientation_start[closure + 1]):
            matrix[row, column] += sign * dot(axis, orientation_moment(model, scratch, closure, k))
            row += 1
    else:
        for i in range(model.position_rows[closure]):
            matrix[row + i, column] += sign * axis[i]


@kernel
def orientation_moment(model: ModelData, scratch: ScratchData, closure: int, k: int) -> Vector:
    """``u x v`` of an orientation row: its rate is ``(spin - other spin) . (u x v)``."""
    u = turned(scratch.rotation, model.closure_body[closure], vector(model.orientation_axis, k))
    v = turned(scratch.rotation, model.closure_other[closure], vector(model.orientation_other_axis, k))
    return cross(u, v)


@kernel
def _add_platform(
    model: ModelData, scratch: ScratchData, matrix: Array, closure: int, row: int, columns: int, point: Vector,
    sign: float,
) -> None:  # fmt: skip
    """Add what the platform's twist does to the rows of a closure."""
    platform = len(model.kind)
    arm = minus(point, vector(scratch.origin, platform))
    # velocity of the point: v + spin x arm, component i = v_i + spin . (arm x e_i)
    for i in range(model.position_rows[closure]):
        matrix[row, columns + i] += sign
        if i == 0:
            matrix[row, columns + 4] += sign * arm[2]
            matrix[row, columns + 5] -= sign * arm[1]
        elif i == 1:
            matrix[row, columns + 3] -= sign * arm[2]
            matrix[row, columns + 5] += sign * arm[0]
        else:
            matrix[row, columns + 3] += sign * arm[1]
            matrix[row, columns + 4] -= sign * arm[0]
        row += 1
    for k in range(model.orientation_start[closure], model.orientation_start[closure + 1]):
        moment = orientation_moment(model, scratch, closure, k)
        for i in range(3):
            matrix[row, columns + 3 + i] += sign * moment[i]
        row += 1


@kernel
def gap_accelerations(model: ModelData, scratch: ScratchData, leg: int) -> None:
    """Second derivatives of a leg's gaps by the velocities and accelerations of the bodies, into ``scratch.bias``."""
    first, spins = model.closure_start[leg], scratch.spin
    for closure in range(first, model.closure_start[leg + 1]):
        row = model.row_start[closure] - model.row_start[first]
        body, other = model.closure_body[closure], model.closure_other[closure]
        arm = turned(scratch.rotation, body, vector(model.closure_point, closure))
        other_arm = turned(scratch.rotation, other, vector(model.closure_other_point, closure))
        change = minus(_point_acceleration(scratch, body, arm), _point_acceleration(scratch, other, other_arm))
        for i in range(model.position_rows[closure]):
            scratch.bias[row] = change[i]
            row += 1
        w = minus(vector(spins, body), vector(spins, other))
        w_rate = minus(vector(scratch.spin_rate, body), vector(scratch.spin_rate, other))
        for k in range(model.orientation_start[closure], model.orientation_start[closure + 1]):
            u = turned(scratch.rotation, body, vector(model.orientation_axis, k))
            v = turned(scratch.rotation, other, vector(model.orientation_other_axis, k))
            moment = plus(cross(cross(vector(spins, body), u), v), cross(u, cross(vector(spins, other), v)))
            scratch.bias[row] = dot(w_rate, cross(u, v)) + dot(w, moment)
            row += 1


@kernel
def _point_acceleration(scratch: ScratchData, body: int, arm: Vector) -> Vector:
    """Acceleration of a body's point, ``arm`` away from the body frame's origin, base axes."""
    spin = vector(scratch.spin, body)
    lever = cross(spin, cross(spin, arm))
    return plus(vector(scratch.acceleration, body), plus(cross(vector(scratch.spin_rate, body), arm), lever))


# Constraints that legs and plane put on the platform: their forces, and an acceleration that meets them.
#
# Constraints of an overconstrained machine depend on each other (a planar four-bar between pins in space). On an
# orthonormal basis of what they forbid together, ``constraints = L basis``, both tasks are one QR of L.
@kernel
def factor_constraints(model: ModelData, scratch: ScratchData) -> int:
    """Basis and QR of ``scratch.constraints``; lengths in platform radii, so that turns and shifts count alike.

    Returns
    -------
    Number of independent constraints.
    """
    count, radius = len(scratch.constraints), model.radius[0]
    if count == 0:
        return 0
    basis, factor = scratch.constraint_basis, scratch.constraint_factor
    found = span_constraints(model, scratch, basis)
    for row in range(count):
        for i in range(found):
            total = 0.0
            for k in range(6):
                total += scratch.constraints[row, k] / (1.0 if k < 3 else radius) * basis[i, k]
            factor[row, i] = total
    reflect_columns(factor, scratch.constraint_reflections, count, 0, found, found)
    return found


@kernel
def meet_constraints(model: ModelData, scratch: ScratchData, found: int) -> None:
    """``scratch.held``: the smallest acceleration (6,) with ``constraints @ held = constraint_bias``."""
    count, radius = len(scratch.constraints), model.radius[0]
    right = scratch.vector
    for row in range(count):
        right[row] = scratch.constraint_bias[row]
    if found:
        reflect(scratch.constraint_factor, scratch.constraint_reflections, count, found, right)
        substitute_back(scratch.constraint_factor, found, right)
    for k in range(6):
        total = 0.0
        for i in range(found):
            total += scratch.constraint_basis[i, k] * right[i]
        scratch.held[k] = total / (1.0 if k < 3 else radius)


@kernel
def forces_of_constraints(model: ModelData, scratch: ScratchData, found: int, force: Array) -> None:
    """``scratch.constraint_forces`` with ``constraints^T forces = force`` (6,); of dependent ones the smallest."""
    count, radius = len(scratch.constraints), model.radius[0]
    if count == 0:
        return
    right = scratch.constraint_forces
    for i in range(count):
        right[i] = 0.0
    for i in range(found):
        total = 0.0
        for k in range(6):
            total += scratch.constraint_basis[i, k] * force[k] / (1.0 if k < 3 else radius)
        right[i] = total
    substitute_transposed(scratch.constraint_factor, found, right)
    reflect_back(scratch.constraint_factor, scratch.constraint_reflections, count, found, right)
