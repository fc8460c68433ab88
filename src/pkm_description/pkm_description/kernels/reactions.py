"""Forces in closures and joints of one sample, for given drive forces and friction.

The virtual power of cut closures: with forces lambda along the gaps of a leg (body minus other body), its joints need
``A^T lambda = needed - applied``, and the platform ``sum B^T lambda = needed``. The QR ``A = Q [R; 0]`` that closed the
leg splits them: ``R^T (Q^T lambda)_above`` is the joints' share, and what the leg holds of the platform stands below
(Mata et al. 2008, Eq. 10; Rosyid & El-Khasawneh 2020, Eqs. 18 and 22). In overconstrained machines these are not
determined by rigid bodies; then they are the smallest ones.
"""

from __future__ import annotations

import math

from pkm_description.arrays import Array
from pkm_description.kernels.closures import leg_rows, orientation_moment
from pkm_description.kernels.constraints import factor_constraints, forces_of_constraints
from pkm_description.kernels.dynamics import body_wrench, joint_wrenches
from pkm_description.kernels.jit import kernel
from pkm_description.kernels.legs import constraint_start
from pkm_description.kernels.linalg import reflect_back, substitute_transposed
from pkm_description.kernels.model import ModelData, ScratchData
from pkm_description.kernels.vectors import Vector, cross, dot, minus, plus, store, times, turned, vector


@kernel
def closure_multipliers(model: ModelData, scratch: ScratchData, forces: Array, sample: int) -> None:
    """``scratch.multipliers`` and ``scratch.constraint_forces`` under drive forces, a row of (N, A).

    ``scratch.joint_forces`` are the forces that the joints need, friction included, and ``scratch.wrench`` the force
    that the platform's twist needs of them all, see :func:`~pkm_description.kernels.dynamics.force_on_twist`.
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
