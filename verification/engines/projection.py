"""What engines say of a machine; forces from those of an open tree, ``tau = S^T f + J^T lambda + held``.

The equations of closures are from frames at both sides: which directions coincide, which stay perpendicular. Vectors in
base axes. A turn is held by unit vectors u of the leg's body and v of the other one with ``u . v = 0``, whose rate
is ``(w_tip - w_anchor) . (u x v)``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from pkm_description.arrays import Array
from pkm_description.machine import Closure, Machine

#: singular values of the closures' Jacobian below this part of the largest count as zero
_RANK = 1e-9


class EngineMissingError(RuntimeError):
    """The engine is not installed; the text says how to install it."""


@dataclass(frozen=True)
class EngineResult:
    """Kinematics and forces of N samples without friction, computed by an engine that shares no line with the library.

    Attributes
    ----------
    gaps : (N,) m, largest distance between a leg's tip and its place on the platform at the given joint positions
    residuals : (N,) m/s or rad/s, what the loops leave open at the given platform velocity
    velocities, accelerations : (N, J) of the leg joints, solved from the loops; empty for open chains
    drive_forces : (N, A) N or N m; of redundant machines the weighted least ones; of open chains all joints (N, J)
    closure_forces, closure_moments : (N, K, 3) N, N m about the closing point, of the leg's body on what the closure
        holds, base axes; of planar machines the forces in the plane
    determined : whether rigid bodies determine the closures' forces: False for overconstrained machines
    joint_forces, joint_moments : (N, J, 3) N, N m about the joint's origin, of the body before the joint on the
        one behind it, base axes; None where the engine does not give them
    energy_rates : (N,) W, change of kinetic and potential energy of all bodies; None where the engine is not asked
    mass : kg, of all moving bodies
    """

    gaps: Array
    residuals: Array
    velocities: Array
    accelerations: Array
    drive_forces: Array
    closure_forces: Array
    closure_moments: Array
    mass: float
    determined: bool = True
    joint_forces: Array | None = None
    joint_moments: Array | None = None
    energy_rates: Array | None = None


@dataclass(frozen=True)
class Projection:
    """Forces of a machine whose loops are cut.

    Attributes
    ----------
    drives : (A,) or (A, P)
    multipliers : (C,) or (C, P), of the closures; of overconstrained machines those with the least squares
    determined : whether the multipliers are the only ones
    """

    drives: Array
    multipliers: Array
    determined: bool


def idle_joints(machine: Machine) -> list[int]:
    """Joints that keep their positions, because no closure holds them (a strut that turns about itself)."""
    if not machine.has_platform:
        return []
    return sorted(set(range(len(machine.joints))) - set(machine.model.column_joint.tolist()))


def project(torques: Array, driven: Array, idle: Array, jacobian: Array, weights: Array) -> Projection:
    """Solve for the forces.

    Parameters
    ----------
    torques : (nv,) or (nv, P), of the open tree
    driven, idle : places of the driven joints, and of those that are held still, among the nv
    jacobian : (C, nv) of the closures
    weights : (A,) of the drives; the forces of a redundant machine are those with the least ``sum(force^2 / weight)``
    """
    count, drives = len(torques), len(driven)
    selection, held = np.eye(count)[:, driven], np.eye(count)[:, idle]
    if drives + len(idle) + len(jacobian) == count:
        try:
            square = np.hstack([selection, jacobian.T, held])
            solution: Array = np.asarray(np.linalg.solve(square, torques), dtype=float)
            return Projection(solution[:drives], solution[drives : drives + len(jacobian)], True)
        except np.linalg.LinAlgError:
            pass  # closures that depend on each other, and as many drives too many
    fixed = np.vstack([jacobian, held.T])
    _, values, directions = np.linalg.svd(fixed)
    rank = int(np.sum(values > _RANK * values[0])) if len(values) else 0
    free = directions[rank:]
    root = np.sqrt(weights)
    found = np.linalg.lstsq(free @ selection * root, free @ torques, rcond=None)[0]
    forces = (root * found.T).T
    left = torques - selection @ forces
    multipliers = np.linalg.lstsq(fixed.T, left, rcond=_RANK)[0][: len(jacobian)]
    return Projection(forces, multipliers, rank == len(fixed))


Pairs = tuple[tuple[int, int], ...]

#: axes (of the leg's body, of the other body) that stay perpendicular
_PERPENDICULAR: dict[str, Pairs] = {
    'ball': (), 'universal': ((0, 1),), 'pin': ((0, 2), (1, 2)), 'fixed': ((0, 1), (1, 2), (2, 0)),
}  # fmt: skip
#: in a plane
_PERPENDICULAR_IN_PLANE: dict[str, Pairs] = {'pin': (), 'fixed': ((0, 1),)}


def position_rows(planar: bool) -> int:
    """How many coordinates of the closing point coincide."""
    return 2 if planar else 3


def perpendicular_axes(closure: Closure, planar: bool) -> Pairs:
    """Numbers of the axes of both frames that stay perpendicular."""
    return (_PERPENDICULAR_IN_PLANE if planar else _PERPENDICULAR)[closure.kind]


def closure_rows(pairs: Pairs, planar: bool, tip: Array, anchor: Array, difference: Array) -> Array:
    """Rows of a closure from the frames' axes (3, 3) and the difference (6, ...) of their velocities or Jacobians."""
    turns = [np.cross(tip[:, first], anchor[:, second]) @ difference[3:] for first, second in pairs]
    turning = np.array(turns).reshape(len(pairs), *difference.shape[1:])
    return np.concatenate([difference[: position_rows(planar)], turning])


def turning_drift(pairs: Pairs, tip: Array, anchor: Array, tip_spin: Array, anchor_spin: Array) -> Array:
    """Second derivatives of the perpendicular axes' products that the spins (3,) alone make."""
    result = []
    for first, second in pairs:
        u, v = tip[:, first], anchor[:, second]
        du, dv = np.cross(tip_spin, u), np.cross(anchor_spin, v)
        result.append(np.cross(tip_spin, du) @ v + 2.0 * du @ dv + u @ np.cross(anchor_spin, dv))
    return np.array(result)


def closure_wrench(
    pairs: Pairs, planar: bool, tip: Array, anchor: Array, multipliers: Array
) -> tuple[Array, Array]:
    """Force and moment (3,), (3,) on the leg's body at the closing point, of a closure's multipliers."""
    size = position_rows(planar)
    force, moment = np.zeros(3), np.zeros(3)
    force[:size] = multipliers[:size]
    for (first, second), one in zip(pairs, multipliers[size:], strict=True):
        moment += one * np.cross(tip[:, first], anchor[:, second])
    return force, moment


def turning_gap(pairs: Pairs, tip: Array, anchor: Array) -> float:
    """Largest cosine of axes that should be perpendicular."""
    return max((abs(float(tip[:, first] @ anchor[:, second])) for first, second in pairs), default=0.0)
