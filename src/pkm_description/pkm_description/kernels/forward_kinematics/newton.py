"""Forward kinematics of one sample: Newton's iterations on all passive joints and the platform at once.

One elimination per leg, of the passive columns of its closure rows ``[passive | drives | twist | gap]``: Gauss's where
there are as many equations as unknowns, else Householder's QR. The rows below hold the platform's twist alone; those of
all legs, stacked, give the step of the platform, and each leg substitutes back for its joints. A driven strut between
universal joint and ball leaves one row, which is known without elimination: its direction, its moment, and the length
that it lacks (Miletovic et al. 2017, Eq. 5). So do rods that a drive carries or makes longer (``kernels.rods``).
"""

from __future__ import annotations

import math

from pkm_description.arrays import Array
from pkm_description.kernels.forward_kinematics.rods import rod_rows
from pkm_description.kernels.jit import kernel
from pkm_description.kernels.kinematics.closures import closure_gaps, closure_rows, leg_rows
from pkm_description.kernels.kinematics.tree import leg_poses, turn_about
from pkm_description.kernels.linalg import (
    Vector,
    cross,
    dot,
    eliminate_columns,
    leave_out,
    minus,
    plus,
    reflect_columns,
    store,
    substitute_back_columns,
    times,
    turned,
    vector,
)
from pkm_description.kernels.model import ModelData, ScratchData

#: longest step of the platform in one iteration: rad, and m as a fraction of the platform radius
LONGEST_STEP = 0.5

#: step, relative to the longest one, at which iterations end although the gaps are wider than the tolerance:
#: nothing more comes of them, of rounding or because measured positions of redundant drives contradict each other
STANDSTILL = 1e-12

#: m, gaps below which redundant drives do not contradict each other
CLOSED = 1e-12

#: damping that is left where the gaps are closed, so that singular poses are reached too
LEAST_DAMPING = 1e-15


@kernel
def is_driven_strut(model: ModelData, leg: int) -> bool:
    """Whether a leg is a strut in closed form whose length is driven."""
    return bool(model.closed_form[leg] == 2)


@kernel
def is_rods(model: ModelData, leg: int) -> bool:
    """Whether a leg is rods, whose passive joints the pose determines."""
    return bool(model.rod_carrier[leg] >= 0)


@kernel
def is_general(model: ModelData, leg: int) -> bool:
    """Whether a leg is neither: its passive joints are unknowns."""
    return bool(model.closed_form[leg] != 2 and model.rod_carrier[leg] < 0)


@kernel
def closing_size(model: ModelData, leg: int) -> tuple[int, int, int]:
    """Columns of joints in a leg's closing equations, passive ones among them, and number of the equations."""
    if is_driven_strut(model, leg):
        return 0, 0, 1
    first, last = model.closure_start[leg], model.closure_start[leg + 1]
    if is_rods(model, leg):
        rows = 0
        for closure in range(first, last):
            rows += model.rod_rows[closure]
        return 1, 0, rows
    return model.column_start[leg + 1] - model.column_start[leg], model.passive_count[leg], leg_rows(model, leg)


@kernel
def struts_alone(model: ModelData) -> bool:
    """Whether all legs are driven struts."""
    for leg in range(len(model.closed_form)):  # noqa: SIM110 -- kernels know no generators
        if not is_driven_strut(model, leg):
            return False
    return True


@kernel
def close_drives(
    model: ModelData, scratch: ScratchData, tolerance: float, most: int, damped: bool
) -> tuple[int, float, int, float]:
    """Close all loops at the drives' positions in ``scratch.joints``, from the passive joints there and the platform.

    Steps are limited. ``damped`` takes Levenberg and Marquardt's steps, which also arrive where the solution is
    singular: with the squared gaps as damping they converge quadratically (Yamashita and Fukushima 2001).

    Returns
    -------
    iterations : steps taken
    residual : m, largest gap of a leg: length of the closure gaps, or what a driven strut's length lacks; NaN if a
        number is not finite. Of redundant drives no less than the last step, where that was not small
    worst_leg : leg of that residual
    contraction : second step over the first one, in units of the longest step; infinite where a step had to be
        shortened. By Newton and Kantorovich's theorem it stays below 1/2 where the start lies in the solution's own
        neighbourhood, in which no other solution and no singular pose exists; with the second step alone this is an
        estimate, not a proof
    """
    residual, worst_leg, first, contraction, last = 0.0, 0, 0.0, 0.0, 0.0
    # redundant drives contradict each other a little: their least squares are not done where they are tolerable
    is_redundant = len(model.drive_joint) > model.degrees_of_freedom[0]
    enough = min(tolerance, CLOSED) if is_redundant else tolerance
    iterations = 0
    while True:
        residual, worst_leg = leg_gaps(model, scratch)
        if residual <= enough or not residual < math.inf:
            break
        if iterations == most:
            if is_redundant:  # gaps may be tolerable, but where the platform still moves it is not where they are least
                residual = max(residual, last * LONGEST_STEP * model.radius[0])
            break
        size = newton_step(model, scratch, damped)
        if iterations == 0:
            first = size
        elif iterations == 1:
            contraction = size / first if first > 0.0 else math.inf
        if not size <= 1.0:
            contraction = math.inf
        if size <= STANDSTILL and last <= math.sqrt(STANDSTILL):
            break
        take_step(model, scratch, 1.0 / max(size, 1.0))
        last = size
        iterations += 1
    return iterations, residual, worst_leg, contraction


@kernel
def leg_gaps(model: ModelData, scratch: ScratchData) -> tuple[float, int]:
    """Gaps of all legs, into the last column of their rows; returns the largest of a leg [m], and the leg."""
    largest, worst = 0.0, 0
    for leg in range(len(model.closed_form)):
        if is_driven_strut(model, leg):
            gap = strut_row(model, scratch, leg)
        elif is_rods(model, leg):
            gap = rod_rows(model, scratch, leg)
        else:
            leg_poses(model, scratch, leg)
            closure_gaps(model, scratch, leg)
            columns = model.column_start[leg + 1] - model.column_start[leg]
            squares = 0.0
            for row in range(leg_rows(model, leg)):
                scratch.rows[leg, row, columns + 6] = -scratch.bias[row]
                squares += scratch.bias[row] * scratch.bias[row]
            gap = math.sqrt(squares)
        if not gap <= largest:  # NaN counts as largest
            largest, worst = gap, leg
            if not gap < math.inf:
                break
    return largest, worst


@kernel
def strut_row(model: ModelData, scratch: ScratchData, leg: int) -> float:
    """Row ``[direction, lever x direction, missing length]`` of a driven strut; returns the last one's size [m]."""
    joint, platform = model.joint_start[leg], len(model.kind)
    closure = model.closure_start[leg]
    lever = turned(scratch.rotation, platform, vector(model.closure_other_point, closure))
    strut = minus(plus(vector(scratch.origin, platform), lever), vector(model.translation, joint))
    length = math.sqrt(dot(strut, strut))
    direction = times(1.0 / max(length, 1e-300), strut)
    moment = cross(lever, direction)
    missing = scratch.joints[joint + 2] + model.strut_length[leg] - length
    rows = scratch.rows
    rows[leg, 0, 0], rows[leg, 0, 1], rows[leg, 0, 2] = direction
    rows[leg, 0, 3], rows[leg, 0, 4], rows[leg, 0, 5] = moment
    rows[leg, 0, 6] = missing
    return abs(missing)


@kernel
def newton_step(model: ModelData, scratch: ScratchData, damped: bool) -> float:
    """Next step, after :func:`leg_gaps`: of the platform into ``scratch.wrench``, of the joints into ``vector_2``.

    Returns the size of the step in units of the longest one.
    """
    freedom, matrix, rows, step = model.freedom, scratch.square, scratch.rows, scratch.wrench
    free, row, squares = len(freedom), 0, 0.0
    is_square = not damped and equation_count(model) == free
    for leg in range(len(model.closed_form)):
        columns, passive, last = closing_size(model, leg)
        if is_general(model, leg):
            closure_rows(model, scratch, leg)
            if is_square:
                eliminate_columns(rows[leg], last, passive, columns + 7)
            else:
                reflect_columns(rows[leg], scratch.reflections[leg], last, 0, passive, columns + 7)
        for i in range(passive, last):
            if free == 6:
                for k in range(7):  # in one piece, which is faster than to look up what is free
                    matrix[row, k] = rows[leg, i, columns + k]
            else:
                for k in range(free):
                    matrix[row, k] = rows[leg, i, columns + freedom[k]]
                matrix[row, free] = rows[leg, i, columns + 6]
            squares += matrix[row, free] * matrix[row, free]
            row += 1
    radius = model.radius[0]
    if damped:
        root = math.sqrt(min(squares / (radius * radius), 1.0) + LEAST_DAMPING)
        for k in range(free):
            for column in range(free + 1):
                matrix[row, column] = 0.0
            matrix[row, k] = root if freedom[k] < 3 else root * radius
            row += 1
    if row < free:
        return math.inf
    if is_square:
        eliminate_columns(matrix, free, free, free + 1)
    else:
        reflect_columns(matrix, scratch.vector, row, 0, free, free + 1)
    leave_out(matrix, free)
    substitute_back_columns(matrix, free, free, free + 1)
    for k in range(6):
        step[k] = 0.0
    for k in range(free):
        step[freedom[k]] = matrix[k, free]
    size = max(_size(step, 0) / (LONGEST_STEP * radius), _size(step, 3) / LONGEST_STEP)
    for leg in range(len(model.closed_form)):
        if is_general(model, leg):
            size = max(size, _passive_step(model, scratch, leg))
    return size


@kernel
def equation_count(model: ModelData) -> int:
    """Number of equations for the platform's motion that the passive joints leave, of drives and constraints."""
    count = 0
    for leg in range(len(model.closed_form)):
        _, passive, rows = closing_size(model, leg)
        count += rows - passive
    return count


@kernel
def _size(values: Array, first: int) -> float:
    return math.sqrt(
        values[first] * values[first] + values[first + 1] * values[first + 1] + values[first + 2] * values[first + 2]
    )


@kernel
def _passive_step(model: ModelData, scratch: ScratchData, leg: int) -> float:
    """Substitute back for the passive joints of a leg; returns the largest step in units of the longest one."""
    begin = model.column_start[leg]
    columns, passive, _ = closing_size(model, leg)
    matrix, largest, right = scratch.rows[leg], 0.0, columns + 6
    for i in range(passive):
        for k in range(6):
            matrix[i, right] -= matrix[i, columns + k] * scratch.wrench[k]
    leave_out(matrix, passive)
    substitute_back_columns(matrix, passive, right, right + 1)
    for i in range(passive):
        step = matrix[i, right]
        scratch.vector_2[begin + i] = step
        largest = max(largest, abs(step) / model.longest_step[model.column_joint[begin + i]])
    return largest


@kernel
def take_step(model: ModelData, scratch: ScratchData, share: float) -> None:
    """Move platform and passive joints by a share of the step: ``R <- exp(turn) R`` in base axes."""
    platform, step = len(model.kind), scratch.wrench
    move = share * step[0], share * step[1], share * step[2]
    store(scratch.origin, platform, plus(vector(scratch.origin, platform), move))
    turn_platform(scratch, platform, (share * step[3], share * step[4], share * step[5]))
    for leg in range(len(model.closed_form)):
        if is_general(model, leg):
            begin = model.column_start[leg]
            for i in range(model.passive_count[leg]):
                scratch.joints[model.column_joint[begin + i]] += share * scratch.vector_2[begin + i]


@kernel
def turn_platform(scratch: ScratchData, platform: int, turn: Vector) -> None:
    """Turn the platform by a rotation vector [rad] in base axes."""
    angle = math.sqrt(dot(turn, turn))
    if angle > 0.0:
        turn_about(scratch.rotation, platform, times(1.0 / angle, turn), angle)


@kernel
def save_state(model: ModelData, scratch: ScratchData, states: Array, row: int) -> None:
    """Keep the platform's position (3) and rotation (9) and the joints (J) in a row of ``states``."""
    platform = len(model.kind)
    for i in range(3):
        states[row, i] = scratch.origin[platform, i]
        for k in range(3):
            states[row, 3 + 3 * i + k] = scratch.rotation[platform, i, k]
    for joint in range(platform):
        states[row, 12 + joint] = scratch.joints[joint]


@kernel
def load_state(model: ModelData, scratch: ScratchData, states: Array, row: int) -> None:
    """Put platform and joints where a row of ``states`` has them."""
    platform = len(model.kind)
    for i in range(3):
        scratch.origin[platform, i] = states[row, i]
        for k in range(3):
            scratch.rotation[platform, i, k] = states[row, 3 + 3 * i + k]
    for joint in range(platform):
        scratch.joints[joint] = states[row, 12 + joint]
