"""How friction that depends on the load changes along a direction, with the reactions in the joints.

Differentiated, the equations of the closure forces are those of the forces themselves with other right-hand sides: what
joints and platform need more while the closure forces are held, and how the drive forces change.
"""

from __future__ import annotations

from pkm_description.arrays import Array
from pkm_description.kernels.dynamics.inverse_dynamics import LOAD_TOLERANCE, MOST_LOADS
from pkm_description.kernels.dynamics.newton_euler import (
    add_force_of_joints,
    apply_closures,
    closure_multipliers,
    drive_forces,
    joint_wrenches,
)
from pkm_description.kernels.dynamics.tangents import FORCE, FORCES, LOAD_FRICTION, TURN
from pkm_description.kernels.friction import joint_slopes
from pkm_description.kernels.jit import kernel
from pkm_description.kernels.linalg import Vector, cross, dot, minus, plus, times, vector
from pkm_description.kernels.model import FRICTION_NOT_SETTLED, OK, ModelData, ScratchData

#: places in ``scratch.tangents``: the wrenches in the joints, while their memory is used for their changes
KEPT_FORCE, KEPT_MOMENT = 12, 13


@kernel
def follow_loads(model: ModelData, scratch: ScratchData, smoothing: float, given: bool) -> int:
    """Add the change of friction with its loads to ``scratch.wrench``, the change of the force on the platform's twist.

    Known are the changes with closure forces and loads held: ``joint_tangents[FORCES]``, ``tangents[FORCE]`` and
    ``scratch.wrench``. Drive forces change by ``drive_changes``: by nothing else where they are ``given``, otherwise
    by what they need besides. Iterated to a fixed point as the loads themselves are.
    """
    tangents, joints = scratch.tangents, scratch.joint_tangents
    _copy(scratch.force, tangents[KEPT_FORCE])
    _copy(scratch.moment, tangents[KEPT_MOMENT])
    _copy(scratch.multipliers, scratch.kept_multipliers)
    for i in range(6):
        scratch.twist[i] = scratch.wrench[i]
    for joint in range(len(model.kind)):
        joints[LOAD_FRICTION, joint] = 0.0
    status = FRICTION_NOT_SETTLED
    for _ in range(MOST_LOADS):
        _force_on_twist(model, scratch)
        if not given:
            drive_forces(model, scratch, scratch.forces, 0)
        for a in range(len(model.drive_joint)):
            scratch.forces[0, a] = scratch.drive_changes[a] + (0.0 if given else scratch.forces[0, a])
        for joint in range(len(model.kind)):
            scratch.joint_forces[joint] += joints[FORCES, joint]
        closure_multipliers(model, scratch, scratch.forces, 0)
        for body in range(len(scratch.force)):
            for i in range(3):
                scratch.force[body, i] = scratch.moment[body, i] = 0.0
        apply_closures(model, scratch)
        joint_wrenches(model, scratch)
        if _friction_settles(model, scratch, smoothing):
            status = OK
            break
    _force_on_twist(model, scratch)
    _copy(tangents[KEPT_FORCE], scratch.force)
    _copy(tangents[KEPT_MOMENT], scratch.moment)
    _copy(scratch.kept_multipliers, scratch.multipliers)
    return status


@kernel
def follow_open_loads(model: ModelData, scratch: ScratchData, smoothing: float) -> None:
    """Add the change of friction with its loads to the forces of an open chain, whose friction changes no load."""
    for joint in range(len(model.kind)):
        _, slope = joint_slopes(model, joint, scratch.joint_rates[joint], scratch.loads[joint], smoothing)
        change = load_change(
            model, scratch, joint, vector(scratch.force, joint), vector(scratch.tangents[FORCE], joint)
        )
        scratch.joint_tangents[FORCES, joint] += slope * change


@kernel
def _copy(source: Array, target: Array) -> None:
    for i in range(source.shape[0]):
        for k in range(source.shape[1]):
            target[i, k] = source[i, k]


@kernel
def _force_on_twist(model: ModelData, scratch: ScratchData) -> None:
    """``scratch.wrench`` with the present change of friction, which is left in ``scratch.joint_forces``."""
    for i in range(6):
        scratch.wrench[i] = scratch.twist[i]
    for joint in range(len(model.kind)):
        scratch.joint_forces[joint] = scratch.joint_tangents[LOAD_FRICTION, joint]
    add_force_of_joints(model, scratch)


@kernel
def _friction_settles(model: ModelData, scratch: ScratchData, smoothing: float) -> bool:
    """Change of friction by that of the loads; ``scratch.force`` is the closures' part. True if it stays as it was."""
    changes, largest, size = scratch.joint_tangents[LOAD_FRICTION], 0.0, 0.0
    for joint in range(len(model.kind)):
        _, slope = joint_slopes(model, joint, scratch.joint_rates[joint], scratch.loads[joint], smoothing)
        force = vector(scratch.tangents[KEPT_FORCE], joint)
        force_change = plus(vector(scratch.tangents[FORCE], joint), vector(scratch.force, joint))
        change = slope * load_change(model, scratch, joint, force, force_change)
        largest, size = max(largest, abs(change - changes[joint])), max(size, abs(change))
        changes[joint] = change
    scratch.detail[2] = largest
    return largest <= LOAD_TOLERANCE * size


@kernel
def load_change(model: ModelData, scratch: ScratchData, joint: int, force: Vector, change: Vector) -> float:
    """Change of the size of a joint's force across its axis, of the change of this force; 0 at no load.

    See :func:`~.reactions.loads_of_joints`.
    """
    axis = vector(scratch.axis, joint)
    axis_change = cross(vector(scratch.tangents[TURN], joint), axis)
    if len(model.freedom) == 3:
        force, change = (force[0], force[1], 0.0), (change[0], change[1], 0.0)
    along = dot(force, axis)
    across = minus(force, times(along, axis))
    # across itself is perpendicular to the axis, so that only the axis's own turn is left of what it takes off
    turned_off = minus(change, times(along, axis_change))
    load = scratch.loads[joint]
    return dot(across, turned_off) / load if load > 0.0 else 0.0
