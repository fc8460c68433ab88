"""Oh (2003), chapter 4: samples of the UF machine's four motions, and his unscented filter on them.

His model (Kane, :mod:`verification.oh_2003.kane`) makes the samples and predicts them, as in the thesis. What the
thesis does not print is ours: joint coordinates and centres of mass of the machine file, start values, covariances,
noise.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_identification.online.estimators import UnscentedParameterFilter, unobserved_directions
from scipy.integrate import solve_ivp

from verification.oh_2003.kane import PARAMETERS, energy_regressor, regressor, strut_force_regressor
from verification.oh_2003.kinematics import HOME_ANGLES, OH_FREQUENCIES, OhMotion, sine, strut_kinematics
from verification.oh_2003.parameters import OhModel

#: the design of section 4.3 (kg, kg m^2), in the order of PARAMETERS; y is the strut's long axis
TRUE = np.array([
    1.79, 7.7214, 4.82, 0.5635, 0.0694, 0.5635, 0.0907612, 0.1812836, 0.0907612, 0.0182694, 5.42e-5, 0.0182694,
])  # fmt: skip

#: ours: inertias are where the thesis's estimates of what is not excited stay, masses from the axes of its figures
START = np.array([1.5, 6.5, 4.0, 0.5, 0.06, 0.5, 0.09, 0.18, 0.09, 0.018, 4e-5, 0.018])

#: ours: standard deviation of the start, as a share of it
UNSURE = 0.2

#: ours, N^2 and J^2: noise of the filter on samples without noise
FORCE_VARIANCE, WORK_VARIANCE = 1e-6, 1e-14

STEP = 1e-3
MASSES = slice(0, 3)

AXES = {'X': (0,), 'Z': (2,), 'XY': (0, 1)}


@dataclass(frozen=True)
class Samples:
    """Regressors (N, m, 12) and measured numbers (N, m): six forces, or one work."""

    regressors: Array
    measured: Array

    def ordered(self, order: NDArray[np.intp]) -> Samples:
        """The same in another order."""
        return Samples(self.regressors[order], self.measured[order])


@dataclass(frozen=True)
class Result:
    """Estimates (N + 1, 12) by sample, the first being the start; and the directions that are open at the end."""

    estimates: Array
    std: Array
    unobserved: tuple[dict[str, float], ...]

    @property
    def mass_errors(self) -> Array:
        """Per cent, as printed: positive where the estimate is too small."""
        return np.asarray(100.0 * (TRUE - self.estimates[-1])[MASSES] / TRUE[MASSES])

    def settled_after(self, share: float) -> int:
        """Samples after which the masses stay within a share of their last values."""
        last = self.estimates[-1, MASSES]
        away = np.any(np.abs(self.estimates[:, MASSES] - last) > share * last, axis=1)
        return int(np.flatnonzero(away)[-1] + 1) if away.any() else 0


def motion_of(model: OhModel, name: str, duration: float = 0.5, step: float = STEP) -> OhMotion:
    """One of his trajectories X, Z, XY of 1 inch at 4 pi rad/s ("4 pi Hz" would be 16 times the machine's limits)."""
    time = np.arange(0.0, duration, step)
    return sine(AXES[name], OH_FREQUENCIES['high'], time, model.home)


def free_fall(model: OhModel, duration: float = 0.035) -> OhMotion:
    """The platform's fall from home without strut forces; Table 4.4 used as many samples as its figures show."""

    def motion(state: Array, acceleration: Array) -> OhMotion:
        count = len(acceleration)
        return OhMotion.of(np.tile(state[:6], (count, 1)), np.tile(state[6:], (count, 1)), acceleration)

    def acceleration(state: Array) -> Array:
        rest, *units = regressor(model.geometry, motion(state, np.eye(7, 6, -1))) @ TRUE
        return np.asarray(np.linalg.solve(np.stack(units, axis=1) - rest[:, None], -rest))

    def rate(time: float, state: Array) -> Array:
        return np.concatenate([state[6:], acceleration(state)])

    time = np.arange(0.0, duration, STEP)
    start = np.concatenate([model.home, HOME_ANGLES, np.zeros(6)])
    states = solve_ivp(rate, (0.0, duration), start, rtol=1e-10, atol=1e-10, t_eval=time).y.T
    return OhMotion.of(states[:, :6], states[:, 6:], np.array([acceleration(state) for state in states]))


def with_noise(motion: OhMotion, share: float, seed: int) -> OhMotion:
    """Every state plus a random number within a share of its range; the distribution is ours (uniform)."""
    random = np.random.default_rng(seed)

    def noisy(values: Array) -> Array:
        return np.asarray(values + share * np.ptp(values, axis=0) * random.uniform(-1.0, 1.0, values.shape))

    names = 'position', 'angles', 'velocity', 'angle_rates', 'acceleration', 'angle_accelerations'
    return replace(motion, **{name: noisy(getattr(motion, name)) for name in names})


def part(motion: OhMotion, chosen: slice) -> OhMotion:
    """Some of the samples."""
    names = 'position', 'angles', 'velocity', 'angle_rates', 'acceleration', 'angle_accelerations'
    return OhMotion(*(getattr(motion, name)[chosen] for name in names))


def force_samples(model: OhModel, motion: OhMotion, seen: OhMotion | None = None) -> Samples:
    """Six forces per sample (4.1 to 4.3); the filter sees the states ``seen``, if they differ from the true ones."""
    forces = strut_force_regressor(model.geometry, motion) @ TRUE
    return Samples(strut_force_regressor(model.geometry, motion if seen is None else seen), forces)


def energy_samples(model: OhModel, motion: OhMotion, seen: OhMotion | None = None, rule: str = 'trapezoid') -> Samples:
    """One work per step (4.6 to 4.8): by the trapezoidal rule, or by the left one as printed."""
    forces = strut_force_regressor(model.geometry, motion) @ TRUE
    moved = np.diff(strut_kinematics(model.geometry, motion).length, axis=0)
    force = forces[:-1] if rule == 'left' else 0.5 * (forces[1:] + forces[:-1])
    differences = np.diff(energy_regressor(model.geometry, motion if seen is None else seen), axis=0)
    return Samples(differences[:, None], np.sum(force * moved, axis=1)[:, None])


def unscented(samples: Samples, variance: float) -> Result:
    """His filter with the printed alpha, beta and kappa = 3 - n, from the start."""
    count, std = len(START), UNSURE * START
    found = UnscentedParameterFilter(START, std, alpha=1e-4, beta=2.0, kappa=3.0 - count)
    variances = np.full(samples.measured.shape[1], variance)
    estimates = [START]
    for rows, measured in zip(samples.regressors, samples.measured, strict=True):
        found.update(rows, measured, variances)
        estimates.append(found.parameters)
    return Result(np.array(estimates), found.std, unobserved_directions(PARAMETERS, std, found.covariance))


def named(directions: Iterable[dict[str, float]]) -> list[str]:
    """Parameters that occur in directions, in their order."""
    found = {name for direction in directions for name in direction}
    return [name for name in PARAMETERS if name in found]
