"""Forward kinematics: the platform pose of given leg lengths, by Newton iterations on the rotation group."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, sqrt
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from pkm_description.errors import AssemblyModeError, ConvergenceError, SingularPoseError
from pkm_description.kinematics.leg_lengths import leg_vectors, length_jacobian
from pkm_description.kinematics.rotation import cross, rotation_exp
from pkm_description.machine.model import Pose
from pkm_description.mechanism import Mechanism

Array = NDArray[np.float64]

#: longest Newton step: rotation [rad], and translation as a fraction of the platform radius
MAX_ROTATION_STEP, MAX_TRANSLATION_STEP = 0.5, 0.5


@dataclass(frozen=True)
class ForwardKinematicsResult:
    """Poses of N sets of leg lengths, each with what there is to say about its reliability.

    Attributes
    ----------
    position, rotation_base_platform : (N, 3) m, (N, 3, 3); the last iterate where not converged
    converged : (N,), largest length residual within the tolerance
    iterations : (N,), Newton steps taken
    residual : (N,) m, largest length residual
    worst_leg : (N,), leg of that residual
    condition : (N,), condition number of the length Jacobian in m and rad
    right_assembly_mode : (N,), the length Jacobian's determinant has the sign it has at home and the platform lies on
        the home side of the base joints' plane. Both are necessary for being on the home branch; a path from home
        that keeps away from singular poses keeps them.
    max_condition : condition number from which :meth:`require` refuses a pose
    """

    position: Array
    rotation_base_platform: Array
    converged: NDArray[np.bool_]
    iterations: NDArray[np.intp]
    residual: Array
    worst_leg: NDArray[np.intp]
    condition: Array
    right_assembly_mode: NDArray[np.bool_]
    max_condition: float

    def require(self) -> ForwardKinematicsResult:
        """Return the result itself if every pose can be trusted.

        Raises
        ------
        SingularPoseError, ConvergenceError, AssemblyModeError
            Naming the first sample concerned, and the number that decides.
        """
        singular = ~(self.condition <= self.max_condition) & np.isfinite(self.residual)
        for bad, error in (
            (singular, SingularPoseError),
            (~self.converged, ConvergenceError),
            (~self.right_assembly_mode, AssemblyModeError),
        ):
            if np.any(bad):
                sample = int(np.argmax(bad))
                raise error(f'sample {sample}: {self._complaint(error, sample)}')
        return self

    def _complaint(self, error: type[Exception], sample: int) -> str:
        if error is SingularPoseError:
            return (
                f'condition number {self.condition[sample]:.3g} of the length Jacobian exceeds '
                f'{self.max_condition:g}: the legs do not determine the pose here'
            )
        if error is ConvergenceError:
            return (
                f'no pose found after {self.iterations[sample]} iterations: leg {self.worst_leg[sample] + 1} misses its '
                f'length by {self.residual[sample]:.3g} m; check the lengths or start nearer to the pose'
            )
        return (
            f'the pose found, position {np.array2string(self.position[sample], precision=4)} m, lies on another '
            'assembly mode than home; start nearer to the pose'
        )


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
    shortened. A sample that does not converge, or converges to another assembly mode, is marked, never mended.

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
    """Solve samples in order, each from the last good one, as a real-time user does; arguments as :func:`forward_kinematics`.

    Follows a path through the workspace without leaving its branch as long as the samples are close together.
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


def platform_twist(mechanism: Mechanism, position: Array, rotation_base_platform: Array, leg_rates: Array) -> Array:
    """Twist (N, 6) of the platform origin, base axes, from leg rates (N, L) m/s at poses (N, 3), (N, 3, 3).

    Raises
    ------
    SingularPoseError
        Where the length Jacobian cannot be inverted.
    """
    jacobian = length_jacobian(mechanism, position, rotation_base_platform)
    try:
        twist: Array = np.linalg.solve(jacobian, leg_rates[..., None])[..., 0]
    except np.linalg.LinAlgError:
        sample = int(np.argmin(np.abs(np.linalg.det(jacobian))))
        raise SingularPoseError(f'sample {sample}: the length Jacobian is singular, leg rates do not give a twist') from None
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


def _stack_solutions(mechanism: Mechanism, solutions: list[_Solution], max_condition: float) -> ForwardKinematicsResult:
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
        raise ValueError(f'{mechanism.machine.name}: six legs determine a pose, this machine has {mechanism.leg_count}')
    if lengths.ndim != 2 or lengths.shape[1] != 6:
        raise ValueError(f'lengths have shape {lengths.shape}, expected (N, 6)')
    return lengths


def _solve(jacobian: Array, error: Array) -> Array:
    """Newton steps (N, 6); a zero step where the Jacobian is exactly singular, so that the sample is reported."""
    try:
        return np.linalg.solve(jacobian, error[..., None])[..., 0]
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
    usable = np.isfinite(jacobian).all(axis=(1, 2))
    condition = np.full(len(position), np.inf)
    singular_values = np.linalg.svd(jacobian[usable], compute_uv=False)
    with np.errstate(divide='ignore'):
        condition[usable] = singular_values[:, 0] / singular_values[:, -1]
    branch = _home_branch(mechanism)
    same_sign = np.linalg.det(np.where(usable[:, None, None], jacobian, 0.0)) * branch.determinant_sign > 0.0
    same_side = (position - branch.plane_point) @ branch.plane_normal > 0.0
    return ForwardKinematicsResult(
        position, rotation, converged, iterations, residual, worst_leg, condition, same_sign & same_side, max_condition
    )


@dataclass(frozen=True)
class _HomeBranch:
    """What tells the home branch: determinant sign, and the base plane with its normal towards home."""

    determinant_sign: float
    plane_point: Array
    plane_normal: Array


# computed once per mechanism: an SVD and a determinant would double the time of a warm single solve
_HOME_BRANCHES: WeakKeyDictionary[Mechanism, _HomeBranch] = WeakKeyDictionary()


def _home_branch(mechanism: Mechanism) -> _HomeBranch:
    if mechanism not in _HOME_BRANCHES:
        home = mechanism.machine.home
        jacobian = length_jacobian(mechanism, home.position, home.rotation_base_platform)
        center = mechanism.base_points.mean(axis=0)
        normal = np.linalg.svd(mechanism.base_points - center)[2][-1]
        normal = normal * np.sign((home.position - center) @ normal)
        _HOME_BRANCHES[mechanism] = _HomeBranch(float(np.sign(np.linalg.det(jacobian))), center, normal)
    return _HOME_BRANCHES[mechanism]
