"""The problem of Rosyid & El-Khasawneh (2020): 13 inertial and 4 friction parameters, bounds, an excitation of 4 s.

The model is the paper's own, friction that grows with the normal forces included; the library's stands in
:mod:`verification.rosyid_2020.data`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from pkm_description.arrays import Array
from pkm_identification.estimator.constrained import ForceFit, design_bounds

from verification.rosyid_2020.dynamics import PlanarDynamics
from verification.rosyid_2020.model import PlanarGeometry
from verification.rosyid_2020.table import DESIGN, ESTIMATE, FRICTION, printed_parameters

#: kg, names of the 13 inertial parameters of Table 1 as a body's, then friction
NAMES = (
    'slider.m', 'leg1.m', 'leg2.m', 'leg3.m', 'leg1.mx', 'leg2.mx', 'leg3.mx', 'leg1.Izz', 'leg2.Izz', 'leg3.Izz',
    'platform.m', 'platform.mx', 'platform.Izz', 'mu_c', 'f_v', 'mu_s', 'v_s',
)  # fmt: skip
#: shares of the platform's weight on the guides, m/s^2, N (uniform noise), m/s (smooth sign)
SHARES, GRAVITY, NOISE, SMOOTHING = np.array([0.7, 0.2, 0.1]), 9.81, 0.0381, 1e-3
#: start of friction, and finite upper bounds for it
START_FRICTION, FRICTION_LIMITS = (0.1, 10.0, 0.1, 0.1), (1.0, 500.0, 1.0, 2.0)

@dataclass(frozen=True)
class Experiment:
    """Slider forces linear in 16 barycentric parameters, and friction.

    Attributes
    ----------
    rigid, normal : (N, 3, 13) slider forces and guide normals per unit of Table 1's inertial parameters
    rates : (N, 3) of the sliders
    forces : (N, 3) measured
    """

    rigid: Array
    normal: Array
    rates: Array
    forces: Array

    @cached_property
    def sign(self) -> Array:
        """Smooth signs (N, 3)."""
        return np.tanh(self.rates / SMOOTHING)

    def predicted(self, values: Array) -> Array:
        """Forces (N, 3) of 17 parameters, Eqs. 23, 24 and 41, f_v once."""
        mu_c, f_v, mu_s, v_s = values[13:]
        fade = np.exp(-np.abs(self.rates) / v_s)
        varying = (mu_c + (mu_s - mu_c) * fade) * np.abs(self.normal @ values[:13])
        return self.rigid @ values[:13] + self.sign * (varying + mu_c * self._weights(values)) + f_v * self.rates

    def jacobian(self, values: Array) -> Array:
        """Derivatives (N, 3, 17)."""
        mu_c, _, mu_s, v_s = values[13:]
        normal = self.normal @ values[:13]
        fade, sign = np.exp(-np.abs(self.rates) / v_s), self.sign
        level = mu_c + (mu_s - mu_c) * fade
        result = np.empty((*self.rates.shape, 17))
        result[..., :13] = self.rigid + (sign * level * np.sign(normal))[..., None] * self.normal
        result[..., :13] += (sign * mu_c)[..., None] * WEIGHT_ROWS
        result[..., 13] = sign * ((1.0 - fade) * np.abs(normal) + self._weights(values))
        result[..., 14] = self.rates
        result[..., 15] = sign * fade * np.abs(normal)
        result[..., 16] = sign * (mu_s - mu_c) * fade * np.abs(self.rates) / v_s**2 * np.abs(normal)
        return result

    def fit(self, friction_limits: tuple[float, ...]) -> ForceFit:
        """The paper's problem from its start, the design values, with its bounds (R2-31, R2-32, R2-36)."""
        design = np.concatenate([np.linalg.lstsq(printed_parameters(), DESIGN, rcond=None)[0], START_FRICTION])
        lower, upper = design_bounds(NAMES, design)
        upper[13:], lower[16] = friction_limits, 1e-3
        return ForceFit(
            NAMES, design, lower, upper, lambda x: (self.predicted(x) - self.forces).ravel(),
            lambda x: self.jacobian(x).reshape(-1, 17),
        )  # fmt: skip

    @staticmethod
    def _weights(values: Array) -> Array:
        return np.asarray(WEIGHT_ROWS @ values[:13], dtype=float)


def _weight_rows() -> Array:
    """Weight on each guide (3, 13) per unit of the parameters, Eq. 39."""
    rows = np.zeros((3, 13))
    rows[:, 0] = GRAVITY
    rows[[0, 1, 2], [1, 2, 3]] = GRAVITY
    rows[:, 10] = SHARES * GRAVITY
    return rows


#: (3, 13)
WEIGHT_ROWS = _weight_rows()


def truth() -> Array:
    """17 parameters of Table 1's estimates."""
    inertial = np.linalg.lstsq(printed_parameters(), ESTIMATE, rcond=None)[0]
    return np.concatenate([inertial, FRICTION])


def best_random_poses(
    geometry: PlanarGeometry, time: Array, seed: int = 0, harmonics: int = 5
) -> tuple[Array, Array, Array]:
    """Poses (N, 3) and derivatives of the best conditioned of 40 random series of 4 s around (0, 0.32 m, 0)."""
    random = np.random.default_rng(seed)
    coarse = np.linspace(0.0, 4.0, 101)
    best: tuple[float, Array, Array] | None = None
    for _ in range(40):
        sines, cosines = random.normal(size=(2, harmonics, 3))
        flat = _regressors(geometry, *_series(coarse, sines, cosines)).rigid.reshape(-1, 13)
        sizes = np.linalg.svd(flat / np.linalg.norm(flat, axis=0), compute_uv=False)
        if best is None or sizes[0] / sizes[8] < best[0]:
            best = float(sizes[0] / sizes[8]), sines, cosines
    assert best is not None
    return _series(time, *best[1:])


def _series(time: Array, sines: Array, cosines: Array) -> tuple[Array, Array, Array]:
    """Poses (N, 3) and derivatives of a series that fills its box."""
    omega = 2.0 * np.pi * 0.25 * np.arange(1, len(sines) + 1)[:, None]
    phase = time[:, None] * omega.T
    fine = np.linspace(0.0, 4.0, 401)[:, None] * omega.T
    scale = np.array([0.15, 0.10, 0.35]) / np.abs(np.sin(fine) @ sines + np.cos(fine) @ cosines).max(axis=0)
    wave = np.sin(phase) @ sines + np.cos(phase) @ cosines
    rate = np.cos(phase) @ (omega * sines) - np.sin(phase) @ (omega * cosines)
    second = -np.sin(phase) @ (omega**2 * sines) - np.cos(phase) @ (omega**2 * cosines)
    return np.array([0.0, 0.32, 0.0]) + scale * wave, scale * rate, scale * second


def experiment(geometry: PlanarGeometry, seed: int = 0) -> Experiment:
    """The excitation by the paper's own model, flat on the ground, with noise."""
    made = _regressors(geometry, *best_random_poses(geometry, np.linspace(0.0, 4.0, 401), seed))
    noise = np.random.default_rng(seed).uniform(-NOISE, NOISE, made.rates.shape)
    return replace(made, forces=made.predicted(truth()) + noise)


def _regressors(geometry: PlanarGeometry, pose: Array, rate: Array, second: Array) -> Experiment:
    known = np.array([9, 10, 11])
    q = geometry.coordinates(pose)
    velocity = geometry.velocities(q, known, rate)
    acceleration = geometry.accelerations(q, velocity, known, second)
    model = PlanarDynamics(geometry, np.zeros(16), np.zeros(2))
    both = [
        replace(model, parameters=unit).inverse_by_partition(q, velocity, acceleration[:, :3]) for unit in np.eye(16)
    ]
    rigid, multipliers = (np.stack(parts, axis=-1) @ printed_parameters() for parts in zip(*both, strict=True))
    return Experiment(rigid, multipliers[:, :3], velocity[:, :3], np.zeros((len(q), 3)))
