"""Laws for every open chain: regressor, energy, power."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from pkm_description.dynamics import rigid_body_parameters
from pkm_description.dynamics.open_chain import (
    open_chain_energy,
    open_chain_forces,
    open_chain_mass_matrix,
    open_chain_regressor,
)
from pkm_description.kinematics.workspace import random_joint_states
from pkm_description.machine import Machine

from verification.check import Check, agree
from verification.mechanics.checks import base_parameter_checks
from verification.mechanics.neighbours import smooth_derivative

#: s, of finite differences
STEP = 2e-4


def checks(machine: Machine, quick: bool) -> Iterator[Check]:
    """Dynamics of a machine without a platform, at random states."""
    position, velocity, acceleration = random_joint_states(machine, 60 if quick else 400, seed=5)
    forces = open_chain_forces(machine, position, velocity, acceleration, friction=False)
    regressor = open_chain_regressor(machine, position, velocity, acceleration)
    full = rigid_body_parameters(machine, identical_legs=False)
    product = regressor @ full + machine.rotor_inertia * acceleration
    yield agree('regressor', 'regressor x parameters + rotors = inverse dynamics', 1e-10, product, forces)
    yield from base_parameter_checks(machine, regressor)

    mass = open_chain_mass_matrix(machine, position)
    from_matrix = 0.5 * np.sum(velocity * (mass @ velocity[..., None])[..., 0], axis=1)
    kinetic, _ = open_chain_energy(machine, position, velocity)
    yield agree('energy', 'energy of the mass matrix = sum over the bodies', 1e-10, from_matrix, kinetic)

    def energy(step: float) -> np.ndarray:
        later = position + step * velocity + 0.5 * step**2 * acceleration
        return np.add(*open_chain_energy(machine, later, velocity + step * acceleration))

    power = np.sum(forces * velocity, axis=1)
    yield agree('power', 'd(T + V)/dt = power of the joint forces', 1e-6, smooth_derivative(energy, STEP), power)
