"""Motion of platform and joints per rate of the drives, and drive forces of a force on the platform.

The twists that legs and plane admit have an orthonormal basis; on it the drives' Jacobian is square for a machine with
one drive per degree of freedom, and taller for a redundant one.
"""

from __future__ import annotations

import math

from pkm_description.arrays import Array
from pkm_description.kernels.jit import kernel
from pkm_description.kernels.linalg import independence, reflect_columns, substitute_back_columns
from pkm_description.kernels.model import CONSTRAINTS_SINGULAR, DRIVES_SINGULAR, OK, ModelData, ScratchData

#: size of a constraint, relative to its row, below which it repeats the others
DEPENDENT = 1e-9

#: condition number from which drive forces are not computed: fewer than eight digits would be left
MAX_CONDITION = 1e8


@kernel
def admitted_twists(model: ModelData, scratch: ScratchData) -> int:
    """Orthonormal basis of the twists with ``constraints @ twist = 0`` into the columns of ``scratch.admitted``.

    Lengths are measured in platform radii, so that turns and shifts count alike. Gram-Schmidt's orthogonalisation,
    twice, of the constraints and then of the unit twists, each time of the longest that is left.

    Returns
    -------
    Number of columns, the degrees of freedom of the platform here.
    """
    count = len(scratch.constraints)
    radius = model.radius[0]
    admitted, vector = scratch.admitted, scratch.vector
    basis = scratch.square  # rows: constraints first, then admitted twists, in units of the radius
    if count == 0:
        for k in range(6):
            for i in range(6):
                admitted[i, k] = 0.0
            admitted[k, k] = 1.0 if k < 3 else 1.0 / radius
        return 6
    held = span_constraints(model, scratch, basis)
    found = held
    # of the unit twists, the one that is longest outside of what is there already: no small differences
    while found < 6:
        best, longest = 0, -1.0
        for unit in range(6):
            left = 1.0
            for i in range(found):
                left -= basis[i, unit] * basis[i, unit]
            if left > longest + 1e-6:
                best, longest = unit, left
        for k in range(6):
            vector[k] = 1.0 if k == best else 0.0
        if not add_row(basis, found, vector):
            return CONSTRAINTS_SINGULAR  # NaN
        for k in range(6):
            admitted[k, found - held] = basis[found, k] / (1.0 if k < 3 else radius)
        found += 1
    return 6 - held


@kernel
def span_constraints(model: ModelData, scratch: ScratchData, basis: Array) -> int:
    """Orthonormal basis of the twists that the constraints forbid, in units of the radius, into the rows of ``basis``.

    Each time the row of which most is left is added: taken in their order, two that are nearly parallel would give a
    direction of rounding, beside which a third one seems independent. Overwrites ``scratch.square_2``.

    Returns
    -------
    Number of rows, 0 .. 6.
    """
    count, radius = len(scratch.constraints), model.radius[0]
    left, vector = scratch.square_2, scratch.vector
    for row in range(count):
        for k in range(6):
            left[row, k] = scratch.constraints[row, k] / (1.0 if k < 3 else radius)
    found = 0
    while found < 6:
        best, longest = 0, -1.0
        for row in range(count):
            size = 0.0
            for k in range(6):
                size += left[row, k] * left[row, k]
            if size > longest * (1.0 + 1e-6):  # of equal ones the first, whatever their rounding
                best, longest = row, size
        for k in range(6):
            vector[k] = scratch.constraints[best, k] / (1.0 if k < 3 else radius)
        if not add_row(basis, found, vector):
            return found
        for row in range(count):
            along = 0.0
            for k in range(6):
                along += basis[found, k] * left[row, k]
            for k in range(6):
                left[row, k] -= along * basis[found, k]
        found += 1
    return found


@kernel
def add_row(basis: Array, found: int, row: Array) -> bool:
    """Add a row (6,), orthonormal to the rows that are there; False where nothing is left of it."""
    before = 0.0
    for k in range(6):
        before += row[k] * row[k]
    if not before > 0.0:
        return False
    for _ in range(2):
        for i in range(found):
            along = 0.0
            for k in range(6):
                along += basis[i, k] * row[k]
            for k in range(6):
                row[k] -= along * basis[i, k]
    left = 0.0
    for k in range(6):
        left += row[k] * row[k]
    # rows are in units of the radius: what is small beside 1 is rounding, such as a superfluous row of a closed loop
    if not left > DEPENDENT * DEPENDENT * max(before, 1.0):
        return False
    scale = 1.0 / math.sqrt(left)
    for k in range(6):
        basis[found, k] = scale * row[k]
    return True


@kernel
def map_drives(model: ModelData, scratch: ScratchData) -> int:
    """Twist of the platform per rate of the drives into ``scratch.twist_map``; the legs are mapped already.

    With an orthonormal basis N of the admitted twists and the drives' Jacobian ``D = J_drives N`` the map is
    ``N (D^T W D)^-1 D^T W``. Its transpose gives the forces of the drives, of redundant ones those with the least
    ``sum(force^2 / weight)``: ``forces = map^T wrench``.

    Returns
    -------
    OK, CONSTRAINTS_SINGULAR where the constraints leave another number of freedoms than at home, or DRIVES_SINGULAR;
    ``detail[2]`` is then the condition number, by the Frobenius norm, in platform radii.
    """
    count = admitted_twists(model, scratch)
    if count != model.degrees_of_freedom[0]:
        scratch.detail[2] = count
        return CONSTRAINTS_SINGULAR
    drives = len(model.drive_joint)
    if drives < count:
        return DRIVES_SINGULAR
    # attributes are read once: inside of a loop each access would cost more than the loop
    matrix, joint_map, admitted, reduced = scratch.square_2, scratch.joint_map, scratch.admitted, scratch.reduced
    twist_map = scratch.twist_map
    size = 0.0
    for a in range(drives):
        joint = model.drive_joint[a]
        root = math.sqrt(model.drive_weight[a])
        for k in range(count):
            rate = 0.0
            for i in range(6):
                rate += joint_map[joint, i] * admitted[i, k]
            reduced[a, k] = rate
            matrix[a, k] = root * rate
            size += rate * rate
        for other in range(drives):
            matrix[a, count + other] = root if other == a else 0.0
    reflect_columns(matrix, scratch.vector, drives, 0, count, count + drives)
    if not independence(matrix, count) > 0.0:
        scratch.detail[2] = math.inf
        return DRIVES_SINGULAR
    substitute_back_columns(matrix, count, count, count + drives)
    inverse_size = 0.0
    for k in range(count):
        for a in range(drives):
            inverse_size += matrix[k, count + a] * matrix[k, count + a]
    condition = math.sqrt(size * inverse_size)
    scratch.detail[2] = condition
    if not condition <= MAX_CONDITION:
        return DRIVES_SINGULAR
    for i in range(6):
        for a in range(drives):
            total = 0.0
            for k in range(count):
                total += admitted[i, k] * matrix[k, count + a]
            twist_map[i, a] = total
    return OK


@kernel
def map_joints_to_drives(model: ModelData, scratch: ScratchData) -> None:
    """Joint rates per rate of the drives into ``scratch.joint_per_drive``."""
    joint_map, twist_map, joint_per_drive = scratch.joint_map, scratch.twist_map, scratch.joint_per_drive
    for joint in range(len(model.kind)):
        for a in range(len(model.drive_joint)):
            total = 0.0
            for i in range(6):
                total += joint_map[joint, i] * twist_map[i, a]
            joint_per_drive[joint, a] = total
