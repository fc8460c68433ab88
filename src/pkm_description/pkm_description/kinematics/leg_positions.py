"""Joint positions of the legs at a platform pose: in closed form for U-P legs, by iterations for others."""

from __future__ import annotations

import numpy as np

from pkm_description.arrays import Array
from pkm_description.errors import AssemblyModeError, KinematicsError, SingularPoseError
from pkm_description.kinematics.leg_branch import home_legs
from pkm_description.kinematics.leg_iterations import (
    CLOSING_TOLERANCE,
    gaps,
    nearest_positions,
    stretched_positions,
    wrapped,
)
from pkm_description.machine import Machine

#: sine of the angle between strut and first universal axis below which the joint angles are refused
UNIVERSAL_SINGULARITY = 1e-3


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

    Iterations from the home positions. A leg that they take through its singular position is brought back to the
    branch (elbow left or right, strut forwards or backwards) on which it is at home.

    Raises
    ------
    KinematicsError
        A leg cannot reach its platform joint, or the legs together do not admit the pose; names sample, leg, distance.
    AssemblyModeError
        A leg reaches its platform joint only on another branch than that of home; names sample and leg.
    """
    if not np.isfinite(anchors).all():
        sample = int(np.argwhere(~np.isfinite(anchors))[0, 0])
        raise KinematicsError(
            f'sample {sample}: the platform pose contains NaN or infinity, no leg can be closed'
        )
    positions = wrapped(machine, nearest_positions(machine, anchors, machine.leg_home_positions))
    _require_closed(machine, anchors, positions)
    branch = home_legs(machine)
    left = branch.left(machine, positions)
    if left.any():
        positions = wrapped(machine, branch.returned(machine, anchors, positions, left))
        left = branch.left(machine, positions)
    if left.any():
        sample, leg = (int(index) for index in np.argwhere(left)[0])
        raise AssemblyModeError(
            f'sample {sample}: {machine.legs[leg].name} reaches its platform joint only on another branch than at home '
            '(elbow or strut turned over): it would have to pass its own singular position'
        )
    return positions


def leg_gaps(machine: Machine, anchors: Array) -> Array:
    """How far (N, L) m legs without a closed form end from ``anchors`` (N, L, 3) m, finite, where they cannot reach."""
    positions = nearest_positions(machine, anchors, machine.leg_home_positions)
    distance = gaps(machine, anchors, positions)
    failing = np.flatnonzero(~(distance.max(axis=1, initial=0.0) <= CLOSING_TOLERANCE))
    if len(failing):
        distance[failing] = gaps(machine, anchors[failing], _stretched(machine, anchors[failing], positions[failing]))
    return distance


def _require_closed(machine: Machine, anchors: Array, positions: Array) -> None:
    """Refuse a pose that a leg does not reach; legs that iterate badly near their reach are mended in place."""
    while True:
        distance = gaps(machine, anchors, positions)
        failing = np.flatnonzero(~(distance.max(axis=1, initial=0.0) <= CLOSING_TOLERANCE))
        if not len(failing):
            return
        # Newton's iterations jump about beyond a leg's reach: only damped ones tell what is missing
        worst = failing[int(np.argmax(np.nan_to_num(distance[failing], nan=np.inf).max(axis=1)))]
        chosen = slice(worst, worst + 1)
        nearest = _stretched(machine, anchors[chosen], positions[chosen])
        missing = gaps(machine, anchors[chosen], nearest)[0]
        leg = int(np.argmax(missing))
        if not missing[leg] <= CLOSING_TOLERANCE:
            break
        positions[chosen] = wrapped(machine, nearest)
    reason = (
        'the legs do not admit this pose; make the motion from the drives (motion_from_drives)'
        if machine.legs_hold_platform
        else 'it is out of reach'
    )
    raise KinematicsError(
        f'sample {worst}: {machine.legs[leg].name} misses its platform joint by {missing[leg]:.3g} m: {reason}'
    )


def _stretched(machine: Machine, anchors: Array, positions: Array) -> Array:
    """Positions (N, L, J) with the smallest gaps, from where iterations ended or, where that is better, from home."""
    usable = np.where(np.isfinite(positions), positions, machine.leg_home_positions)
    here = stretched_positions(machine, anchors, usable)
    home = stretched_positions(machine, anchors, np.broadcast_to(machine.leg_home_positions, positions.shape))
    nearer = gaps(machine, anchors, home) < gaps(machine, anchors, here) - CLOSING_TOLERANCE
    return np.where(nearer[..., None], home, here)
