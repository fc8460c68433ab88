"""Slopes of what a machine's drives measure with respect to the constants of its geometry: joint centres and zeros.

At a pose of the platform a leg's gaps are zero, ``gap(joints, g) = 0``. Where a constant g of the file is another,
the joints follow: ``A d_joints + d_gap/dg = 0``, with A the joint columns of the closure rows. On their QR
``A = Q [R; 0]`` the rows above give the joints, ``d_joints/dg = -R^-1 (Q^T d_gap/dg)_above``, and the rows below what
the legs' constraints show. For a strut along u this is ``-u`` at its base joint, ``R^T u`` at its platform joint (R: of
the platform) and -1 at its zero.
"""

from __future__ import annotations

from typing import NamedTuple

from pkm_description.arrays import Array
from pkm_description.kernels.jit import kernel
from pkm_description.kernels.kinematics.closures import carries, leg_rows
from pkm_description.kernels.kinematics.legs import LEG_SINGULARITY, constraint_start, eliminate
from pkm_description.kernels.linalg import reflect, substitute_back
from pkm_description.kernels.model import Integers, ModelData, ScratchData

#: kinds of constants: a joint's place in the body before it, the ends of a closure, where a drive reads zero
JOINT_CENTRE, CLOSURE_POINT, CLOSURE_OTHER_POINT, DRIVE_ZERO = 0, 1, 2, 3


class GeometryData(NamedTuple):
    """Constants of a machine's geometry, p of them, leg by leg.

    Attributes
    ----------
    start : (L + 1,) leg l has the constants start[l] .. start[l + 1] - 1
    kind : (p,) one of ``JOINT_CENTRE``, ``CLOSURE_POINT``, ``CLOSURE_OTHER_POINT``, ``DRIVE_ZERO``
    place : (p,) joint, closure or drive
    axis : (p,) component of the point, in the frame in which the model has it
    std : (p,) standard deviation, m; of the zeros of drives that turn rad
    """

    start: Integers
    kind: Integers
    place: Integers
    axis: Integers
    std: Array


@kernel
def gap_slope(model: ModelData, scratch: ScratchData, leg: int, kind: int, place: int, axis: int) -> None:
    """Slope of a leg's gaps with respect to one component of a point, into ``scratch.bias``."""
    rotation, bias, first = scratch.rotation, scratch.bias, model.closure_start[leg]
    for row in range(leg_rows(model, leg)):
        bias[row] = 0.0
    for closure in range(first, model.closure_start[leg + 1]):
        row = model.row_start[closure] - model.row_start[first]
        body, other = model.closure_body[closure], model.closure_other[closure]
        sign = 0.0
        if kind == JOINT_CENTRE:  # all that the joint carries moves along the axis of the body before it
            sign = (1.0 if carries(model, place, body) else 0.0) - (1.0 if carries(model, place, other) else 0.0)
            frame = model.parent[place]
        elif closure == place:
            sign = 1.0 if kind == CLOSURE_POINT else -1.0
            frame = body if kind == CLOSURE_POINT else other
        if sign != 0.0:
            for i in range(model.position_rows[closure]):
                bias[row + i] = sign * rotation[frame, i, axis]


@kernel
def geometry_slopes(model: ModelData, scratch: ScratchData, geometry: GeometryData, slopes: Array) -> None:
    """Slopes (A + K, p) of the drives' positions, and of the legs' constraints behind them, per standard deviation.

    The legs are closed and their bodies placed. Of a leg that is stretched or folded there are none: they are zero.
    """
    drives, joints, bias = len(model.drive_joint), model.drive_joint, scratch.bias
    for row in range(len(slopes)):
        for g in range(len(geometry.kind)):
            slopes[row, g] = 0.0
    for leg in range(len(model.closed_form)):
        if not eliminate(model, scratch, leg) >= LEG_SINGULARITY:
            continue
        begin, columns = model.column_start[leg], model.column_start[leg + 1] - model.column_start[leg]
        rows, constraint = leg_rows(model, leg), drives + constraint_start(model, leg)
        for g in range(geometry.start[leg], geometry.start[leg + 1]):
            kind, place, std = geometry.kind[g], geometry.place[g], geometry.std[g]
            if kind == DRIVE_ZERO:
                slopes[place, g] = -std
                continue
            gap_slope(model, scratch, leg, kind, place, geometry.axis[g])
            reflect(scratch.rows[leg], scratch.reflections[leg], rows, columns, bias)
            substitute_back(scratch.rows[leg], columns, bias)
            for drive in range(drives):
                for i in range(columns):
                    if model.column_joint[begin + i] == joints[drive]:
                        slopes[drive, g] = -std * bias[i]
            for i in range(columns, rows):
                slopes[constraint + i - columns, g] = std * bias[i]
