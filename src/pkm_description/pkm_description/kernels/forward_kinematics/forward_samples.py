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
)
from pkm_description.kernels.forward_kinematics.continuation import (
    CONDITION,
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
)
from pkm_description.kernels.jit import kernel
from pkm_description.kernels.kinematics.closures import turned_over
from pkm_description.kernels.model import ModelData, ScratchData

#: Newton's second step over its first from which a sample is not near enough to the last one to be sure of the mode
DOUBTFUL_CONTRACTION = 0.5
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
