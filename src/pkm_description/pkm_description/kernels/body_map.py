"""Twists of all bodies per coordinate: columns of the bodies' Jacobians, and the mass matrix that they make."""

from __future__ import annotations

from pkm_description.arrays import Array
from pkm_description.kernels.jit import kernel
from pkm_description.kernels.model import REVOLUTE, ModelData, ScratchData
from pkm_description.kernels.vectors import Vector, cross, dot, minus, plus, times, turned_back, vector


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
    for joint in range(last):
        parent, axis = model.parent[joint], vector(scratch.axis, joint)
        arm = minus(vector(scratch.origin, joint), vector(scratch.origin, parent))
        for k in range(count):
            velocity, spin = column(scratch, parent, k)
            velocity = plus(velocity, cross(spin, arm))
            own = times(joints[joint, k], axis)
            if model.kind[joint] == REVOLUTE:
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
def column(scratch: ScratchData, body: int, k: int) -> tuple[Vector, Vector]:
    """Velocity and spin of a body per coordinate k, base axes."""
    t = scratch.body_map
    return (t[body, k, 0], t[body, k, 1], t[body, k, 2]), (t[body, k, 3], t[body, k, 4], t[body, k, 5])


@kernel
def inertia_times(model: ModelData, body: int, w: Vector) -> Vector:
    """``I w`` about the origin of the body frame, body axes."""
    p = model.parameters
    return (
        p[body, 4] * w[0] + p[body, 5] * w[1] + p[body, 6] * w[2],
        p[body, 5] * w[0] + p[body, 7] * w[1] + p[body, 8] * w[2],
        p[body, 6] * w[0] + p[body, 8] * w[1] + p[body, 9] * w[2],
    )


@kernel
def mass_of_map(model: ModelData, scratch: ScratchData, joints: Array, count: int) -> None:
    """``scratch.mass`` of the coordinates of :func:`map_bodies`: ``sum J^T [momentum of J]``, and rotors."""
    mass = scratch.mass
    for i in range(count):
        for k in range(i + 1):
            total = 0.0
            for joint in range(len(model.kind)):
                total += model.rotor_inertia[joint] * joints[joint, i] * joints[joint, k]
            mass[i, k] = total
    for body in range(len(model.kind) + (1 if len(model.freedom) else 0)):
        p = model.parameters
        c = p[body, 1], p[body, 2], p[body, 3]
        for i in range(count):
            velocity, spin = column(scratch, body, i)
            v, w = turned_back(scratch.rotation, body, velocity), turned_back(scratch.rotation, body, spin)
            momentum = plus(times(p[body, 0], v), cross(w, c))
            angular = plus(inertia_times(model, body, w), cross(c, v))
            for k in range(i + 1):
                other_velocity, other_spin = column(scratch, body, k)
                mass[i, k] += dot(momentum, turned_back(scratch.rotation, body, other_velocity)) + dot(
                    angular, turned_back(scratch.rotation, body, other_spin)
                )
    for i in range(count):
        for k in range(i):
            mass[k, i] = mass[i, k]
