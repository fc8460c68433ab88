"""Joint reactions against the momentum of the whole machine: Newton's and Euler's laws for all bodies at once."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from pkm_description.dynamics import inverse_dynamics
from pkm_description.dynamics.reactions import joint_reactions
from pkm_description.kinematics.chain import chain_velocities
from pkm_description.kinematics.leg_motion import close_legs
from pkm_description.mechanism import Mechanism
from pkm_description.motion import PlatformMotion
from pkm_description.verification.check import Check, at_most, relative_error
from pkm_description.verification.neighbours import shifted, smooth_derivative

Array = NDArray[np.float64]

#: s, of finite differences
STEP = 2e-4


def reaction_checks(mechanism: Mechanism, motion: PlatformMotion) -> Iterator[Check]:
    """Forces and moments that the base exerts = rate of change of the momentum minus weight."""
    reactions = joint_reactions(mechanism, motion)
    error = relative_error(reactions.drive_forces, inverse_dynamics(mechanism, motion))
    yield at_most('reactions', 'drive forces of the reactions = inverse dynamics, relative', 1e-10, error)

    legs = close_legs(mechanism, motion.position, motion.rotation_base_platform)
    force = reactions.joint_forces[:, :, 0]
    moment = np.cross(legs.chain.origins[0], force) + reactions.joint_moments[:, :, 0]
    force, moment = force.sum(axis=1), moment.sum(axis=1)
    if mechanism.planar:
        # the plane holds the platform itself: force along z, moments about x and y
        plane = np.zeros((len(motion), 3, 2))
        along_z, about_x, about_y = reactions.constraint_multipliers[:, -3:].T
        plane[:, 2, 0], plane[:, 0, 1], plane[:, 1, 1] = along_z, about_x, about_y
        force = force + plane[..., 0]
        moment = moment + plane[..., 1] + np.cross(motion.position, plane[..., 0])
    rate = smooth_derivative(lambda step: np.stack(momentum(mechanism, shifted(mechanism, motion, step))), STEP)
    linear, angular = rate
    mass, first_moment = weight(mechanism, motion)
    for what, found, expected in (
        ('forces', force, linear - mass * mechanism.gravity),
        ('moments', moment, angular - np.cross(first_moment, mechanism.gravity)),
    ):
        error = relative_error(found, expected)
        yield at_most('reactions', f'{what} of the base = rate of the momentum - weight, relative', 1e-6, error)


def momentum(mechanism: Mechanism, motion: PlatformMotion) -> tuple[Array, Array]:
    """Linear and angular momentum about the base's origin, (N, 3) each, of platform and legs (not of rotors)."""
    legs = close_legs(mechanism, motion.position, motion.rotation_base_platform)
    velocities = (legs.joint_map @ motion.twist[:, None, :, None])[..., 0]
    rates = chain_velocities(mechanism, legs.chain, velocities)
    machine = mechanism.machine
    bodies = [
        (
            machine.platform,
            motion.rotation_base_platform,
            motion.position,
            motion.linear_velocity,
            motion.angular_velocity,
        )
    ]
    for leg, described in enumerate(machine.legs):
        bodies += [
            (
                joint.body,
                legs.chain.rotations[place][:, leg],
                legs.chain.origins[place][:, leg],
                rates.linear[place][:, leg],
                rates.angular[place][:, leg],
            )
            for place, joint in enumerate(described.joints)
        ]
    linear, angular = np.zeros_like(motion.position), np.zeros_like(motion.position)
    for body, rotation, origin, velocity, spin in bodies:
        lever = rotation @ body.center_of_mass
        impulse = body.mass * (velocity + np.cross(spin, lever))
        own = (rotation @ body.inertia @ np.swapaxes(rotation, 1, 2) @ spin[..., None])[..., 0]
        linear = linear + impulse
        angular = angular + np.cross(origin + lever, impulse) + own
    return linear, angular


def weight(mechanism: Mechanism, motion: PlatformMotion) -> tuple[float, Array]:
    """Mass of all bodies, and their first moment about the base's origin (N, 3)."""
    machine = mechanism.machine
    chain = close_legs(mechanism, motion.position, motion.rotation_base_platform).chain
    mass = machine.platform.mass
    first = mass * (motion.position + motion.rotation_base_platform @ machine.platform.center_of_mass)
    for leg, described in enumerate(machine.legs):
        for place, joint in enumerate(described.joints):
            center = chain.origins[place][:, leg] + chain.rotations[place][:, leg] @ joint.body.center_of_mass
            mass, first = mass + joint.body.mass, first + joint.body.mass * center
    return mass, first
