"""Newton-Euler's equations of all bodies, and their forces on joints, platform and drives."""

from __future__ import annotations

import math

from pkm_description.arrays import Array
from pkm_description.kernels.jit import kernel
from pkm_description.kernels.kinematics.closures import (
    factor_constraints,
    forces_of_constraints,
    leg_rows,
    orientation_moment,
)
from pkm_description.kernels.kinematics.legs import constraint_start
from pkm_description.kernels.kinematics.tree import inertia_times
from pkm_description.kernels.linalg import (
    Vector,
    cross,
    dot,
    minus,
    plus,
    reflect_back,
    store,
    substitute_transposed,
    times,
    turned,
    turned_back,
    vector,
)
from pkm_description.kernels.model import REVOLUTE, ModelData, ScratchData


@kernel
def body_wrench(model: ModelData, scratch: ScratchData, body: int) -> None:
    """Force and moment about its frame's origin that a body alone needs: Newton's and Euler's equations.

    ``f = m a + alpha x c + w x (w x c)``, ``n = c x a + I alpha + w x (I w)`` with the first moment c, all in body
    axes, and a the acceleration of the origin less gravity (Heimann & Abdellatif, Eq. 1).
    """
    p, rotation = model.parameters, scratch.rotation
    w = turned_back(rotation, body, vector(scratch.spin, body))
    alpha = turned_back(rotation, body, vector(scratch.spin_rate, body))
    gravity = model.gravity[0], model.gravity[1], model.gravity[2]
    a = turned_back(rotation, body, minus(vector(scratch.acceleration, body), gravity))
    mass, c = p[body, 0], (p[body, 1], p[body, 2], p[body, 3])
    force = plus(times(mass, a), plus(cross(alpha, c), cross(w, cross(w, c))))
    momentum, momentum_rate = inertia_times(p, body, w), inertia_times(p, body, alpha)
    moment = plus(cross(c, a), plus(momentum_rate, cross(w, momentum)))
    store(scratch.force, body, turned(rotation, body, force))
    store(scratch.moment, body, turned(rotation, body, moment))


@kernel
def tree_wrenches(model: ModelData, scratch: ScratchData) -> None:
    """Wrench that each body needs from the joint before it; the legs are cut open at their closures."""
    for body in range(len(model.kind) + 1):
        body_wrench(model, scratch, body)
    joint_wrenches(model, scratch)


@kernel
def joint_wrenches(model: ModelData, scratch: ScratchData) -> None:
    """Sum what the bodies alone need from the ends of the legs to the base; moments about each body frame's origin."""
    joints, parents = len(model.kind), model.parent
    forces, moments, origins = scratch.force, scratch.moment, scratch.origin
    for body in range(joints - 1, -1, -1):
        parent = parents[body]
        if parent >= joints:
            continue
        force = vector(forces, body)
        arm = minus(vector(origins, body), vector(origins, parent))
        store(forces, parent, plus(vector(forces, parent), force))
        store(moments, parent, plus(vector(moments, parent), plus(vector(moments, body), cross(arm, force))))


@kernel
def joint_forces(model: ModelData, scratch: ScratchData) -> None:
    """Part of the joints' wrenches along their axes, and the force that turns rotors, into ``scratch.joint_forces``."""
    kind, rotor, needed, axes = model.kind, model.rotor_inertia, scratch.joint_forces, scratch.axis
    forces, moments, accelerations = scratch.force, scratch.moment, scratch.joint_accelerations
    for joint in range(len(kind)):
        works = vector(moments, joint) if kind[joint] == REVOLUTE else vector(forces, joint)
        needed[joint] = dot(vector(axes, joint), works) + rotor[joint] * accelerations[joint]


@kernel
def add_friction(model: ModelData, scratch: ScratchData) -> None:
    """Add ``scratch.friction`` to the forces that the joints need."""
    needed, friction = scratch.joint_forces, scratch.friction
    for joint in range(len(friction)):
        needed[joint] += friction[joint]


@kernel
def force_on_twist(model: ModelData, scratch: ScratchData, external: Array, sample: int) -> None:
    """Force dual to the platform's twist into ``scratch.wrench``: the platform's own wrench and ``sum G^T tau``.

    Virtual power (Jourdain): reactions in passive joints do no work and drop out. Wrenches of the surroundings on the
    platform, one (1, 6) for all samples or (N, 6), help the drives.
    """
    platform = len(model.kind)
    row = sample if len(external) > 1 else 0
    for i in range(3):
        scratch.wrench[i] = scratch.force[platform, i] - external[row, i]
        scratch.wrench[3 + i] = scratch.moment[platform, i] - external[row, 3 + i]
    add_force_of_joints(model, scratch)


@kernel
def add_force_of_joints(model: ModelData, scratch: ScratchData) -> None:
    """Add ``sum G^T tau`` of ``scratch.joint_forces`` to ``scratch.wrench``."""
    needed, joint_map, wrench = scratch.joint_forces, scratch.joint_map, scratch.wrench
    for joint in range(len(needed)):
        for i in range(6):
            wrench[i] += joint_map[joint, i] * needed[joint]


@kernel
def drive_forces(model: ModelData, scratch: ScratchData, forces: Array, sample: int) -> None:
    """Drive forces of ``scratch.wrench`` into one row of forces (N, A)."""
    twist_map, wrench = scratch.twist_map, scratch.wrench
    for a in range(len(model.drive_joint)):
        total = 0.0
        for i in range(6):
            total += twist_map[i, a] * wrench[i]
        forces[sample, a] = total


# Forces in closures and joints of one sample, for given drive forces and friction.
#
# The virtual power of cut closures: with forces lambda along the gaps of a leg (body minus other body), its joints
# need ``A^T lambda = needed - applied``, and the platform ``sum B^T lambda = needed``. The QR ``A = Q [R; 0]`` that
# closed the leg splits them: ``R^T (Q^T lambda)_above`` is the joints' share, and what the leg holds of the platform
# stands below (Mata et al. 2008, Eq. 10; Rosyid & El-Khasawneh 2020, Eqs. 18 and 22). In overconstrained machines
# these are not determined by rigid bodies; then they are the smallest ones.
@kernel
def closure_multipliers(model: ModelData, scratch: ScratchData, forces: Array, sample: int) -> None:
    """``scratch.multipliers`` and ``scratch.constraint_forces`` under drive forces, a row of (N, A).

    ``scratch.joint_forces`` are the forces that the joints need, friction included, and ``scratch.wrench`` the force
    that the platform's twist needs of them all, see :func:`.force_on_twist`.
    """
    left, residual = scratch.vector_2, scratch.held
    for joint in range(len(model.kind)):
        left[joint] = scratch.joint_forces[joint]
    for i in range(6):
        residual[i] = scratch.wrench[i]
    for a in range(len(model.drive_joint)):
        joint = model.drive_joint[a]
        left[joint] -= forces[sample, a]
        for i in range(6):
            residual[i] -= scratch.joint_map[joint, i] * forces[sample, a]
    found = factor_constraints(model, scratch)
    forces_of_constraints(model, scratch, found, residual)
    for leg in range(len(model.closed_form)):
        begin, columns = model.column_start[leg], model.column_start[leg + 1] - model.column_start[leg]
        rows, right = leg_rows(model, leg), scratch.multipliers[leg]
        for i in range(columns):
            right[i] = left[model.column_joint[begin + i]]
        substitute_transposed(scratch.rows[leg], columns, right)
        start = constraint_start(model, leg)
        for i in range(columns, rows):
            right[i] = scratch.constraint_forces[start + i - columns]
        reflect_back(scratch.rows[leg], scratch.reflections[leg], rows, columns, right)


@kernel
def closure_wrench(model: ModelData, scratch: ScratchData, leg: int, closure: int) -> tuple[Vector, Vector]:
    """Force [N], and moment [N m] about its point, of a closure on its body, base axes; the other gets the opposite."""
    row = model.row_start[closure] - model.row_start[model.closure_start[leg]]
    along = scratch.multipliers
    x, y, z = along[leg, row], along[leg, row + 1], 0.0
    if model.position_rows[closure] == 3:
        z = along[leg, row + 2]
    row += model.position_rows[closure]
    moment = 0.0, 0.0, 0.0
    for k in range(model.orientation_start[closure], model.orientation_start[closure + 1]):
        moment = plus(moment, times(along[leg, row], orientation_moment(model, scratch, closure, k)))
        row += 1
    return (x, y, z), moment


@kernel
def _apply(scratch: ScratchData, body: int, arm: Vector, force: Vector, moment: Vector, sign: float) -> None:
    """Take a wrench that acts on a body off what the body needs."""
    moment = plus(moment, cross(arm, force))
    store(scratch.force, body, minus(vector(scratch.force, body), times(sign, force)))
    store(scratch.moment, body, minus(vector(scratch.moment, body), times(sign, moment)))


@kernel
def apply_closures(model: ModelData, scratch: ScratchData) -> None:
    """Take the closures' wrenches off what each body alone needs (``scratch.force``, ``scratch.moment``)."""
    for leg in range(len(model.closed_form)):
        for closure in range(model.closure_start[leg], model.closure_start[leg + 1]):
            force, moment = closure_wrench(model, scratch, leg, closure)
            body, other = model.closure_body[closure], model.closure_other[closure]
            arm = turned(scratch.rotation, body, vector(model.closure_point, closure))
            other_arm = turned(scratch.rotation, other, vector(model.closure_other_point, closure))
            _apply(scratch, body, arm, force, moment, 1.0)
            _apply(scratch, other, other_arm, force, moment, -1.0)


@kernel
def reactions(model: ModelData, scratch: ScratchData, forces: Array, sample: int) -> None:
    """Wrench that each body gets through its joint, into ``scratch.force`` and ``moment``; arguments as above."""
    closure_multipliers(model, scratch, forces, sample)
    for body in range(len(model.kind) + 1):
        body_wrench(model, scratch, body)
    apply_closures(model, scratch)
    joint_wrenches(model, scratch)


@kernel
def loads_of_joints(model: ModelData, scratch: ScratchData) -> None:
    """``scratch.loads``: size of the joint forces across the axes [N]; in a plane of their part in the plane."""
    planar = len(model.freedom) == 3
    for joint in range(len(model.kind)):
        force, axis = vector(scratch.force, joint), vector(scratch.axis, joint)
        if planar:
            force = force[0], force[1], 0.0
        across = minus(force, times(dot(force, axis), axis))
        scratch.loads[joint] = math.sqrt(dot(across, across))
