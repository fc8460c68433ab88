"""Drive forces of one sample split into inertia, Coriolis, centripetal and gravity terms of platform and legs."""

from __future__ import annotations

from pkm_description.arrays import Array
from pkm_description.kernels.dynamics import (
    add_force_of_joints,
    body_wrench,
    drive_forces,
    joint_forces,
    joint_wrenches,
)
from pkm_description.kernels.inverse_dynamics import forces_of_state, friction_share
from pkm_description.kernels.jit import kernel
from pkm_description.kernels.legs import accelerations_of_joints, bias_of_joints
from pkm_description.kernels.model import REVOLUTE, ModelData, ScratchData
from pkm_description.kernels.state import move
from pkm_description.kernels.status import OK
from pkm_description.kernels.tree import body_accelerations, body_velocities, set_platform_acceleration
from pkm_description.kernels.vectors import store

PLATFORM_INERTIA, LEG_INERTIA, CORIOLIS, CENTRIPETAL, PLATFORM_WEIGHT, LEG_WEIGHT, FRICTION, ROTOR = range(8)

#: joints whose rates count: none, revolute ones, prismatic ones, all
NONE, TURNING, SLIDING, EVERY = 0, 1, 2, 3

_NO_VECTOR = 0.0, 0.0, 0.0


@kernel
def _rates(model: ModelData, scratch: ScratchData, rates: Array, which: int) -> None:
    """Let some joints move at their rates, and map what that alone makes of the accelerations of all joints."""
    for joint in range(len(model.kind)):
        turning = model.kind[joint] == REVOLUTE
        counts = which == EVERY or (which == TURNING and turning) or (which == SLIDING and not turning)
        scratch.joint_rates[joint] = rates[joint] if counts else 0.0
    body_velocities(model, scratch, scratch.joint_rates)
    bias_of_joints(model, scratch)


@kernel
def _add_legs(
    model: ModelData, scratch: ScratchData, sign: float, terms: Array, term: int, rotor: float, sample: int
) -> None:
    """Add the drive forces of the legs' bodies in their present state; of rotors to their own term, times ``rotor``."""
    accelerations_of_joints(model, scratch)
    body_accelerations(model, scratch, scratch.joint_rates, scratch.joint_accelerations)
    for body in range(len(model.kind)):
        body_wrench(model, scratch, body)
    joint_wrenches(model, scratch)
    joint_forces(model, scratch)
    for joint in range(len(model.kind)):
        scratch.joint_forces[joint] -= model.rotor_inertia[joint] * scratch.joint_accelerations[joint]
    _clear_wrench(scratch)
    add_force_of_joints(model, scratch)
    _add(model, scratch, sign, terms, term, sample)
    if rotor != 0.0:
        for joint in range(len(model.kind)):
            scratch.joint_forces[joint] = model.rotor_inertia[joint] * scratch.joint_accelerations[joint]
        _clear_wrench(scratch)
        add_force_of_joints(model, scratch)
        _add(model, scratch, rotor, terms, ROTOR, sample)


@kernel
def _add_platform(
    model: ModelData, scratch: ScratchData, sign: float, terms: Array, term: int, sample: int
) -> None:
    """Add the drive forces of the platform in its present state."""
    platform = len(model.kind)
    body_wrench(model, scratch, platform)
    for i in range(3):
        scratch.wrench[i] = scratch.force[platform, i]
        scratch.wrench[3 + i] = scratch.moment[platform, i]
    _add(model, scratch, sign, terms, term, sample)


@kernel
def _clear_wrench(scratch: ScratchData) -> None:
    for i in range(6):
        scratch.wrench[i] = 0.0


@kernel
def _add(model: ModelData, scratch: ScratchData, sign: float, terms: Array, term: int, sample: int) -> None:
    drive_forces(model, scratch, scratch.forces, 0)
    for a in range(len(model.drive_joint)):
        terms[term, sample, a] += sign * scratch.forces[0, a]


@kernel
def force_terms(
    model: ModelData, scratch: ScratchData, start: Array, position: Array, rotation: Array, linear: Array,
    angular: Array, linear_rate: Array, angular_rate: Array, friction: bool, smoothing: float, external: Array,
    terms: Array,
) -> int:  # fmt: skip
    """Terms (8, N, A) of the drive forces, zero before: what bodies at rest need, and what parts of the motion add.

    All is quadratic in the velocities, so that shares of single joints and of their products can be told apart:
    Coriolis terms are what sliding and turning joints make together more than each kind alone, while the platform
    rests.
    """
    platform, rates = len(model.kind), scratch.vector_2
    for sample in range(len(position)):
        status = move(model, scratch, start, position, rotation, linear, angular, linear_rate, angular_rate, sample)
        if status < 0:
            return status
        status = forces_of_state(model, scratch, friction, smoothing, external, scratch.forces, 0)
        if status < 0:
            return status
        friction_share(model, scratch, friction, terms[FRICTION], sample)
        for joint in range(platform):
            rates[joint] = scratch.joint_rates[joint]
        # all velocities, no acceleration: Coriolis and centripetal terms together, and weight
        _rates(model, scratch, rates, EVERY)
        _add_legs(model, scratch, 1.0, terms, CENTRIPETAL, 1.0, sample)
        _add_platform(model, scratch, 1.0, terms, CENTRIPETAL, sample)
        # the platform rests
        store(scratch.velocity, platform, _NO_VECTOR)
        store(scratch.spin, platform, _NO_VECTOR)
        for part in range(3):
            which, sign = EVERY - part, 1.0 if part == 0 else -1.0
            _rates(model, scratch, rates, which)
            _add_legs(model, scratch, sign, terms, CORIOLIS, 0.0, sample)
        # Coriolis terms have the weight once too little
        _rates(model, scratch, rates, NONE)
        _add_legs(model, scratch, 1.0, terms, CORIOLIS, 0.0, sample)
        _add_legs(model, scratch, 1.0, terms, LEG_WEIGHT, 0.0, sample)
        _add_platform(model, scratch, 1.0, terms, PLATFORM_WEIGHT, sample)
        set_platform_acceleration(model, scratch, linear_rate, angular_rate, sample)
        _add_legs(model, scratch, 1.0, terms, LEG_INERTIA, 1.0, sample)
        _add_platform(model, scratch, 1.0, terms, PLATFORM_INERTIA, sample)
        for a in range(len(model.drive_joint)):
            legs, weight = terms[LEG_WEIGHT, sample, a], terms[PLATFORM_WEIGHT, sample, a]
            terms[LEG_INERTIA, sample, a] -= legs
            terms[PLATFORM_INERTIA, sample, a] -= weight
            terms[CENTRIPETAL, sample, a] -= terms[CORIOLIS, sample, a] + legs + weight
    return OK
