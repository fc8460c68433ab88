"""Joint positions that close the legs onto a platform pose: in closed form for U-P legs, else by iterations."""

from __future__ import annotations

import numpy as np

from pkm_description.arrays import Array
from pkm_description.errors import KinematicsError, SingularPoseError
from pkm_description.kinematics.chain import chain_pose, tip_jacobian
from pkm_description.machine import Machine

#: sine of the angle between strut and first universal axis below which the joint angles are refused
UNIVERSAL_SINGULARITY = 1e-3

#: m, how far a leg may miss its platform joint: a pose that the legs do not admit (3-RPS) misses by more
CLOSING_TOLERANCE = 1e-6

#: m, where the iterations stop: rounding of a machine of some metres
_CONVERGED = 1e-13

_MAX_ITERATIONS = 50

#: longest iteration step: rad, and m as a fraction of the leg
_LONGEST_STEP = 0.5


def closed_form_positions(machine: Machine, vectors: Array, lengths: Array) -> Array:
    """Joint positions (N, L, 3) of U-P legs from base-to-platform vectors (N, L, 3) m and their lengths (N, L)."""
    legs = machine.universal_prismatic
    along = (vectors[..., None, :] @ legs.basis)[..., 0, :]
    across = np.hypot(along[..., 1], along[..., 2])
    _check_regular(machine, across / lengths)
    first = np.arctan2(-legs.side * along[..., 1], legs.side * along[..., 2])
    second = np.arctan2(along[..., 0], legs.side * across) - legs.angle_at_zero
    second = (second + np.pi) % (2.0 * np.pi) - np.pi
    return np.stack([first, second, lengths - machine.lengths_at_zero], axis=-1)


def closed_form_velocities(machine: Machine, vectors: Array, lengths: Array, tip_velocities: Array) -> Array:
    """Joint velocities (N, L, 3) of U-P legs: time derivative of :func:`closed_form_positions`.

    Parameters
    ----------
    tip_velocities : (N, L, 3) m/s, of the platform joints, base axes
    """
    legs = machine.universal_prismatic
    x, y, z = np.moveaxis((vectors[..., None, :] @ legs.basis)[..., 0, :], -1, 0)
    dx, dy, dz = np.moveaxis((tip_velocities[..., None, :] @ legs.basis)[..., 0, :], -1, 0)
    across_squared = y * y + z * z
    across = np.sqrt(across_squared)
    outwards = (y * dy + z * dz) / across
    first = (y * dz - z * dy) / across_squared
    second = legs.side * (dx * across - x * outwards) / (lengths * lengths)
    return np.stack([first, second, (x * dx + across * outwards) / lengths], axis=-1)


def _check_regular(machine: Machine, sine: Array) -> None:
    """Refuse struts on their first universal axis; ``sine`` (N, L) of the angle between both."""
    if sine.min(initial=1.0) >= UNIVERSAL_SINGULARITY:
        return
    # argmin finds NaN before any number
    sample, leg = (int(index) for index in np.unravel_index(np.argmin(sine), sine.shape))
    if np.isnan(sine[sample, leg]):
        raise KinematicsError(
            f'sample {sample}: the platform pose contains NaN or infinity, no leg can be closed'
        )
    raise SingularPoseError(
        f'sample {sample}: {machine.legs[leg].name} lies along its first universal axis '
        f'(sine of the angle {sine[sample, leg]:.3g}, at least {UNIVERSAL_SINGULARITY:g} needed)'
    )


def iterated_positions(machine: Machine, anchors: Array) -> Array:
    """Joint positions (N, L, J) that bring the tips to the points ``anchors`` (N, L, 3) m, base axes.

    Iterations from the home positions, so a leg stays on the branch (elbow left or right) that the machine file's
    ``home`` names.

    Raises
    ------
    KinematicsError
        A leg cannot reach its platform joint, or the legs together do not admit the pose; names sample, leg, distance.
    """
    if not np.isfinite(anchors).all():
        sample = int(np.argwhere(~np.isfinite(anchors))[0, 0])
        raise KinematicsError(
            f'sample {sample}: the platform pose contains NaN or infinity, no leg can be closed'
        )
    return _judged(machine, anchors, nearest_positions(machine, anchors, machine.home_positions))


def nearest_positions(machine: Machine, anchors: Array, initial: Array) -> Array:
    """Joint positions (N, L, J) that bring the tips as near to ``anchors`` (N, L, 3) m as they get.

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
    for _ in range(_MAX_ITERATIONS):
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


def _damped_step(jacobian: Array, error: Array) -> Array:
    """Least-squares step (..., J), damped so little that only singular poses notice."""
    transposed = np.swapaxes(jacobian, -1, -2)
    normal = transposed @ jacobian
    places = np.arange(normal.shape[-1])
    normal[..., places, places] += 1e-12 * normal[..., places, places].max(axis=-1, keepdims=True)
    right = (transposed @ error[..., None])[..., 0]
    return np.asarray(np.linalg.solve(normal, right[..., None]), dtype=float)[..., 0]


def _judged(machine: Machine, anchors: Array, positions: Array) -> Array:
    """Positions with turns wrapped to half a turn around home, refused where a leg does not close."""
    for place, kind in enumerate(machine.joint_kinds):
        if kind == 'revolute':
            home = machine.home_positions[:, place]
            positions[..., place] = home + (positions[..., place] - home + np.pi) % (2.0 * np.pi) - np.pi
    gap = (chain_pose(machine, positions).tip - anchors)[..., : machine.closing_equations]
    distance = np.sqrt(np.sum(gap * gap, axis=-1))
    if not distance.max(initial=0.0) <= CLOSING_TOLERANCE:
        worst = np.where(np.isnan(distance), np.inf, distance)
        sample, leg = (int(index) for index in np.unravel_index(np.argmax(worst), worst.shape))
        reason = (
            'the legs do not admit this pose; make the motion from the drives (motion_from_drives)'
            if machine.constraint_count > (3 if machine.planar else 0)
            else 'it is out of reach'
        )
        raise KinematicsError(
            f'sample {sample}: {machine.legs[leg].name} misses its platform joint by '
            f'{distance[sample, leg]:.3g} m: {reason}'
        )
    return positions
