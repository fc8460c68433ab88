"""Constants of a machine, and the memory of one computation, as kernels read them.

Joints and bodies share one index: joint j moves body j. Two more bodies follow the J joints: the platform (index J)
and the base (index J + 1). Legs are slices of joints; a joint's parent stands before it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pkm_description.arrays import Array

OK = 0
#: a leg's joints do not determine its motion here: stretched or folded
LEG_SINGULAR = -2
#: a strut lies along its first universal axis
UNIVERSAL_SINGULAR = -3
#: the drives do not determine the platform's motion
DRIVES_SINGULAR = -4
#: a pose, velocity or position contains NaN or infinity
NOT_FINITE = -5
#: the legs together do not admit this pose or this velocity
NOT_ADMITTED = -6
#: the constraints of legs and plane depend on each other in another way than at home
CONSTRAINTS_SINGULAR = -7
#: a leg closes only on another branch than at home
OTHER_BRANCH = -8
#: a leg does not reach its platform joint: ``detail`` has the leg and the distance that is missing
NOT_REACHED = -9
#: a pose leaves the plane in which the machine moves: ``detail`` has the distance [m] and the tilt
OUT_OF_PLANE = -10
#: a velocity or an acceleration contains NaN or infinity
MOTION_NOT_FINITE = -11
#: friction and the forces in the joints that it depends on do not settle: ``detail`` has their change [N]
FRICTION_NOT_SETTLED = -12
#: a freedom that moves no mass
MASS_SINGULAR = -13
#: rates or accelerations of redundant drives do not fit together: ``detail`` has the drive and how far it is off
DRIVES_DISAGREE = -14
#: a leg closes in several ways, and no regular path from home tells which
UNDECIDED_BRANCH = -15
Integers = NDArray[np.int64]

REVOLUTE, PRISMATIC = 0, 1


class ModelData(NamedTuple):
    """Constants of a machine with J joints, L legs, C closures, A drives.

    Attributes
    ----------
    kind : (J,) REVOLUTE or PRISMATIC
    parent : (J,) body that carries the joint
    axis : (J, 3) unit vectors, joint frame
    translation, rotation : (J, 3) m, (J, 3, 3), the joint frame in the parent body's frame, at zero position
    drive_joint : (A,) driven joints, leg by leg
    drive_weight : (A,) how willingly each drive of a redundant machine takes a share of the force; 1 for all: least sum
        of squares
    is_driven : (J,) 1 for driven joints
    joint_start : (L + 1,) leg l has the joints joint_start[l] .. joint_start[l + 1] - 1
    column_start : (L + 1,), column_joint : joints of each leg that its closures determine, passive ones first. Joints
        of an idle freedom (a strut that turns about itself between two balls) are missing: they stay where they are
    passive_count : (L,) passive joints among them
    closure_start : (L + 1,) leg l has the closures closure_start[l] .. closure_start[l + 1] - 1
    row_start : (C + 1,) closure c has the rows row_start[c] - row_start[first of the leg] .. of its leg
    closure_body, closure_other : (C,) bodies that the closure joins; the other one is platform, base or of the same leg
    closure_point, closure_other_point : (C, 3) m, the point of both that must coincide, body frames
    position_rows : (C,) 3, or 2 in a plane: gaps along x, y (and z) of the base
    orientation_start : (C + 1,), orientation_axis, orientation_other_axis : (O, 3) directions in the frames of body and
        other body that must be perpendicular; the first as long as ``radius``, so that all gaps are in m, the other
        unit vectors
    freedom : (P,) components of the platform's twist that it can have: 0 .. 5, or 0, 1, 5 in a plane
    degrees_of_freedom : (1,)
    gravity : (3,) m/s^2
    parameters : (J + 1, 10) inertial parameters of all bodies, the platform last
    rotor_inertia : (J,) kg or kg m^2
    friction_law : (J,) number of the joint's friction law, see ``kernels.friction``
    friction_linear, friction_shape : (J, 4) parameters of the law in which the force is linear, and the others
    friction_offset : (J,) N or N m, constant beside the law
    friction_sign, friction_width : (J,) kind of the law's sign of the velocity, and its width [m/s, rad/s]
    friction_loads : (1,) 0 where no friction depends on the forces in the joints; 1 where friction of driven joints
        does; 2 where passive joints rub too, or drives are redundant, so that friction changes the forces that it
        depends on
    closed_form : (L,) 1 for legs of universal joint and strut on a ball, which are solved without iterations, 2 for
        those of them whose only drive is the strut's
    universal_basis, universal_side, universal_angle, strut_length : (L, 3, 3), (L,), (L,), (L,) constants of these
        legs, see ``machine.rods``
    rod_carrier : (L,) of legs that are rods, see ``kernels.rods``: the driven body on which they hang, or the base;
        -1 of other legs
    rod_rows : (C,) equations that a rod gives
    rod_joints : (C, 2) its passive joints, -1 in place of the second one of a hinge
    rod_center : (C, 3) m, where it hangs; in axes of the body that carries it, as ``rod_basis``
    rod_basis : (C, 3, 3), columns: first axis, second axis or a normal of the hinge, and the normal of both
    rod_end, rod_slide : (C, 3) m, from there to the rod's end along these directions, passive joints and drive at zero;
        what a driven slide adds per m
    rod_side : (C,) +1 or -1, side of the plane of both axes on which the rod stands at home
    branch_normal : (L, 3) signed volume of the leg's joint directions at home, see :func:`leg_orientation`; a leg whose
        volume points the other way is on another branch. Zero where a leg has no branch
    home_joints : (J,), home_position : (3,), home_rotation : (3, 3), the configuration at home
    longest_step : (J,) rad, m; largest change of a joint in one iteration
    radius : (1,) m, mean distance of the platform joints from the platform's origin
    """

    kind: Integers
    parent: Integers
    axis: Array
    translation: Array
    rotation: Array
    drive_joint: Integers
    drive_weight: Array
    is_driven: Integers
    joint_start: Integers
    column_start: Integers
    column_joint: Integers
    passive_count: Integers
    closure_start: Integers
    row_start: Integers
    closure_body: Integers
    closure_other: Integers
    closure_point: Array
    closure_other_point: Array
    position_rows: Integers
    orientation_start: Integers
    orientation_axis: Array
    orientation_other_axis: Array
    freedom: Integers
    degrees_of_freedom: Integers
    gravity: Array
    parameters: Array
    rotor_inertia: Array
    friction_law: Integers
    friction_linear: Array
    friction_shape: Array
    friction_offset: Array
    friction_sign: Integers
    friction_width: Array
    friction_loads: Integers
    closed_form: Integers
    universal_basis: Array
    universal_side: Array
    universal_angle: Array
    strut_length: Array
    rod_carrier: Integers
    rod_rows: Integers
    rod_joints: Integers
    rod_center: Array
    rod_basis: Array
    rod_end: Array
    rod_slide: Array
    rod_side: Array
    branch_normal: Array
    home_joints: Array
    home_position: Array
    home_rotation: Array
    longest_step: Array
    radius: Array


class ScratchData(NamedTuple):
    """Memory of one computation; one per thread. K constraint rows, R rows of the leg that has most.

    Attributes
    ----------
    rotation, origin : (J + 2, 3, 3), (J + 2, 3) m, body axes to base axes, origins of the body frames in the base
    axis : (J, 3) joint axes, base axes
    spin, velocity : (J + 2, 3) rad/s, m/s, of the body frames, base axes
    spin_rate, acceleration : (J + 2, 3) rad/s^2, m/s^2
    joints, joint_rates, joint_accelerations : (J,)
    rows : (L, R, W) closure rows of each leg, columns [joints of the leg | twist | residual], after their QR
    reflections : (L, R) factors of the Householder reflections in ``rows``
    bias : (R,) of one leg
    joint_map : (J, 6) joint rates per platform twist
    joint_bias : (J,) joint accelerations where the platform does not accelerate
    constraints : (K, 6) rows with ``constraints @ twist = 0``; of legs, then of the plane
    constraint_bias : (K,) ``constraints @ acceleration = constraint_bias``
    twist_map : (6, A) twist per drive rate
    joint_per_drive : (J, A) joint rates per drive rate
    admitted : (6, 6) columns: the twists that the constraints admit, an orthonormal basis; the first d count
    reduced : (A, 6) drive rates per admitted twist
    square, square_2, vector, vector_2 : (12 + K, 12 + K) and (J + K + 12,) for small solves
    force, moment : (J + 2, 3) N, N m about the body frame's origin, base axes
    joint_forces : (J,) N, N m
    wrench : (6,) on the platform
    forces : (1, A) N, N m, of the drives
    body_map : (J + 2, columns, 6) twist of every body [velocity, spin], base axes, per coordinate; columns are the
        drives, the components of the platform's twist, or the joints of an open chain
    unit : (columns, columns) unit matrix
    mass : (columns, columns) mass matrix
    constraint_basis : (6, 6) rows, orthonormal in platform radii, that span ``constraints``; the first ones count
    constraint_factor, constraint_reflections : (K, 7), (K,), QR of ``constraints`` in that basis
    held : (6,) an acceleration that meets the constraints
    multipliers : (L, R) closure forces along the rows of each leg, body minus other body
    constraint_forces : (K,) along the rows of ``constraints``
    friction, signs, loads, last_loads : (J,) friction in the joints, signs of their rates, and forces across their axes
    target_position, target_rotation : (1, 3) m, (1, 3, 3), a pose that the platform is moved towards
    states : (3, J + 12) configurations that iterations go back to: joints, position and rotation of the platform
    detail : (4,) what belongs to a negative status: sample, leg or row, and a number that says how far off
    """

    rotation: Array
    origin: Array
    axis: Array
    spin: Array
    velocity: Array
    spin_rate: Array
    acceleration: Array
    joints: Array
    joint_rates: Array
    joint_accelerations: Array
    rows: Array
    reflections: Array
    bias: Array
    joint_map: Array
    joint_bias: Array
    constraints: Array
    constraint_bias: Array
    twist_map: Array
    joint_per_drive: Array
    admitted: Array
    reduced: Array
    square: Array
    square_2: Array
    vector: Array
    vector_2: Array
    force: Array
    moment: Array
    joint_forces: Array
    wrench: Array
    forces: Array
    body_map: Array
    unit: Array
    mass: Array
    constraint_basis: Array
    constraint_factor: Array
    constraint_reflections: Array
    held: Array
    multipliers: Array
    constraint_forces: Array
    friction: Array
    signs: Array
    loads: Array
    last_loads: Array
    target_position: Array
    target_rotation: Array
    states: Array
    detail: Array


def scratch_data(model: ModelData) -> ScratchData:
    """Memory for a machine; the base is at rest at the origin from the beginning."""
    joints, legs, drives = len(model.kind), len(model.joint_start) - 1, len(model.drive_joint)
    rows_per_leg = [
        model.row_start[model.closure_start[leg + 1]] - model.row_start[model.closure_start[leg]] for leg in range(legs)
    ]
    most_rows = int(max(rows_per_leg, default=0))
    columns = np.diff(model.column_start)
    most_columns = int(columns.max(initial=0))
    constraints = constraint_row_count(model)
    coordinates = max(6, drives, 0 if len(model.freedom) else joints)
    small = max(12 + constraints + drives, most_rows + most_columns + 7)
    rotation = np.zeros((joints + 2, 3, 3))
    rotation[-2:] = np.eye(3)

    def vectors() -> Array:
        return np.zeros((joints + 2, 3))

    return ScratchData(
        rotation=rotation, origin=vectors(), axis=np.zeros((joints, 3)), spin=vectors(), velocity=vectors(),
        spin_rate=vectors(), acceleration=vectors(), joints=np.zeros(joints), joint_rates=np.zeros(joints),
        joint_accelerations=np.zeros(joints), rows=np.zeros((legs, most_rows, most_columns + 7)),
        reflections=np.zeros((legs, most_rows)), bias=np.zeros(most_rows), joint_map=np.zeros((joints, 6)),
        joint_bias=np.zeros(joints), constraints=np.zeros((constraints, 6)), constraint_bias=np.zeros(constraints),
        twist_map=np.zeros((6, drives)), joint_per_drive=np.zeros((joints, drives)), admitted=np.zeros((6, 6)),
        reduced=np.zeros((drives, 6)), square=np.zeros((small, small)), square_2=np.zeros((small, small)),
        vector=np.zeros(joints + small), vector_2=np.zeros(joints + small), force=vectors(), moment=vectors(),
        joint_forces=np.zeros(joints), wrench=np.zeros(6), forces=np.zeros((1, drives)),
        body_map=np.zeros((joints + 2, coordinates, 6)), unit=np.eye(coordinates),
        mass=np.zeros((coordinates, coordinates)), constraint_basis=np.zeros((6, 6)),
        constraint_factor=np.zeros((constraints, 7)), constraint_reflections=np.zeros(constraints), held=np.zeros(6),
        multipliers=np.zeros((legs, most_rows)), constraint_forces=np.zeros(constraints),
        friction=np.zeros(joints), signs=np.zeros(joints), loads=np.zeros(joints), last_loads=np.zeros(joints),
        target_position=np.zeros((1, 3)), target_rotation=np.zeros((1, 3, 3)), states=np.zeros((3, joints + 12)),
        detail=np.zeros(4),
    )  # fmt: skip


def constraint_row_count(model: ModelData) -> int:
    """Rows K that legs and plane put on the platform's twist, dependent ones included."""
    rows = int(model.row_start[-1]) - int(model.column_start[-1])
    return max(rows, 0) + (6 - len(model.freedom))
