"""Mass matrix and energies of platform and legs."""

from __future__ import annotations

import numpy as np

from pkm_description.arrays import Array
from pkm_description.dynamics.wrenches import inertia_matrices
from pkm_description.kinematics.arguments import of_poses, of_samples
from pkm_description.kinematics.chain import ChainPose, ChainRates, chain_velocities
from pkm_description.kinematics.leg_motion import ClosedLegs, close_legs
from pkm_description.kinematics.rotation import cross, skew
from pkm_description.machine import Machine


@of_poses
def mass_matrix(machine: Machine, position: Array, rotation_base_platform: Array) -> Array:
    """Mass matrix (N, 6, 6) of the machine in the platform twist, base axes, at poses (N, 3) m, (N, 3, 3)."""
    return mass_matrix_of(
        machine, close_legs(machine, position, rotation_base_platform), rotation_base_platform
    )


def mass_matrix_of(machine: Machine, legs: ClosedLegs, rotation_base_platform: Array) -> Array:
    """Mass matrix (N, 6, 6) of legs that are already closed."""
    result = spatial_inertia(machine.platform_parameters, rotation_base_platform)
    joint_map = legs.joint_map
    flat = joint_map.reshape(len(joint_map), -1, 6)
    result = result + np.swapaxes(flat, 1, 2) @ (machine.leg_rotor_inertia.ravel()[:, None] * flat)
    for body in range(machine.joint_count):
        jacobian = body_jacobian(machine, legs.chain, body) @ joint_map[:, :, : body + 1]
        inertia = spatial_inertia(machine.leg_parameters[:, body], legs.chain.rotations[body])
        result = result + np.sum(np.swapaxes(jacobian, -1, -2) @ inertia @ jacobian, axis=1)
    return result


@of_poses
def kinetic_energy(
    machine: Machine, position: Array, rotation_base_platform: Array, twist: Array
) -> Array:
    """Kinetic energy (N,) J at poses (N, 3) m, (N, 3, 3) with platform twists (N, 6), base axes."""
    twist = of_samples('twist', twist, len(position), 6)
    legs = close_legs(machine, position, rotation_base_platform)
    velocities = (legs.joint_map @ twist[:, None, :, None])[..., 0]
    rates = chain_velocities(machine, legs.chain, velocities)
    platform = _body_energy(machine.platform_parameters, rotation_base_platform, twist[:, :3], twist[:, 3:])
    return platform + chain_kinetic_energy(machine, legs.chain, rates, velocities)


def chain_kinetic_energy(machine: Machine, chain: ChainPose, rates: ChainRates, velocities: Array) -> Array:
    """Kinetic energy (N,) J of the leg bodies and rotors, joint velocities (N, L, J)."""
    total = 0.5 * np.sum(machine.leg_rotor_inertia * velocities * velocities, axis=(1, 2))
    for body in range(machine.joint_count):
        parameters, rotation = machine.leg_parameters[:, body], chain.rotations[body]
        total = total + _body_energy(parameters, rotation, rates.linear[body], rates.angular[body]).sum(axis=1)
    return total


@of_poses
def potential_energy(machine: Machine, position: Array, rotation_base_platform: Array) -> Array:
    """Energy (N,) J in gravity at poses (N, 3) m, (N, 3, 3), zero for all mass at the base origin."""
    chain = close_legs(machine, position, rotation_base_platform).chain
    parameters = machine.platform_parameters
    first_moment = parameters[0] * position + (rotation_base_platform @ parameters[1:4, None])[..., 0]
    energy: Array = -first_moment @ machine.gravity
    return energy + chain_potential_energy(machine, chain)


def chain_potential_energy(machine: Machine, chain: ChainPose) -> Array:
    """Energy (N,) J of the leg bodies in gravity, zero for all mass at the base origin."""
    first_moment = np.zeros((len(chain.tip), 3))
    for body in range(machine.joint_count):
        parameters = machine.leg_parameters[:, body]
        turned = (chain.rotations[body] @ parameters[:, 1:4, None])[..., 0]
        first_moment = first_moment + (parameters[:, :1] * chain.origins[body] + turned).sum(axis=1)
    energy: Array = -first_moment @ machine.gravity
    return energy


def _body_energy(parameters: Array, rotation: Array, velocity: Array, spin: Array) -> Array:
    """Kinetic energy (...) of bodies with frame velocities (..., 3), base axes."""
    first_moment = (rotation @ parameters[..., 1:4, None])[..., 0]
    in_body = (np.swapaxes(rotation, -1, -2) @ spin[..., None])[..., 0]
    momentum = (inertia_matrices(parameters) @ in_body[..., None])[..., 0]
    return (
        0.5 * parameters[..., 0] * np.sum(velocity * velocity, axis=-1)
        + np.sum(velocity * cross(spin, first_moment), axis=-1)
        + 0.5 * np.sum(in_body * momentum, axis=-1)
    )


def spatial_inertia(parameters: Array, rotation: Array) -> Array:
    """Inertia (..., 6, 6) about the body frame's origin, base axes, for [velocity, angular velocity]."""
    coupling = skew((rotation @ parameters[..., 1:4, None])[..., 0])
    result = np.zeros((*rotation.shape[:-2], 6, 6))
    diagonal = np.arange(3)
    result[..., diagonal, diagonal] = parameters[..., :1]
    result[..., :3, 3:], result[..., 3:, :3] = -coupling, coupling
    result[..., 3:, 3:] = rotation @ inertia_matrices(parameters) @ np.swapaxes(rotation, -1, -2)
    return result


def body_jacobian(machine: Machine, chain: ChainPose, body: int) -> Array:
    """Jacobian (N, L, 6, body + 1): joint velocities to [velocity, angular velocity] of a body's frame."""
    columns = []
    for joint in range(body + 1):
        axis = chain.axes[joint]
        if machine.joint_kinds[joint] == 'revolute':
            columns.append(
                np.concatenate([cross(axis, chain.origins[body] - chain.origins[joint]), axis], axis=-1)
            )
        else:
            columns.append(np.concatenate([axis, np.zeros_like(axis)], axis=-1))
    return np.stack(columns, axis=-1)
