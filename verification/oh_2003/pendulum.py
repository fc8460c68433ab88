"""A cart with two links, in closed form with its five parameters: Oh (2003), chapter 3.

Lengths enter these equations nonlinearly, so that no regressor of the general formulation finds them: the benchmark of
nonlinear identification. ``open_chain_forces`` of the machine double_pendulum gives the same forces from bodies and
joints.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from pkm_description.arrays import Array

#: the parameters (Eq. 3.2): lengths (m), masses of links and cart (kg); links are uniform rods
PENDULUM_PARAMETERS = ('l1', 'l2', 'm1', 'm2', 'M')


@dataclass(frozen=True)
class PendulumMotion:
    """Motion of the three coordinates x [m], th1, th2 [rad].

    Attributes
    ----------
    position, velocity, acceleration : (N, 3); the angles are absolute, from the upward vertical, where the angles of
        the machine file's joints are relative
    """

    position: Array
    velocity: Array
    acceleration: Array


def pendulum_forces(motion: PendulumMotion, parameters: Array, gravity: float = 9.81) -> Array:
    """Generalised forces (N, 3) of the coordinates, N and N m: Eqs. 3.3 to 3.5 without the force on the cart.

    Where the parameters are right, the first is the force on the cart and the others are zero.

    Parameters
    ----------
    motion : N states
    parameters : (5,) in the order of :data:`PENDULUM_PARAMETERS`
    gravity : m/s^2, downwards
    """
    l1, l2, m1, m2, cart = parameters
    (s1, c1), (s2, c2), (s12, c12) = _sines(motion)
    w1, w2 = motion.velocity[:, 1] ** 2, motion.velocity[:, 2] ** 2
    x, a1, a2 = motion.acceleration.T
    mu, g = 0.5 * m1 + m2, gravity
    first = (cart + m1 + m2) * x + mu * l1 * (a1 * c1 - w1 * s1) + 0.5 * m2 * l2 * (a2 * c2 - w2 * s2)
    second = mu * l1 * (x * c1 - g * s1) + (m1 / 3.0 + m2) * l1**2 * a1 + 0.5 * m2 * l1 * l2 * (a2 * c12 - w2 * s12)
    third = 0.5 * m2 * l2 * (x * c2 - g * s2) + 0.5 * m2 * l1 * l2 * (a1 * c12 + w1 * s12) + m2 / 3.0 * l2**2 * a2
    return np.stack([first, second, third], axis=1)


def pendulum_force_jacobian(motion: PendulumMotion, parameters: Array, gravity: float = 9.81) -> Array:
    """J_LS (N, 3, 5), Eq. 3.7: derivative of :func:`pendulum_forces` by the parameters (5,)."""
    l1, l2, m1, m2, _ = parameters
    (s1, c1), (s2, c2), (s12, c12) = _sines(motion)
    w1, w2 = motion.velocity[:, 1] ** 2, motion.velocity[:, 2] ** 2
    x, a1, a2 = motion.acceleration.T
    mu, g = 0.5 * m1 + m2, gravity
    swing_1, swing_2 = a1 * c1 - w1 * s1, a2 * c2 - w2 * s2
    result = np.zeros((len(x), 3, 5))
    result[:, 0] = np.stack(
        [mu * swing_1, 0.5 * m2 * swing_2, x + 0.5 * l1 * swing_1, x + l1 * swing_1 + 0.5 * l2 * swing_2, x], axis=1
    )
    on_first = a2 * c12 - w2 * s12
    result[:, 1, 0] = mu * (x * c1 - g * s1) + 2.0 * (m1 / 3.0 + m2) * l1 * a1 + 0.5 * m2 * l2 * on_first
    result[:, 1, 1] = 0.5 * m2 * l1 * on_first
    result[:, 1, 2] = 0.5 * l1 * (x * c1 - g * s1) + l1**2 * a1 / 3.0
    result[:, 1, 3] = l1 * (x * c1 - g * s1) + l1**2 * a1 + 0.5 * l1 * l2 * on_first
    on_second = a1 * c12 + w1 * s12
    result[:, 2, 0] = 0.5 * m2 * l2 * on_second
    result[:, 2, 1] = 0.5 * m2 * (x * c2 - g * s2 + l1 * on_second) + 2.0 / 3.0 * m2 * l2 * a2
    result[:, 2, 3] = 0.5 * l2 * (x * c2 - g * s2 + l1 * on_second) + l2**2 * a2 / 3.0
    return result


def _sines(motion: PendulumMotion) -> tuple[tuple[Array, Array], ...]:
    """Sine and cosine of th1, th2 and th2 - th1."""
    _, th1, th2 = motion.position.T
    return tuple((np.sin(angle), np.cos(angle)) for angle in (th1, th2, th2 - th1))
