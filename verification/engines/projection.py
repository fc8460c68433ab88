"""Forces of drives and closures from the generalised forces of an open tree, ``tau = S^T f + J^T lambda + held``."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from pkm_description.arrays import Array
from pkm_description.machine import Machine

#: singular values of the closures' Jacobian below this part of the largest count as zero
_RANK = 1e-9


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
