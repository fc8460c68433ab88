"""Derivatives of inverse and forward dynamics of one sample, exact.

Along each direction of the coordinates the equilibrium of every joint and of the platform is differentiated with the
closure forces held: what these change by does no virtual work on motions that the closures admit, so that the
projection onto the coordinates removes it, as it removes the forces themselves (Jourdain). Only friction that depends
on the load asks for them, see ``kernels.load_tangents``.
"""

from __future__ import annotations

from pkm_description.arrays import Array
from pkm_description.kernels.body_map import inertia_times
from pkm_description.kernels.drive_map import map_drives, map_joints_to_drives
from pkm_description.kernels.drive_motion import solve_drives
from pkm_description.kernels.dynamics import tree_wrenches
from pkm_description.kernels.friction import friction_of_joints, joint_slopes
from pkm_description.kernels.inverse_dynamics import forces_of_state, needed_forces, settle_loads
from pkm_description.kernels.jit import kernel
from pkm_description.kernels.legs import split_bias
from pkm_description.kernels.load_tangents import FORCES, follow_loads, follow_open_loads
from pkm_description.kernels.model import REVOLUTE, ModelData, ScratchData
from pkm_description.kernels.reactions import closure_wrench, loads_of_joints, reactions
from pkm_description.kernels.state import move, move_joints
from pkm_description.kernels.status import OK
from pkm_description.kernels.tangents import (
    ACCELERATION,
    FORCE,
    MOMENT,
    SHIFT,
    SPIN,
    SPIN_RATE,
    TURN,
    VELOCITY,
    VIRTUAL_SPIN,
    VIRTUAL_SPIN_CHANGE,
    VIRTUAL_VELOCITY,
    VIRTUAL_VELOCITY_CHANGE,
    acceleration_tangents,
    closure_acceleration_tangents,
    closure_rate_tangents,
    pose_tangents,
    set_rows,
    velocity_tangents,
)
from pkm_description.kernels.vectors import Vector, cross, dot, minus, plus, store, times, turned, turned_back, vector

#: coordinates: the drives, or pose and twist of the platform
DRIVES, PLATFORM = 0, 1

#: what is differentiated by
POSITION, RATE, SECOND = 0, 1, 2

#: places in ``scratch.joint_tangents``: changes of positions, rates, accelerations; virtual rates; zeros
JOINTS, RATES, ACCELERATIONS, VIRTUAL_RATES, NOTHING = 0, 1, 2, 4, 5


@kernel
def _direction(model: ModelData, scratch: ScratchData, coordinates: int, k: int) -> None:
    """Change of pose of platform and joints per coordinate k into ``scratch.twist`` and ``joint_tangents[JOINTS]``."""
    for i in range(6):
        if coordinates == DRIVES:
            scratch.twist[i] = scratch.twist_map[i, k]
        else:
            scratch.twist[i] = 1.0 if model.freedom[k] == i else 0.0
    _joints_of(model, scratch, scratch.joint_tangents[JOINTS], 0.0)


@kernel
def _joints_of(model: ModelData, scratch: ScratchData, result: Array, biased: float) -> None:
    """Changes of joint rates (J,) of a change ``scratch.twist`` of the platform's, with ``joint_bias`` or without."""
    for joint in range(len(model.kind)):
        total = biased * scratch.joint_bias[joint]
        for i in range(6):
            total += scratch.joint_map[joint, i] * scratch.twist[i]
        result[joint] = total


@kernel
def _complete(
    model: ModelData, scratch: ScratchData, coordinates: int, wanted: Array, row: int, result: Array
) -> int:
    """Change of the twist (or acceleration) into ``scratch.twist``, of the joints into ``result`` (J,).

    The biases of legs and constraints are known; the coordinates change by a row of ``wanted``.
    """
    if coordinates == DRIVES:
        status = solve_drives(model, scratch, wanted, row, scratch.twist)
        if status < 0:
            return status
    else:
        for i in range(6):
            scratch.twist[i] = 0.0
        for k in range(len(model.freedom)):
            scratch.twist[model.freedom[k]] = wanted[row, k]
    _joints_of(model, scratch, result, 1.0)
    return OK


@kernel
def _move_along(model: ModelData, scratch: ScratchData, coordinates: int, part: int, k: int) -> int:
    """Changes of the state by a change of coordinate k, of its rate, or of its acceleration (``part``).

    Rates and accelerations of the coordinates stay as they are but for the one that changes.
    """
    tangents, joints = scratch.tangents, scratch.joint_tangents
    legs, platform, still = len(model.closed_form), len(model.kind), scratch.zeros
    for i in range(6):
        scratch.twist[i] = 0.0
    for joint in range(platform):
        joints[JOINTS, joint] = 0.0
    if part == POSITION:
        _direction(model, scratch, coordinates, k)
    set_rows(tangents[SHIFT], platform, tangents[TURN], scratch.twist)
    pose_tangents(model, scratch, joints[JOINTS], tangents[TURN], tangents[SHIFT])
    # rates: what the change of pose leaves open in the closures, made up for by joints and platform
    set_rows(tangents[VELOCITY], platform, tangents[SPIN], still[0])
    velocity_tangents(
        model, scratch, scratch.spin, scratch.joint_rates, joints[NOTHING], tangents[SPIN], tangents[VELOCITY]
    )
    for leg in range(legs):
        closure_rate_tangents(model, scratch, leg, scratch.spin, tangents[SPIN], tangents[VELOCITY])
        split_bias(model, scratch, leg)
    status = _complete(model, scratch, coordinates, scratch.unit if part == RATE else still, k, joints[RATES])
    if status < 0:
        return status
    set_rows(tangents[VELOCITY], platform, tangents[SPIN], scratch.twist)
    velocity_tangents(
        model, scratch, scratch.spin, scratch.joint_rates, joints[RATES], tangents[SPIN], tangents[VELOCITY]
    )
    # accelerations likewise
    set_rows(tangents[ACCELERATION], platform, tangents[SPIN_RATE], still[0])
    acceleration_tangents(model, scratch, joints[RATES], joints[NOTHING])
    for leg in range(legs):
        closure_acceleration_tangents(model, scratch, leg)
        split_bias(model, scratch, leg)
    status = _complete(model, scratch, coordinates, scratch.unit if part == SECOND else still, k, joints[ACCELERATIONS])
    if status < 0:
        return status
    set_rows(tangents[ACCELERATION], platform, tangents[SPIN_RATE], scratch.twist)
    acceleration_tangents(model, scratch, joints[RATES], joints[ACCELERATIONS])
    return OK


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
def _force_tangents(model: ModelData, scratch: ScratchData, friction: bool, smoothing: float) -> None:
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


@kernel
def _share_tangents(model: ModelData, scratch: ScratchData, forces: Array, sample: int) -> None:
    """Velocities of all bodies at the virtual twist of redundant drives: their forces are ``weight x rate`` of it."""
    tangents, rates, platform = scratch.tangents, scratch.joint_tangents[VIRTUAL_RATES], len(model.kind)
    for i in range(6):
        total = 0.0
        for a in range(len(model.drive_joint)):
            total += scratch.twist_map[i, a] * forces[sample, a] / model.drive_weight[a]
        scratch.twist[i] = total
    set_rows(tangents[VIRTUAL_VELOCITY], platform, tangents[VIRTUAL_SPIN], scratch.twist)
    _joints_of(model, scratch, rates, 0.0)
    pose_tangents(model, scratch, rates, tangents[VIRTUAL_SPIN], tangents[VIRTUAL_VELOCITY])


@kernel
def _change_shares(model: ModelData, scratch: ScratchData) -> None:
    """``scratch.drive_changes``: of how redundant drives share a force, which leave the force itself as it is.

    With ``forces = W J y`` their change has the part ``(1 - T^T J^T) W dJ y`` besides ``T^T dw``.
    """
    tangents, drives, platform = scratch.tangents, len(model.drive_joint), len(model.kind)
    spins, spin_changes = tangents[VIRTUAL_SPIN], tangents[VIRTUAL_SPIN_CHANGE]
    velocity_changes, still = tangents[VIRTUAL_VELOCITY_CHANGE], scratch.zeros
    set_rows(velocity_changes, platform, spin_changes, still[0])
    velocity_tangents(
        model, scratch, spins, scratch.joint_tangents[VIRTUAL_RATES], scratch.joint_tangents[NOTHING], spin_changes,
        velocity_changes,
    )  # fmt: skip
    for leg in range(len(model.closed_form)):
        closure_rate_tangents(model, scratch, leg, spins, spin_changes, velocity_changes)
        split_bias(model, scratch, leg)
    for i in range(6):
        total = 0.0
        for a in range(drives):
            joint = model.drive_joint[a]
            total += scratch.joint_map[joint, i] * model.drive_weight[a] * scratch.joint_bias[joint]
        scratch.twist[i] = total
    for a in range(drives):
        change = model.drive_weight[a] * scratch.joint_bias[model.drive_joint[a]]
        for i in range(6):
            change -= scratch.twist_map[i, a] * scratch.twist[i]
        scratch.drive_changes[a] = change


@kernel
def derivatives(
    model: ModelData, scratch: ScratchData, start: Array, position: Array, rotation: Array, linear: Array,
    angular: Array, linear_rate: Array, angular_rate: Array, friction: bool, smoothing: float, external: Array,
    coordinates: int, forces: Array, given: bool, by_drives: Array, by_coordinates: Array, effect: Array,
) -> int:  # fmt: skip
    """Derivatives of N samples by coordinates, their rates and their accelerations (second axis).

    Parameters
    ----------
    coordinates : DRIVES, for machines with one drive per degree of freedom; PLATFORM, for those whose legs do not hold
        the platform: its position and rotation vector, base axes, its twist and its acceleration
    forces : (N, A) of the drives; written, unless they are ``given``
    by_drives : (N, 3, A, C) of the drive forces of the inverse dynamics; or (0, ...): not wanted
    by_coordinates : (N, 3, C, C) of the forces on the coordinates; ``given`` drive forces are held
    effect : (N, C, A) of ``given`` drive forces on the coordinates: given without friction, corrected here
    """
    count, drives = by_coordinates.shape[2], len(model.drive_joint)
    for sample in range(len(position)):
        status = move(model, scratch, start, position, rotation, linear, angular, linear_rate, angular_rate, sample)
        if status < 0:
            return status
        if given:
            status = _known_forces(model, scratch, friction, smoothing, external, coordinates, forces, sample)
        else:
            status = forces_of_state(model, scratch, friction, smoothing, external, forces, sample)
        if status < 0:
            return status
        reactions(model, scratch, forces, sample)
        if coordinates == DRIVES:
            map_joints_to_drives(model, scratch)
        if len(by_drives):
            _share_tangents(model, scratch, forces, sample)
        for part in range(3):
            for k in range(count):
                status = _move_along(model, scratch, coordinates, part, k)
                if status < 0:
                    return status
                _force_tangents(model, scratch, friction, smoothing)
                for a in range(drives):
                    scratch.drive_changes[a] = 0.0
                if len(by_drives) and part == POSITION and drives > model.degrees_of_freedom[0]:
                    _change_shares(model, scratch)
                if friction and model.friction_loads[0]:
                    status = follow_loads(model, scratch, smoothing, given)
                    if status < 0:
                        scratch.detail[0] = sample
                        return status
                for row in range(count):
                    by_coordinates[sample, part, row, k] = _on_coordinate(model, scratch, coordinates, row)
                if len(by_drives):
                    for a in range(drives):
                        by_drives[sample, part, a, k] = _on_coordinate(model, scratch, DRIVES, a)
                        by_drives[sample, part, a, k] += scratch.drive_changes[a]
        if given and friction and model.friction_loads[0]:
            status = _less_friction(model, scratch, coordinates, smoothing, effect, sample)
            if status < 0:
                return status
    return OK


@kernel
def _less_friction(
    model: ModelData, scratch: ScratchData, coordinates: int, smoothing: float, effect: Array, sample: int
) -> int:
    """Take off the effect of drive forces what they change friction by through its loads, the motion held."""
    for a in range(len(model.drive_joint)):
        for body in range(len(scratch.force)):
            for i in range(3):
                scratch.tangents[FORCE, body, i] = scratch.tangents[TURN, body, i] = 0.0
        for joint in range(len(model.kind)):
            scratch.joint_tangents[FORCES, joint] = 0.0
        for i in range(6):
            scratch.wrench[i] = 0.0
        for other in range(len(model.drive_joint)):
            scratch.drive_changes[other] = 1.0 if other == a else 0.0
        status = follow_loads(model, scratch, smoothing, True)
        if status < 0:
            scratch.detail[0] = sample
            return status
        for row in range(effect.shape[1]):
            effect[sample, row, a] -= _on_coordinate(model, scratch, coordinates, row)
    return OK


@kernel
def _known_forces(
    model: ModelData, scratch: ScratchData, friction: bool, smoothing: float, external: Array, coordinates: int,
    forces: Array, sample: int,
) -> int:  # fmt: skip
    """Needed forces of the state, for given drive forces; maps the drives where they are the coordinates."""
    for joint in range(len(model.kind)):
        scratch.loads[joint] = 0.0
    if friction:
        friction_of_joints(model, scratch, smoothing)
    needed_forces(model, scratch, friction, external, sample)
    if friction and model.friction_loads[0]:
        status = settle_loads(model, scratch, smoothing, external, forces, True, sample)
        if status < 0:
            return status
    return map_drives(model, scratch) if coordinates == DRIVES else OK


@kernel
def _on_coordinate(model: ModelData, scratch: ScratchData, coordinates: int, k: int) -> float:
    """Part of ``scratch.wrench`` that acts on a coordinate."""
    if coordinates == PLATFORM:
        found: float = scratch.wrench[model.freedom[k]]
        return found
    total = 0.0
    for i in range(6):
        total += scratch.twist_map[i, k] * scratch.wrench[i]
    return total


@kernel
def open_chain_derivatives(
    model: ModelData, scratch: ScratchData, positions: Array, rates: Array, accelerations: Array, friction: bool,
    smoothing: float, by_joints: Array,
) -> int:  # fmt: skip
    """Derivatives (N, 3, J, J) of the joint forces of an open chain by joint positions, rates and accelerations."""
    tangents, joints, still, last = scratch.tangents, scratch.joint_tangents, scratch.zeros, len(model.kind)
    for sample in range(len(positions)):
        status = move_joints(model, scratch, positions, rates, accelerations, sample)
        if status < 0:
            return status
        tree_wrenches(model, scratch)
        loads_of_joints(model, scratch)
        set_rows(tangents[SHIFT], last, tangents[TURN], still[0])
        set_rows(tangents[VELOCITY], last, tangents[SPIN], still[0])
        set_rows(tangents[ACCELERATION], last, tangents[SPIN_RATE], still[0])
        for part in range(3):
            for k in range(last):
                for joint in range(last):
                    joints[JOINTS, joint] = 1.0 if part == POSITION and joint == k else 0.0
                    joints[RATES, joint] = 1.0 if part == RATE and joint == k else 0.0
                    joints[ACCELERATIONS, joint] = 1.0 if part == SECOND and joint == k else 0.0
                pose_tangents(model, scratch, joints[JOINTS], tangents[TURN], tangents[SHIFT])
                velocity_tangents(
                    model, scratch, scratch.spin, scratch.joint_rates, joints[RATES], tangents[SPIN], tangents[VELOCITY]
                )
                acceleration_tangents(model, scratch, joints[RATES], joints[ACCELERATIONS])
                _force_tangents(model, scratch, friction, smoothing)
                if friction and model.friction_loads[0]:
                    follow_open_loads(model, scratch, smoothing)
                for joint in range(last):
                    by_joints[sample, part, joint, k] = joints[FORCES, joint]
    return OK
