"""Motion of the tree of joints: pose, velocity and acceleration of every body, from base to platform."""

from __future__ import annotations

import math

from pkm_description.arrays import Array
from pkm_description.kernels.jit import kernel
from pkm_description.kernels.linalg import Vector, cross, dot, minus, plus, store, times, turned, turned_back, vector
from pkm_description.kernels.model import REVOLUTE, ModelData, ScratchData


@kernel
def body_pose(model: ModelData, scratch: ScratchData, joint: int, position: float) -> None:
    """Pose of the body behind a joint at a position [rad, m]; the body before it must be placed already."""
    parent = model.parent[joint]
    rotation = scratch.rotation
    # the joint frame at zero position, in base axes
    for i in range(3):
        for k in range(3):
            rotation[joint, i, k] = (
                rotation[parent, i, 0] * model.rotation[joint, 0, k]
                + rotation[parent, i, 1] * model.rotation[joint, 1, k]
                + rotation[parent, i, 2] * model.rotation[joint, 2, k]
            )
    origin = plus(vector(scratch.origin, parent), turned(rotation, parent, vector(model.translation, joint)))
    axis = turned(rotation, joint, vector(model.axis, joint))
    store(scratch.axis, joint, axis)
    if model.kind[joint] == REVOLUTE:
        turn_about(rotation, joint, axis, position)
    else:
        origin = plus(origin, times(position, axis))
    store(scratch.origin, joint, origin)


@kernel
def turn_about(rotations: Array, index: int, axis: tuple[float, float, float], angle: float) -> None:
    """Turn a rotation about a unit vector in base axes: Rodrigues' formula for each of its columns."""
    sine, cosine = math.sin(angle), math.cos(angle)
    for column in range(3):
        a = rotations[index, 0, column], rotations[index, 1, column], rotations[index, 2, column]
        along = (1.0 - cosine) * (axis[0] * a[0] + axis[1] * a[1] + axis[2] * a[2])
        across = cross(axis, a)
        for i in range(3):
            rotations[index, i, column] = cosine * a[i] + sine * across[i] + along * axis[i]


@kernel
def leg_poses(model: ModelData, scratch: ScratchData, leg: int) -> None:
    """Poses of the bodies of a leg at ``scratch.joints``."""
    for joint in range(model.joint_start[leg], model.joint_start[leg + 1]):
        body_pose(model, scratch, joint, scratch.joints[joint])


@kernel
def set_platform(
    model: ModelData, scratch: ScratchData, position: Array, rotation: Array, row: int
) -> None:
    """Place the platform at one row of poses (N, 3) m, (N, 3, 3)."""
    platform = len(model.kind)
    for i in range(3):
        scratch.origin[platform, i] = position[row, i]
        for k in range(3):
            scratch.rotation[platform, i, k] = rotation[row, i, k]


@kernel
def set_of_platform(rows: Array, turns: Array, linear: Array, angular: Array, row: int) -> None:
    """Set the platform's place in ``rows`` and ``turns`` (J + 2, 3): one row of (N, 3) and (N, 3), base axes."""
    for i in range(3):
        rows[-2, i], turns[-2, i] = linear[row, i], angular[row, i]


@kernel
def body_velocities(model: ModelData, scratch: ScratchData, rates: Array, spins: Array, velocities: Array) -> None:
    """Velocities of the leg bodies from joint rates (J,).

    Parameters
    ----------
    spins, velocities : (J + 2, 3) of all bodies, base axes; those of the platform are given
    """
    for joint in range(len(model.kind)):
        parent, own = model.parent[joint], times(rates[joint], vector(scratch.axis, joint))
        arm = minus(vector(scratch.origin, joint), vector(scratch.origin, parent))
        spin = vector(spins, parent)
        velocity = plus(vector(velocities, parent), cross(spin, arm))
        if model.kind[joint] == REVOLUTE:
            spin = plus(spin, own)
        else:
            velocity = plus(velocity, own)
        store(spins, joint, spin)
        store(velocities, joint, velocity)


@kernel
def body_accelerations(model: ModelData, scratch: ScratchData, accelerations: Array) -> None:
    """Accelerations of all leg bodies from ``scratch.joint_rates`` and joint accelerations (J,)."""
    spins, spin_rates = scratch.spin, scratch.spin_rate
    for joint in range(len(model.kind)):
        parent, axis = model.parent[joint], vector(scratch.axis, joint)
        turn = vector(spins, parent)
        arm = minus(vector(scratch.origin, joint), vector(scratch.origin, parent))
        arm_rate = minus(vector(scratch.velocity, joint), vector(scratch.velocity, parent))
        own = plus(times(accelerations[joint], axis), times(scratch.joint_rates[joint], cross(turn, axis)))
        spin = vector(spin_rates, parent)
        linear = plus(vector(scratch.acceleration, parent), plus(cross(spin, arm), cross(turn, arm_rate)))
        if model.kind[joint] == REVOLUTE:
            spin = plus(spin, own)
        else:
            linear = plus(linear, own)
        store(spin_rates, joint, spin)
        store(scratch.acceleration, joint, linear)


@kernel
def map_bodies(model: ModelData, scratch: ScratchData, joints: Array, platform: Array, count: int) -> None:
    """``scratch.body_map``: twists of all bodies per coordinate, from those of the joints (J, >= count).

    The twist of a body is that of the body before it, taken to its own origin, and its joint's.

    Parameters
    ----------
    platform : (6, >= count) the platform's twist per coordinate; not read in open chains
    count : number of coordinates
    """
    twists, last = scratch.body_map, len(model.kind)
    kind, parents, axes, origins = model.kind, model.parent, scratch.axis, scratch.origin
    for joint in range(last):
        parent, axis, turns = parents[joint], vector(axes, joint), kind[joint] == REVOLUTE
        arm = minus(vector(origins, joint), vector(origins, parent))
        for k in range(count):
            velocity, spin = column(twists, parent, k)
            velocity = plus(velocity, cross(spin, arm))
            own = times(joints[joint, k], axis)
            if turns:
                spin = plus(spin, own)
            else:
                velocity = plus(velocity, own)
            for i in range(3):
                twists[joint, k, i] = velocity[i]
                twists[joint, k, 3 + i] = spin[i]
    if len(model.freedom):
        for k in range(count):
            for i in range(6):
                twists[last, k, i] = platform[i, k]


@kernel
def column(twists: Array, body: int, k: int) -> tuple[Vector, Vector]:
    """Velocity and spin of a body per coordinate k, base axes, of ``scratch.body_map``."""
    return (
        (twists[body, k, 0], twists[body, k, 1], twists[body, k, 2]),
        (twists[body, k, 3], twists[body, k, 4], twists[body, k, 5]),
    )


@kernel
def inertia_times(p: Array, body: int, w: Vector) -> Vector:
    """``I w`` about the origin of the body frame, body axes; parameters p (J + 1, 10)."""
    return (
        p[body, 4] * w[0] + p[body, 5] * w[1] + p[body, 6] * w[2],
        p[body, 5] * w[0] + p[body, 7] * w[1] + p[body, 8] * w[2],
        p[body, 6] * w[0] + p[body, 8] * w[1] + p[body, 9] * w[2],
    )


@kernel
def mass_of_map(model: ModelData, scratch: ScratchData, joints: Array, count: int) -> None:
    """``scratch.mass`` of the coordinates of :func:`map_bodies`: ``sum J^T [momentum of J]``, and rotors."""
    mass, twists, rotation = scratch.mass, scratch.body_map, scratch.rotation
    p, rotor = model.parameters, model.rotor_inertia
    for i in range(count):
        for k in range(i + 1):
            total = 0.0
            for joint in range(len(rotor)):
                total += rotor[joint] * joints[joint, i] * joints[joint, k]
            mass[i, k] = total
    for body in range(len(rotor) + (1 if len(model.freedom) else 0)):
        c = p[body, 1], p[body, 2], p[body, 3]
        for i in range(count):
            velocity, spin = column(twists, body, i)
            v, w = turned_back(rotation, body, velocity), turned_back(rotation, body, spin)
            momentum = plus(times(p[body, 0], v), cross(w, c))
            angular = plus(inertia_times(p, body, w), cross(c, v))
            for k in range(i + 1):
                other_velocity, other_spin = column(twists, body, k)
                mass[i, k] += dot(momentum, turned_back(rotation, body, other_velocity)) + dot(
                    angular, turned_back(rotation, body, other_spin)
                )
    for i in range(count):
        for k in range(i):
            mass[k, i] = mass[i, k]
