"""Inverse dynamics of one sample: drive forces, joint reactions and friction of a motion."""

from __future__ import annotations

from pkm_description.arrays import Array
from pkm_description.kernels.dynamics.newton_euler import (
    add_force_of_joints,
    add_friction,
    body_wrench,
    closure_wrench,
    drive_forces,
    force_on_twist,
    joint_forces,
    joint_wrenches,
    loads_of_joints,
    reactions,
    tree_wrenches,
)
from pkm_description.kernels.dynamics.state import move
from pkm_description.kernels.friction import HELD, friction_of_joints
from pkm_description.kernels.jit import kernel
from pkm_description.kernels.kinematics.drive_map import map_drives
from pkm_description.kernels.kinematics.legs import accelerations_of_joints, bias_of_joints
from pkm_description.kernels.kinematics.tree import body_accelerations, body_velocities, set_of_platform
from pkm_description.kernels.linalg import store
from pkm_description.kernels.model import FRICTION_NOT_SETTLED, OK, REVOLUTE, ModelData, ScratchData

PLATFORM_INERTIA, LEG_INERTIA, CORIOLIS, CENTRIPETAL, PLATFORM_WEIGHT, LEG_WEIGHT, FRICTION, ROTOR = range(8)

#: joints whose rates count: none, revolute ones, prismatic ones, all
NONE, TURNING, SLIDING, EVERY = 0, 1, 2, 3

_NO_VECTOR = 0.0, 0.0, 0.0
#: change of the loads, relative to the largest one of the sample, at which they count as settled
LOAD_TOLERANCE = 1e-11
MOST_LOADS = 100


@kernel
def needed_forces(
    model: ModelData, scratch: ScratchData, friction: bool, external: Array, sample: int
) -> None:
    """``scratch.joint_forces`` and ``scratch.wrench`` of the state, with ``scratch.friction`` where it counts."""
    tree_wrenches(model, scratch)
    joint_forces(model, scratch)
    if friction:
        add_friction(model, scratch)
    force_on_twist(model, scratch, external, sample)


@kernel
def forces_of_state(
    model: ModelData, scratch: ScratchData, friction: bool, smoothing: float, external: Array, forces: Array,
    sample: int,
) -> int:  # fmt: skip
    """Drive forces of the state into a row of (N, A), friction in equilibrium with the forces in the joints.

    Drives that are not redundant take the friction of their own joints over, so that it changes no other force: its
    loads need no iteration (Rosyid & El-Khasawneh 2020, Eq. 18). Redundant drives share it, and friction of passive
    joints changes the reactions on which it depends; there loads and friction are iterated to a fixed point.
    """
    for joint in range(len(model.kind)):
        scratch.loads[joint] = 0.0
    if friction:
        friction_of_joints(model, scratch, smoothing)
    needed_forces(model, scratch, friction, external, sample)
    status = map_drives(model, scratch)
    if status < 0:
        return status
    drive_forces(model, scratch, forces, sample)
    if not friction or model.friction_loads[0] == 0:
        return OK
    return _settle_loads(model, scratch, smoothing, external, forces, sample)


@kernel
def _settle_loads(
    model: ModelData, scratch: ScratchData, smoothing: float, external: Array, forces: Array, sample: int
) -> int:
    """Iterate friction, its loads and the drive forces, from needed forces without."""
    for iteration in range(MOST_LOADS):
        for joint in range(len(model.kind)):
            scratch.last_loads[joint] = scratch.loads[joint]
        reactions(model, scratch, forces, sample)
        loads_of_joints(model, scratch)
        if iteration > 0 and loads_settled(model, scratch):
            return OK
        friction_of_joints(model, scratch, smoothing)
        needed_forces(model, scratch, True, external, sample)
        drive_forces(model, scratch, forces, sample)
        if model.friction_loads[0] == 1:
            return OK
    return FRICTION_NOT_SETTLED


@kernel
def loads_settled(model: ModelData, scratch: ScratchData) -> bool:
    """Whether the loads are as they were in the iteration before; ``detail[2]`` is their largest change."""
    change, size = 0.0, 0.0
    for joint in range(len(model.kind)):
        difference = abs(scratch.loads[joint] - scratch.last_loads[joint])
        if not difference <= change:
            change = difference
        size = max(size, scratch.loads[joint])
    scratch.detail[2] = change
    return change <= LOAD_TOLERANCE * size


@kernel
def inverse_dynamics(
    model: ModelData, scratch: ScratchData, start: Array, position: Array, rotation: Array, linear: Array,
    angular: Array, linear_rate: Array, angular_rate: Array, friction: bool, smoothing: float, external: Array,
    forces: Array, beside: int,
) -> int:  # fmt: skip
    """Drive forces (N, A) of N samples of the platform's motion.

    Of each ``beside`` samples the later ones are small changes of the first, whose exact signs of velocities they keep.
    """
    for sample in range(len(position)):
        status = move(model, scratch, start, position, rotation, linear, angular, linear_rate, angular_rate, sample)
        if status < 0:
            return status
        signs = HELD if smoothing == 0.0 and sample % beside else smoothing
        status = forces_of_state(model, scratch, friction, signs, external, forces, sample)
        if status < 0:
            return status
    return OK


@kernel
def all_forces(
    model: ModelData, scratch: ScratchData, start: Array, position: Array, rotation: Array, linear: Array,
    angular: Array, linear_rate: Array, angular_rate: Array, friction: bool, smoothing: float, external: Array,
    forces: Array, shares: Array, loads: Array, closure_forces: Array, closure_moments: Array, joint_wrenches: Array,
    multipliers: Array,
) -> int:  # fmt: skip
    """Forces of N samples in drives, closures and joints, and what friction has to do with them.

    Parameters
    ----------
    forces, shares : (N, A) forces of the drives, and friction's share of them
    loads : (N, J) forces across the joints
    closure_forces, closure_moments : (N, C, 3) of each closure's body on the other one, moments about its point
    joint_wrenches : (N, J, 6) force and moment about the joint's origin that each body gets through its joint
    multipliers : (N, K) along the rows of ``scratch.constraints``
    """
    for sample in range(len(position)):
        status = move(model, scratch, start, position, rotation, linear, angular, linear_rate, angular_rate, sample)
        if status < 0:
            return status
        status = forces_of_state(model, scratch, friction, smoothing, external, forces, sample)
        if status < 0:
            return status
        reactions(model, scratch, forces, sample)
        loads_of_joints(model, scratch)
        for joint in range(len(model.kind)):
            loads[sample, joint] = scratch.loads[joint]
            for i in range(3):
                joint_wrenches[sample, joint, i] = scratch.force[joint, i]
                joint_wrenches[sample, joint, 3 + i] = scratch.moment[joint, i]
        for leg in range(len(model.closed_form)):
            for closure in range(model.closure_start[leg], model.closure_start[leg + 1]):
                force, moment = closure_wrench(model, scratch, leg, closure)
                for i in range(3):
                    closure_forces[sample, closure, i] = -force[i]
                    closure_moments[sample, closure, i] = -moment[i]
        for row in range(len(scratch.constraints)):
            multipliers[sample, row] = scratch.constraint_forces[row]
        friction_share(model, scratch, friction, shares, sample)
    return OK


@kernel
def friction_share(model: ModelData, scratch: ScratchData, friction: bool, shares: Array, sample: int) -> None:
    """Share of ``scratch.friction`` in the drive forces into a row of (N, A)."""
    for i in range(6):
        scratch.wrench[i] = 0.0
    for joint in range(len(model.kind)):
        scratch.joint_forces[joint] = scratch.friction[joint] if friction else 0.0
    add_force_of_joints(model, scratch)
    drive_forces(model, scratch, shares, sample)


@kernel
def _rates(model: ModelData, scratch: ScratchData, rates: Array, which: int) -> None:
    """Let some joints move at their rates, and map what that alone makes of the accelerations of all joints."""
    for joint in range(len(model.kind)):
        turning = model.kind[joint] == REVOLUTE
        counts = which == EVERY or (which == TURNING and turning) or (which == SLIDING and not turning)
        scratch.joint_rates[joint] = rates[joint] if counts else 0.0
    body_velocities(model, scratch, scratch.joint_rates, scratch.spin, scratch.velocity)
    bias_of_joints(model, scratch)


@kernel
def _add_legs(
    model: ModelData, scratch: ScratchData, sign: float, terms: Array, term: int, rotor: float, sample: int
) -> None:
    """Add the drive forces of the legs' bodies in their present state; of rotors to their own term, times ``rotor``."""
    accelerations_of_joints(model, scratch)
    body_accelerations(model, scratch, scratch.joint_accelerations)
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
        set_of_platform(scratch.acceleration, scratch.spin_rate, linear_rate, angular_rate, sample)
        _add_legs(model, scratch, 1.0, terms, LEG_INERTIA, 1.0, sample)
        _add_platform(model, scratch, 1.0, terms, PLATFORM_INERTIA, sample)
        for a in range(len(model.drive_joint)):
            legs, weight = terms[LEG_WEIGHT, sample, a], terms[PLATFORM_WEIGHT, sample, a]
            terms[LEG_INERTIA, sample, a] -= legs
            terms[PLATFORM_INERTIA, sample, a] -= weight
            terms[CENTRIPETAL, sample, a] -= terms[CORIOLIS, sample, a] + legs + weight
    return OK
