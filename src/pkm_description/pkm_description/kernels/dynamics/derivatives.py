"""Derivatives of the inverse dynamics of one sample, exact.

Along each direction of the coordinates the equilibrium of every joint and of the platform is differentiated with the
closure forces held: what these change by does no virtual work on motions that the closures admit, so that the
projection onto the coordinates removes it, as it removes the forces themselves (Jourdain). Only friction that depends
on the load asks for them, see :func:`~.tangents.follow_loads`.
"""

from __future__ import annotations

from pkm_description.arrays import Array
from pkm_description.kernels.dynamics.inverse_dynamics import forces_of_state
from pkm_description.kernels.dynamics.newton_euler import reactions
from pkm_description.kernels.dynamics.state import move
from pkm_description.kernels.dynamics.tangents import (
    ACCELERATION,
    ACCELERATIONS,
    JOINTS,
    NOTHING,
    RATES,
    SHIFT,
    SPIN,
    SPIN_RATE,
    TURN,
    VELOCITY,
    VIRTUAL_RATES,
    VIRTUAL_SPIN,
    VIRTUAL_SPIN_CHANGE,
    VIRTUAL_VELOCITY,
    VIRTUAL_VELOCITY_CHANGE,
    acceleration_tangents,
    closure_acceleration_tangents,
    follow_loads,
    force_tangents,
    set_rows,
)
from pkm_description.kernels.jit import kernel
from pkm_description.kernels.kinematics.closures import gap_rate_changes
from pkm_description.kernels.kinematics.drive_map import map_joints_to_drives
from pkm_description.kernels.kinematics.drive_motion import solve_drives
from pkm_description.kernels.kinematics.legs import split_bias
from pkm_description.kernels.kinematics.tree import body_velocities, velocity_changes
from pkm_description.kernels.model import OK, ModelData, ScratchData

#: coordinates: the drives, or pose and twist of the platform
DRIVES, PLATFORM = 0, 1

#: what is differentiated by
POSITION, RATE, SECOND = 0, 1, 2


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
    body_velocities(model, scratch, joints[JOINTS], tangents[TURN], tangents[SHIFT])
    # rates: what the change of pose leaves open in the closures, made up for by joints and platform
    set_rows(tangents[VELOCITY], platform, tangents[SPIN], still[0])
    velocity_changes(
        model, scratch, tangents[TURN], tangents[SHIFT], scratch.spin, scratch.joint_rates, joints[NOTHING],
        tangents[SPIN], tangents[VELOCITY],
    )  # fmt: skip
    for leg in range(legs):
        gap_rate_changes(
            model, scratch, leg, tangents[TURN], scratch.spin, tangents[SPIN], tangents[VELOCITY]
        )
        split_bias(model, scratch, leg)
    status = _complete(model, scratch, coordinates, scratch.unit if part == RATE else still, k, joints[RATES])
    if status < 0:
        return status
    set_rows(tangents[VELOCITY], platform, tangents[SPIN], scratch.twist)
    velocity_changes(
        model, scratch, tangents[TURN], tangents[SHIFT], scratch.spin, scratch.joint_rates, joints[RATES],
        tangents[SPIN], tangents[VELOCITY],
    )  # fmt: skip
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
    body_velocities(model, scratch, rates, tangents[VIRTUAL_SPIN], tangents[VIRTUAL_VELOCITY])


@kernel
def _change_shares(model: ModelData, scratch: ScratchData) -> None:
    """``scratch.drive_changes``: of how redundant drives share a force, which leave the force itself as it is.

    With ``forces = W J y`` their change has the part ``(1 - T^T J^T) W dJ y`` besides ``T^T dw``.
    """
    tangents, drives, platform = scratch.tangents, len(model.drive_joint), len(model.kind)
    spins, spin_changes = tangents[VIRTUAL_SPIN], tangents[VIRTUAL_SPIN_CHANGE]
    linear_changes, still = tangents[VIRTUAL_VELOCITY_CHANGE], scratch.zeros
    set_rows(linear_changes, platform, spin_changes, still[0])
    velocity_changes(
        model, scratch, tangents[TURN], tangents[SHIFT], spins, scratch.joint_tangents[VIRTUAL_RATES],
        scratch.joint_tangents[NOTHING], spin_changes, linear_changes,
    )  # fmt: skip
    for leg in range(len(model.closed_form)):
        gap_rate_changes(model, scratch, leg, tangents[TURN], spins, spin_changes, linear_changes)
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
    coordinates: int, forces: Array, by_drives: Array,
) -> int:  # fmt: skip
    """Derivatives of N samples by coordinates, their rates and their accelerations (second axis).

    Parameters
    ----------
    coordinates : DRIVES, for machines with one drive per degree of freedom; PLATFORM, for those whose legs do not hold
        the platform: its position and rotation vector, base axes, its twist and its acceleration
    forces : (N, A) of the drives
    by_drives : (N, 3, A, C) of the drive forces
    """
    drives = len(model.drive_joint)
    for sample in range(len(position)):
        status = move(model, scratch, start, position, rotation, linear, angular, linear_rate, angular_rate, sample)
        if status < 0:
            return status
        status = forces_of_state(model, scratch, friction, smoothing, external, forces, sample)
        if status < 0:
            return status
        reactions(model, scratch, forces, sample)
        if coordinates == DRIVES:
            map_joints_to_drives(model, scratch)
        _share_tangents(model, scratch, forces, sample)
        for part in range(3):
            for k in range(by_drives.shape[3]):
                status = _move_along(model, scratch, coordinates, part, k)
                if status < 0:
                    return status
                force_tangents(model, scratch, friction, smoothing)
                for a in range(drives):
                    scratch.drive_changes[a] = 0.0
                if part == POSITION and drives > model.degrees_of_freedom[0]:
                    _change_shares(model, scratch)
                if friction and model.friction_loads[0]:
                    status = follow_loads(model, scratch, smoothing)
                    if status < 0:
                        scratch.detail[0] = sample
                        return status
                for a in range(drives):
                    total = 0.0
                    for i in range(6):
                        total += scratch.twist_map[i, a] * scratch.wrench[i]
                    by_drives[sample, part, a, k] = total + scratch.drive_changes[a]
    return OK
