"""Freedoms of a leg that nothing determines: found once, at home, by rank.

A strut between two ball joints can turn about itself whatever the platform does. Such a joint is left out of the
closure's equations and stays where it is; any other freedom that the platform does not determine is an error.
"""

from __future__ import annotations

import numpy as np

from pkm_description.arrays import Array
from pkm_description.errors import KinematicsError
from pkm_description.kernels.closures import closure_gaps, closure_rows
from pkm_description.kernels.model import ModelData, ScratchData
from pkm_description.kernels.tree import body_velocities, leg_poses
from pkm_description.machine.parts import Leg

#: singular value, relative to the largest, below which joints depend on each other
_DEPENDENT = 1e-7

#: steps of a joint, as parts of its longest step, that must be possible along a freedom for it to be one
_STEP = 0.5

_ITERATIONS = 100


def nearest_closed(model: ModelData, scratch: ScratchData, memory: ScratchData, leg: int) -> float:
    """Close a leg by Newton's iterations with the pseudo-inverse, from ``memory.joints``: idle joints do not matter.

    Parameters
    ----------
    model, scratch : compiled structures, the platform placed
    memory : the same memory as NumPy arrays

    Returns
    -------
    Largest gap [m, 1] that is left.
    """
    columns = _columns(model, leg)
    scale = model.longest_step[columns]
    gap = np.inf
    for _ in range(_ITERATIONS):
        leg_poses(model, scratch, leg)
        gap = closure_gaps(model, scratch, leg)
        step = -np.linalg.pinv(_jacobian(model, scratch, memory, leg) * scale, _DEPENDENT) @ memory.bias[: _rows(model, leg)]
        largest = np.abs(step).max(initial=0.0)
        if not np.isfinite(largest):
            return np.inf
        memory.joints[columns] += scale * step / max(largest, 1.0)
        if largest < 1e-14:
            break
    return float(gap)


def locked_joints(
    machine: str, leg: Leg, model: ModelData, scratch: ScratchData, memory: ScratchData, index: int
) -> list[int]:
    """Joints (places among all) of a leg that belong to idle freedoms; ``memory.joints`` has the leg closed at home.

    Raises
    ------
    KinematicsError
        A freedom that is not idle: joints of the leg can move while the platform stands still.
    """
    columns = _columns(model, index)
    closed = memory.joints.copy()
    leg_poses(model, scratch, index)
    gap = closure_gaps(model, scratch, index)
    scale = model.longest_step[columns]
    scaled = _jacobian(model, scratch, memory, index) * scale
    _, sizes, directions = np.linalg.svd(scaled, full_matrices=True)
    rank = int(np.sum(sizes > _DEPENDENT * sizes.max(initial=1e-300)))
    free = []
    for direction in directions[rank:]:
        if _is_finite(model, scratch, memory, index, closed, direction, gap):
            free.append(direction)
    memory.joints[:] = closed
    leg_poses(model, scratch, index)
    if not free:
        return []  # as good as none, or stretched and folded legs, which is for the checks at home to say
    first = int(model.joint_start[index])
    for direction in free:
        rates = np.zeros(len(model.kind))
        rates[columns] = scale * direction
        moving = [leg.joints[joint - first].name for joint in columns if abs(rates[joint]) > 1e-3 * np.abs(rates).max()]
        if not _turns_about_a_line(leg, model, scratch, memory, index, rates):
            raise KinematicsError(
                f'{machine}: {leg.name} has more freedom than platform and closures determine: {", ".join(moving)} can '
                'move while the platform stands still; take a joint away, or choose a closure that holds more'
            )
    return _pivots(machine, leg, columns, first, np.array(free), model)


def _pivots(
    machine: str, leg: Leg, columns: Array, first: int, free: Array, model: ModelData
) -> list[int]:
    """One joint for each freedom, those that it moves most; no drives."""
    locked = []
    passive = ~model.is_driven[columns].astype(bool)
    for _ in range(len(free)):
        sizes = np.linalg.norm(free, axis=0) * passive
        # of joints that count alike the last one: a strut then turns as its first joint says
        place = len(sizes) - 1 - int(np.argmax(sizes[::-1] > (1.0 - 1e-6) * sizes.max()))
        if sizes[place] < 1e-6:
            driven = [leg.joints[joint - first].name for joint in columns[~passive]]
            raise KinematicsError(
                f'{machine}: a drive of {leg.name} ({", ".join(driven)}) holds nothing: it turns a part of the leg about '
                'itself, whatever the platform does; drive another joint'
            )
        locked.append(int(columns[place]))
        # the freedoms that are left do not move this joint
        most = int(np.argmax(np.abs(free[:, place])))
        free = free - np.outer(free[:, place] / free[most, place], free[most])
        free = np.delete(free, most, axis=0)
    return locked


def _is_finite(
    model: ModelData, scratch: ScratchData, memory: ScratchData, leg: int, closed: Array, direction: Array, gap: float
) -> bool:
    """Whether the leg can move along a direction, by more than the first order: stretched legs cannot."""
    columns = _columns(model, leg)
    scale = model.longest_step[columns]
    step = _STEP / np.abs(direction).max() * direction
    memory.joints[:] = closed
    memory.joints[columns] += scale * step
    left = nearest_closed(model, scratch, memory, leg)
    moved = (memory.joints[columns] - closed[columns]) / scale
    return bool(left <= gap + 1e-9 and moved @ step > 0.25 * step @ step)


def _turns_about_a_line(
    leg: Leg, model: ModelData, scratch: ScratchData, memory: ScratchData, index: int, rates: Array
) -> bool:
    """Whether all bodies of mass that move at joint rates (J,) turn about one line; the leg's bodies are placed."""
    part = slice(int(model.joint_start[index]), int(model.joint_start[index + 1]))
    body_velocities(model, scratch, rates)
    spins, velocities, origins = memory.spin[part], memory.velocity[part], memory.origin[part]
    fastest = np.linalg.norm(spins, axis=1).max(initial=0.0)
    line = None
    for joint, spin, velocity, origin in zip(leg.joints, spins, velocities, origins, strict=True):
        size = float(np.linalg.norm(spin))
        slowest = 1e-6 * fastest
        if joint.body.mass == 0.0 or (size <= slowest and np.linalg.norm(velocity) <= slowest * model.radius[0]):
            continue
        if size <= slowest:
            return False  # slides
        if line is None:
            line = spin / size, origin + np.cross(spin, velocity) / size**2
        axis, point = line
        still = velocity + np.cross(spin, point - origin)
        if np.linalg.norm(np.cross(spin, axis)) > 1e-5 * size or np.linalg.norm(still) > 1e-5 * size * model.radius[0]:
            return False
    return line is not None


def _columns(model: ModelData, leg: int) -> Array:
    return model.column_joint[model.column_start[leg] : model.column_start[leg + 1]]


def _rows(model: ModelData, leg: int) -> int:
    return int(model.row_start[model.closure_start[leg + 1]] - model.row_start[model.closure_start[leg]])


def _jacobian(model: ModelData, scratch: ScratchData, memory: ScratchData, leg: int) -> Array:
    """Rows of a leg's closures per joint rate (R, C); the bodies are placed."""
    closure_rows(model, scratch, leg)
    return memory.rows[leg, : _rows(model, leg), : len(_columns(model, leg))]
