"""Inverse kinematics of legs without a closed form, by Newton iterations."""

from __future__ import annotations

import numpy as np

from pkm_description.arrays import Array
from pkm_description.kinematics.chain import chain_pose, tip_jacobian
from pkm_description.machine import Machine

#: m, how far a leg may miss its platform joint: a pose that the legs do not admit (3-RPS) misses by more
CLOSING_TOLERANCE = 1e-6

#: m, where the iterations stop: rounding of a machine of some metres
_CONVERGED = 1e-13

_MAX_ITERATIONS = 50

#: longest iteration step: rad, and m as a fraction of the leg
_LONGEST_STEP = 0.5

#: first damping of Levenberg and Marquardt's iterations, relative to the diagonal of the normal equations
_DAMPING = 1e-3

_MAX_DAMPED_ITERATIONS = 100


def nearest_positions(
    machine: Machine, anchors: Array, initial: Array, max_iterations: int = _MAX_ITERATIONS
) -> Array:
    """Joint positions (N, L, J) that bring the tips to ``anchors`` (N, L, 3) m, where they get there.

    Newton iterations with limited steps from ``initial``, (L, J) or (N, L, J). Whether the legs close is for the caller
    to look at: legs that hold the platform (3-RPS) do so on admissible poses only.
    """
    shape = (*anchors.shape[:2], machine.joint_count)
    positions = np.array(np.broadcast_to(initial, shape), dtype=float)
    rows = machine.closing_equations
    step_limit = np.array(
        [
            _LONGEST_STEP * (1.0 if kind == 'revolute' else machine.leg_reach)
            for kind in machine.joint_kinds
        ]
    )
    active = np.arange(len(anchors))
    for _ in range(max_iterations):
        chain = chain_pose(machine, positions[active])
        error = anchors[active] - chain.tip
        step = _damped_step(tip_jacobian(machine, chain)[..., :rows, :], error[..., :rows])
        excess = np.abs(step / step_limit).max(axis=-1, keepdims=True)
        step = step / np.maximum(excess, 1.0)
        positions[active] += step
        going = (np.abs(step / step_limit).max(axis=(1, 2)) > _CONVERGED) & np.isfinite(step).all(axis=(1, 2))
        if not going.any():
            break
        active = active[going]
    return positions


def stretched_positions(machine: Machine, anchors: Array, initial: Array) -> Array:
    """Joint positions (N, L, J) with the smallest gaps to ``anchors`` (N, L, 3) m, also where legs do not get there.

    Levenberg and Marquardt's iterations (Marquardt 1963) from ``initial`` (N, L, J): each step shrinks the gap, where
    Newton's jump about beyond a leg's reach, so the gap that is left is the distance that the leg lacks.
    """
    positions = np.array(initial, dtype=float)
    rows = machine.closing_equations
    chain = chain_pose(machine, positions)
    error = (anchors - chain.tip)[..., :rows]
    damping = np.full(positions.shape[:2], _DAMPING)
    places = np.arange(machine.joint_count)
    for _ in range(_MAX_DAMPED_ITERATIONS):
        jacobian = tip_jacobian(machine, chain)[..., :rows, :]
        transposed = np.swapaxes(jacobian, -1, -2)
        normal = transposed @ jacobian
        diagonal = normal[..., places, places]
        normal[..., places, places] += damping[..., None] * diagonal + 1e-15 * diagonal.max(axis=-1, keepdims=True)
        step = np.linalg.solve(normal, transposed @ error[..., None])[..., 0]
        trial = positions + step
        trial_error = (anchors - chain_pose(machine, trial).tip)[..., :rows]
        better = np.sum(trial_error**2, axis=-1) < np.sum(error**2, axis=-1)
        damping = np.where(better, damping / 3.0, 4.0 * damping).clip(1e-12, 1e12)
        if not (better & (np.abs(step).max(axis=-1) > _CONVERGED)).any() and damping.min() >= 1e6:
            break
        positions = np.where(better[..., None], trial, positions)
        chain = chain_pose(machine, positions)
        error = (anchors - chain.tip)[..., :rows]
    return positions


def gaps(machine: Machine, anchors: Array, positions: Array) -> Array:
    """Distances (N, L) m of the tips at joint positions (N, L, J) from ``anchors`` (N, L, 3), in closing directions."""
    gap = (chain_pose(machine, positions).tip - anchors)[..., : machine.closing_equations]
    return np.asarray(np.sqrt(np.sum(gap * gap, axis=-1)))


def wrapped(machine: Machine, positions: Array) -> Array:
    """Write revolute joints of positions (N, L, J) within half a turn around home, in place; also returns them."""
    for place, kind in enumerate(machine.joint_kinds):
        if kind == 'revolute':
            home = machine.leg_home_positions[:, place]
            positions[..., place] = home + (positions[..., place] - home + np.pi) % (2.0 * np.pi) - np.pi
    return positions


def _damped_step(jacobian: Array, error: Array) -> Array:
    """Least-squares step (..., J), damped so little that only singular poses notice."""
    transposed = np.swapaxes(jacobian, -1, -2)
    normal = transposed @ jacobian
    places = np.arange(normal.shape[-1])
    normal[..., places, places] += 1e-12 * normal[..., places, places].max(axis=-1, keepdims=True)
    right = (transposed @ error[..., None])[..., 0]
    return np.asarray(np.linalg.solve(normal, right[..., None]), dtype=float)[..., 0]
