"""Dynamics of machines without a platform: chains that end free, such as a pendulum on a cart.

Coordinates are the joint positions (N, L, J); forces act in every joint, driven or not.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pkm_description.dynamics.energy import (
    body_jacobian,
    chain_kinetic_energy,
    chain_potential_energy,
    spatial_inertia,
)
from pkm_description.dynamics.friction import friction_needs_loads, friction_torques
from pkm_description.dynamics.friction_loads import settled_loads
from pkm_description.dynamics.leg_forces import forces_across
from pkm_description.dynamics.regressor import chain_torque_regressor
from pkm_description.dynamics.wrenches import chain_wrenches, torques_of_wrenches
from pkm_description.kinematics.chain import chain_accelerations, chain_pose, chain_velocities
from pkm_description.mechanism import Mechanism

Array = NDArray[np.float64]


def open_chain_forces(
    mechanism: Mechanism,
    positions: Array,
    velocities: Array,
    accelerations: Array,
    friction: bool = True,
    sign_smoothing: float = 0.0,
) -> Array:
    """Joint forces and torques (N, L, J) that a motion of the joints needs.

    Parameters
    ----------
    positions, velocities, accelerations : (N, L, J), m or rad and time derivatives
    friction, sign_smoothing : as in :func:`pkm_description.dynamics.inverse_dynamics`
    """
    chain = chain_pose(mechanism, positions)
    rates = chain_velocities(mechanism, chain, velocities)
    second = chain_accelerations(mechanism, chain, rates, velocities, accelerations)
    forces, moments = chain_wrenches(mechanism, chain, rates, second)
    torques = torques_of_wrenches(mechanism, chain, forces, moments) + mechanism.rotor_inertia * accelerations
    if not friction:
        return torques
    loads = forces_across(np.stack(forces, axis=2), np.stack(chain.axes, axis=2))
    return torques + friction_torques(mechanism, velocities, sign_smoothing, loads)


def open_chain_loads(mechanism: Mechanism, positions: Array, velocities: Array, accelerations: Array) -> Array:
    """Forces across the joints (N, L, J) [N] during a motion, which friction along the joints does not change."""
    chain = chain_pose(mechanism, positions)
    rates = chain_velocities(mechanism, chain, velocities)
    second = chain_accelerations(mechanism, chain, rates, velocities, accelerations)
    forces, _ = chain_wrenches(mechanism, chain, rates, second)
    return forces_across(np.stack(forces, axis=2), np.stack(chain.axes, axis=2))


def open_chain_regressor(
    mechanism: Mechanism, positions: Array, velocities: Array, accelerations: Array
) -> Array:
    """Regressor (N, L J, 10 L J): joint forces without friction and rotors, of ``rigid_body_parameters`` leg by leg."""
    chain = chain_pose(mechanism, positions)
    rates = chain_velocities(mechanism, chain, velocities)
    second = chain_accelerations(mechanism, chain, rates, velocities, accelerations)
    own = chain_torque_regressor(mechanism, chain, rates.angular, second.angular, second.linear)
    samples, legs, joints, columns = own.shape
    result = np.zeros((samples, legs, joints, legs, columns))
    each = np.arange(legs)
    result[:, each, :, each] = np.moveaxis(own, 1, 0)
    return result.reshape(samples, legs * joints, legs * columns)


def open_chain_mass_matrix(mechanism: Mechanism, positions: Array) -> Array:
    """Mass matrices (N, L, J, J) of the chains, rotors included."""
    chain = chain_pose(mechanism, positions)
    joints = mechanism.joint_count
    result = np.zeros((*positions.shape, joints))
    result[..., range(joints), range(joints)] = mechanism.rotor_inertia
    for body in range(joints):
        jacobian = body_jacobian(mechanism, chain, body)
        inertia = spatial_inertia(mechanism.leg_parameters[:, body], chain.rotations[body])
        result[..., : body + 1, : body + 1] += np.swapaxes(jacobian, -1, -2) @ inertia @ jacobian
    return result


def open_chain_energy(mechanism: Mechanism, positions: Array, velocities: Array) -> tuple[Array, Array]:
    """Kinetic and potential energy, (N,) J each."""
    chain = chain_pose(mechanism, positions)
    rates = chain_velocities(mechanism, chain, velocities)
    return chain_kinetic_energy(mechanism, chain, rates, velocities), chain_potential_energy(mechanism, chain)


def open_chain_accelerations(
    mechanism: Mechanism,
    positions: Array,
    velocities: Array,
    forces: Array,
    friction: bool = True,
    sign_smoothing: float = 0.0,
) -> Array:
    """Joint accelerations (N, L, J) under joint forces (N, L, J); passive joints get 0."""
    still = np.zeros_like(positions)
    mass = open_chain_mass_matrix(mechanism, positions)
    bias = open_chain_forces(mechanism, positions, velocities, still, friction=False)

    def accelerate(torques: Array) -> Array:
        return np.asarray(np.linalg.solve(mass, (forces - bias - torques)[..., None]), dtype=float)[..., 0]

    def loads_of(loads: Array) -> Array:
        moved = accelerate(friction_torques(mechanism, velocities, sign_smoothing, loads))
        return open_chain_loads(mechanism, positions, velocities, moved)

    if not friction:
        return accelerate(still)
    loads = settled_loads(loads_of, still) if friction_needs_loads(mechanism) else None
    return accelerate(friction_torques(mechanism, velocities, sign_smoothing, loads))
