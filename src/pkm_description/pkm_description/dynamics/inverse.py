"""Inverse dynamics: drive forces of a motion, by direct recursion along the legs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pkm_description.dynamics.friction import friction_torques
from pkm_description.dynamics.projection import drive_forces, platform_force
from pkm_description.kinematics.chain import ChainPose, ChainRates, chain_accelerations
from pkm_description.kinematics.leg_motion import ClosedLegs, close_legs, leg_rates
from pkm_description.kinematics.overall_jacobian import twist_from_leg_rates
from pkm_description.kinematics.rotation import cross
from pkm_description.mechanism import Mechanism
from pkm_description.motion.platform_motion import PlatformMotion

Array = NDArray[np.float64]


def inertia_matrices(parameters: Array) -> Array:
    """Inertia matrices (..., 3, 3) about the body frame's origin of inertial parameters (..., 10)."""
    return parameters[..., [4, 5, 6, 5, 7, 8, 6, 8, 9]].reshape(*parameters.shape[:-1], 3, 3)


def inverse_dynamics(
    mechanism: Mechanism,
    motion: PlatformMotion,
    friction: bool = True,
    sign_smoothing: float = 0.0,
    external_wrench: Array | None = None,
) -> Array:
    """Drive forces (N, A) [N, N m] that produce a motion; positive pushes the joint towards larger positions.

    Parameters
    ----------
    motion : N samples
    friction : add the friction of all joints, active and passive, as the machine file gives it
    sign_smoothing : velocity of a tanh in place of the sign of Coulomb friction; 0 keeps the sign
    external_wrench : (N, 6) or (6,) N and N m, what the surroundings do to the platform: force, and moment about the
        platform's origin, base axes

    Raises
    ------
    SingularPoseError
        Where the drives do not determine the platform's motion; names the sample.
    KinematicsError
        A motion that the mechanism does not admit, or a machine with fewer drives than degrees of freedom.
    """
    legs = close_legs(mechanism, motion.position, motion.rotation_base_platform)
    generalised = generalised_force(mechanism, legs, motion, friction, sign_smoothing)
    if external_wrench is not None:
        generalised = generalised - external_wrench
    return drive_forces(twist_from_leg_rates(mechanism, legs), generalised)


def generalised_force(
    mechanism: Mechanism,
    legs: ClosedLegs,
    motion: PlatformMotion,
    friction: bool,
    sign_smoothing: float = 0.0,
) -> Array:
    """Force (N, 6) dual to the platform twist, base axes, that a motion of platform and legs needs."""
    velocities, accelerations, rates = leg_rates(mechanism, legs, motion)
    second = chain_accelerations(mechanism, legs.chain, rates, velocities, accelerations)
    torques = chain_torques(mechanism, legs.chain, rates, second) + mechanism.rotor_inertia * accelerations
    if friction:
        torques = torques + friction_torques(mechanism, velocities, sign_smoothing)
    return platform_wrench(mechanism, motion) + platform_force(legs, torques)


def platform_wrench(mechanism: Mechanism, motion: PlatformMotion) -> Array:
    """Force and moment about the platform's origin (N, 6), base axes, that the platform alone needs."""
    force, moment = inertial_wrench(
        mechanism.platform_parameters,
        motion.rotation_base_platform,
        motion.angular_velocity,
        motion.angular_acceleration,
        motion.linear_acceleration - mechanism.gravity,
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


def chain_torques(mechanism: Mechanism, chain: ChainPose, rates: ChainRates, second: ChainRates) -> Array:
    """Joint torques (N, L, J) of the legs cut open at their tips."""
    return torques_of_wrenches(mechanism, chain, *chain_wrenches(mechanism, chain, rates, second))


def torques_of_wrenches(
    mechanism: Mechanism, chain: ChainPose, forces: list[Array], moments: list[Array]
) -> Array:
    """Parts (N, L, J) of the joints' wrenches, see :func:`chain_wrenches`, that act along the joints."""
    torques = np.empty((*chain.tip.shape[:2], mechanism.joint_count))
    for joint, kind in enumerate(mechanism.joint_kinds):
        works_on = moments[joint] if kind == 'revolute' else forces[joint]
        torques[..., joint] = np.sum(chain.axes[joint] * works_on, axis=-1)
    return torques


def chain_wrenches(
    mechanism: Mechanism, chain: ChainPose, rates: ChainRates, second: ChainRates
) -> tuple[list[Array], list[Array]]:
    """Wrench that each body of the open legs needs from the body before it, summed from the tip to the base.

    Returns
    -------
    forces, moments : J of (N, L, 3), base axes, moments about the joint's origin
    """
    forces: list[Array] = []
    moments: list[Array] = []
    force = moment = np.zeros_like(chain.tip)
    for body in reversed(range(mechanism.joint_count)):
        own_force, own_moment = inertial_wrench(
            mechanism.leg_parameters[:, body],
            chain.rotations[body],
            rates.angular[body],
            second.angular[body],
            second.linear[body] - mechanism.gravity,
        )
        if body + 1 < mechanism.joint_count:
            moment = moment + cross(chain.origins[body + 1] - chain.origins[body], force)
        force, moment = force + own_force, moment + own_moment
        forces.insert(0, force)
        moments.insert(0, moment)
    return forces, moments
