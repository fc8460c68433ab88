"""Joint reactions against the momentum of the whole machine: Newton's and Euler's laws for all bodies at once."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from pkm_description.arrays import Array
from pkm_description.dynamics import inverse_dynamics
from pkm_description.dynamics.reactions import joint_reactions
from pkm_description.kinematics import joint_motion
from pkm_description.kinematics.closed_legs import body_poses
from pkm_description.machine import Machine, PlatformMotion, RigidBody

from verification.check import Check, agree, at_most, relative_error
from verification.mechanics.neighbours import STEP, shifted, smooth_derivative


def reaction_checks(machine: Machine, motion: PlatformMotion) -> Iterator[Check]:
    """Forces and moments that the base exerts = rate of change of the momentum minus weight."""
    reactions = joint_reactions(machine, motion)
    error = relative_error(reactions.drive_forces, inverse_dynamics(machine, motion))
    yield at_most('reactions', 'drive forces of the reactions = inverse dynamics, relative', 1e-10, error)

    _, origins = body_poses(machine, joint_motion(machine, motion).positions)
    roots = [place for place, parent in enumerate(machine.model.parent) if parent > len(machine.joints)]
    force = reactions.joint_forces[:, roots]
    moment = np.cross(origins[:, roots], force) + reactions.joint_moments[:, roots]
    force, moment = force.sum(axis=1), moment.sum(axis=1)
    if machine.planar:
        # the plane holds the platform itself: force along z, moments about x and y
        plane = np.zeros((len(motion), 3, 2))
        along_z, about_x, about_y = reactions.constraint_multipliers[:, -3:].T
        plane[:, 2, 0], plane[:, 0, 1], plane[:, 1, 1] = along_z, about_x, about_y
        force = force + plane[..., 0]
        moment = moment + plane[..., 1] + np.cross(motion.position, plane[..., 0])
    needed = momentum_rates(machine, motion).sum(axis=0)
    for what, found, expected in (('forces', force, needed[0]), ('moments', moment, needed[1])):
        yield agree('reactions', f'{what} of the base = rate of the momentum - weight', 1e-6, found, expected)


def momentum_rates(machine: Machine, motion: PlatformMotion) -> Array:
    """Rate of momentum minus weight of platform and legs (1 + L, 2, N, 3): forces and moments."""
    rate = smooth_derivative(lambda step: momenta(machine, shifted(machine, motion, step)), STEP)
    return rate - weights(machine, motion)


def momenta(machine: Machine, motion: PlatformMotion) -> Array:
    """Momenta (1 + L, 2, N, 3) of the platform and of each leg: linear, and angular about the base's origin.

    Rotors have none.
    """
    legs = joint_motion(machine, motion)
    rotations, origins = body_poses(machine, legs.positions)
    velocities, spins = body_twists(machine, rotations, origins, legs.velocities)
    result = np.zeros((1 + machine.leg_count, 2, len(motion), 3))
    result[0] = _body_momentum(
        machine.platform,
        motion.rotation_base_platform,
        motion.position,
        motion.linear_velocity,
        motion.angular_velocity,
    )
    for leg, part in enumerate(machine.leg_slices):
        for place in range(part.start, part.stop):
            result[1 + leg] += _body_momentum(
                machine.joints[place].body, rotations[:, place], origins[:, place], velocities[:, place],
                spins[:, place],
            )  # fmt: skip
    return result


def body_twists(machine: Machine, rotations: Array, origins: Array, rates: Array) -> tuple[Array, Array]:
    """Velocities and spins (N, J, 3) of the leg bodies, from their poses and the joint rates (N, J)."""
    velocities, spins = np.zeros_like(origins), np.zeros_like(origins)
    base = len(machine.joints) + 1
    for place, joint in enumerate(machine.joints):
        before = machine.model.parent[place]
        own = rates[:, place, None] * (rotations[:, place] @ joint.axis)
        if before != base:
            arm = origins[:, place] - origins[:, before]
            spins[:, place] = spins[:, before]
            velocities[:, place] = velocities[:, before] + np.cross(spins[:, before], arm)
        (spins if joint.kind == 'revolute' else velocities)[:, place] += own
    return velocities, spins


def weights(machine: Machine, motion: PlatformMotion) -> Array:
    """Weights (1 + L, 2, N, 3) of the platform and of each leg: force, and moment about the base's origin."""
    rotations, origins = body_poses(machine, joint_motion(machine, motion).positions)
    result = np.zeros((1 + machine.leg_count, 2, len(motion), 3))
    bodies = [(0, machine.platform, motion.position, motion.rotation_base_platform)]
    for leg, part in enumerate(machine.leg_slices):
        bodies += [
            (1 + leg, machine.joints[place].body, origins[:, place], rotations[:, place])
            for place in range(part.start, part.stop)
        ]
    for group, body, origin, rotation in bodies:
        force = body.mass * machine.gravity
        result[group, 0] += force
        result[group, 1] += np.cross(origin + rotation @ body.center_of_mass, force)
    return result


def _body_momentum(body: RigidBody, rotation: Array, origin: Array, velocity: Array, spin: Array) -> Array:
    """Linear momentum, and angular momentum about the base's origin, of one body (2, N, 3)."""
    lever = rotation @ body.center_of_mass
    linear = body.mass * (velocity + np.cross(spin, lever))
    own = (rotation @ body.inertia @ np.swapaxes(rotation, 1, 2) @ spin[..., None])[..., 0]
    return np.stack([linear, np.cross(origin + lever, linear) + own])
