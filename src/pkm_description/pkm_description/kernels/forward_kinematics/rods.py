"""Legs that are rods: what they ask of the platform, and their passive joints, in closed form.

While its drive stands, the end of a rod on a universal joint moves on a sphere about it, and that of one on a hinge on
a circle. The platform joint must lie there: equations without passive joints, one or two of each rod. The drive carries
the rods (slider or crank, Merlet 2006, section 1.4), or makes a rod longer.
"""

from __future__ import annotations

import math

from pkm_description.arrays import Array
from pkm_description.kernels.jit import kernel
from pkm_description.kernels.kinematics.legs import wrapped
from pkm_description.kernels.kinematics.tree import body_pose
from pkm_description.kernels.linalg import Vector, cross, dot, minus, plus, times, turned, vector
from pkm_description.kernels.model import REVOLUTE, ModelData, ScratchData


@kernel
def rod_rows(model: ModelData, scratch: ScratchData, leg: int) -> float:
    """Rows ``[drive | direction, lever x direction | missing length]`` of the leg's rods; returns its gap [m].

    The platform is placed; the body that carries the rods is placed here. The column of the drive is left free for
    :func:`rod_drive`.
    """
    rows, platform = scratch.rows, len(model.kind)
    place_carrier(model, scratch, leg)
    row, squares = 0, 0.0
    for closure in range(model.closure_start[leg], model.closure_start[leg + 1]):
        lever = turned(scratch.rotation, platform, vector(model.closure_other_point, closure))
        along = rod_vector(model, scratch, leg, closure)
        end = rod_end(model, scratch, leg, closure)
        length = math.sqrt(dot(end, end))
        if model.rod_joints[closure, 1] < 0:
            axis = rod_axis(model, scratch, leg, closure, 0)
            height = dot(axis, along)
            if model.position_rows[closure] == 3:
                squares += write_row(rows, leg, row, axis, lever, end[0] - height)
                row += 1
            along = minus(along, times(height, axis))
            length = math.sqrt(end[1] * end[1] + end[2] * end[2])
        reach = math.sqrt(dot(along, along))
        squares += write_row(rows, leg, row, times(1.0 / max(reach, 1e-300), along), lever, length - reach)
        row += 1
    return math.sqrt(squares)


@kernel
def place_carrier(model: ModelData, scratch: ScratchData, leg: int) -> None:
    """Place the driven body that carries the rods of a leg; on the base there is nothing to place."""
    carrier = model.rod_carrier[leg]
    if carrier < len(model.kind):
        body_pose(model, scratch, carrier, scratch.joints[carrier])


@kernel
def rod_vector(model: ModelData, scratch: ScratchData, leg: int, closure: int) -> Vector:
    """Vector from the joint that a rod hangs on to its platform joint, base axes."""
    carrier, platform = model.rod_carrier[leg], len(model.kind)
    lever = turned(scratch.rotation, platform, vector(model.closure_other_point, closure))
    center = turned(scratch.rotation, carrier, vector(model.rod_center, closure))
    return minus(plus(vector(scratch.origin, platform), lever), plus(vector(scratch.origin, carrier), center))


@kernel
def rod_axis(model: ModelData, scratch: ScratchData, leg: int, closure: int, column: int) -> Vector:
    """One of the directions of a rod's base in base axes: first axis, second axis, their normal."""
    basis = model.rod_basis
    return turned(
        scratch.rotation, model.rod_carrier[leg],
        (basis[closure, 0, column], basis[closure, 1, column], basis[closure, 2, column]),
    )  # fmt: skip


@kernel
def rod_end(model: ModelData, scratch: ScratchData, leg: int, closure: int) -> Vector:
    """End of a rod from the joint that it hangs on, along the directions of its base, at zero passive positions."""
    drive = model.column_joint[model.column_start[leg + 1] - 1]
    end = vector(model.rod_end, closure)
    if drive == model.rod_carrier[leg]:
        return end
    return plus(end, times(scratch.joints[drive], vector(model.rod_slide, closure)))


@kernel
def write_row(rows: Array, leg: int, row: int, direction: Vector, lever: Vector, missing: float) -> float:
    """One row of a rod; returns the square of what is missing."""
    moment = cross(lever, direction)
    rows[leg, row, 1], rows[leg, row, 2], rows[leg, row, 3] = direction
    rows[leg, row, 4], rows[leg, row, 5], rows[leg, row, 6] = moment
    rows[leg, row, 7] = missing
    return missing * missing


@kernel
def rod_drive(model: ModelData, scratch: ScratchData, leg: int) -> float:
    """Column of the drive, after :func:`rod_rows`; returns how far it is from moving the rods' ends in vain, 0 .. 1.

    That is the part of the ends' velocities that their passive joints do not give, too: zero where a leg is stretched
    or folded. The same number as :func:`~pkm_description.kernels.linalg.independence` of the leg's joints.
    """
    row, across, squares, rows = 0, 0.0, 0.0, scratch.rows
    for closure in range(model.closure_start[leg], model.closure_start[leg + 1]):
        along = rod_vector(model, scratch, leg, closure)
        outward, axial, speeds = end_speeds(model, scratch, leg, closure, along)
        length = dot(along, along)
        if model.rod_joints[closure, 1] < 0:
            height = dot(rod_axis(model, scratch, leg, closure, 0), along)
            outward, length = outward - height * axial, length - height * height
            if model.position_rows[closure] == 3:
                rows[leg, row, 0] = -axial
                across += axial * axial
                row += 1
        outward /= math.sqrt(length)
        rows[leg, row, 0] = -outward
        across += outward * outward
        squares += speeds
        row += 1
    return math.sqrt(across / squares)


@kernel
def end_speeds(
    model: ModelData, scratch: ScratchData, leg: int, closure: int, along: Vector
) -> tuple[float, float, float]:
    """Velocity of a rod's end per rate of the drive, the passive joints at rest.

    Returns
    -------
    outward : its product with the rod's vector ``along``
    axial : along the rod's first axis
    squares : its square
    """
    drive = model.column_joint[model.column_start[leg + 1] - 1]
    if drive != model.rod_carrier[leg]:
        # the slide turns with the rod, so zero positions tell
        slide = vector(model.rod_slide, closure)
        return dot(slide, rod_end(model, scratch, leg, closure)), slide[0], dot(slide, slide)
    velocity = vector(scratch.axis, drive)
    if model.kind[drive] == REVOLUTE:
        center = turned(scratch.rotation, drive, vector(model.rod_center, closure))
        velocity = cross(velocity, plus(center, along))
    axis = rod_axis(model, scratch, leg, closure, 0)
    return dot(velocity, along), dot(velocity, axis), dot(velocity, velocity)


@kernel
def rod_orientation(model: ModelData, scratch: ScratchData, leg: int) -> Vector:
    """Signed volume of the joint directions of a leg of one rod, but for its size on a universal joint.

    See :func:`~pkm_description.kernels.kinematics.legs.leg_orientation`; zero of legs of several rods.
    """
    closure = model.closure_start[leg]
    if model.closure_start[leg + 1] - closure > 1:
        return 0.0, 0.0, 0.0
    along = rod_vector(model, scratch, leg, closure)
    outward, axial, _ = end_speeds(model, scratch, leg, closure, along)
    if model.rod_joints[closure, 1] >= 0:
        return model.rod_side[closure] * outward, 0.0, 0.0
    # (axis x along) x velocity
    area = minus(times(axial, along), times(outward, rod_axis(model, scratch, leg, closure, 0)))
    return (area[2], 0.0, 0.0) if model.position_rows[closure] == 2 else area


@kernel
def rod_angles(model: ModelData, scratch: ScratchData, leg: int) -> None:
    """Passive joints of the leg's rods, within half a turn of home, into ``scratch.joints``; the platform is placed.

    Each rod points to its platform joint, and stands on the side of its universal joint on which it is at home.
    """
    place_carrier(model, scratch, leg)
    for closure in range(model.closure_start[leg], model.closure_start[leg + 1]):
        along = rod_vector(model, scratch, leg, closure)
        end = rod_end(model, scratch, leg, closure)
        x = dot(rod_axis(model, scratch, leg, closure, 0), along)
        y = dot(rod_axis(model, scratch, leg, closure, 1), along)
        z = dot(rod_axis(model, scratch, leg, closure, 2), along)
        first, second = model.rod_joints[closure, 0], model.rod_joints[closure, 1]
        # angles from the direction at zero positions to the present one
        if second < 0:
            angle = math.atan2(z * end[1] - y * end[2], y * end[1] + z * end[2])
        else:
            side = model.rod_side[closure]
            up = side * math.sqrt(y * y + z * z)
            tilt = math.atan2(x * end[2] - up * end[0], up * end[2] + x * end[0])
            scratch.joints[second] = wrapped(tilt, model.home_joints[second])
            angle = math.atan2(-side * y, side * z)
        scratch.joints[first] = wrapped(angle, model.home_joints[first])


@kernel
def strut(model: ModelData, position: Array, rotation: Array, sample: int, leg: int) -> tuple[Vector, Vector]:
    """Vector from base to platform joint, and from the platform's origin to the platform joint, base axes."""
    lever = turned(rotation, sample, vector(model.closure_other_point, model.closure_start[leg]))
    return minus(plus(vector(position, sample), lever), vector(model.translation, model.joint_start[leg])), lever


@kernel
def strut_lengths(model: ModelData, position: Array, rotation: Array, lengths: Array) -> None:
    """Lengths (N, L) m at poses (N, 3) m, (N, 3, 3)."""
    for sample in range(len(position)):
        for leg in range(lengths.shape[1]):
            along, _ = strut(model, position, rotation, sample, leg)
            lengths[sample, leg] = math.sqrt(dot(along, along))


@kernel
def strut_jacobians(model: ModelData, position: Array, rotation: Array, jacobian: Array) -> None:
    """Rates of the lengths per twist (N, L, 6): rows ``[n_i, (R p_i) x n_i]`` with the struts' unit vectors n_i."""
    for sample in range(len(position)):
        for leg in range(jacobian.shape[1]):
            along, lever = strut(model, position, rotation, sample, leg)
            length = math.sqrt(dot(along, along))
            direction = along[0] / length, along[1] / length, along[2] / length
            moment = cross(lever, direction)
            for i in range(3):
                jacobian[sample, leg, i] = direction[i]
                jacobian[sample, leg, 3 + i] = moment[i]
