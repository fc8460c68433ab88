"""Oh (2003), chapter 3: a cart with two links in closed form, its motion, his estimators; T8 to T12, A11, A12, A17.

Lengths enter these equations nonlinearly, so that no regressor of the general formulation finds them: the benchmark of
nonlinear identification. ``open_chain_forces`` of the machine double_pendulum gives the same forces from bodies and
joints.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import sin

import numpy as np
from pkm_description.arrays import Array
from pkm_description.dynamics.open_chain import open_chain_forces
from pkm_description.machine import Machine
from pkm_estimation.filters.unscented import ScaledUnscentedTransform
from pkm_identification.online.estimators import ExtendedParameterFilter, RandomWalk, UnscentedParameterFilter
from scipy.integrate import solve_ivp

from verification.check import Check, at_least, at_most, near_each, relative_error, within
from verification.mechanics.neighbours import smooth_derivative

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
        np.ones(5), np.ones(5), RandomWalk(np.zeros(5), GAIN), alpha=ALPHA, beta=BETA, kappa=KAPPA
    )
    variances = np.full(3, noise_variance)
    for number, force in enumerate(forces):
        at = sample(motion, number)
        found.update(lambda points, at=at: pendulum_forces(at, points.T), force, variances)  # type: ignore[misc]
    return found


def extended(motion: PendulumMotion, forces: Array, noise_variance: float = NOISE_VARIANCE) -> ExtendedParameterFilter:
    """The same linearised, as the quoted results of an EKF were."""
    found = ExtendedParameterFilter(np.ones(5), np.ones(5), RandomWalk(np.zeros(5), GAIN))
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


def checks(machine: Machine, quick: bool) -> Iterator[Check]:
    """Checks of the double pendulum on a cart."""
    cart, first, second = machine.legs[0].joints
    # both links are uniform: length = twice the distance of the centre of mass
    found = [
        2.0 * float(np.linalg.norm(first.body.center_of_mass)),
        2.0 * float(np.linalg.norm(second.body.center_of_mass)),
        first.body.mass,
        second.body.mass,
        cart.body.mass,
    ]
    yield near_each('T9', f'{", ".join(PENDULUM_PARAMETERS)} of the machine', TRUE_PARAMETERS, found, 1e-12, 'm, kg')
    joints = np.linalg.norm(second.translation - first.body.center_of_mass * 2.0)
    yield at_most('T9', "second joint at the first link's end", 1e-12, joints, 'm')

    random = np.random.default_rng(61)
    shape = (50 if quick else 500, 3)
    motion = PendulumMotion(*(random.uniform(-size, size, shape) for size in (3.0, 10.0, 40.0)))
    for text, parameters in (('true', TRUE_PARAMETERS), ('initial (all 1)', np.ones(5))):
        numeric = np.stack(
            [smooth_derivative(_along(motion, parameters, unit), 1e-2) for unit in np.eye(5)],
            axis=-1,
        )
        error = relative_error(pendulum_force_jacobian(motion, parameters), numeric)
        yield at_most('T9', f'J_LS (3.7) against finite differences, {text} parameters, relative', 1e-8, error)
    matrix = pendulum_force_jacobian(motion, TRUE_PARAMETERS)
    masses = np.array([0.0, 0.0, 1.0, 1.0, 1.0]) * TRUE_PARAMETERS
    # without a known force the scale of the masses is not observable: the residual is homogeneous in them
    error = relative_error(matrix @ masses, pendulum_forces(motion, TRUE_PARAMETERS))
    yield at_most('T9', 'observation = J_LS x masses: homogeneous of degree 1, relative', 1e-12, error)

    # joint angles are relative, his are absolute; a torque of joint 2 works on both links
    position, velocity, acceleration = (
        np.stack([values[:, 0], values[:, 1], values[:, 2] - values[:, 1]], axis=1)
        for values in (motion.position, motion.velocity, motion.acceleration)
    )
    forces = open_chain_forces(machine, position, velocity, acceleration, friction=False)
    force, torque_1, torque_2 = forces.T
    suite = np.stack([force, torque_1 - torque_2, torque_2], axis=1)
    error = relative_error(suite, pendulum_forces(motion, TRUE_PARAMETERS))
    yield at_most('T9', 'library: forces of the open chain = Eqs. 3.3 to 3.5, relative', 1e-12, error)


def _along(motion: PendulumMotion, parameters: Array, unit: Array) -> Callable[[float], Array]:
    return lambda step: pendulum_forces(motion, parameters + step * unit)


#: what the thesis quotes of an EKF (Table 3.1, partly legible), kg
QUOTED = np.array([0.68, 0.45, 1.35])

#: variance of the noise with which our EKF finds the lengths; with 0.01, as of the UKF, it ends at masses of zero
EKF_VARIANCE = 100.0


def observable(parameters: Array) -> Array:
    """Per cent by which lengths and ratios m1/M, m2/M are off: what free fall determines."""
    found, true = (np.concatenate([values[:2], values[2:4] / values[4]]) for values in (parameters, TRUE_PARAMETERS))
    return np.asarray(100.0 * (found - true) / true)


def estimator_checks(machine: Machine, quick: bool) -> Iterator[Check]:
    """The estimators of chapter 3; quick: 3 s of two starts."""
    weights = ScaledUnscentedTransform(5, 1e-4, 2.0, -2.0, least_alpha=1e-4)
    found = [weights.centre_mean_weight, weights.centre_covariance_weight, weights.weight]
    what = 'weights of centre (mean, covariance) and of the other points, n = 5'
    yield near_each('T8', what, [-166666665.67, -166666662.67, 16666666.67], found, 0.005)

    chosen = [replace(start, duration=3.0) for start in starts()[1:3]] if quick else starts()
    runs = [(start, *fall(start)) for start in chosen]
    filtered = [unscented(motion, forces).parameters for _, motion, forces in runs]
    errors = np.array([observable(parameters) for parameters in filtered])
    text = f'UKF, free fall, {len(chosen)} of 12 starts: l1, l2, m1/M, m2/M, worst'
    yield at_most('T10', text, 1.0, errors, '%')
    yield at_most('A11', text, 1.0, errors, '%')
    scale = np.array([parameters[4] / TRUE_PARAMETERS[4] for parameters in filtered])
    span = f'{scale.min():.2f} to {scale.max():.2f}'
    what = f'scale of the masses, open in free fall: {span} by start (printed 1 +- 0.01): off by'
    yield at_least('T10', what, 0.02, np.abs(scale - 1.0).max())
    yield from _least_squares_checks(runs)
    yield from _quoted_checks(runs)
    yield from _noise_checks(runs, 3)

    motion, forces = fall(Start(starts()[6].state, 1e-3, 1.5 if quick else 2.5), known_force)
    off = 100.0 * (unscented(motion, forces).parameters / TRUE_PARAMETERS - 1.0)
    yield at_most('T11', 'UKF, known force 5 sin(6 t) N, 1 ms: all five parameters, worst', 0.2, off, '%')
    yield at_most('A11', 'UKF, known force: all five parameters, worst', 1.0, off, '%')
    exact = 100.0 * (batch(motion, forces) / TRUE_PARAMETERS - 1.0)
    yield at_most('T11', 'batch least squares, known force: all five parameters, worst', 1e-4, exact, '%')


def _least_squares_checks(runs: list[tuple[Start, PendulumMotion, Array]]) -> Iterator[Check]:
    """T12: steps that single-sample least squares take; it may end in a wrong solution."""
    outcomes = [(start, *least_squares(motion, forces)) for start, motion, forces in runs]
    right = [bool(np.abs(observable(found)).max() < 1.0) for _, found, _ in outcomes]
    steps = [count for (start, _, count), good in zip(outcomes, right, strict=True) if good and start.step == 1e-3]
    text = f'steps of LS at 1 ms where it ends right ({", ".join(str(count) for count in steps)}; printed 1225), median'
    yield within('T12', text, 300.0, 4000.0, float(np.median(steps)))
    yield at_least('T12', 'share of the starts from which LS ends at the right lengths and ratios', 0.5, np.mean(right))


def _noise_checks(runs: list[tuple[Start, PendulumMotion, Array]], seeds: int) -> Iterator[Check]:
    """A17: 1 % of each number as noise in all states (Table 3.2); what free fall leaves open does not count."""
    _, motion, forces = runs[1]
    noisy = [with_noise(motion, 0.01, seed) for seed in range(seeds)]
    ours, squares = (
        float(np.median([np.abs(observable(estimate(one))).max() for one in noisy]))
        for estimate in (lambda one: unscented(one, forces).parameters, lambda one: least_squares(one, forces)[0])
    )
    what = f'free fall, 1 % noise, median of {seeds} seeds: worst error of l1, l2, m1/M, m2/M, UKF over LS'
    yield at_most('A17', what, 1.0, ours / squares, note=f'{ours:.3g} % against {squares:.3g} %')


def _quoted_checks(runs: list[tuple[Start, PendulumMotion, Array]]) -> Iterator[Check]:
    """A12: masses by our EKF from a start of all ones; P_0, R^e and start of the quoted filter are not printed."""
    true = TRUE_PARAMETERS[2:]
    _, motion, forces = runs[-1]
    found = extended(motion, forces, EKF_VARIANCE).parameters
    yield near_each('A12', f'EKF, free fall, R^e {EKF_VARIANCE:g}: masses (quoted), kg', QUOTED, found[2:], 0.02)
    errors = observable(found)
    yield at_most('A12', 'EKF, free fall, R^e 100: l1, l2, m1/M, m2/M, worst', 1.0, errors, '%')
    again = extended(motion, forces, 100.0 * EKF_VARIANCE).parameters
    change = abs(again[4] - found[4]) / true[2]
    yield at_least('A12', 'the same data with R^e 1e4: change of the scale of the masses', 0.02, change)
