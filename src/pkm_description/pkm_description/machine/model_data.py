"""A machine as the kernels read it: every decision about its graph is taken here, once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pkm_description.arrays import Array
from pkm_description.errors import KinematicsError
from pkm_description.kernels.kinematics.closures import leg_rows
from pkm_description.kernels.kinematics.drive_map import admitted_twists
from pkm_description.kernels.kinematics.legs import (
    LEG_SINGULARITY,
    close_leg,
    close_strut,
    eliminate,
    leg_orientation,
    legs_where_they_are,
)
from pkm_description.kernels.kinematics.tree import leg_poses
from pkm_description.kernels.model import (
    PRISMATIC,
    REVOLUTE,
    ModelData,
    ScratchData,
    constraint_row_count,
)
from pkm_description.machine.idle_freedoms import AtHome, locked_joints, nearest_closed
from pkm_description.machine.joint_arrays import JointArrays
from pkm_description.machine.parts import Closure, Joint, Leg
from pkm_description.machine.rods import no_rods, rod_constants, strut_constants

#: axes (0 x, 1 y, 2 z) of the closure frame on the body and on the other body that a closure keeps perpendicular
_PERPENDICULAR: Mapping[str, tuple[tuple[int, int], ...]] = {
    'ball': (),
    'universal': ((0, 1),),
    'pin': ((2, 0), (2, 1)),
    'fixed': ((2, 0), (2, 1), (0, 1)),
}

#: the same in a plane, where z axes stay what they are
_PERPENDICULAR_IN_PLANE: Mapping[str, tuple[tuple[int, int], ...]] = {'ball': (), 'pin': (), 'fixed': ((0, 1),)}
#: largest change of a joint in one iteration: rad, and part of the leg's reach
_LONGEST_TURN, _LONGEST_SLIDE = 0.5, 0.5

#: sine or cosine of the angle between two joint axes below which they count as parallel or normal
_ALIGNED = 1e-9

#: m, largest gap of a closed leg
_CLOSED = 1e-6

_ITERATIONS = 50

_FREEDOM = {'free': [0, 1, 2, 3, 4, 5], 'planar': [0, 1, 5], 'none': []}


def model_data(machine: JointArrays) -> ModelData:
    """Numbers of a machine for the kernels.

    Raises
    ------
    KinematicsError
        A graph that cannot be computed: names the part, and says what to do.
    """
    model = free_model(machine)
    if not machine.has_platform:
        return model._replace(degrees_of_freedom=np.array([len(model.kind)]))
    _check_ends(machine)
    home = AtHome.of(model)
    locked: set[int] = set()
    for index, leg in enumerate(machine.legs):
        _check_closed(machine, leg, home, nearest_closed(home, index), index)
        locked |= set(locked_joints(machine.name, leg, home, index))
    model = model._replace(home_joints=home.memory.joints.copy())
    if locked:
        model = _with_columns(model, [[joint for joint in own if joint not in locked] for own in _columns(machine)])
    _check_rows(machine, model)
    return _known_at_home(machine, model)


def free_model(machine: JointArrays) -> ModelData:
    """Numbers of a machine whose closures may determine any of its joints, for loops that are still to be closed."""
    return _with_columns(_tables(machine), _columns(machine))


def _columns(machine: JointArrays) -> list[list[int]]:
    """Joints of each leg that its closures may determine; none of open chains."""
    return [list(range(part.start, part.stop)) if machine.has_platform else [] for part in machine.leg_slices]


def _tables(machine: JointArrays) -> ModelData:
    """All but columns and what is known at home only."""
    joints, legs = machine.joints, machine.legs
    count = len(joints)
    if not legs:
        raise KinematicsError(f'{machine.name}: a machine needs at least one leg')
    parents: list[int] = []
    for leg, part in zip(legs, machine.leg_slices, strict=True):
        parents += [count + 1 if parent < 0 else part.start + parent for parent in leg.parents]
    for joint in joints:
        if joint.kind not in ('revolute', 'prismatic'):
            raise KinematicsError(f"{joint.name}: kind {joint.kind!r} is neither 'revolute' nor 'prismatic'")
        if abs(np.linalg.norm(joint.axis) - 1.0) > 1e-9:
            raise KinematicsError(f'{joint.name}: axis {joint.axis} is not a unit vector')
    struts = [strut_constants(leg, machine.freedom) for leg in legs]
    reaches = [leg_reach(leg) for leg in legs]
    rows = closure_rows(legs, machine.platform.name, machine.planar)
    radius = _radius(machine, max(reaches))
    return ModelData(
        kind=np.array([PRISMATIC if joint.kind == 'prismatic' else REVOLUTE for joint in joints]),
        parent=np.array(parents),
        axis=vectors([joint.axis for joint in joints]),
        translation=vectors([joint.translation for joint in joints]),
        rotation=np.array([joint.rotation_parent_joint for joint in joints], dtype=float),
        drive_joint=machine.drive_columns,
        drive_weight=np.array(machine.drive_weights or np.ones(machine.actuated_count), dtype=float),
        is_driven=np.array([int(joint.actuated) for joint in joints]),
        joint_start=np.array([*(part.start for part in machine.leg_slices), count]),
        column_start=np.zeros(len(legs) + 1, dtype=np.int64),
        column_joint=np.zeros(0, dtype=np.int64),
        passive_count=np.zeros(len(legs), dtype=np.int64),
        **rows | {'orientation_axis': radius * rows['orientation_axis']},
        freedom=np.array(_FREEDOM[machine.freedom], dtype=np.int64),
        degrees_of_freedom=np.array([0]),
        gravity=np.array(machine.gravity, dtype=float),
        parameters=machine.parameters,
        rotor_inertia=machine.rotor_inertia,
        **friction_table(joints),
        closed_form=np.array([_closed_form(leg, strut is not None) for leg, strut in zip(legs, struts, strict=True)]),
        universal_basis=np.array([np.eye(3) if strut is None else strut.basis for strut in struts]),
        universal_side=np.array([0.0 if strut is None else strut.side for strut in struts]),
        universal_angle=np.array([0.0 if strut is None else strut.angle_at_zero for strut in struts]),
        strut_length=np.array(
            [0.0 if strut is None else leg.length_at_zero for leg, strut in zip(legs, struts, strict=True)]
        ),
        **no_rods(len(legs), len(rows['closure_body'])),
        branch_normal=np.zeros((len(legs), 3)),
        home_joints=machine.home_positions.copy(),
        home_position=np.array(machine.home.position, dtype=float),
        home_rotation=np.array(machine.home.rotation_base_platform, dtype=float),
        longest_step=np.array(
            [
                _LONGEST_SLIDE * reach if joint.kind == 'prismatic' else _LONGEST_TURN
                for leg, reach in zip(legs, reaches, strict=True)
                for joint in leg.joints
            ]
        ),
        radius=np.array([radius]),
    )


def _closed_form(leg: Leg, strut: bool) -> int:
    """Way to solve a leg: by iterations (0), in closed form (1), and by the strut's length where that is driven (2)."""
    if not strut:
        return 0
    return 2 if [joint.actuated for joint in leg.joints] == [False, False, True] else 1


def leg_reach(leg: Leg) -> float:
    """Length scale of a leg [m]: how far it reaches about home."""
    spans = sum(float(np.linalg.norm(joint.translation)) for joint in leg.joints[1:])
    ends = max((float(np.linalg.norm(closure.point)) for closure in leg.closures), default=0.0)
    slides = max((abs(joint.home) for joint in leg.joints if joint.kind == 'prismatic'), default=0.0)
    return spans + ends + slides or 1.0


def _radius(machine: JointArrays, reach: float) -> float:
    """Mean distance [m] of the platform joints from its origin; of a platform that is a point the legs' reach."""
    points = [closure.other_point for leg in machine.legs for closure in leg.platform_closures]
    radius = float(np.linalg.norm(points, axis=1).mean()) if points else 0.0
    return radius if radius > 1e-6 * reach else reach


def _with_columns(model: ModelData, columns: list[list[int]]) -> ModelData:
    """The model with the joints of each leg that its closures determine, passive ones first."""
    driven = model.is_driven
    order = [joint for own in columns for joint in sorted(own, key=lambda joint: (driven[joint], joint))]
    return model._replace(
        column_start=np.cumsum([0, *(len(own) for own in columns)]),
        column_joint=np.array(order, dtype=np.int64),
        passive_count=np.array([sum(not driven[joint] for joint in own) for own in columns], dtype=np.int64),
    )


def _check_ends(machine: JointArrays) -> None:
    """Every leg must reach the platform, and no body may end free."""
    for leg in machine.legs:
        if not leg.platform_closures:
            raise KinematicsError(
                f'{machine.name}: {leg.name} does not reach the platform; close one of its bodies '
                f'({", ".join(joint.body.name for joint in leg.joints)}) on {machine.platform.name}'
            )
        carrying = {leg.joints[parent].body.name for parent in leg.parents if parent >= 0}
        closed = {closure.body for closure in leg.closures} | {closure.other for closure in leg.closures}
        for joint in leg.joints:
            if joint.body.name not in carrying | closed:
                raise KinematicsError(
                    f'{machine.name}: {joint.body.name} ends free: no joint and no closure follows it; close it, or '
                    'leave it out'
                )


def _check_closed(machine: JointArrays, leg: Leg, home: AtHome, gap: float, index: int) -> None:
    """A leg with more joints than equations must close: else nothing tells which of them are idle."""
    rows = leg_rows(home.compiled, index)
    if len(home.columns(index)) > rows and gap > _CLOSED:
        raise KinematicsError(
            f'{machine.name}: {leg.name} misses its closures at home by {gap:.3g} m; change platform.home, '
            'home of its joints, or its lengths'
        )


def _check_rows(machine: JointArrays, model: ModelData) -> None:
    """The closures of every leg must be able to determine its joints."""
    rows, columns = np.diff(model.row_start[model.closure_start]), np.diff(model.column_start)
    for leg, own_rows, own_columns in zip(machine.legs, rows, columns, strict=True):
        if own_columns > own_rows:
            raise KinematicsError(
                f'{machine.name}: {leg.name} has {own_columns} joints, its closures give {own_rows} equations; take '
                'joints away, or choose closures that hold more'
            )


def _known_at_home(machine: JointArrays, model: ModelData) -> ModelData:
    """The model with its exact home positions, the branches of its legs and its degrees of freedom."""
    home = AtHome.of(model)
    struct, memory, scratch = home.compiled, home.memory, home.scratch
    normals = np.zeros((machine.leg_count, 3))
    for index in range(machine.leg_count):
        before = memory.joints.copy()
        if model.closed_form[index]:
            closed = close_strut(struct, scratch, index) >= 0
        else:
            close_leg(struct, scratch, index, _ITERATIONS)
            there = memory.joints.copy()
            # from where a leg is closed there is nothing left to do, unless the iterations wander
            closed = close_leg(struct, scratch, index, _ITERATIONS) < np.inf
            memory.joints[:] = there
        if not closed or not np.isfinite(memory.joints).all():
            memory.joints[:] = before  # the checks at home say what is wrong
        leg_poses(struct, scratch, index)
        regular = eliminate(struct, scratch, index)
        if not model.closed_form[index] and regular > LEG_SINGULARITY and _normal_stays(model, memory, index):
            normals[index] = leg_orientation(struct, scratch, index)
    model = model._replace(branch_normal=normals, home_joints=memory.joints.copy())
    model = model._replace(**rod_constants(model))
    held = legs_where_they_are(struct, scratch)
    freedoms = admitted_twists(struct, scratch) if held >= 0 else 6 - constraint_row_count(model)
    freedoms, loads = max(freedoms, 0), model.friction_loads
    if len(model.drive_joint) > freedoms:
        loads = 2 * np.minimum(loads, 1)  # redundant drives share friction, also that of their own joints
    return model._replace(degrees_of_freedom=np.array([freedoms]), friction_loads=loads)


def _normal_stays(model: ModelData, memory: ScratchData, leg: int) -> bool:
    """Whether a change of sign tells another branch: square legs, and two joints that move their end in a plane."""
    joints: NDArray[np.int64] = model.column_joint[model.column_start[leg] : model.column_start[leg + 1]]
    if len(joints) != 2:
        return True
    first, second = joints
    axes: Array = memory.axis[joints]
    if model.kind[first] != model.kind[second]:
        return bool(abs(axes[0] @ axes[1]) < _ALIGNED)
    return bool(model.kind[first] == PRISMATIC or np.linalg.norm(np.cross(axes[0], axes[1])) < _ALIGNED)


def friction_table(joints: Sequence[Joint]) -> dict[str, Any]:
    """Fields ``friction_...`` of :class:`~pkm_description.kernels.model.ModelData` of J joints."""
    laws = [joint.friction.law for joint in joints]
    linear = np.zeros((len(laws), 4))
    for row, law in zip(linear, laws, strict=True):
        values = law.linear_parameters()
        row[: len(values)] = values
    loaded = any(law.needs_load for law in laws)
    passive_rub = any(row.any() for row, joint in zip(linear, joints, strict=True) if not joint.actuated)
    return {
        'friction_law': np.array([law.number for law in laws]),
        'friction_linear': linear,
        'friction_shape': np.array([law.shape_parameters() for law in laws]),
        'friction_offset': np.array([law.offset for law in laws], dtype=float),
        'friction_sign': np.array([law.sign.number for law in laws]),
        'friction_width': np.array([law.sign.width for law in laws], dtype=float),
        'friction_loads': np.array([(2 if passive_rub else 1) if loaded else 0]),
    }


def closure_rows(legs: Sequence[Leg], platform: str, planar: bool) -> dict[str, Any]:
    """Fields of :class:`pkm_description.kernels.model.ModelData` on the closures of all legs.

    Parameters
    ----------
    platform : link name
    planar : whether the machine moves in x and y and about z only

    Raises
    ------
    KinematicsError
        A closure of an unknown kind, or between bodies that it cannot join.
    """
    joint_count = sum(len(leg.joints) for leg in legs)
    perpendicular = _PERPENDICULAR_IN_PLANE if planar else _PERPENDICULAR
    closure_start, row_start, orientation_start = [0], [0], [0]
    bodies, others, own_axes, other_axes = [], [], [], []
    first = 0
    for leg in legs:
        places = {joint.body.name: first + place for place, joint in enumerate(leg.joints)}
        places |= {platform: joint_count, 'base_link': joint_count + 1}
        for closure in leg.closures:
            _check(leg, closure, places, perpendicular, planar)
            bodies.append(places[closure.body])
            others.append(places[closure.other])
            for own, other in perpendicular[closure.kind]:
                own_axes.append(closure.rotation_body[:, own])
                other_axes.append(closure.rotation_other[:, other])
            orientation_start.append(len(own_axes))
            row_start.append(row_start[-1] + (2 if planar else 3) + len(perpendicular[closure.kind]))
        closure_start.append(len(bodies))
        first += len(leg.joints)
    closures = [closure for leg in legs for closure in leg.closures]
    return dict(  # noqa: C408
        closure_start=np.array(closure_start),
        row_start=np.array(row_start),
        closure_body=np.array(bodies, dtype=np.int64),
        closure_other=np.array(others, dtype=np.int64),
        closure_point=vectors([closure.point for closure in closures]),
        closure_other_point=vectors([closure.other_point for closure in closures]),
        position_rows=np.full(len(closures), 2 if planar else 3, dtype=np.int64),
        orientation_start=np.array(orientation_start),
        orientation_axis=vectors(own_axes),
        orientation_other_axis=vectors(other_axes),
    )


def _check(
    leg: Leg, closure: Closure, places: Mapping[str, int], kinds: Mapping[str, object], planar: bool
) -> None:  # fmt: skip
    if closure.kind not in kinds:
        where = 'in a planar machine ' if planar else ''
        raise KinematicsError(f'{closure.name}: kind {closure.kind!r}; {where}choose one of {", ".join(kinds)}')
    for what, body in (('body', closure.body), ('other', closure.other)):
        if body not in places:
            raise KinematicsError(
                f'{closure.name}: {what} {body!r} is neither the platform, nor base_link, nor a body of {leg.name}: '
                f'{", ".join(places)}'
            )
    if closure.body == closure.other:
        raise KinematicsError(f'{closure.name}: joins {closure.body} to itself')


def vectors(rows: Sequence[Array]) -> Array:
    """Stack vectors to (N, 3), also where there are none."""
    return np.ascontiguousarray(np.array(rows, dtype=float).reshape(-1, 3))
