"""How needed forces change with the state: Newton and Euler's equations of bodies and joints, differentiated."""

from __future__ import annotations

from pkm_description.kernels.body_map import inertia_times
from pkm_description.kernels.friction import joint_slopes
from pkm_description.kernels.jit import kernel
from pkm_description.kernels.model import REVOLUTE, ModelData, ScratchData
from pkm_description.kernels.reactions import closure_wrench
from pkm_description.kernels.tangents import (
    ACCELERATION,
    ACCELERATIONS,
    FORCE,
    FORCES,
    MOMENT,
    RATES,
    SHIFT,
    SPIN,
    SPIN_RATE,
    TURN,
)
from pkm_description.kernels.vectors import Vector, cross, dot, minus, plus, store, times, turned, turned_back, vector


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
    """Change of the wrench that a body alone needs, see :func:`~pkm_description.kernels.dynamics.body_wrench`."""
    p, tangents = model.parameters, scratch.tangents
    w, alpha = vector(scratch.spin, body), vector(scratch.spin_rate, body)
    w_change, alpha_change = vector(tangents[SPIN], body), vector(tangents[SPIN_RATE], body)
    gravity = model.gravity[0], model.gravity[1], model.gravity[2]
    a, a_change = minus(vector(scratch.acceleration, body), gravity), vector(tangents[ACCELERATION], body)
    c = turned(scratch.rotation, body, (p[body, 1], p[body, 2], p[body, 3]))
    c_change = cross(vector(tangents[TURN], body), c)
    lever = plus(
        plus(cross(alpha_change, c), cross(alpha, c_change)),
        plus(cross(w_change, cross(w, c)), cross(w, plus(cross(w_change, c), cross(w, c_change)))),
    )
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
    :func:`~pkm_description.kernels.reactions.reactions`.
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
