"""Generalised forces from Lagrange's equations, differentiated numerically: only energies enter.

Of a machine the coordinates are the displacement of the platform and a rotation vector, both zero at the state itself.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from pkm_description.arrays import Array
from pkm_description.dynamics import kinetic_energy, potential_energy
from pkm_description.kinematics.rotation import rotation_exp
from pkm_description.machine import Machine, PlatformMotion
from pkm_description.motion.coordinates import left_jacobian

from verification.mechanics.neighbours import smooth_derivative

#: s, m or rad of the five-point differences
STEP = 1e-3


def lagrange_forces(
    kinetic: Callable[[Array, Array], Array], potential: Callable[[Array], Array], place: Array, rate: Array,
    second: Array,
) -> Array:  # fmt: skip
    """d/dt dT/dq' - dT/dq + dV/dq (N, n) of coordinates and their time derivatives (N, n).

    Parameters
    ----------
    kinetic : T (N,) J of coordinates and rates, quadratic in the rates
    potential : V (N,) J of coordinates
    """
    columns = []
    for unit in np.eye(place.shape[1]):

        def momentum(time: float, unit: Array = unit) -> Array:
            later, speeds = place + time * rate + 0.5 * time**2 * second, rate + time * second
            # T is quadratic in the speeds: this difference is exact
            return kinetic(later, speeds + 0.5 * unit) - kinetic(later, speeds - 0.5 * unit)

        def lagrangian(step: float, unit: Array = unit) -> Array:
            moved = place + step * unit
            return kinetic(moved, rate) - potential(moved)

        columns.append(smooth_derivative(momentum, STEP) - smooth_derivative(lagrangian, STEP))
    return np.stack(columns, axis=1)


def generalised_forces(machine: Machine, motion: PlatformMotion) -> Array:
    """Forces on a free platform (N, 6), dual to its twist."""

    def pose(coordinates: Array) -> tuple[Array, Array]:
        turned = rotation_exp(coordinates[:, 3:]) @ motion.rotation_base_platform
        return motion.position + coordinates[:, :3], turned

    def kinetic(coordinates: Array, speeds: Array) -> Array:
        spin = (left_jacobian(coordinates[:, 3:]) @ speeds[:, 3:, None])[..., 0]
        return kinetic_energy(machine, *pose(coordinates), np.concatenate([speeds[:, :3], spin], axis=1))

    # at q = 0 the rotation vector's rate is the angular velocity, and its second derivative the angular acceleration
    rates, second = motion.twist, motion.acceleration
    return lagrange_forces(
        kinetic, lambda coordinates: potential_energy(machine, *pose(coordinates)), np.zeros_like(rates), rates, second
    )
