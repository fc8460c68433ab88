"""Forward kinematics of many samples: each from a start of its own, or each from the one before."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from pkm_description.arrays import Array
from pkm_description.kernels.forward_kinematics.assembly import (
    condition_number,
    drive_jacobian,
    invert_drives,
    straight_path_is_regular,
)
from pkm_description.kernels.forward_kinematics.continuation import (
    CONDITION,
    CONVERGED,
    DETERMINANT,
    ITERATIONS,
    LAST_ITERATIONS,
    ON_BRANCH,
    follow_drives,
    hand_over,
    judge,
    set_drives,
    solve_sample,
    start_at,
    wrap_joints,
)
from pkm_description.kernels.forward_kinematics.newton import (
    close_drives,
    is_driven_strut,
    leg_gaps,
    load_state,
    newton_step,
    save_state,
    take_step,
    turn_platform,
)
from pkm_description.kernels.jit import kernel
from pkm_description.kernels.kinematics.closures import turned_over
from pkm_description.kernels.kinematics.pose import turn_between
from pkm_description.kernels.kinematics.tree import set_platform
from pkm_description.kernels.model import ModelData, ScratchData

#: Newton's second step over its first from which a sample is not near enough to the last one to be sure of the mode
DOUBTFUL_CONTRACTION = 0.5
#: one sample to which there is no way may be a wrong measurement, as many in a row are a path
LOST = 2
#: how far ahead of a sample to look for a singular pose, in steps of the path; more than 1, because paths accelerate
LOOK_AHEAD = 1.5
#: largest change of a step, as a fraction of it, with which samples still are a path and not unrelated poses
STEADY = 0.5
#: m, residual of which no user asks for less
FINE = 1e-12
#: Newton steps from the last pose; more are not needed unless something has happened
NEAR_ITERATIONS = 6


@kernel
def solve_samples(
    model: ModelData, scratch: ScratchData, drives: Array, joints: Array, position: Array, rotation: Array, most: int,
    tolerance: float, max_condition: float, branch: Array, from_home: bool, verify: bool, report: Array,
) -> None:  # fmt: skip
    """Configurations at drive positions (N, A), each by itself.

    joints (N, J), position (N, 3), rotation (N, 3, 3) hold the starts and get the results.
    """
    for sample in range(len(drives)):
        start_at(model, scratch, joints, position, rotation, sample, 0)
        solve_sample(
            model, scratch, drives, sample, most, tolerance, max_condition, branch, from_home, verify, report
        )
        hand_over(model, scratch, sample, joints, position, rotation)


@kernel
def solve_starts(
    model: ModelData, scratch: ScratchData, drives: Array, joints: Array, position: Array, rotation: Array, most: int,
    tolerance: float, residual: Array,
) -> None:  # fmt: skip
    """Configurations at one row of drive positions (1, A) from many starts, by damped steps."""
    for start in range(len(joints)):
        start_at(model, scratch, joints, position, rotation, start, 0)
        set_drives(model, scratch, drives, 0)
        residual[start] = close_drives(model, scratch, tolerance, most, True)[1]
        for leg in range(len(model.closed_form)):
            if not is_driven_strut(model, leg) and turned_over(model, scratch, leg):
                residual[start] = math.inf
        hand_over(model, scratch, start, joints, position, rotation)


@kernel
def follow_samples(
    model: ModelData, scratch: ScratchData, drives: Array, joints: Array, position: Array, rotation: Array,
    fraction: Array,
) -> None:  # fmt: skip
    """Follow configurations, as in :func:`solve_samples`, while their drives go straight to (N, A)."""
    for sample in range(len(drives)):
        start_at(model, scratch, joints, position, rotation, sample, 0)
        fraction[sample] = follow_drives(model, scratch, drives, sample)[0]
        hand_over(model, scratch, sample, joints, position, rotation)


@kernel
def paths_are_regular(
    model: ModelData, scratch: ScratchData, position: Array, rotation: Array, places: int, branch: Array,
    regular: NDArray[np.bool_],
) -> None:  # fmt: skip
    """Whether straight paths from home to poses (N, 3), (N, 3, 3) are regular, machines of struts alone."""
    for sample in range(len(position)):
        set_platform(model, scratch, position, rotation, sample)
        regular[sample] = straight_path_is_regular(model, scratch, branch, places)


@kernel
def solve_sequence(
    model: ModelData, scratch: ScratchData, drives: Array, joints: Array, position: Array, rotation: Array, most: int,
    tolerance: float, max_condition: float, branch: Array, report: Array,
) -> int:  # fmt: skip
    """Configurations at drive positions (N, A), each from the last good one; the first row holds the start.

    Returns the sample from which on the mode is lost, N if none; see ``kinematics.forward_kinematics_sequence``.
    """
    barred, first_barred = 0, len(drives)  # samples since the last good one to which there is no way
    start_at(model, scratch, joints, position, rotation, 0, 3)
    for sample in range(len(drives)):
        load_state(model, scratch, scratch.states, 3)
        finite = set_drives(model, scratch, drives, sample)
        found = close_drives(model, scratch, tolerance, most, False)
        good = judge(model, scratch, found, tolerance, max_condition, branch, report, sample, 0)
        # once the mode is lost there is nothing to keep to, and each search on the way to nowhere takes its time
        if barred < LOST and not (good and found[3] <= DOUBTFUL_CONTRACTION):
            fraction, iterations = 0.0, 0
            if finite:
                save_state(model, scratch, scratch.states, 2)
                load_state(model, scratch, scratch.states, 3)
                save_state(model, scratch, scratch.states, 0)
                fraction, iterations = follow_drives(model, scratch, drives, sample)
            if fraction >= 1.0:
                found = close_drives(model, scratch, tolerance, LAST_ITERATIONS, False)
                judge(model, scratch, found, tolerance, max_condition, branch, report, sample, 0)
            elif finite:
                load_state(model, scratch, scratch.states, 2)
                if barred == 0:
                    first_barred = sample
                barred += 1
            if not fraction >= 1.0:
                report[sample, ON_BRANCH] = math.nan  # no way: neither good nor a start of the next one
            report[sample, ITERATIONS] += iterations
        if report[sample, CONVERGED] == 1.0 and not math.isnan(report[sample, ON_BRANCH]):
            save_state(model, scratch, scratch.states, 3)
            if barred < LOST:
                barred, first_barred = 0, len(drives)
        hand_over(model, scratch, sample, joints, position, rotation)
    lost = first_barred if barred >= LOST else len(drives)
    return min(lost, first_singular(model, scratch, joints, position, rotation, max_condition, report))


@kernel
def first_singular(
    model: ModelData, scratch: ScratchData, joints: Array, position: Array, rotation: Array, max_condition: float,
    report: Array,
) -> int:  # fmt: skip
    """First sample that is singular, or before which the path passes a singular pose; else the number of samples.

    Three samples in a row that go on as they came are a path; it passes a singular pose if the determinant has another
    sign where it leads to.
    """
    last, before = -1, -1
    for sample in range(len(joints)):
        if report[sample, CONVERGED] != 1.0 or report[sample, CONDITION] > max_condition:
            if report[sample, CONVERGED] == 1.0:
                return sample
            continue
        if math.isnan(report[sample, ON_BRANCH]):
            continue
        if before >= 0 and _steady(model, position, rotation, before, last, sample):
            _go_on(model, scratch, joints, position, rotation, last, sample)
            leg_gaps(model, scratch)
            if drive_jacobian(model, scratch, 0) != report[sample, DETERMINANT]:
                return sample + 1
        before, last = last, sample
    return len(joints)


@kernel
def _steady(model: ModelData, position: Array, rotation: Array, before: int, last: int, sample: int) -> bool:
    """Whether the second of two steps, in platform radii and rad, changes little against the first."""
    axis, angle = turn_between(rotation[last], rotation[sample : sample + 1])
    axis_before, angle_before = turn_between(rotation[before], rotation[last : last + 1])
    change, size = 0.0, 0.0
    for i in range(3):
        move = (position[sample, i] - position[last, i]) / model.radius[0]
        move_before = (position[last, i] - position[before, i]) / model.radius[0]
        turn, turn_before = angle * axis[i], angle_before * axis_before[i]
        change += (move - move_before) * (move - move_before) + (turn - turn_before) * (turn - turn_before)
        size += move * move + turn * turn
    return change <= STEADY * STEADY * size


@kernel
def _go_on(
    model: ModelData, scratch: ScratchData, joints: Array, position: Array, rotation: Array, last: int, sample: int
) -> None:
    """Put joints and platform where the step from one sample to the next leads to, a little further."""
    start_at(model, scratch, joints, position, rotation, sample, 0)
    platform = len(model.kind)
    axis, angle = turn_between(rotation[last], rotation[sample : sample + 1])
    turn = LOOK_AHEAD * angle
    turn_platform(scratch, platform, (turn * axis[0], turn * axis[1], turn * axis[2]))
    for i in range(3):
        scratch.origin[platform, i] += LOOK_AHEAD * (position[sample, i] - position[last, i])
    for joint in range(platform):
        scratch.joints[joint] += LOOK_AHEAD * (joints[sample, joint] - joints[last, joint])


@kernel
def condition_numbers(
    model: ModelData, scratch: ScratchData, joints: Array, position: Array, rotation: Array, condition: Array
) -> None:
    """Condition numbers (N,) of configurations, where they are NaN."""
    for sample in range(len(condition)):
        if math.isnan(condition[sample]):
            start_at(model, scratch, joints, position, rotation, sample, 0)
            leg_gaps(model, scratch)
            is_regular = math.isfinite(drive_jacobian(model, scratch, 0))
            condition[sample] = condition_number(model, scratch) if is_regular else math.inf


@kernel
def solve_near(
    model: ModelData, scratch: ScratchData, drives: Array, begins: NDArray[np.bool_], first: int, last: Array,
    options: Array, branch: Array, found: Array, report: Array,
) -> int:  # fmt: skip
    """Configurations at drive positions (N, A) from row ``first`` on, each from the one before, quickly.

    Stops at the first sample that ``begins`` (N,) marks or that is in the least doubt, and returns it; N if there is
    none.

    Parameters
    ----------
    last : (1, S) what the first sample starts from: a row of ``found``
    options : (3,) tolerance, most iterations, largest condition number
    found : (N, S) position (3), rotation (9), joints (J), twist per drive rate (6 A) and iterations of each sample
    report : (1, R) memory
    """
    count = len(model.drive_joint)
    most = min(int(options[1]), NEAR_ITERATIONS)
    tolerance, max_condition = options[0], options[2]
    joints = 12 + len(model.kind)
    load_state(model, scratch, last, 0)
    for sample in range(first, len(drives)):
        if begins[sample]:
            return sample
        set_drives(model, scratch, drives, sample)
        solution = close_drives(model, scratch, tolerance, most, False)
        if not (solution[1] <= tolerance and solution[3] <= DOUBTFUL_CONTRACTION):
            return sample
        if solution[1] > FINE:
            # a user's tolerance may be rough; the next step goes far beyond it
            newton_step(model, scratch, False)
            take_step(model, scratch, 1.0)
            leg_gaps(model, scratch)
        good = judge(model, scratch, solution, tolerance, max_condition, branch, report, 0, count)
        if not good or report[0, CONDITION] > max_condition:
            return sample
        invert_drives(model, scratch)
        wrap_joints(model, scratch)
        row, twist_map = found[sample], scratch.twist_map
        save_state(model, scratch, found, sample)
        for k in range(6):
            for a in range(count):
                row[joints + k * count + a] = twist_map[k, a]
        row[joints + 6 * count] = solution[0]
    return len(drives)

