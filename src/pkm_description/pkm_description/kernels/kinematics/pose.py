"""Joint positions of all legs at a pose of the platform, on the branch on which the legs are at home."""

from __future__ import annotations

import math

from pkm_description.arrays import Array
from pkm_description.kernels.jit import kernel
from pkm_description.kernels.kinematics.closures import closure_gaps, closure_rows, leg_rows, turned_over
from pkm_description.kernels.kinematics.legs import (
    LEG_SINGULARITY,
    close_leg,
    close_strut,
    leg_orientation,
    legs_where_they_are,
    wrapped,
)
from pkm_description.kernels.kinematics.tree import leg_poses, set_platform, turn_about
from pkm_description.kernels.linalg import (
    Vector,
    dot,
    independence,
    plus,
    reflect_columns,
    substitute_back_columns,
    times,
    vector,
)
from pkm_description.kernels.model import (
    NOT_FINITE,
    NOT_REACHED,
    OK,
    OTHER_BRANCH,
    OUT_OF_PLANE,
    REVOLUTE,
    UNDECIDED_BRANCH,
    ModelData,
    ScratchData,
)

#: m, how far a leg may miss its closures: a pose that the legs do not admit (3-RPS) misses by more
CLOSING_TOLERANCE = 1e-6

#: most iterations of a leg
MOST = 50

#: a closing counts only if Newton's second step is this much shorter than the first: well inside of the neighbourhood
#: that holds one solution (Newton and Kantorovich: less than 1/2)
CONTRACTION = 0.2

#: shortest step of the platform from home to where a leg is wanted, as a part of the way
SHORTEST_STEP = 2.0**-10

#: rad and m, distance of a drive from which on two closings of a leg are two
APART = 1e-6

#: most damped iterations, and their first damping relative to the diagonal of the normal equations
MOST_DAMPED = 100
DAMPING = 1e-3

#: rad, from which single turned joints iterations start where following the platform from home does not help
TURNS = (math.pi / 3.0, -math.pi / 3.0, 2.0 * math.pi / 3.0, -2.0 * math.pi / 3.0, math.pi)


@kernel
def start_at_home(model: ModelData, scratch: ScratchData) -> None:
    """Let the iterations of all legs start from home."""
    for joint in range(len(model.kind)):
        scratch.joints[joint] = model.home_joints[joint]


@kernel
def pose_of_joints(model: ModelData, scratch: ScratchData, position: Array, rotation: Array, sample: int) -> int:
    """Close all legs onto one row of poses (N, 3), (N, 3, 3), from ``scratch.joints``, and map their motion."""
    status = place_legs(model, scratch, position, rotation, sample)
    if status < 0:
        return status
    return legs_where_they_are(model, scratch)


@kernel
def place_legs(model: ModelData, scratch: ScratchData, position: Array, rotation: Array, sample: int) -> int:
    """Close all legs onto one row of poses (N, 3), (N, 3, 3), from ``scratch.joints``.

    A leg that ends on another branch than at home is followed from home, or started from turned joints.
    """
    status = set_pose(model, scratch, position, rotation, sample)
    if status < 0:
        return status
    for leg in range(len(model.closed_form)):
        status = close_strut(model, scratch, leg) if model.closed_form[leg] else place_leg(model, scratch, leg)
        if status < 0:
            return status
    return OK


@kernel
def set_pose(model: ModelData, scratch: ScratchData, position: Array, rotation: Array, sample: int) -> int:
    """Place the platform at one row of poses (N, 3), (N, 3, 3): numbers, and of planar machines in the plane."""
    if not finite_pose(position, rotation, sample):
        return NOT_FINITE
    set_platform(model, scratch, position, rotation, sample)
    if len(model.freedom) == 3:
        off = abs(position[sample, 2] - model.home_position[2])
        # both keep the base's z axis at the same direction in platform axes
        tilt = 0.0
        for i in range(3):
            tilt = max(tilt, abs(rotation[sample, 2, i] - model.home_rotation[2, i]))
        if not max(off, tilt) <= CLOSING_TOLERANCE:
            scratch.detail[2], scratch.detail[3] = off, tilt
            return OUT_OF_PLANE
    return OK


@kernel
def finite_pose(position: Array, rotation: Array, sample: int) -> bool:
    """Whether a pose has no NaN and no infinity."""
    total = 0.0
    for i in range(3):
        total += position[sample, i]
        for k in range(3):
            total += rotation[sample, i, k]
    return math.isfinite(total)


@kernel
def place_leg(model: ModelData, scratch: ScratchData, leg: int) -> int:
    """Close a leg by iterations: to where it follows the platform from home, or from a start that is as good as there.

    Only a closing that contracts tells that. Where the platform's straight path from home meets a singular position of
    the leg, turned joints are tried; then its drives must have one position alone on the branch of home.
    """
    if close_leg(model, scratch, leg, MOST) <= CONTRACTION and _is_placed(model, scratch, leg):
        return OK
    _remember_target(model, scratch)
    if _follow_from_home(model, scratch, leg) and _is_placed(model, scratch, leg):
        return OK
    scratch.detail[1] = leg
    found, kept, first = 0, scratch.states, model.joint_start[leg]
    for place in range(len(TURNS) * (model.joint_start[leg + 1] - first) + 1):
        joint, turn = first + max(place - 1, 0) // len(TURNS), 0.0 if place == 0 else TURNS[(place - 1) % len(TURNS)]
        if model.kind[joint] != REVOLUTE and place > 0:
            continue
        _leg_at_home(model, scratch, leg)
        scratch.joints[joint] += turn
        close_leg(model, scratch, leg, MOST)
        if not _is_placed(model, scratch, leg):
            continue
        for other in range(first, model.joint_start[leg + 1]):
            if found == 0:
                kept[1, 12 + other] = scratch.joints[other]
        apart = 0.0
        for other in model.drive_joint:  # a rod that is turned about itself is no other way
            if first <= other < model.joint_start[leg + 1]:
                apart = max(apart, abs(scratch.joints[other] - kept[1, 12 + other]))
        if apart > APART:
            scratch.detail[2] = apart
            return UNDECIDED_BRANCH
        found += 1
    if found:
        for joint in range(first, model.joint_start[leg + 1]):
            scratch.joints[joint] = kept[1, 12 + joint]
        leg_poses(model, scratch, leg)
        return OK
    _leg_at_home(model, scratch, leg)
    scratch.detail[2] = stretch_leg(model, scratch, leg)
    return OTHER_BRANCH if scratch.detail[2] <= CLOSING_TOLERANCE else NOT_REACHED


@kernel
def _is_placed(model: ModelData, scratch: ScratchData, leg: int) -> bool:
    """Whether a leg closes, on the branch of home; turns its angles to within half a turn of home."""
    begin, columns = model.column_start[leg], model.column_start[leg + 1] - model.column_start[leg]
    for i in range(begin, begin + columns):
        joint = model.column_joint[i]
        if model.kind[joint] == REVOLUTE:
            scratch.joints[joint] = wrapped(scratch.joints[joint], model.home_joints[joint])
    leg_poses(model, scratch, leg)
    if not closure_gaps(model, scratch, leg) <= CLOSING_TOLERANCE or turned_over(model, scratch, leg):
        return False
    normal = vector(model.branch_normal, leg)
    if dot(normal, normal) == 0.0:
        return True
    closure_rows(model, scratch, leg)
    rows = leg_rows(model, leg)
    reflect_columns(scratch.rows[leg], scratch.reflections[leg], rows, 0, columns, columns)
    # a leg in its singular position is on no branch
    is_regular = independence(scratch.rows[leg], columns) > LEG_SINGULARITY
    return not is_regular or dot(leg_orientation(model, scratch, leg), normal) >= 0.0


@kernel
def _leg_at_home(model: ModelData, scratch: ScratchData, leg: int) -> None:
    for joint in range(model.joint_start[leg], model.joint_start[leg + 1]):
        scratch.joints[joint] = model.home_joints[joint]


@kernel
def _remember_target(model: ModelData, scratch: ScratchData) -> None:
    platform = len(model.kind)
    for i in range(3):
        scratch.target_position[0, i] = scratch.origin[platform, i]
        for k in range(3):
            scratch.target_rotation[0, i, k] = scratch.rotation[platform, i, k]


@kernel
def _follow_from_home(model: ModelData, scratch: ScratchData, leg: int) -> bool:
    """Move the platform from home to its target, straight and about one axis, and let the leg follow.

    A step is repeated at half its length unless the leg's closing contracts. Ends at the target; False where the leg's
    next closing on the way is singular, or out of reach.
    """
    platform, last = len(model.kind), scratch.states
    _leg_at_home(model, scratch, leg)
    axis, angle = turn_between(model.home_rotation, scratch.target_rotation)
    done, step = 0.0, 0.5
    while done < 1.0 and step >= SHORTEST_STEP:
        share = min(done + step, 1.0)
        for joint in range(model.joint_start[leg], model.joint_start[leg + 1]):
            last[1, 12 + joint] = scratch.joints[joint]
        for i in range(3):
            home = model.home_position[i]
            scratch.origin[platform, i] = home + share * (scratch.target_position[0, i] - home)
            for k in range(3):
                scratch.rotation[platform, i, k] = model.home_rotation[i, k]
        turn_about(scratch.rotation, platform, axis, share * angle)
        if share == 1.0:
            set_platform(model, scratch, scratch.target_position, scratch.target_rotation, 0)
        if close_leg(model, scratch, leg, MOST) <= CONTRACTION:
            done, step = share, 2.0 * step
            continue
        step *= 0.5
        for joint in range(model.joint_start[leg], model.joint_start[leg + 1]):
            scratch.joints[joint] = last[1, 12 + joint]
    set_platform(model, scratch, scratch.target_position, scratch.target_rotation, 0)
    return done >= 1.0


@kernel
def turn_between(begin: Array, end: Array) -> tuple[Vector, float]:
    """Axis and angle [rad] of the turn from a rotation (3, 3) to one (1, 3, 3), base axes."""
    sine = 0.0, 0.0, 0.0
    cosine = -1.0
    for column in range(3):
        a = begin[0, column], begin[1, column], begin[2, column]
        b = end[0, 0, column], end[0, 1, column], end[0, 2, column]
        cosine += dot(a, b)
        sine = plus(sine, (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]))
    size = math.sqrt(dot(sine, sine))
    if size == 0.0:
        return (0.0, 0.0, 1.0), 0.0
    return times(1.0 / size, sine), math.atan2(size, cosine)


@kernel
def stretch_leg(model: ModelData, scratch: ScratchData, leg: int) -> float:
    """Smallest gap [m] that a leg reaches from ``scratch.joints``, also where it does not get to its platform joint.

    Levenberg and Marquardt's iterations (Marquardt 1963): each step shrinks the gap, where Newton's jump about beyond a
    leg's reach, so the gap that is left is the distance that the leg lacks.
    """
    begin, columns = model.column_start[leg], model.column_start[leg + 1] - model.column_start[leg]
    rows = leg_rows(model, leg)
    matrix, steps = scratch.square, scratch.vector_2
    leg_poses(model, scratch, leg)
    closure_gaps(model, scratch, leg)
    size = _size(scratch.bias, rows)
    damping = DAMPING
    for _ in range(MOST_DAMPED):
        closure_rows(model, scratch, leg)
        _damped_least_squares(scratch.rows[leg], scratch.bias, rows, columns, damping, matrix, scratch.vector)
        largest = 0.0
        for i in range(columns):
            joint = model.column_joint[begin + i]
            steps[i] = scratch.joints[joint]
            scratch.joints[joint] += matrix[i, columns]
            largest = max(largest, abs(matrix[i, columns]))
        leg_poses(model, scratch, leg)
        closure_gaps(model, scratch, leg)
        now = _size(scratch.bias, rows)
        if now < size:
            size = now
            damping = max(damping / 3.0, 1e-12)
            if largest <= 1e-13:
                break
            continue
        for i in range(columns):
            scratch.joints[model.column_joint[begin + i]] = steps[i]
        leg_poses(model, scratch, leg)
        closure_gaps(model, scratch, leg)
        damping *= 4.0
        if damping > 1e6:
            break
    return math.sqrt(size)


@kernel
def _size(values: Array, count: int) -> float:
    total = 0.0
    for i in range(count):
        total += values[i] * values[i]
    return total


@kernel
def _damped_least_squares(
    jacobian: Array, gap: Array, rows: int, columns: int, damping: float, matrix: Array, factors: Array
) -> None:
    """Step that shrinks a gap, into column ``columns`` of ``matrix``: QR of the rows over damped unit rows."""
    for k in range(columns):
        length = 0.0
        for i in range(rows):
            matrix[i, k] = jacobian[i, k]
            length += jacobian[i, k] * jacobian[i, k]
        for i in range(columns):
            matrix[rows + i, k] = math.sqrt(damping * length + 1e-15) if i == k else 0.0
    for i in range(rows + columns):
        matrix[i, columns] = -gap[i] if i < rows else 0.0
    reflect_columns(matrix, factors, rows + columns, 0, columns, columns + 1)
    substitute_back_columns(matrix, columns, columns, columns + 1)
