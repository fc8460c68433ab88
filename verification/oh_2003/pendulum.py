"""Oh (2003), chapter 3: cart with two links, its observation and the derivatives by its five parameters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from pkm_description.arrays import Array

#: order of the parameters w, Eq. 3.2: lengths (m), masses of links and cart (kg)
PARAMETERS = ('l1', 'l2', 'm1', 'm2', 'M')

#: true values of the benchmark
TRUE_PARAMETERS = np.array([0.50, 0.75, 0.75, 0.50, 1.50])

GRAVITY = 9.81


@dataclass(frozen=True)
class PendulumMotion:
    """Coordinates (N, 3) [x, th1, th2] and their derivatives; angles are absolute, from the upward vertical."""

    position: Array
    velocity: Array
    acceleration: Array


def observation(motion: PendulumMotion, parameters: Array) -> Array:
    """Left minus right sides of Eqs. 3.3-3.5 without the force (N, 3): [F 0 0] where the model is right."""
    l1, l2, m1, m2, cart = parameters
    (s1, c1), (s2, c2), (s12, c12) = _sines(motion)
    dd, w1, w2 = motion.acceleration, motion.velocity[:, 1] ** 2, motion.velocity[:, 2] ** 2
    x, a1, a2 = dd.T
    mu = 0.5 * m1 + m2
    first = (cart + m1 + m2) * x + mu * l1 * (a1 * c1 - w1 * s1) + 0.5 * m2 * l2 * (a2 * c2 - w2 * s2)
    second = (
        mu * l1 * (x * c1 - GRAVITY * s1) + (m1 / 3.0 + m2) * l1**2 * a1 + 0.5 * m2 * l1 * l2 * (a2 * c12 - w2 * s12)
    )
    third = 0.5 * m2 * l2 * (x * c2 - GRAVITY * s2) + 0.5 * m2 * l1 * l2 * (a1 * c12 + w1 * s12) + m2 / 3.0 * l2**2 * a2
    return np.stack([first, second, third], axis=1)


def observation_jacobian(motion: PendulumMotion, parameters: Array) -> Array:
    """J_LS (N, 3, 5), Eq. 3.7: the derivative of :func:`observation` by the parameters."""
    l1, l2, m1, m2, _ = parameters
    (s1, c1), (s2, c2), (s12, c12) = _sines(motion)
    w1, w2 = motion.velocity[:, 1] ** 2, motion.velocity[:, 2] ** 2
    x, a1, a2 = motion.acceleration.T
    mu = 0.5 * m1 + m2
    g = GRAVITY
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
