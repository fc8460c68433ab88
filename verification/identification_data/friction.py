"""Friction of drives, as one state per drive integrated with the physics: none of the product's friction laws.

A drive's contact is a brush of elastic bristles with deflection z (Canudas de Wit et al. 1995, without micro-damping,
which makes it the model of Dahl 1968 where there is no Stribeck effect)::

    dz/dt = v - stiffness |v| / g z,        friction = stiffness z + viscous v
    g     = coulomb(direction) + (breakaway - 1) coulomb(direction) exp(-|v / v_s|^exponent) + axial |N|

While sliding, ``stiffness z`` is g with the sign of v. At rest the bristles hold any force below g, with the deflection
that belongs to it: sticking and pre-sliding come by themselves. N is the force that the drive passes on to the rod.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numba
import numpy as np
from pkm_description.arrays import Array


@dataclass(frozen=True)
class DriveFriction:
    """Friction of all drives; every attribute has shape (A,).

    Attributes
    ----------
    viscous : N s/m or N m s/rad
    coulomb_forward, coulomb_backward : N or N m, magnitudes of sliding friction by direction of motion
    breakaway : largest friction at rest as a multiple of the Coulomb friction; 1: no Stribeck effect
    stribeck_velocity : m/s or rad/s
    stribeck_exponent : 1 or 2, usually
    axial : friction per force that the drive passes on
    presliding : m or rad, deflection of the bristles at the mean Coulomb friction
    """

    viscous: Array
    coulomb_forward: Array
    coulomb_backward: Array
    breakaway: Array
    stribeck_velocity: Array
    stribeck_exponent: Array
    axial: Array
    presliding: Array

    def table(self) -> Array:
        """Rows (8, A) in the order of the attributes, for :func:`drive_forces`."""
        return np.array([getattr(self, own.name) for own in fields(self)])


@numba.njit(cache=True)
def drive_forces(
    friction: Array, servo: Array, reference: Array, positions: Array, velocities: Array, memory: Array, step: float
) -> None:
    """Motor efforts and friction of the next step, for each drive.

    Written for a step in which both stay constant: the friction is that of the velocity half a step ahead.

    Parameters
    ----------
    friction : (8, A) of :meth:`DriveFriction.table`
    servo : (4, A) position gain, velocity gain, largest effort, rotor inertia
    reference : (3, A) position, velocity, feed-forward effort
    positions, velocities : (A,) now
    memory : (6, A), changed: bristle deflection, velocity one step ago, motor effort, friction, force passed on, steps
        with the largest effort
    step : s
    """
    for i in range(len(positions)):
        viscous, forward, backward, breakaway, slow, exponent, axial, presliding = friction[:, i]
        effort = reference[2, i] + servo[0, i] * (reference[0, i] - positions[i])
        effort += servo[1, i] * (reference[1, i] - velocities[i])
        if abs(effort) > servo[2, i]:
            effort = np.sign(effort) * servo[2, i]
            memory[5, i] += 1.0
        change = velocities[i] - memory[1, i]
        ahead = velocities[i] + 0.5 * change
        speed = abs(velocities[i])
        coulomb = forward if velocities[i] > 0.0 else backward
        level = coulomb * (1.0 + (breakaway - 1.0) * np.exp(-((speed / slow) ** exponent)))
        stiffness = 0.5 * (forward + backward) / presliding
        passed, rubbing = memory[4, i], 0.0
        deflection = memory[0, i]
        # the force passed on and the friction that grows with it depend on each other: converges like axial^n
        for _ in range(4 if axial > 0.0 else 1):
            limit = level + axial * abs(passed)
            if limit <= 0.0 or stiffness <= 0.0:
                deflection = 0.0
            else:
                sliding = np.sign(velocities[i]) * limit / stiffness
                deflection = sliding + (memory[0, i] - sliding) * np.exp(-stiffness * speed / limit * step)
            rubbing = stiffness * deflection + viscous * ahead
            passed = effort - rubbing - servo[3, i] * change / step
        memory[0, i], memory[1, i] = deflection, velocities[i]
        memory[2, i], memory[3, i], memory[4, i] = effort, rubbing, passed
