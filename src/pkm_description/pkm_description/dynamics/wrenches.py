"""Newton-Euler wrenches of moving bodies: of one body, of the platform, and along the legs without the platform."""

from __future__ import annotations

import numpy as np

from pkm_description.arrays import Array
from pkm_description.kinematics.chain import ChainPose, ChainRates
from pkm_description.kinematics.rotation import cross
from pkm_description.machine import Machine, PlatformMotion


def inertia_matrices(parameters: Array) -> Array:
    """Inertia matrices (..., 3, 3) about the body frame's origin of inertial parameters (..., 10)."""
    return parameters[..., [4, 5, 6, 5, 7, 8, 6, 8, 9]].reshape(*parameters.shape[:-1], 3, 3)


def platform_wrench(machine: Machine, motion: PlatformMotion) -> Array:
    """Force and moment about the platform's origin (N, 6), base axes, that the platform alone needs."""
    force, moment = inertial_wrench(
        machine.platform_parameters,
        motion.rotation_base_platform,
        motion.angular_velocity,
        motion.angular_acceleration,
        motion.linear_acceleration - machine.gravity,
    )
    return np.concatenate([force, moment], axis=-1)


def inertial_wrench(
    parameters: Array,
    rotation: Array,
    angular_velocity: Array,
    angular_acceleration: Array,
    proper_acceleration: Array,
) -> tuple[Array, Array]:
    """Force and moment about the body frame's origin (..., 3), base axes, that move a body (Newton-Euler).

    Parameters
    ----------
    parameters : (..., 10) inertial parameters in body axes
    rotation : (..., 3, 3), body axes to base axes
    angular_velocity, angular_acceleration : (..., 3), base axes
    proper_acceleration : (..., 3), acceleration of the frame's origin minus gravity, base axes
    """
    first_moment = (rotation @ parameters[..., 1:4, None])[..., 0]
    inertia = rotation @ inertia_matrices(parameters) @ np.swapaxes(rotation, -1, -2)
    force = (
        parameters[..., :1] * proper_acceleration
        + cross(angular_acceleration, first_moment)
        + cross(angular_velocity, cross(angular_velocity, first_moment))
    )
    angular_momentum = (inertia @ angular_velocity[..., None])[..., 0]
    moment = (
        cross(first_moment, proper_acceleration)
        + (inertia @ angular_acceleration[..., None])[..., 0]
        + cross(angular_velocity, angular_momentum)
    )
    return force, moment


def chain_torques(machine: Machine, chain: ChainPose, rates: ChainRates, second: ChainRates) -> Array:
    """Joint torques (N, L, J) of the legs cut open at their tips."""
    return torques_of_wrenches(machine, chain, *chain_wrenches(machine, chain, rates, second))


def torques_of_wrenches(
    machine: Machine, chain: ChainPose, forces: list[Array], moments: list[Array]
) -> Array:
    """Parts (N, L, J) of the joints' wrenches, see :func:`chain_wrenches`, that act along the joints."""
    torques = np.empty((*chain.tip.shape[:2], machine.joint_count))
    for joint, kind in enumerate(machine.joint_kinds):
        works_on = moments[joint] if kind == 'revolute' else forces[joint]
        torques[..., joint] = np.sum(chain.axes[joint] * works_on, axis=-1)
    return torques


def chain_wrenches(
    machine: Machine, chain: ChainPose, rates: ChainRates, second: ChainRates
) -> tuple[list[Array], list[Array]]:
    """Wrench that each body of the open legs needs from the body before it, summed from the tip to the base.

    Returns
    -------
    forces, moments : J of (N, L, 3), base axes, moments about the joint's origin
    """
    forces: list[Array] = []
    moments: list[Array] = []
    force = moment = np.zeros_like(chain.tip)
    for body in reversed(range(machine.joint_count)):
        own_force, own_moment = inertial_wrench(
            machine.leg_parameters[:, body],
            chain.rotations[body],
            rates.angular[body],
            second.angular[body],
            second.linear[body] - machine.gravity,
        )
        if body + 1 < machine.joint_count:
            moment = moment + cross(chain.origins[body + 1] - chain.origins[body], force)
        force, moment = force + own_force, moment + own_moment
        forces.insert(0, force)
        moments.insert(0, moment)
    return forces, moments
