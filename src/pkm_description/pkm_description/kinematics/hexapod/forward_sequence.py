"""Forward kinematics of hexapods along a sequence of leg lengths, each sample from the last good one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pkm_description.arrays import Array
from pkm_description.kinematics.forward_result import ForwardKinematicsResult
from pkm_description.kinematics.hexapod.assembly_mode import branch_of, home_branch
from pkm_description.kinematics.hexapod.continuation import follow_lengths
from pkm_description.kinematics.hexapod.forward import checked_lengths
from pkm_description.kinematics.hexapod.pose_judgement import judged
from pkm_description.kinematics.hexapod.pose_newton import NewtonRun, newton_one
from pkm_description.kinematics.leg_lengths import length_jacobian
from pkm_description.kinematics.rotation import rotation_exp, rotation_log
from pkm_description.machine import Machine, Pose

#: Newton's second step over its first from which a sample is not near enough to the last one to be sure of the mode
DOUBTFUL_CONTRACTION = 0.5
#: how far ahead of a sample to look for a singular pose, in steps of the path; more than 1, because paths accelerate
LOOK_AHEAD = 1.5
#: largest change of a step, as a fraction of it, with which samples still are a path and not unrelated poses
STEADY = 0.5
#: one sample to which there is no way may be a wrong measurement, as many in a row are a path
LOST = 2


def sequence_from_lengths(
    machine: Machine,
    lengths: Array,
    initial: Pose | None = None,
    tolerance: float = 1e-12,
    max_iterations: int = 20,
    max_condition: float = 1e4,
) -> ForwardKinematicsResult:
    """Solve samples in order, each from the last good one, as a real-time user does.

    A sample to which Newton's steps do not shrink fast enough (by Newton and Kantorovich's criterion) is followed
    along the straight line of lengths from the last good sample; where a singular pose stands in the way its
    ``right_assembly_mode`` is False and the next sample starts from the last good one again.

    Lengths do not tell what happens at a singular pose: two modes meet there, and a platform that goes through and
    one that turns back have the same lengths afterwards. So ``mode_lost`` is set from the sample on before which the
    path, going on as it came for two steps, passes a singular pose, from the first singular sample on, and from
    the first of two samples in a row to which a singular pose bars the way.

    Arguments and result as :func:`pkm_description.kinematics.hexapod.forward.forward_from_lengths`, but the mode that
    ``right_assembly_mode`` speaks of is the one of the start, ``initial`` or home.
    """
    lengths = checked_lengths(machine, lengths)
    start = initial or machine.home
    position, rotation = start.position.reshape(3), start.rotation_base_platform.reshape(3, 3)
    branch = home_branch(machine) if initial is None else branch_of(machine, Pose(position, rotation))
    runs, on_mode = [], np.ones(len(lengths), dtype=bool)
    barred: list[int] = []  # samples since the last good one to which there is no way
    for sample, wanted in enumerate(lengths):  # a loop, because each sample starts from the one before
        run = newton_one(machine, wanted, position, rotation, tolerance, max_iterations)
        near = run.residual[0] <= tolerance and run.contraction[0] <= DOUBTFUL_CONTRACTION
        # once the mode is lost there is nothing to keep to, and each search on the way to nowhere takes its time
        if len(barred) < LOST and not (near and _determinant(machine, run) * branch.determinant_sign > 0.0):
            run, on_mode[sample] = _followed(machine, wanted, position, rotation, tolerance, run)
            if not on_mode[sample] and np.isfinite(wanted).all():
                barred.append(sample)
        if run.residual[0] <= tolerance and on_mode[sample]:
            position, rotation = run.position[0], run.rotation[0]
            barred = barred if len(barred) >= LOST else []
        runs.append(run)
    result = judged(machine, _joined(runs), branch, tolerance, max_condition)
    result.right_assembly_mode[~on_mode] = False
    lost = min(_first_singular(machine, result, on_mode), barred[0] if len(barred) >= LOST else len(lengths))
    result.mode_lost[lost:] = True
    return result


def _determinant(machine: Machine, run: NewtonRun) -> float:
    """Determinant of the length Jacobian where a run of one sample ended."""
    return float(np.linalg.det(length_jacobian(machine, run.position[0], run.rotation[0])))


def _followed(
    machine: Machine, wanted: Array, position: Array, rotation: Array, tolerance: float, run: NewtonRun
) -> tuple[NewtonRun, bool]:
    """Follow one sample (6,); the run stays as it is where the way is barred."""
    followed = follow_lengths(machine, wanted[None], position[None], rotation[None])
    if followed.reached[0]:
        run = newton_one(machine, wanted, followed.position[0], followed.rotation[0], tolerance, 5)
    run.iterations[0] += followed.iterations[0]
    return run, bool(followed.reached[0])


def _first_singular(machine: Machine, result: ForwardKinematicsResult, on_mode: NDArray[np.bool_]) -> int:
    """First sample that is singular, or before which the path passes a singular pose; else the number of samples."""
    first = [len(on_mode), *np.flatnonzero(result.singular & result.converged)[:1]]
    good = np.flatnonzero(result.converged & on_mode)
    if len(good) > 2:
        position, rotation = result.position[good], result.rotation_base_platform[good]
        move = np.diff(position, axis=0)
        turn = rotation_log(rotation[1:] @ np.swapaxes(rotation[:-1], 1, 2))
        step = np.concatenate([move / machine.platform_radius, turn], axis=1)
        steady = np.linalg.norm(np.diff(step, axis=0), axis=1) <= STEADY * np.linalg.norm(step[1:], axis=1)
        position, rotation, move, turn = position[2:], rotation[2:], move[1:], turn[1:]
        here = length_jacobian(machine, position, rotation)
        ahead = length_jacobian(machine, position + LOOK_AHEAD * move, rotation_exp(LOOK_AHEAD * turn) @ rotation)
        passes = steady & (np.linalg.det(ahead) * np.linalg.det(here) <= 0.0)
        first += [int(sample) + 1 for sample in good[2:][passes][:1]]
    return int(min(first))


def _joined(runs: list[NewtonRun]) -> NewtonRun:
    """One run of all samples."""
    if not runs:
        empty = np.zeros(0)
        none = np.zeros(0, dtype=np.intp)
        return NewtonRun(np.zeros((0, 3)), np.zeros((0, 3, 3)), none, empty, none, empty)
    return NewtonRun(
        *(
            np.concatenate([getattr(run, name) for run in runs])
            for name in ('position', 'rotation', 'iterations', 'residual', 'worst_leg', 'contraction')
        )
    )
