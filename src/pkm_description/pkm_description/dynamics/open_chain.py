"""Dynamics of open chains, such as a pendulum on a cart.

Coordinates are the joint positions (N, L, J); forces act in every joint, driven or not.
"""

from __future__ import annotations

import numpy as np

from pkm_description.arrays import Array
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
from pkm_description.machine import Machine


def open_chain_forces(
    machine: Machine,
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
    chain = chain_pose(machine, positions)
    rates = chain_velocities(machine, chain, velocities)
    second = chain_accelerations(machine, chain, rates, velocities, accelerations)
    forces, moments = chain_wrenches(machine, chain, rates, second)
    torques = torques_of_wrenches(machine, chain, forces, moments) + machine.leg_rotor_inertia * accelerations
    if not friction:
        return torques
    loads = forces_across(np.stack(forces, axis=2), np.stack(chain.axes, axis=2))
    return torques + friction_torques(machine, velocities, sign_smoothing, loads)


def open_chain_loads(machine: Machine, positions: Array, velocities: Array, accelerations: Array) -> Array:
    """Forces across the joints (N, L, J) [N] during a motion, which friction along the joints does not change."""
    chain = chain_pose(machine, positions)
    rates = chain_velocities(machine, chain, velocities)
    second = chain_accelerations(machine, chain, rates, velocities, accelerations)
    forces, _ = chain_wrenches(machine, chain, rates, second)
    return forces_across(np.stack(forces, axis=2), np.stack(chain.axes, axis=2))


def open_chain_regressor(
    machine: Machine, positions: Array, velocities: Array, accelerations: Array
) -> Array:
    """Regressor (N, L J, 10 L J): joint forces without friction and rotors, of ``rigid_body_parameters`` leg by leg."""
    chain = chain_pose(machine, positions)
    rates = chain_velocities(machine, chain, velocities)
    second = chain_accelerations(machine, chain, rates, velocities, accelerations)
    own = chain_torque_regressor(machine, chain, rates.angular, second.angular, second.linear)
    samples, legs, joints, columns = own.shape
    result = np.zeros((samples, legs, joints, legs, columns))
    each = np.arange(legs)
    result[:, each, :, each] = np.moveaxis(own, 1, 0)
    return result.reshape(samples, legs * joints, legs * columns)


def open_chain_mass_matrix(machine: Machine, positions: Array) -> Array:
    """Mass matrices (N, L, J, J) of the chains, rotors included."""
    chain = chain_pose(machine, positions)
    joints = machine.joint_count
    result = np.zeros((*positions.shape, joints))
    result[..., range(joints), range(joints)] = machine.leg_rotor_inertia
    for body in range(joints):
        jacobian = body_jacobian(machine, chain, body)
        inertia = spatial_inertia(machine.leg_parameters[:, body], chain.rotations[body])
        result[..., : body + 1, : body + 1] += np.swapaxes(jacobian, -1, -2) @ inertia @ jacobian
    return result


def open_chain_energy(machine: Machine, positions: Array, velocities: Array) -> tuple[Array, Array]:
    """Kinetic and potential energy, (N,) J each."""
    chain = chain_pose(machine, positions)
    rates = chain_velocities(machine, chain, velocities)
    return chain_kinetic_energy(machine, chain, rates, velocities), chain_potential_energy(machine, chain)


def open_chain_accelerations(
    machine: Machine,
    positions: Array,
    velocities: Array,
    forces: Array,
    friction: bool = True,
    sign_smoothing: float = 0.0,
) -> Array:
    """Joint accelerations (N, L, J) under joint forces (N, L, J); passive joints get 0."""
    still = np.zeros_like(positions)
    mass = open_chain_mass_matrix(machine, positions)
    bias = open_chain_forces(machine, positions, velocities, still, friction=False)

    def accelerate(torques: Array) -> Array:
        return np.asarray(np.linalg.solve(mass, (forces - bias - torques)[..., None]), dtype=float)[..., 0]

    def loads_of(loads: Array) -> Array:
        moved = accelerate(friction_torques(machine, velocities, sign_smoothing, loads))
        return open_chain_loads(machine, positions, velocities, moved)

    if not friction:
        return accelerate(still)
    loads = settled_loads(loads_of, still) if friction_needs_loads(machine) else None
    return accelerate(friction_torques(machine, velocities, sign_smoothing, loads))
