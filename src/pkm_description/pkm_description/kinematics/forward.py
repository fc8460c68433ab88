"""Forward kinematics: platform pose and joint positions of any machine from its drive positions."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np

from pkm_description.arrays import Array
from pkm_description.errors import KinematicsError
from pkm_description.kinematics.arguments import drives, poses, require_machine, require_platform
from pkm_description.kinematics.closure import solve_closure
from pkm_description.kinematics.forward_result import ForwardKinematicsResult
from pkm_description.kinematics.hexapod.forward import forward_from_lengths
from pkm_description.kinematics.hexapod.forward_sequence import sequence_from_lengths
from pkm_description.kinematics.joint_motion import joint_positions
from pkm_description.machine import Machine, Pose

Start = ForwardKinematicsResult | Pose

#: steps of the drives from the last good sample of a sequence to one that is not found at once
_STEPS = 8


def forward_kinematics(
    machine: Machine,
    drive_positions: Array,
    initial: Start | None = None,
    tolerance: float = 1e-12,
    max_iterations: int | None = None,
    max_condition: float = 1e4,
    verify_branch: bool = False,
) -> ForwardKinematicsResult:
    """Platform poses and all joint positions of given drive positions, all samples at once.

    Newton iterations; hexapods of six struts by their lengths (see
    :func:`pkm_description.kinematics.hexapod.forward.forward_from_lengths` for how their assembly mode is tested), all
    other machines by the closures of all legs. The result says which configurations can be trusted;
    :meth:`ForwardKinematicsResult.require` raises where one cannot.

    Parameters
    ----------
    drive_positions : (N, A) or (A,) m, rad, of the driven joints, leg by leg; a single set gives a result of one sample
    initial : pose or configuration(s) to start from, one or N; default home
    tolerance : m, on the largest gap between a leg's tip and its platform joint
    max_iterations : Newton steps; default 20 for hexapods, 30 for other machines
    max_condition : see :meth:`ForwardKinematicsResult.require`
    verify_branch : hexapods: follow every sample from home, not only those in doubt; several times slower

    Raises
    ------
    KinematicsError
        An open chain, or a machine with more or fewer drives than degrees of freedom.
    ShapeError
        Drive positions of another shape.
    """
    positions = _checked(machine, drive_positions)
    if machine.is_strut_hexapod:
        return forward_from_lengths(
            machine, positions + machine.lengths_at_zero, _pose(initial), tolerance, max_iterations or 20,
            max_condition, verify_branch,
        )  # fmt: skip
    start = _configuration(machine, initial)
    return solve_closure(machine, positions, start, tolerance, max_iterations or 30, max_condition)


def forward_kinematics_sequence(
    machine: Machine,
    drive_positions: Array,
    initial: Start | None = None,
    tolerance: float = 1e-12,
    max_iterations: int | None = None,
    max_condition: float = 1e4,
) -> ForwardKinematicsResult:
    """Solve samples in order, each from the last good one, as a real-time user does.

    Arguments and result as :func:`forward_kinematics`; the mode that ``right_assembly_mode`` speaks of is that of the
    start for hexapods (see :func:`pkm_description.kinematics.hexapod.forward_sequence.sequence_from_lengths`), of home
    for other machines. A sample that is not found at once is approached in small steps of the drives.
    """
    positions = _checked(machine, drive_positions)
    if machine.is_strut_hexapod:
        return sequence_from_lengths(
            machine, positions + machine.lengths_at_zero, _pose(initial), tolerance, max_iterations or 20, max_condition
        )
    options = tolerance, max_iterations or 30, max_condition
    last = _configuration(machine, initial) or _configuration(machine, machine.home)
    assert last is not None
    results = []
    for wanted in positions:  # a loop, because each sample starts from the one before
        found = solve_closure(machine, wanted[None], last, *options)
        if not found.trusted[0] and np.isfinite(wanted).all():
            found = _approached(machine, wanted, last, options)
        if found.trusted[0]:
            last = found
        results.append(found)
    return _joined(results) if results else solve_closure(machine, positions, None, *options)


def _checked(machine: Machine, drive_positions: Array) -> Array:
    """Drive positions (N, A) of a machine whose drives determine its configuration."""
    require_machine(machine)
    require_platform(machine, 'chain_pose')
    if machine.actuated_count != machine.degrees_of_freedom:
        raise KinematicsError(
            f'{machine.name} has {machine.actuated_count} drives for {machine.degrees_of_freedom} degrees of freedom: '
            'its drives do not determine the pose'
        )
    return drives(machine, drive_positions)[0]


def _pose(initial: Start | None) -> Pose | None:
    if isinstance(initial, ForwardKinematicsResult):
        return Pose(initial.position, initial.rotation_base_platform)
    return initial


def _configuration(machine: Machine, initial: Start | None) -> ForwardKinematicsResult | None:
    """Result that holds the joint positions of a start."""
    if not isinstance(initial, Pose):
        return initial
    position, rotation, _ = poses(initial.position, initial.rotation_base_platform)
    joints = joint_positions(machine, position, rotation)
    count = len(position)
    none = np.zeros(count, dtype=np.intp)
    good = np.ones(count, dtype=bool)
    return ForwardKinematicsResult(
        machine, position, rotation, good, none, np.zeros(count), none, np.full(count, np.nan), good, np.inf,
        np.full((count, 6), np.nan), ~good, joints,
    )  # fmt: skip


def _approached(
    machine: Machine, wanted: Array, last: ForwardKinematicsResult, options: tuple[float, int, float]
) -> ForwardKinematicsResult:
    """One sample (A,) in small steps of the drives from the last good configuration."""
    begin, found = last.joint_positions[..., machine.drive_columns], last
    for step in range(1, _STEPS + 1):
        found = solve_closure(machine, begin + step / _STEPS * (wanted - begin), found, *options)
    return found


def _joined(results: list[ForwardKinematicsResult]) -> ForwardKinematicsResult:
    """One result of all samples."""
    first = results[0]
    joined: dict[str, Any] = {}
    for field in fields(first):
        if isinstance(getattr(first, field.name), np.ndarray):
            joined[field.name] = np.concatenate([getattr(one, field.name) for one in results])
    return replace(first, **joined)
