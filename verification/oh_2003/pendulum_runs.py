"""Oh (2003), chapter 3: the double pendulum's motion, and his estimators on its samples, one by one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sin

import numpy as np
from pkm_description.arrays import Array
from pkm_identification.online.estimators import ExtendedParameterFilter, RobbinsMonro, UnscentedParameterFilter
from scipy.integrate import solve_ivp

from verification.oh_2003.pendulum import PendulumMotion, pendulum_force_jacobian, pendulum_forces

#: l1, l2 [m], m1, m2, M [kg] of the benchmark
TRUE_PARAMETERS = np.array([0.50, 0.75, 0.75, 0.50, 1.50])

#: printed (section 3.3) are alpha, beta and kappa = 3 - n; the noise and the gain are ours, the thesis has none
ALPHA, BETA, KAPPA, NOISE_VARIANCE, GAIN = 1e-4, 2.0, -2.0, 0.01, 0.05

#: of least squares by single samples, section 3.3
TOLERANCE = 1e-7

Force = Callable[[float], float]


@dataclass(frozen=True)
class Start:
    """Start from near upright, its step [s] and its duration [s]."""

    state: Array
    step: float
    duration: float


def starts() -> list[Start]:
    """Twelve starts: six of 5 s at 1 ms, six of 20 s at 10 ms. The thesis prints neither state nor step."""
    random = np.random.default_rng(1)
    found = []
    for number in range(12):
        first, second = random.uniform(-0.3, 0.3), random.uniform(-0.3, 0.3)
        step, duration = (1e-3, 5.0) if number < 6 else (1e-2, 20.0)
        found.append(Start(np.array([0.0, first, second, 0.13, 0.0, 0.0]), step, duration))
    return found


def no_force(time: float) -> float:
    """Free fall."""
    return 0.0


def known_force(time: float) -> float:
    """N, on the cart: ours, as the thesis has free fall only."""
    return 5.0 * sin(6.0 * time)


def fall(start: Start, force: Force = no_force) -> tuple[PendulumMotion, Array]:
    """Samples of the true pendulum's motion, and the generalised forces (N, 3) of the force on the cart."""

    def accelerations(time: float, state: Array) -> Array:
        still = PendulumMotion(np.tile(state[:3], (4, 1)), np.tile(state[3:], (4, 1)), np.eye(4, 3, -1))
        rest, *units = pendulum_forces(still, TRUE_PARAMETERS)
        matrix = np.stack(units, axis=1) - rest[:, None]
        return np.asarray(np.linalg.solve(matrix, np.array([force(time), 0.0, 0.0]) - rest))

    def rate(time: float, state: Array) -> Array:
        return np.concatenate([state[3:], accelerations(time, state)])

    time = np.arange(0.0, start.duration, start.step)
    solved = solve_ivp(rate, (0.0, start.duration), start.state, rtol=1e-9, atol=1e-9, t_eval=time).y.T
    second = np.array([accelerations(*pair) for pair in zip(time, solved, strict=True)])
    forces = np.zeros((len(time), 3))
    forces[:, 0] = [force(at) for at in time]
    return PendulumMotion(solved[:, :3], solved[:, 3:], second), forces


def with_noise(motion: PendulumMotion, share: float, seed: int) -> PendulumMotion:
    """Every measured number times 1 + a random number within the share, as his magnitudes of noise say."""
    random = np.random.default_rng(seed)
    noisy = (
        values * (1.0 + share * random.uniform(-1.0, 1.0, values.shape))
        for values in (motion.position, motion.velocity, motion.acceleration)
    )
    return PendulumMotion(*noisy)


def sample(motion: PendulumMotion, number: int) -> PendulumMotion:
    """One sample."""
    one = slice(number, number + 1)
    return PendulumMotion(motion.position[one], motion.velocity[one], motion.acceleration[one])


def unscented(
    motion: PendulumMotion, forces: Array, noise_variance: float = NOISE_VARIANCE
) -> UnscentedParameterFilter:
    """His filter over all samples, from all ones."""
    found = UnscentedParameterFilter(
        np.ones(5), np.ones(5), RobbinsMonro(GAIN, np.zeros(5)), alpha=ALPHA, beta=BETA, kappa=KAPPA
    )
    variances = np.full(3, noise_variance)
    for number, force in enumerate(forces):
        at = sample(motion, number)
        found.update(lambda points, at=at: pendulum_forces(at, points.T), force, variances)  # type: ignore[misc]
    return found


def extended(motion: PendulumMotion, forces: Array, noise_variance: float = NOISE_VARIANCE) -> ExtendedParameterFilter:
    """The same linearised, as the quoted results of an EKF were."""
    found = ExtendedParameterFilter(np.ones(5), np.ones(5), RobbinsMonro(GAIN, np.zeros(5)))
    variances = np.full(3, noise_variance)
    for number, force in enumerate(forces):
        at = sample(motion, number)
        found.update(
            lambda w, at=at: (pendulum_forces(at, w)[0], pendulum_force_jacobian(at, w)[0]), force, variances  # type: ignore[misc]
        )  # fmt: skip
    return found


def least_squares(motion: PendulumMotion, forces: Array) -> tuple[Array, int]:
    """Eqs. 3.8 and 3.9 with one sample per step, by the pseudo-inverse; parameters and steps until the tolerance."""
    found = np.ones(5)
    for number, force in enumerate(forces):
        at = sample(motion, number)
        error = pendulum_forces(at, found)[0] - force
        step = -np.linalg.pinv(pendulum_force_jacobian(at, found)[0]) @ error
        found = found + step
        if np.abs(step).max() < TOLERANCE:
            return found, number + 1
    return found, len(forces)


def batch(motion: PendulumMotion, forces: Array, steps: int = 20) -> Array:
    """Gauss-Newton over all samples at once, from all ones."""
    found = np.ones(5)
    for _ in range(steps):
        error = (pendulum_forces(motion, found) - forces).ravel()
        found = found - np.linalg.lstsq(pendulum_force_jacobian(motion, found).reshape(-1, 5), error, rcond=None)[0]
    return found
