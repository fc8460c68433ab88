"""Newton iterations from leg lengths to poses on SO(3), batched and for one sample."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, sqrt

import numpy as np
from numpy.typing import NDArray

from pkm_description.arrays import Array
from pkm_description.kinematics.leg_lengths import leg_vectors
from pkm_description.kinematics.rotation import cross, rotation_exp
from pkm_description.machine import Machine

#: longest Newton step: rotation [rad], and translation as a fraction of the platform radius
MAX_ROTATION_STEP, MAX_TRANSLATION_STEP = 0.5, 0.5


@dataclass(frozen=True)
class NewtonRun:
    """Where the iterations of N samples ended.

    Attributes
    ----------
    position, rotation : (N, 3) m, (N, 3, 3)
    iterations : (N,), steps taken
    residual : (N,) m, largest length residual
    worst_leg : (N,), leg of that residual
    contraction : (N,), second step over the first one, in units of the longest step allowed; infinite where a step
        had to be shortened. By Newton and Kantorovich's theorem it stays below 1/2 where the start lies in the
        solution's own neighbourhood, in which no other solution and no singular pose exists; with the second step
        alone this is an estimate, not a proof.
    """

    position: Array
    rotation: Array
    iterations: NDArray[np.intp]
    residual: Array
    worst_leg: NDArray[np.intp]
    contraction: Array


def newton_batch(
    machine: Machine,
    lengths: Array,
    position: Array,
    rotation: Array,
    tolerance: float,
    max_iterations: int,
    damped: bool = False,
) -> NewtonRun:
    """Iterate all samples at once: lengths (N, 6) m from starts (N, 3) m, (N, 3, 3) to ``tolerance`` [m].

    ``damped`` takes Levenberg and Marquardt's steps, which also arrive where the solution is singular.
    """
    count = len(lengths)
    position, rotation = np.array(position), np.array(rotation)
    residual = np.full(count, np.inf)
    worst_leg = np.zeros(count, dtype=np.intp)
    iterations = np.zeros(count, dtype=np.intp)
    contraction = np.zeros(count)
    first_size = np.zeros(count)
    active = np.arange(count)
    for iteration in range(max_iterations + 1):
        vectors, levers = leg_vectors(machine, position[active], rotation[active])
        # component by component: six times as fast as a sum along an axis of three
        x, y, z = vectors[..., 0], vectors[..., 1], vectors[..., 2]
        current = np.sqrt(x * x + y * y + z * z)
        error = lengths[active] - current
        magnitude = np.abs(error)
        worst_leg[active] = np.argmax(magnitude, axis=1)
        residual[active] = magnitude.max(axis=1)
        iterations[active] = iteration
        going = (residual[active] > tolerance) & np.isfinite(residual[active])
        if iteration == max_iterations or not going.any():
            break
        active = active[going]
        directions = vectors[going] / current[going][..., None]
        jacobian = np.concatenate([directions, cross(levers[going], directions)], axis=-1)
        if damped:
            step = damped_steps(jacobian, error[going], machine.platform_radius)
        else:
            step = newton_steps(jacobian, error[going])
        size = _step_size(machine, step)
        if iteration == 0:
            first_size[active] = size
        elif iteration == 1:
            contraction[active] = np.divide(size, first_size[active], out=np.full(len(size), np.inf), where=size > 0.0)
        contraction[active[size > 1.0]] = np.inf
        step /= np.maximum(size, 1.0)[:, None]
        position[active] += step[:, :3]
        rotation[active] = rotation_exp(step[:, 3:]) @ rotation[active]
    return NewtonRun(position, rotation, iterations, residual, worst_leg, contraction)


def newton_one(
    machine: Machine, lengths: Array, position: Array, rotation: Array, tolerance: float, max_iterations: int
) -> NewtonRun:
    """Solve one sample (L,) without a leading axis: half the time of a batch of one, for real-time use."""
    first_size = contraction = 0.0
    for iteration in range(max_iterations + 1):
        vectors, levers = leg_vectors(machine, position, rotation)
        current = np.sqrt((vectors * vectors).sum(axis=-1))
        error = lengths - current
        magnitude = np.abs(error)
        worst = int(magnitude.argmax())
        residual = float(magnitude[worst])
        if residual <= tolerance or iteration == max_iterations or not isfinite(residual):
            break
        directions = vectors / current[:, None]
        jacobian = np.concatenate([directions, cross(levers, directions)], axis=-1)
        step = newton_steps(jacobian[None], error[None])[0]
        turn, move = _length(step[3:]), _length(step[:3])
        size = max(turn / MAX_ROTATION_STEP, move / (MAX_TRANSLATION_STEP * machine.platform_radius))
        if iteration == 0:
            first_size = size
        elif iteration == 1:
            contraction = size / first_size if first_size > 0.0 else np.inf
        if size > 1.0:
            contraction, step = np.inf, step / size
        position = position + step[:3]
        rotation = rotation_exp(step[3:]) @ rotation
    return NewtonRun(
        position[None],
        rotation[None],
        np.array([iteration]),
        np.array([residual]),
        np.array([worst]),
        np.array([contraction]),
    )


def newton_steps(jacobian: Array, error: Array) -> Array:
    """Newton steps (N, 6); zero where the Jacobian is exactly singular, so that the sample is reported."""
    try:
        return np.asarray(np.linalg.solve(jacobian, error[..., None]), dtype=float)[..., 0]
    except np.linalg.LinAlgError:
        singular = np.linalg.det(jacobian) == 0.0
        regular = np.where(singular[:, None, None], np.eye(6), jacobian)
        return np.where(singular[:, None], 0.0, np.linalg.solve(regular, error[..., None])[..., 0])


def damped_steps(jacobian: Array, error: Array, radius: float) -> Array:
    """Levenberg-Marquardt steps (N, 6), damped by the squared error.

    With this damping the convergence is quadratic even to singular solutions and to whole curves of solutions
    (Yamashita and Fukushima 2001). ``radius`` [m] makes metres of turns.
    """
    scaled = jacobian / np.array([1.0, 1.0, 1.0, radius, radius, radius])
    normal = scaled @ np.swapaxes(scaled, 1, 2)
    # both in units of 1: lengths over the radius; a little more keeps the matrix regular at the very end
    damping = np.minimum(np.sum(error * error, axis=1) / radius**2, 1.0) + 1e-15
    normal[:, range(6), range(6)] += damping[:, None]
    multipliers = np.linalg.solve(normal, error[..., None])
    step = (np.swapaxes(scaled, 1, 2) @ multipliers)[..., 0]
    step[:, 3:] /= radius
    return np.asarray(step, dtype=float)


def _length(vector: Array) -> float:
    x, y, z = vector.tolist()
    return sqrt(x * x + y * y + z * z)


def _step_size(machine: Machine, step: Array) -> Array:
    """Size (N,) of steps (N, 6); beyond 1 they leave the neighbourhood in which the linearisation means something."""
    squared = step * step
    turn = np.sqrt(squared[:, 3:].sum(axis=1)) / MAX_ROTATION_STEP
    move = np.sqrt(squared[:, :3].sum(axis=1)) / (MAX_TRANSLATION_STEP * machine.platform_radius)
    return np.asarray(np.maximum(turn, move))
