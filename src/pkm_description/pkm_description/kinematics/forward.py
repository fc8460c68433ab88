"""Forward kinematics: the platform pose of given leg lengths, by Newton iterations on the rotation group."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, sqrt

import numpy as np
from numpy.typing import NDArray

from pkm_description.errors import SingularPoseError
from pkm_description.kinematics.assembly_mode import home_branch
from pkm_description.kinematics.forward_result import ForwardKinematicsResult
from pkm_description.kinematics.leg_lengths import leg_vectors, length_jacobian
from pkm_description.kinematics.rotation import cross, rotation_exp
from pkm_description.machine.model import Pose
from pkm_description.mechanism import Mechanism

Array = NDArray[np.float64]

#: longest Newton step: rotation [rad], and translation as a fraction of the platform radius
MAX_ROTATION_STEP, MAX_TRANSLATION_STEP = 0.5, 0.5


def forward_kinematics(
    mechanism: Mechanism,
    lengths: Array,
    initial: Pose | None = None,
    tolerance: float = 1e-12,
    max_iterations: int = 20,
    max_condition: float = 1e4,
) -> ForwardKinematicsResult:
    """Solve all samples at once by Newton iterations from one start (Miletovic et al. 2017, Eq. 5).

    The attitude is updated by rotation-vector increments in base axes, ``R <- exp(dtheta) R``; long steps are
    shortened. A sample that does not converge, or converges to another assembly mode, is marked, never
    mended.

    Parameters
    ----------
    lengths : (N, L) m, L = 6
    initial : start for all samples (or one per sample: position (N, 3), rotation (N, 3, 3)); default home
    tolerance : m, on the largest length residual of a sample
    max_iterations : Newton steps
    max_condition : see :meth:`ForwardKinematicsResult.require`
    """
    lengths = _checked_lengths(mechanism, lengths)
    if len(lengths) == 1:
        start = initial or mechanism.machine.home
        pose = Pose(start.position.reshape(3), start.rotation_base_platform.reshape(3, 3))
        return _stack_solutions(
            mechanism, [_solve_one(mechanism, lengths[0], pose, tolerance, max_iterations)], max_condition
        )
    start = initial or mechanism.machine.home
    position = np.array(np.broadcast_to(start.position, (len(lengths), 3)))
    rotation = np.array(np.broadcast_to(start.rotation_base_platform, (len(lengths), 3, 3)))
    residual = np.full(len(lengths), np.inf)
    worst_leg = np.zeros(len(lengths), dtype=np.intp)
    iterations = np.zeros(len(lengths), dtype=np.intp)
    active = np.arange(len(lengths))
    for iteration in range(max_iterations + 1):
        vectors, levers = leg_vectors(mechanism, position[active], rotation[active])
        current = np.sqrt(np.sum(vectors * vectors, axis=-1))
        error = lengths[active] - current
        worst_leg[active] = np.argmax(np.abs(error), axis=1)
        residual[active] = np.abs(error).max(axis=1)
        iterations[active] = iteration
        going = (residual[active] > tolerance) & np.isfinite(residual[active])
        if iteration == max_iterations or not going.any():
            break
        active = active[going]
        directions = vectors[going] / current[going][..., None]
        jacobian = np.concatenate([directions, cross(levers[going], directions)], axis=-1)
        step = _limited(mechanism, _solve(jacobian, error[going]))
        position[active] += step[:, :3]
        rotation[active] = rotation_exp(step[:, 3:]) @ rotation[active]
    return _judged(
        mechanism, position, rotation, residual <= tolerance, iterations, residual, worst_leg, max_condition
    )


def forward_kinematics_sequence(
    mechanism: Mechanism,
    lengths: Array,
    initial: Pose | None = None,
    tolerance: float = 1e-12,
    max_iterations: int = 20,
    max_condition: float = 1e4,
) -> ForwardKinematicsResult:
    """Solve samples in order, each from the last good one, as a real-time user does.

    Follows a path through the workspace without leaving its branch as long as the samples are close together.
    Arguments and result as :func:`forward_kinematics`.
    """
    lengths = _checked_lengths(mechanism, lengths)
    pose = initial or mechanism.machine.home
    solutions = []
    for sample in lengths:  # a loop, because each sample starts from the one before
        solution = _solve_one(mechanism, sample, pose, tolerance, max_iterations)
        solutions.append(solution)
        if solution.converged:
            pose = Pose(solution.position, solution.rotation)
    return _stack_solutions(mechanism, solutions, max_condition)


def platform_twist(
    mechanism: Mechanism, position: Array, rotation_base_platform: Array, leg_rates: Array
) -> Array:
    """Twist (N, 6) of the platform origin, base axes, from leg rates (N, L) m/s at poses (N, 3), (N, 3, 3).

    Raises
    ------
    SingularPoseError
        Where the length Jacobian cannot be inverted.
    """
    jacobian = length_jacobian(mechanism, position, rotation_base_platform)
    try:
        twist = np.asarray(np.linalg.solve(jacobian, leg_rates[..., None]), dtype=float)[..., 0]
    except np.linalg.LinAlgError:
        sample = int(np.argmin(np.abs(np.linalg.det(jacobian))))
        raise SingularPoseError(
            f'sample {sample}: the length Jacobian is singular, leg rates do not give a twist'
        ) from None
    return twist


@dataclass(frozen=True)
class _Solution:
    position: Array
    rotation: Array
    converged: bool
    iterations: int
    residual: float
    worst_leg: int


def _solve_one(
    mechanism: Mechanism, lengths: Array, start: Pose, tolerance: float, max_iterations: int
) -> _Solution:
    """Solve one sample (L,) without a leading axis: half the time of a batch of one, for real-time use."""
    position, rotation = start.position, start.rotation_base_platform
    for iteration in range(max_iterations + 1):
        vectors, levers = leg_vectors(mechanism, position, rotation)
        current = np.sqrt((vectors * vectors).sum(axis=-1))
        error = lengths - current
        magnitude = np.abs(error)
        worst = int(magnitude.argmax())
        residual = float(magnitude[worst])
        if residual <= tolerance or iteration == max_iterations or not isfinite(residual):
            break
        directions = vectors / current[:, None]
        jacobian = np.concatenate([directions, cross(levers, directions)], axis=-1)
        step = _solve(jacobian[None], error[None])[0]
        move, turn = _length(step[:3]), _length(step[3:])
        limit = max(turn / MAX_ROTATION_STEP, move / (MAX_TRANSLATION_STEP * mechanism.platform_radius))
        if limit > 1.0:
            step = step / limit
        position = position + step[:3]
        rotation = rotation_exp(step[3:]) @ rotation
    return _Solution(position, rotation, residual <= tolerance, iteration, residual, worst)


def _length(vector: Array) -> float:
    x, y, z = vector.tolist()
    return sqrt(x * x + y * y + z * z)


def _stack_solutions(
    mechanism: Mechanism, solutions: list[_Solution], max_condition: float
) -> ForwardKinematicsResult:
    return _judged(
        mechanism,
        np.array([solution.position for solution in solutions]).reshape(-1, 3),
        np.array([solution.rotation for solution in solutions]).reshape(-1, 3, 3),
        np.array([solution.converged for solution in solutions], dtype=bool),
        np.array([solution.iterations for solution in solutions], dtype=np.intp),
        np.array([solution.residual for solution in solutions], dtype=float),
        np.array([solution.worst_leg for solution in solutions], dtype=np.intp),
        max_condition,
    )


def _checked_lengths(mechanism: Mechanism, lengths: Array) -> Array:
    lengths = np.asarray(lengths, dtype=float)
    if mechanism.leg_count != 6:
        raise ValueError(
            f'{mechanism.machine.name}: six legs determine a pose, this machine has {mechanism.leg_count}'
        )
    if lengths.ndim != 2 or lengths.shape[1] != 6:
        raise ValueError(f'lengths have shape {lengths.shape}, expected (N, 6)')
    return lengths


def _solve(jacobian: Array, error: Array) -> Array:
    """Newton steps (N, 6); zero where the Jacobian is exactly singular, so that the sample is reported."""
    try:
        return np.asarray(np.linalg.solve(jacobian, error[..., None]), dtype=float)[..., 0]
    except np.linalg.LinAlgError:
        singular = np.linalg.det(jacobian) == 0.0
        regular = np.where(singular[:, None, None], np.eye(6), jacobian)
        return np.where(singular[:, None], 0.0, np.linalg.solve(regular, error[..., None])[..., 0])


def _limited(mechanism: Mechanism, step: Array) -> Array:
    """Shorten steps (N, 6) that leave the neighbourhood in which the linearisation means something."""
    squared = step * step
    turn = np.sqrt(squared[:, 3:].sum(axis=1)) / MAX_ROTATION_STEP
    move = np.sqrt(squared[:, :3].sum(axis=1)) / (MAX_TRANSLATION_STEP * mechanism.platform_radius)
    return step / np.maximum(np.maximum(turn, move), 1.0)[:, None]


def _judged(
    mechanism: Mechanism,
    position: Array,
    rotation: Array,
    converged: NDArray[np.bool_],
    iterations: NDArray[np.intp],
    residual: Array,
    worst_leg: NDArray[np.intp],
    max_condition: float,
) -> ForwardKinematicsResult:
    """Add condition number and assembly mode."""
    jacobian = length_jacobian(mechanism, position, rotation)
    usable = np.asarray(np.isfinite(jacobian).all(axis=(1, 2)))
    condition = np.full(len(position), np.inf)
    singular_values = np.linalg.svd(jacobian[usable], compute_uv=False)
    with np.errstate(divide='ignore'):
        condition[usable] = singular_values[:, 0] / singular_values[:, -1]
    right_mode = home_branch(mechanism).contains(position, np.where(usable[:, None, None], jacobian, 0.0))
    return ForwardKinematicsResult(
        position,
        rotation,
        converged,
        iterations,
        residual,
        worst_leg,
        condition,
        right_mode,
        max_condition,
    )
