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
