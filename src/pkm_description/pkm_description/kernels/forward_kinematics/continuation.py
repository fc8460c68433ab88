"""Forward kinematics with a verdict: Newton's iterations, and numerical continuation where they are in doubt.

Rows of ``scratch.states``: 0 where a sample starts, 1 the last good place of a continuation, 2 what was found first.
"""

from __future__ import annotations

import math

from pkm_description.arrays import Array
from pkm_description.kernels.forward_kinematics.assembly import (
    condition_bound,
    condition_number,
    drive_jacobian,
    free_twist,
    on_branch,
    straight_path_is_regular,
)
from pkm_description.kernels.forward_kinematics.newton import (
    close_drives,
    is_driven_strut,
    is_rods,
    leg_gaps,
    load_state,
    save_state,
    strut_row,
    struts_alone,
)
from pkm_description.kernels.forward_kinematics.rods import rod_angles
from pkm_description.kernels.jit import kernel
from pkm_description.kernels.kinematics.legs import close_strut, wrapped
from pkm_description.kernels.model import REVOLUTE, ModelData, ScratchData

#: a step counts only if Newton's second step is this much shorter than the first: well inside of the neighbourhood
#: that holds one solution and no singular pose (Newton and Kantorovich: less than 1/2)
CONTRACTION = 0.2
FIRST_STEP, SHORTEST_STEP = 0.25, 2.0**-6
#: what a step's end misses its drives by, as a fraction of the platform radius
STEP_ACCURACY = 1e-8
#: Newton steps at each place of a continuation, and from its end to the tolerance
STEP_ITERATIONS, LAST_ITERATIONS = 4, 5

#: places of the straight path from home at which the determinant is looked at
PATH_PLACES = 32
#: more Newton steps than this raise doubt about the branch: the iteration has wandered
DOUBTFUL_ITERATIONS = 12
#: m, residual that counts as closed although the tolerance asks for less: rounding of large machines
ROUNDING = 1e-11

# columns of a report
ITERATIONS, RESIDUAL, WORST_LEG, CONVERGED, CONDITION, DETERMINANT, ON_BRANCH, FREE_TWIST = 0, 1, 2, 3, 4, 5, 6, 7
REPORT_COLUMNS = 13


@kernel
def set_drives(model: ModelData, scratch: ScratchData, drives: Array, sample: int) -> bool:
    """Put the driven joints where one row of positions (N, A) has them; False if one is not finite."""
    total = 0.0
    for a in range(len(model.drive_joint)):
        scratch.joints[model.drive_joint[a]] = drives[sample, a]
        total += drives[sample, a]
    return math.isfinite(total)


@kernel
def follow_drives(model: ModelData, scratch: ScratchData, drives: Array, sample: int) -> tuple[float, int]:
    """Follow state 0 while its drives go on a straight line to one row of positions (N, A).

    The step along the line adapts. It is repeated at half its length unless Newton's steps shrink fast, and the
    determinant keeps its sign: then the pose found is the one that the platform would move to, and no other. Ends where
    the line's next pose is singular.

    Returns
    -------
    fraction : part of the line that was followed; 1 where the end was reached
    iterations : Newton steps taken
    """
    load_state(model, scratch, scratch.states, 0)
    save_state(model, scratch, scratch.states, 1)
    leg_gaps(model, scratch)
    sign = drive_jacobian(model, scratch, 0)
    fraction, step, iterations = 0.0, FIRST_STEP, 0
    accuracy = STEP_ACCURACY * model.radius[0]
    while fraction < 1.0 and step >= SHORTEST_STEP:
        ahead = min(fraction + step, 1.0)
        load_state(model, scratch, scratch.states, 1)
        for a in range(len(model.drive_joint)):
            joint = model.drive_joint[a]
            begin = scratch.states[0, 12 + joint]
            scratch.joints[joint] = begin + ahead * (drives[sample, a] - begin)
        steps, residual, _, contraction = close_drives(model, scratch, accuracy, STEP_ITERATIONS, False)
        iterations += steps
        good = residual <= accuracy and contraction <= CONTRACTION
        if good:
            now = drive_jacobian(model, scratch, 0)
            good = now == sign and now * now <= 1.0  # NaN is no sign
        if good:
            save_state(model, scratch, scratch.states, 1)
            fraction = ahead
            step *= 2.0
        else:
            step *= 0.5
    load_state(model, scratch, scratch.states, 1)
    return fraction, iterations


@kernel
def judge(
    model: ModelData, scratch: ScratchData, found: tuple[int, float, int, float], tolerance: float,
    max_condition: float, branch: Array, report: Array, sample: int, width: int,
) -> bool:  # fmt: skip
    """Write what is to say about the configuration of ``scratch`` into a row of ``report``; True if all is well.

    ``found`` as from :func:`.newton.close_drives`. The condition number is NaN where a bound
    shows that it is within ``max_condition``: few users want to know it.
    """
    report[sample, ITERATIONS] = found[0]
    report[sample, RESIDUAL] = found[1]
    report[sample, WORST_LEG] = found[2]
    converged = found[1] <= max(tolerance, ROUNDING)
    report[sample, CONVERGED] = 1.0 if converged else 0.0
    for k in range(6):
        report[sample, FREE_TWIST + k] = math.nan
    right, condition, sign = False, math.inf, math.nan
    if found[1] < math.inf:
        sign = drive_jacobian(model, scratch, width)
        right = on_branch(model, scratch, sign, branch)
        if math.isfinite(sign):
            condition = math.nan
            if not condition_bound(model, scratch) <= max_condition:
                condition = condition_number(model, scratch)
            if condition > max_condition:
                free_twist(model, scratch, report, sample, FREE_TWIST)
    report[sample, CONDITION] = condition
    report[sample, DETERMINANT] = sign
    report[sample, ON_BRANCH] = 1.0 if right else 0.0
    return converged and right


@kernel
def solve_sample(
    model: ModelData, scratch: ScratchData, drives: Array, sample: int, most: int, tolerance: float,
    max_condition: float, branch: Array, from_home: bool, verify: bool, report: Array,
) -> None:  # fmt: skip
    """Configuration at one row of drive positions (N, A), from state 0, with its verdict.

    In doubt the drives are followed from the start; see ``kinematics.forward_kinematics``.
    """
    load_state(model, scratch, scratch.states, 0)
    finite = set_drives(model, scratch, drives, sample)
    found = close_drives(model, scratch, tolerance, most, False)
    good = judge(model, scratch, found, tolerance, max_condition, branch, report, sample, 0)
    doubt = verify or found[0] > DOUBTFUL_ITERATIONS or (from_home and not good)
    # whoever gives a start needs the answer in time: no second search where there may be no pose at all
    hopeless = not from_home and report[sample, CONVERGED] != 1.0
    if not doubt or hopeless or not finite:
        return
    save_state(model, scratch, scratch.states, 2)
    fraction, iterations = follow_drives(model, scratch, drives, sample)
    if fraction >= 1.0:
        # the end of the line is accurate to a part of the platform radius; a few steps more give the tolerance
        found = close_drives(model, scratch, tolerance, LAST_ITERATIONS, False)
        judge(model, scratch, found, tolerance, max_condition, branch, report, sample, 0)
    else:
        load_state(model, scratch, scratch.states, 2)
        if good and struts_alone(model) and not straight_path_is_regular(model, scratch, branch, PATH_PLACES):
            report[sample, ON_BRANCH] = 0.0
    report[sample, ITERATIONS] += iterations


@kernel
def hand_over(
    model: ModelData, scratch: ScratchData, sample: int, joints: Array, position: Array, rotation: Array
) -> None:
    """Write the configuration of ``scratch`` into one row of results."""
    wrap_joints(model, scratch)
    platform = len(model.kind)
    for i in range(3):
        position[sample, i] = scratch.origin[platform, i]
        for k in range(3):
            rotation[sample, i, k] = scratch.rotation[platform, i, k]
    for joint in range(platform):
        joints[sample, joint] = scratch.joints[joint]


@kernel
def wrap_joints(model: ModelData, scratch: ScratchData) -> None:
    """Passive joints within half a turn of home; of struts and rods their angles, which the pose determines."""
    for leg in range(len(model.closed_form)):
        first, last = model.joint_start[leg], model.joint_start[leg + 1]
        if is_driven_strut(model, leg):
            length = scratch.joints[first + 2]
            if close_strut(model, scratch, leg) < 0:
                scratch.joints[first] = math.nan
                scratch.joints[first + 1] = math.nan
            scratch.joints[first + 2] = length
            continue
        if is_rods(model, leg):
            rod_angles(model, scratch, leg)
            continue
        for joint in range(first, last):
            if model.kind[joint] == REVOLUTE and model.is_driven[joint] == 0:
                scratch.joints[joint] = wrapped(scratch.joints[joint], model.home_joints[joint])


@kernel
def start_at(
    model: ModelData, scratch: ScratchData, joints: Array, position: Array, rotation: Array, row: int, state: int
) -> None:
    """Put one row of configurations (M, J), (M, 3), (M, 3, 3) into a state."""
    platform = len(model.kind)
    for joint in range(platform):
        scratch.joints[joint] = joints[row, joint]
    for i in range(3):
        scratch.origin[platform, i] = position[row, i]
        for k in range(3):
            scratch.rotation[platform, i, k] = rotation[row, i, k]
    drives_of_struts(model, scratch)
    save_state(model, scratch, scratch.states, state)


@kernel
def drives_of_struts(model: ModelData, scratch: ScratchData) -> None:
    """Give driven struts the lengths of the pose: a start may be known as a pose alone."""
    for leg in range(len(model.closed_form)):
        if is_driven_strut(model, leg):
            strut_row(model, scratch, leg)
            scratch.joints[model.joint_start[leg] + 2] -= scratch.rows[leg, 0, 6]
