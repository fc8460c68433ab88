"""Judgement of a configuration: how well the drives hold the platform, and on which assembly mode it lies."""

from __future__ import annotations

import math

from pkm_description.arrays import Array
from pkm_description.kernels.forward_kinematics.newton import (
    closing_size,
    is_driven_strut,
    is_rods,
    leg_gaps,
    struts_alone,
    turn_platform,
)
from pkm_description.kernels.forward_kinematics.rods import rod_drive, rod_orientation
from pkm_description.kernels.jit import kernel
from pkm_description.kernels.kinematics.closures import turned_over
from pkm_description.kernels.kinematics.legs import LEG_SINGULARITY, eliminate, leg_orientation
from pkm_description.kernels.kinematics.pose import turn_between
from pkm_description.kernels.linalg import (
    dot,
    inverse_squares,
    reflect_columns,
    singular_columns,
    substitute_back_columns,
    vector,
)
from pkm_description.kernels.model import ModelData, ScratchData


@kernel
def drive_jacobian(model: ModelData, scratch: ScratchData, width: int) -> float:
    """QR of the overall Jacobian of actuation and constraint (Joshi & Tsai 2002), after :func:`leg_gaps`.

    Rows of the drives, then what the legs forbid; columns of the platform's free motion, turns in :func:`turn_unit`; in
    ``scratch.square``, R on and above the diagonal. The loops need not be closed. ``width`` A adds a column per drive:
    the right-hand sides of the twist that moves one drive alone; 0 for none.

    Returns
    -------
    Sign of the determinant of all loops' closing equations by passive joints and platform, +1 or -1; 0 where it is
    singular, or where there are more equations than unknowns, so that there is no determinant; NaN where a leg is
    stretched or folded.
    """
    free, matrix, unit = len(model.freedom), scratch.square, turn_unit(model)
    row, sign, drive = 0, 1.0, 0
    for leg in range(len(model.closed_form)):
        if is_driven_strut(model, leg):
            _copy_row(model, scratch, leg, 0, 0, row, width, drive, 1.0, unit)
            row, drive = row + 1, drive + 1
            continue
        columns, passive, rows = closing_size(model, leg)
        begin = model.column_start[leg + 1] - columns
        if is_rods(model, leg):
            regular = rod_drive(model, scratch, leg)
            reflect_columns(scratch.rows[leg], scratch.reflections[leg], rows, 0, 1, 7)
        else:
            regular = eliminate(model, scratch, leg)
        if not regular >= LEG_SINGULARITY:
            return math.nan
        for i in range(columns):
            if (scratch.rows[leg, i, i] < 0.0) != (scratch.reflections[leg, i] != 0.0):
                sign = -sign
        # the drives' columns stand last, so the triangle behind the passive ones is theirs alone
        for k in range(columns, columns + 6):
            for i in range(columns - 1, passive - 1, -1):
                total = scratch.rows[leg, i, k]
                for j in range(i + 1, columns):
                    total -= scratch.rows[leg, i, j] * scratch.rows[leg, j, k]
                scratch.rows[leg, i, k] = total / scratch.rows[leg, i, i]
        for i in range(passive, rows):
            place = width  # of a constraint, no drive
            if i < columns:
                place = _drive_place(model, model.column_joint[begin + i])
                drive += 1
            _copy_row(model, scratch, leg, i, columns, row, width, place, -1.0 if i < columns else 1.0, unit)
            row += 1
    if row < free:
        return math.nan
    reflect_columns(matrix, scratch.vector, row, 0, free, free + width)
    for i in range(free):
        if matrix[i, i] == 0.0:
            sign = 0.0
        if (matrix[i, i] < 0.0) != (scratch.vector[i] != 0.0):
            sign = -sign
    return sign if row == free else 0.0


@kernel
def turn_unit(model: ModelData) -> float:
    """Length [m] that makes a turn comparable to a move: 1 m for machines of struts alone, else the platform radius."""
    return 1.0 if struts_alone(model) else model.radius[0]


@kernel
def _drive_place(model: ModelData, joint: int) -> int:
    """Place of a driven joint among the drives."""
    place = 0
    while model.drive_joint[place] != joint:
        place += 1
    return place


@kernel
def _copy_row(
    model: ModelData, scratch: ScratchData, leg: int, i: int, begin: int, row: int, width: int, drive: int,
    factor: float, unit: float,
) -> None:  # fmt: skip
    """Row i of a leg, from its column ``begin`` on, into the overall Jacobian; 1 in the column of its drive."""
    freedom, matrix, rows, turn = model.freedom, scratch.square, scratch.rows, factor / unit
    free = len(freedom)
    if free == 6:
        for k in range(3):
            matrix[row, k] = factor * rows[leg, i, begin + k]
            matrix[row, 3 + k] = turn * rows[leg, i, begin + 3 + k]
    else:
        for k in range(free):
            component = freedom[k]
            matrix[row, k] = (factor if component < 3 else turn) * rows[leg, i, begin + component]
    for k in range(width):
        matrix[row, free + k] = 1.0 if k == drive else 0.0


@kernel
def condition_bound(model: ModelData, scratch: ScratchData) -> float:
    """Number that the condition number does not exceed, after :func:`drive_jacobian`: by Frobenius norms, cheaply."""
    free, factor, squares = len(model.freedom), scratch.square, 0.0
    for i in range(free):
        for k in range(i, free):
            squares += factor[i, k] * factor[i, k]
    return math.sqrt(squares * inverse_squares(factor, free, scratch.vector_2))


@kernel
def condition_number(model: ModelData, scratch: ScratchData) -> float:
    """Condition number of the overall Jacobian after :func:`drive_jacobian`, by its singular values."""
    free, factor, matrix, values = len(model.freedom), scratch.square, scratch.square_2, scratch.vector
    for i in range(free):
        for k in range(free):
            # transposed: its columns turn into the right singular vectors, and are nearly perpendicular from the start
            matrix[k, i] = factor[i, k] if k >= i else 0.0
    singular_columns(matrix, free, free)
    smallest, largest = math.inf, 0.0
    for k in range(free):
        squares = 0.0
        for i in range(free):
            squares += matrix[i, k] * matrix[i, k]
        smallest, largest = min(smallest, squares), max(largest, squares)
        values[k] = squares
    return math.sqrt(largest / smallest) if smallest > 0.0 else math.inf


@kernel
def free_twist(model: ModelData, scratch: ScratchData, report: Array, sample: int, column: int) -> None:
    """Unit twist [m/s, rad/s] that the drives resist least, after :func:`condition_number`, into a row of ``report``.

    The last right singular vector: what the others leave of the unit twist that is longest outside of them.
    """
    free, matrix, last, best, unit = len(model.freedom), scratch.square_2, 0, 0, turn_unit(model)
    for k in range(1, free):
        if scratch.vector[k] < scratch.vector[last]:
            last = k
    longest = -1.0
    for place in range(free):
        left = 1.0
        for k in range(free):
            if k != last and scratch.vector[k] > 0.0:
                left -= matrix[place, k] * matrix[place, k] / scratch.vector[k]
        if left > longest:
            longest, best = left, place
    for i in range(free):
        scratch.vector_2[i] = 1.0 if i == best else 0.0
    for _ in range(2):
        for k in range(free):
            if k != last and scratch.vector[k] > 0.0:
                along = 0.0
                for i in range(free):
                    along += matrix[i, k] * scratch.vector_2[i]
                for i in range(free):
                    scratch.vector_2[i] -= along / scratch.vector[k] * matrix[i, k]
    squares = 0.0
    for i in range(free):
        if model.freedom[i] >= 3:
            scratch.vector_2[i] /= unit
        squares += scratch.vector_2[i] * scratch.vector_2[i]
    for k in range(6):
        report[sample, column + k] = 0.0
    for i in range(free):
        report[sample, column + model.freedom[i]] = scratch.vector_2[i] / math.sqrt(squares)


@kernel
def invert_drives(model: ModelData, scratch: ScratchData) -> None:
    """Twist of the platform per rate of each drive into ``scratch.twist_map``; :func:`drive_jacobian` had width A.

    Drives that are redundant share least squares.
    """
    free, drives, matrix, unit = len(model.freedom), len(model.drive_joint), scratch.square, turn_unit(model)
    substitute_back_columns(matrix, free, free, free + drives)
    for a in range(drives):
        for k in range(6):
            scratch.twist_map[k, a] = 0.0
        for i in range(free):
            component = model.freedom[i]
            scale = 1.0 if component < 3 else 1.0 / unit
            scratch.twist_map[component, a] = scale * matrix[i, free + a]


@kernel
def on_branch(model: ModelData, scratch: ScratchData, sign: float, branch: Array) -> bool:
    """Whether a configuration may lie on a branch, after :func:`drive_jacobian` that gave ``sign``.

    Parameters
    ----------
    branch : (5,) sign of the determinant there, 0 if there is none; then, of machines of struts alone whose base joints
        have a common plane, its normal (3,), towards the branch, and the normal's product with a point of it [m]
    """
    if not sign * branch[0] >= 0.0 or (sign == 0.0 and branch[0] != 0.0):
        return False
    origin = vector(scratch.origin, len(model.kind))
    normal = branch[1], branch[2], branch[3]
    if dot(normal, normal) > 0.0 and not dot(normal, origin) > branch[4]:
        return False
    for leg in range(len(model.closed_form)):
        if is_driven_strut(model, leg):
            continue
        home, rods = vector(model.branch_normal, leg), is_rods(model, leg)
        side = rod_orientation(model, scratch, leg) if rods else leg_orientation(model, scratch, leg)
        if dot(home, home) > 0.0 and not dot(side, home) > 0.0:
            return False
        if not rods and turned_over(model, scratch, leg):
            return False
    return True


@kernel
def straight_path_is_regular(model: ModelData, scratch: ScratchData, branch: Array, places: int) -> bool:
    """Whether the platform gets from home to where it is on a straight path without passing a singular pose.

    Of machines whose legs are driven struts alone. Straight is the line of the position together with the turn about
    one axis. The sign of the determinant is looked at in ``places`` of the path, so it proves no more than their
    spacing allows; and where the straight path is singular, another one may not be. Moves the platform back to the end.
    """
    platform = len(model.kind)
    for i in range(3):
        scratch.target_position[0, i] = scratch.origin[platform, i]
        for k in range(3):
            scratch.target_rotation[0, i, k] = scratch.rotation[platform, i, k]
    axis, angle = turn_between(model.home_rotation, scratch.target_rotation)
    for place in range(1, places + 1):
        share = place / places
        for i in range(3):
            home = model.home_position[i]
            scratch.origin[platform, i] = home + share * (scratch.target_position[0, i] - home)
            for k in range(3):
                scratch.rotation[platform, i, k] = model.home_rotation[i, k]
        turn = share * angle
        turn_platform(scratch, platform, (turn * axis[0], turn * axis[1], turn * axis[2]))
        leg_gaps(model, scratch)
        if not drive_jacobian(model, scratch, 0) * branch[0] > 0.0:
            return False
    return True
