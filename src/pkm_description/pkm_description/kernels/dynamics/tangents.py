"""Derivatives along a direction of the coordinates: of accelerations, of forces, and of friction with its loads.

Forward differentiation by hand: each function is the derivative of the one in ``tree`` or ``closures`` of the same
content along one direction. A change of a rotation is a small turn ``d theta`` in base axes:
``d (R a) = d theta x R a``.
"""

from __future__ import annotations

from pkm_description.arrays import Array
from pkm_description.kernels.dynamics.inverse_dynamics import LOAD_TOLERANCE, MOST_LOADS
from pkm_description.kernels.dynamics.newton_euler import (
    add_force_of_joints,
    apply_closures,
    closure_multipliers,
    closure_wrench,
    drive_forces,
    joint_wrenches,
)
from pkm_description.kernels.friction import joint_slopes
from pkm_description.kernels.jit import kernel
from pkm_description.kernels.kinematics.tree import inertia_times
from pkm_description.kernels.linalg import Vector, cross, dot, minus, plus, store, times, turned, turned_back, vector
from pkm_description.kernels.model import FRICTION_NOT_SETTLED, OK, REVOLUTE, ModelData, ScratchData

#: places in ``scratch.tangents``: changes of pose, velocity, acceleration and needed wrench of each body
TURN, SHIFT, SPIN, VELOCITY, SPIN_RATE, ACCELERATION, FORCE, MOMENT = range(8)
#: a virtual velocity of each body, and its change
VIRTUAL_SPIN, VIRTUAL_VELOCITY, VIRTUAL_SPIN_CHANGE, VIRTUAL_VELOCITY_CHANGE = range(8, 12)
#: the wrenches in the joints, while their memory is used for their changes
KEPT_FORCE, KEPT_MOMENT = 12, 13
#: places in ``scratch.joint_tangents``: changes of positions, rates, accelerations and needed forces; virtual rates;
#: zeros; changes of friction with its load
JOINTS, RATES, ACCELERATIONS, FORCES, VIRTUAL_RATES, NOTHING, LOAD_FRICTION = range(7)


@kernel
def set_rows(rows: Array, body: int, other_rows: Array, values: Array) -> None:
    """Write linear (first three) and angular values (6,) of a body into ``rows`` and ``other_rows`` (J + 2, 3)."""
    store(rows, body, (values[0], values[1], values[2]))
    store(other_rows, body, (values[3], values[4], values[5]))


@kernel
def acceleration_tangents(model: ModelData, scratch: ScratchData, rate_changes: Array, changes: Array) -> None:
    """Changes of the accelerations of the leg bodies, with changes (J,) of joint rates and accelerations."""
    turn, shift, spin_changes = scratch.tangents[TURN], scratch.tangents[SHIFT], scratch.tangents[SPIN]
    rate_of, linear_of = scratch.tangents[SPIN_RATE], scratch.tangents[ACCELERATION]
    for joint in range(len(model.kind)):
        parent, axis = model.parent[joint], vector(scratch.axis, joint)
        arm = minus(vector(scratch.origin, joint), vector(scratch.origin, parent))
        arm_change = minus(vector(shift, joint), vector(shift, parent))
        axis_change = cross(vector(turn, parent), axis)
        rate, acceleration = scratch.joint_rates[joint], scratch.joint_accelerations[joint]
        spin, spin_change = vector(scratch.spin, parent), vector(spin_changes, parent)
        spin_rate, rate_change = vector(scratch.spin_rate, parent), vector(rate_of, parent)
        linear = plus(
            vector(linear_of, parent), lever_acceleration(spin, spin_rate, arm, spin_change, rate_change, arm_change)
        )
        coupling = plus(
            cross(spin_change, times(rate, axis)),
            cross(spin, plus(times(rate_changes[joint], axis), times(rate, axis_change))),
        )
        own = plus(times(changes[joint], axis), times(acceleration, axis_change))
        if model.kind[joint] == REVOLUTE:
            rate_change = plus(rate_change, plus(own, coupling))
        else:
            linear = plus(linear, plus(own, times(2.0, coupling)))
        store(rate_of, joint, rate_change)
        store(linear_of, joint, linear)


@kernel
def lever_acceleration(
    w: Vector, alpha: Vector, arm: Vector, w_change: Vector, alpha_change: Vector, arm_change: Vector
) -> Vector:
    """Change of ``alpha x arm + w x (w x arm)``."""
    return plus(
        plus(cross(alpha_change, arm), cross(alpha, arm_change)),
        plus(cross(w_change, cross(w, arm)), cross(w, plus(cross(w_change, arm), cross(w, arm_change)))),
    )


@kernel
def closure_acceleration_tangents(model: ModelData, scratch: ScratchData, leg: int) -> None:
    """Changes of the second derivatives of a leg's gaps into ``scratch.bias``."""
    turn, first = scratch.tangents[TURN], model.closure_start[leg]
    for closure in range(first, model.closure_start[leg + 1]):
        row = model.row_start[closure] - model.row_start[first]
        body, other = model.closure_body[closure], model.closure_other[closure]
        change = minus(
            _point_acceleration(scratch, body, turned(scratch.rotation, body, vector(model.closure_point, closure))),
            _point_acceleration(
                scratch, other, turned(scratch.rotation, other, vector(model.closure_other_point, closure))
            ),
        )
        for i in range(model.position_rows[closure]):
            scratch.bias[row] = change[i]
            row += 1
        w, w_other = vector(scratch.spin, body), vector(scratch.spin, other)
        for k in range(model.orientation_start[closure], model.orientation_start[closure + 1]):
            u = turned(scratch.rotation, body, vector(model.orientation_axis, k))
            v = turned(scratch.rotation, other, vector(model.orientation_other_axis, k))
            u_change, v_change = cross(vector(turn, body), u), cross(vector(turn, other), v)
            du, dv = cross(w, u), cross(w_other, v)
            du_change = plus(cross(vector(scratch.tangents[SPIN], body), u), cross(w, u_change))
            dv_change = plus(cross(vector(scratch.tangents[SPIN], other), v), cross(w_other, v_change))
            ddu = plus(cross(vector(scratch.spin_rate, body), u), cross(w, du))
            ddv = plus(cross(vector(scratch.spin_rate, other), v), cross(w_other, dv))
            scratch.bias[row] = (
                dot(_direction_acceleration(scratch, body, u, u_change), v)
                + dot(ddu, v_change)
                + 2.0 * (dot(du_change, dv) + dot(du, dv_change))
                + dot(u_change, ddv)
                + dot(u, _direction_acceleration(scratch, other, v, v_change))
            )
            row += 1


@kernel
def _point_acceleration(scratch: ScratchData, body: int, arm: Vector) -> Vector:
    """Change of the acceleration of a body's point."""
    return plus(
        vector(scratch.tangents[ACCELERATION], body),
        _direction_acceleration(scratch, body, arm, cross(vector(scratch.tangents[TURN], body), arm)),
    )


@kernel
def _direction_acceleration(scratch: ScratchData, body: int, direction: Vector, change: Vector) -> Vector:
    """Change of the second derivative of a direction that a body carries along."""
    return lever_acceleration(
        vector(scratch.spin, body), vector(scratch.spin_rate, body), direction,
        vector(scratch.tangents[SPIN], body), vector(scratch.tangents[SPIN_RATE], body), change,
    )  # fmt: skip


@kernel
def _inertia_tangent(
    model: ModelData, scratch: ScratchData, body: int, x: Vector, change: Vector
) -> tuple[Vector, Vector]:
    """``I x`` in base axes, and its change: ``d theta x I x + I (d x - d theta x x)``."""
    turn = vector(scratch.tangents[TURN], body)
    p, rotation = model.parameters, scratch.rotation
    product = turned(rotation, body, inertia_times(p, body, turned_back(rotation, body, x)))
    left = turned_back(rotation, body, minus(change, cross(turn, x)))
    own = turned(rotation, body, inertia_times(p, body, left))
    return product, plus(cross(turn, product), own)


@kernel
def _wrench_tangent(model: ModelData, scratch: ScratchData, body: int) -> None:
    """Change of the wrench that a body alone needs, see :func:`.newton_euler.body_wrench`."""
    p, tangents = model.parameters, scratch.tangents
    w, alpha = vector(scratch.spin, body), vector(scratch.spin_rate, body)
    w_change, alpha_change = vector(tangents[SPIN], body), vector(tangents[SPIN_RATE], body)
    gravity = model.gravity[0], model.gravity[1], model.gravity[2]
    a, a_change = minus(vector(scratch.acceleration, body), gravity), vector(tangents[ACCELERATION], body)
    c = turned(scratch.rotation, body, (p[body, 1], p[body, 2], p[body, 3]))
    c_change = cross(vector(tangents[TURN], body), c)
    lever = lever_acceleration(w, alpha, c, w_change, alpha_change, c_change)
    momentum, momentum_change = _inertia_tangent(model, scratch, body, w, w_change)
    _, rate_change = _inertia_tangent(model, scratch, body, alpha, alpha_change)
    moment = plus(cross(c_change, a), plus(cross(c, a_change), rate_change))
    moment = plus(moment, plus(cross(w_change, momentum), cross(w, momentum_change)))
    store(tangents[FORCE], body, plus(times(p[body, 0], a_change), lever))
    store(tangents[MOMENT], body, moment)


@kernel
def _closure_tangents(model: ModelData, scratch: ScratchData) -> None:
    """Take the closures' wrenches, whose points and directions move, off what the bodies need."""
    turn, moments, along = scratch.tangents[TURN], scratch.tangents[MOMENT], scratch.multipliers
    for leg in range(len(model.closed_form)):
        first = model.closure_start[leg]
        for closure in range(first, model.closure_start[leg + 1]):
            force, _ = closure_wrench(model, scratch, leg, closure)
            body, other = model.closure_body[closure], model.closure_other[closure]
            couple = 0.0, 0.0, 0.0
            row = model.row_start[closure] - model.row_start[first] + model.position_rows[closure]
            for k in range(model.orientation_start[closure], model.orientation_start[closure + 1]):
                u = turned(scratch.rotation, body, vector(model.orientation_axis, k))
                v = turned(scratch.rotation, other, vector(model.orientation_other_axis, k))
                change = plus(cross(cross(vector(turn, body), u), v), cross(u, cross(vector(turn, other), v)))
                couple = plus(couple, times(along[leg, row], change))
                row += 1
            arm = turned(scratch.rotation, body, vector(model.closure_point, closure))
            moment = plus(couple, cross(cross(vector(turn, body), arm), force))
            store(moments, body, minus(vector(moments, body), moment))
            arm = turned(scratch.rotation, other, vector(model.closure_other_point, closure))
            moment = plus(couple, cross(cross(vector(turn, other), arm), force))
            store(moments, other, plus(vector(moments, other), moment))


@kernel
def force_tangents(model: ModelData, scratch: ScratchData, friction: bool, smoothing: float) -> None:
    """Change of the forces of joints, and of the one dual to the platform's twist, ``scratch.wrench``; closures held.

    ``scratch.force`` and ``moment`` are the wrenches in the joints, see
    :func:`~pkm_description.kernels.dynamics.newton_euler.reactions`.
    """
    tangents, platform = scratch.tangents, len(model.kind)
    forces, moments, turn, shift = tangents[FORCE], tangents[MOMENT], tangents[TURN], tangents[SHIFT]
    for body in range(platform + 1):
        _wrench_tangent(model, scratch, body)
    _closure_tangents(model, scratch)
    for i in range(3):
        scratch.wrench[i] = forces[platform, i]
        scratch.wrench[3 + i] = moments[platform, i]
    for joint in range(platform - 1, -1, -1):
        axis = vector(scratch.axis, joint)
        axis_change = cross(vector(turn, joint), axis)
        if model.kind[joint] == REVOLUTE:
            force = dot(axis_change, vector(scratch.moment, joint)) + dot(axis, vector(moments, joint))
        else:
            force = dot(axis_change, vector(scratch.force, joint)) + dot(axis, vector(forces, joint))
        force += model.rotor_inertia[joint] * scratch.joint_tangents[ACCELERATIONS, joint]
        if friction:
            slope, _ = joint_slopes(model, joint, scratch.joint_rates[joint], scratch.loads[joint], smoothing)
            force += slope * scratch.joint_tangents[RATES, joint]
        scratch.joint_tangents[FORCES, joint] = force
        for i in range(6):
            scratch.wrench[i] += scratch.joint_map[joint, i] * force
        parent = model.parent[joint]
        if parent >= platform:
            continue
        arm = minus(vector(scratch.origin, joint), vector(scratch.origin, parent))
        arm_change = minus(vector(shift, joint), vector(shift, parent))
        lever = plus(cross(arm_change, vector(scratch.force, joint)), cross(arm, vector(forces, joint)))
        store(forces, parent, plus(vector(forces, parent), vector(forces, joint)))
        store(moments, parent, plus(vector(moments, parent), plus(vector(moments, joint), lever)))


# How friction that depends on the load changes, with the reactions in the joints. Differentiated, the equations of the
# closure forces are those of the forces themselves with other right-hand sides: what joints and platform need more
# while the closure forces are held, and how the drive forces change.
@kernel
def follow_loads(model: ModelData, scratch: ScratchData, smoothing: float) -> int:
    """Add the change of friction with its loads to ``scratch.wrench``, the change of the force on the platform's twist.

    Known are the changes with closure forces and loads held: ``joint_tangents[FORCES]``, ``tangents[FORCE]`` and
    ``scratch.wrench``. Drive forces change by ``drive_changes`` and by what they need besides. Iterated to a fixed
    point as the loads themselves are.
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
        drive_forces(model, scratch, scratch.forces, 0)
        for a in range(len(model.drive_joint)):
            scratch.forces[0, a] += scratch.drive_changes[a]
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
