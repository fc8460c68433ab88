"""Generalised forces on a free platform from Lagrange's equations, differentiated numerically.

Only the energies of the machine enter, which are sums over the bodies; coordinates are the displacement of the platform
and a rotation vector, both zero at the state itself.
"""

from __future__ import annotations

import numpy as np
from pkm_description.arrays import Array
from pkm_description.dynamics import kinetic_energy, potential_energy
from pkm_description.kinematics.rotation import rotation_exp
from pkm_description.machine import Machine, PlatformMotion
from pkm_description.motion.coordinates import left_jacobian

from verification.mechanics.neighbours import smooth_derivative

#: s, m or rad of the five-point differences
STEP = 1e-3


def generalised_forces(machine: Machine, motion: PlatformMotion) -> Array:
    """d/dt dT/dq' - dT/dq + dV/dq (N, 6), dual to the twist of the platform."""
    # at q = 0 the rotation vector's rate is the angular velocity, and its second derivative the angular acceleration
    rates, second = motion.twist, motion.acceleration

    def energies(coordinates: Array, speeds: Array) -> tuple[Array, Array]:
        position = motion.position + coordinates[:, :3]
        rotation = rotation_exp(coordinates[:, 3:]) @ motion.rotation_base_platform
        spin = (left_jacobian(coordinates[:, 3:]) @ speeds[:, 3:, None])[..., 0]
        twist = np.concatenate([speeds[:, :3], spin], axis=1)
        return kinetic_energy(machine, position, rotation, twist), potential_energy(machine, position, rotation)

    columns = []
    for unit in np.eye(6):

        def momentum(time: float, unit: Array = unit) -> Array:
            coordinates, speeds = time * rates + 0.5 * time**2 * second, rates + time * second
            # T is quadratic in the speeds: this difference is exact
            return energies(coordinates, speeds + 0.5 * unit)[0] - energies(coordinates, speeds - 0.5 * unit)[0]

        def lagrangian(step: float, unit: Array = unit) -> Array:
            kinetic, potential = energies(np.broadcast_to(step * unit, rates.shape), rates)
            return kinetic - potential

        columns.append(smooth_derivative(momentum, STEP) - smooth_derivative(lagrangian, STEP))
    return np.stack(columns, axis=1)
