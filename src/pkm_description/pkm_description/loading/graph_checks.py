"""Checks of the graph of legs and closures at home: closed the right way round, and mobile not only at home."""

from __future__ import annotations

import numpy as np

from pkm_description.arrays import Array
from pkm_description.kernels.closures import closure_gaps, closure_rows, leg_rows
from pkm_description.kernels.drive_map import admitted_twists
from pkm_description.kernels.pose import CLOSING_TOLERANCE
from pkm_description.kernels.tree import leg_poses, set_platform, turn_about
from pkm_description.loading.yaml_reader import closure_key, closures_with_legs, machine_error
from pkm_description.machine import Machine
from pkm_description.machine.idle_freedoms import AtHome, nearest_closed

#: rad, by which the platform must be able to move from home (times its radius: m)
_STEP = 0.05

_ITERATIONS = 60

#: axes of the closure frames that must point the same way
_SAME_WAY = {'ball': (), 'universal': (), 'pin': (2,), 'fixed': (0, 2)}


def check_closed_the_right_way(machine: Machine) -> None:
    """Pins and fixed ends close at home with axes that point the same way, not turned over.

    Raises
    ------
    MachineFileError
        Naming the closure.
    """
    model = machine.model
    rotations = AtHome.of(model).placed().memory.rotation
    for number, (leg, closure) in enumerate(closures_with_legs(machine)):
        here = rotations[model.closure_body[number]] @ closure.rotation_body
        there = rotations[model.closure_other[number]] @ closure.rotation_other
        for axis in _SAME_WAY[closure.kind]:
            if here[:, axis] @ there[:, axis] < 0.0:
                raise machine_error(
                    machine, closure_key(leg, closure), None,
                    f'{closure.name} is closed turned over at home: the {"xyz"[axis]} axes of its frames on '
                    f'{closure.body} and {closure.other} point opposite ways; turn rpy or to_rpy by half a turn',
                )  # fmt: skip


def check_mobility(machine: Machine) -> None:
    """Loops that close at home must close beside it, too: more equations than freedoms may do so by luck only.

    Raises
    ------
    MachineFileError
        Naming the freedoms that end at once.
    """
    constraints = machine.constraint_count
    if constraints == 6 - machine.degrees_of_freedom:
        return  # as many equations as they take freedoms: regular at home, so movable
    home = AtHome.of(machine.model)
    memory, scratch = machine.scratch
    admitted_twists(machine.compiled_model, scratch)
    twists = memory.admitted[:, : machine.degrees_of_freedom].copy()
    for twist in twists.T:
        # the basis has length 1 in metres and in radians times the radius
        step = _STEP * machine.model.radius[0] * twist
        gap, moved = _beside_home(home, step)
        if gap > CLOSING_TOLERANCE or moved < 0.5:
            raise machine_error(
                machine, 'legs', [leg.name for leg in machine.legs],
                f'the loops close at home only: by their equations there the platform has {machine.degrees_of_freedom} '
                f'degrees of freedom, but it cannot move on along {np.round(twist, 3).tolist()} (m, rad). Legs that '
                'hold the same freedom twice need exact geometry (axes parallel, or through one point), or closures '
                'that hold less',
            )  # fmt: skip


def _beside_home(home: AtHome, twist: Array) -> tuple[float, float]:
    """Move the platform by a small twist and bring it and the joints together again, by the shortest way.

    Returns
    -------
    Largest gap that is left [m, 1], and the part of the twist that is left.
    """
    model, memory, compiled, scratch = home.model, home.memory, home.compiled, home.scratch
    columns = model.column_joint
    memory.joints[:] = model.home_joints
    set_platform(compiled, scratch, model.home_position[None], model.home_rotation[None], 0)
    _move(home, twist)
    for leg in range(len(model.closed_form)):
        nearest_closed(home, leg)  # so that the shortest way on is not the way back
    gap, went = np.inf, twist.copy()
    for _ in range(_ITERATIONS):
        matrix, gaps = _all_rows(home)
        gap = float(np.abs(gaps).max())
        if gap < 1e-11:
            break
        step = -np.linalg.pinv(matrix, 1e-6) @ gaps
        memory.joints[columns] += step[: len(columns)]
        free = np.zeros(6)
        free[model.freedom] = step[len(columns) :]
        _move(home, free)
        went += free
    scale = np.repeat([1.0, model.radius[0]], 3) ** 2
    return gap, float((went * scale) @ twist / ((twist * scale) @ twist))


def _all_rows(home: AtHome) -> tuple[Array, Array]:
    """Jacobian of all gaps by joints (in the order of ``column_joint``) and platform, and the gaps."""
    model = home.model
    columns, rows = len(model.column_joint), int(model.row_start[-1])
    matrix, gaps = np.zeros((rows, columns + len(model.freedom))), np.zeros(rows)
    first = 0
    for leg in range(len(model.closed_form)):
        leg_poses(home.compiled, home.scratch, leg)
        closure_gaps(home.compiled, home.scratch, leg)
        closure_rows(home.compiled, home.scratch, leg)
        count = leg_rows(home.compiled, leg)
        own = slice(int(model.column_start[leg]), int(model.column_start[leg + 1]))
        width = own.stop - own.start
        matrix[first : first + count, own] = home.memory.rows[leg, :count, :width]
        matrix[first : first + count, columns:] = home.memory.rows[leg][:count, width + model.freedom]
        gaps[first : first + count] = home.memory.bias[:count]
        first += count
    return matrix, gaps


def _move(home: AtHome, twist: Array) -> None:
    """Shift and turn the platform by a small twist (6,)."""
    platform = len(home.model.kind)
    home.memory.origin[platform] += twist[:3]
    angle = float(np.linalg.norm(twist[3:]))
    if angle > 0.0:
        turn_about(home.memory.rotation, platform, tuple(twist[3:] / angle), angle)
