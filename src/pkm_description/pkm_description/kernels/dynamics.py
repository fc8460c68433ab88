"""Newton-Euler's equations of all bodies, and their forces on joints, platform and drives."""

from __future__ import annotations

from pkm_description.arrays import Array
from pkm_description.kernels.body_map import inertia_times
from pkm_description.kernels.jit import kernel
from pkm_description.kernels.model import REVOLUTE, ModelData, ScratchData
from pkm_description.kernels.vectors import cross, dot, minus, plus, store, times, turned, turned_back, vector


@kernel
def body_wrench(model: ModelData, scratch: ScratchData, body: int) -> None:
    """Force and moment about its frame's origin that a body alone needs: Newton's and Euler's equations.

    ``f = m a + alpha x c + w x (w x c)``, ``n = c x a + I alpha + w x (I w)`` with the first moment c, all in body
    axes, and a the acceleration of the origin less gravity (Heimann & Abdellatif, Eq. 1).
    """
    p, rotation = model.parameters, scratch.rotation
    w = turned_back(rotation, body, vector(scratch.spin, body))
    alpha = turned_back(rotation, body, vector(scratch.spin_rate, body))
    gravity = model.gravity[0], model.gravity[1], model.gravity[2]
    a = turned_back(rotation, body, minus(vector(scratch.acceleration, body), gravity))
    mass, c = p[body, 0], (p[body, 1], p[body, 2], p[body, 3])
    force = plus(times(mass, a), plus(cross(alpha, c), cross(w, cross(w, c))))
    momentum, momentum_rate = inertia_times(p, body, w), inertia_times(p, body, alpha)
    moment = plus(cross(c, a), plus(momentum_rate, cross(w, momentum)))
    store(scratch.force, body, turned(rotation, body, force))
    store(scratch.moment, body, turned(rotation, body, moment))


@kernel
def tree_wrenches(model: ModelData, scratch: ScratchData) -> None:
    """Wrench that each body needs from the joint before it; the legs are cut open at their closures."""
    for body in range(len(model.kind) + 1):
        body_wrench(model, scratch, body)
    joint_wrenches(model, scratch)


@kernel
def joint_wrenches(model: ModelData, scratch: ScratchData) -> None:
    """Sum what the bodies alone need from the ends of the legs to the base; moments about each body frame's origin."""
    joints, parents = len(model.kind), model.parent
    forces, moments, origins = scratch.force, scratch.moment, scratch.origin
    for body in range(joints - 1, -1, -1):
        parent = parents[body]
        if parent >= joints:
            continue
        force = vector(forces, body)
        arm = minus(vector(origins, body), vector(origins, parent))
        store(forces, parent, plus(vector(forces, parent), force))
        store(moments, parent, plus(vector(moments, parent), plus(vector(moments, body), cross(arm, force))))


@kernel
def joint_forces(model: ModelData, scratch: ScratchData) -> None:
    """Part of the joints' wrenches along their axes, and the force that turns rotors, into ``scratch.joint_forces``."""
    kind, rotor, needed, axes = model.kind, model.rotor_inertia, scratch.joint_forces, scratch.axis
    forces, moments, accelerations = scratch.force, scratch.moment, scratch.joint_accelerations
    for joint in range(len(kind)):
        works = vector(moments, joint) if kind[joint] == REVOLUTE else vector(forces, joint)
        needed[joint] = dot(vector(axes, joint), works) + rotor[joint] * accelerations[joint]


@kernel
def add_friction(model: ModelData, scratch: ScratchData) -> None:
    """Add ``scratch.friction`` to the forces that the joints need."""
    needed, friction = scratch.joint_forces, scratch.friction
    for joint in range(len(friction)):
        needed[joint] += friction[joint]


@kernel
def force_on_twist(model: ModelData, scratch: ScratchData, external: Array, sample: int) -> None:
    """Force dual to the platform's twist into ``scratch.wrench``: the platform's own wrench and ``sum G^T tau``.

    Virtual power (Jourdain): reactions in passive joints do no work and drop out. Wrenches of the surroundings on the
    platform, one (1, 6) for all samples or (N, 6), help the drives.
    """
    platform = len(model.kind)
    row = sample if len(external) > 1 else 0
    for i in range(3):
        scratch.wrench[i] = scratch.force[platform, i] - external[row, i]
        scratch.wrench[3 + i] = scratch.moment[platform, i] - external[row, 3 + i]
    add_force_of_joints(model, scratch)


@kernel
def add_force_of_joints(model: ModelData, scratch: ScratchData) -> None:
    """Add ``sum G^T tau`` of ``scratch.joint_forces`` to ``scratch.wrench``."""
    needed, joint_map, wrench = scratch.joint_forces, scratch.joint_map, scratch.wrench
    for joint in range(len(needed)):
        for i in range(6):
            wrench[i] += joint_map[joint, i] * needed[joint]


@kernel
def drive_forces(model: ModelData, scratch: ScratchData, forces: Array, sample: int) -> None:
    """Drive forces of ``scratch.wrench`` into one row of forces (N, A)."""
    twist_map, wrench = scratch.twist_map, scratch.wrench
    for a in range(len(model.drive_joint)):
        total = 0.0
        for i in range(6):
            total += twist_map[i, a] * wrench[i]
        forces[sample, a] = total
