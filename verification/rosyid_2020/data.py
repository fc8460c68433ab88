"""Data of a simulated planar 3-PRR, whose recordings are not public: truth by forward dynamics, fits by the library.

The machine file with the overlay of Table 1 is the truth: the paper's estimates, friction that grows with the normal
forces. It is led along an excitation of 4 s and around a circle.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from pkm_description.arrays import Array
from pkm_description.dynamics import rigid_body_parameter_names, rigid_body_parameters, rigid_body_regressor
from pkm_description.dynamics.reactions import joint_reactions
from pkm_description.friction_laws import LoadDependentStribeck, Sign
from pkm_description.loading import load_machine
from pkm_description.loading.load import machine_file
from pkm_description.machine import JointFriction, Machine, PlatformMotion
from pkm_description.machine.machine import with_friction
from pkm_description.motion.circles import CirclePath
from pkm_identification.estimator.bodies import machine_with
from pkm_identification.estimator.constrained import ForceFit, design_bounds

from verification.drive_data import DriveData, DriveNoise, forward_run
from verification.rosyid_2020.dynamics import PlanarDynamics
from verification.rosyid_2020.library import platform_motion
from verification.rosyid_2020.model import ACTIVE, POSE, PlanarGeometry
from verification.rosyid_2020.table import DESIGN, ESTIMATE, FRICTION, embedding, geometry_of, printed_parameters

#: kg, names of the 13 inertial parameters of Table 1 as a body's, then friction
NAMES = (
    'slider.m', 'leg1.m', 'leg2.m', 'leg3.m', 'leg1.mx', 'leg2.mx', 'leg3.mx', 'leg1.Izz', 'leg2.Izz', 'leg3.Izz',
    'platform.m', 'platform.mx', 'platform.Izz', 'mu_c', 'f_v', 'mu_s', 'v_s',
)  # fmt: skip
#: base parameters of the 13 inertial parameters
RANK = 9
#: shares of the platform's weight on the guides, m/s^2, N (uniform noise)
SHARES, GRAVITY, NOISE = np.array([0.7, 0.2, 0.1]), 9.81, 0.0381
#: start of friction, and finite upper bounds for it
START_FRICTION, FRICTION_LIMITS = (0.1, 10.0, 0.1, 0.1), (1.0, 500.0, 1.0, 2.0)


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
        condition = condition_of(geometry, *_series(coarse, sines, cosines))
        if best is None or condition < best[0]:
            best = condition, sines, cosines
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


def paper_rates(geometry: PlanarGeometry, seed: int = 0) -> Array:
    """Rates (401, 3) of the sliders along the excitation, by the paper's own model."""
    pose, rate, _ = best_random_poses(geometry, np.linspace(0.0, 4.0, 401), seed)
    return geometry.velocities(geometry.coordinates(pose), POSE, rate)[:, ACTIVE]


def condition_of(geometry: PlanarGeometry, pose: Array, rate: Array, second: Array) -> float:
    """Largest over ninth singular value of the columns of Table 1's 13 inertial parameters, each of unit norm."""
    q = geometry.coordinates(pose)
    velocity = geometry.velocities(q, POSE, rate)
    sliders = geometry.accelerations(q, velocity, POSE, second)[:, ACTIVE]
    rows = PlanarDynamics(geometry, np.zeros(16), np.zeros(2)).regressor(q, velocity, sliders) @ printed_parameters()
    flat = rows.reshape(-1, 13)
    sizes = np.linalg.svd(flat / np.linalg.norm(flat, axis=0), compute_uv=False)
    return float(sizes[0] / sizes[RANK - 1])


#: m/s of the smooth sign in truth and model (the paper gives none); Hz of integration, recording and fits
SMOOTHING, STEPS_RATE, FINE_RATE, RATE = 5e-3, 2000.0, 1000.0, 100.0

#: uniform noise of the force sensor, and of it and the encoders
FORCE_NOISE = DriveNoise(efforts=NOISE / np.sqrt(3.0), uniform=True)
SENSOR_NOISE = replace(FORCE_NOISE, positions=5e-7 / np.sqrt(3.0))

#: of the circle: m, m/s
DIAMETER, SPEED = 0.16, 0.15


@cache
def true_machine(path: str) -> Machine:
    """The machine file with the paper's estimates, as the overlay of Table 1 has them, and a smooth sign."""
    machine = load_machine(path, machine_file('khalifa_3prr').parent / 'table1_estimates.yaml')
    return with_friction(
        machine, lambda joint: replace(joint.friction, law=joint.friction.law.with_sign(Sign('tanh', SMOOTHING)))
    )


@cache
def fine_run(path: str, motion: str = 'excitation') -> DriveData:
    """Clean data (N, 3) at 1 kHz of the excitation or of the ``'circle'``."""
    machine = true_machine(path)
    wanted = circle(machine) if motion == 'circle' else excitation(machine)
    # the servo knows the design values only, so that the motion is not the commanded one
    return forward_run(machine, wanted, round(STEPS_RATE / FINE_RATE), 0.0, load_machine(path))


def truth_run(path: str, motion: str = 'excitation') -> DriveData:
    """The same at 100 Hz, the rate of the fits."""
    return fine_run(path, motion)[:: round(FINE_RATE / RATE)]


def excitation(machine: Machine) -> PlatformMotion:
    """The best conditioned of 40 random series of 4 s."""
    geometry = geometry_of(machine)
    time = np.arange(round(4.0 * STEPS_RATE) + 1) / STEPS_RATE
    pose, rate, second = best_random_poses(geometry, time)
    known = np.array([9, 10, 11])
    q = geometry.coordinates(pose)
    velocity = geometry.velocities(q, known, rate)
    return replace(platform_motion(q, velocity, geometry.accelerations(q, velocity, known, second)), time=time)


def circle(machine: Machine) -> PlatformMotion:
    """A full circle of 80 mm radius, from rest to rest."""
    path = CirclePath(machine.home, diameter=DIAMETER, speed=SPEED, turns=1.2, run_up=0.4)
    return path.sample(STEPS_RATE)


@dataclass(frozen=True)
class Experiment:
    """The paper's 17 parameters, with the library's regressor, reactions and friction laws.

    Attributes
    ----------
    rigid, normal : (N, 3, 13) slider forces and guide normals per unit of Table 1's inertial parameters
    rates : (N, 3) of the sliders
    forces : (N, 3) measured
    stribeck, varying : without either, static friction is that of Coulomb, or the normal force in the plane its mean
    """

    rigid: Array
    normal: Array
    rates: Array
    forces: Array
    stribeck: bool = True
    varying: bool = True

    def laws(self, values: Array) -> list[LoadDependentStribeck]:
        """Law of each guide by 17 parameters."""
        mu_c, f_v, mu_s, v_s = values[13:]
        law = LoadDependentStribeck(
            viscous=f_v, coulomb_coefficient=mu_c, static_coefficient=mu_s if self.stribeck else mu_c,
            stribeck_velocity=v_s, sign=Sign('tanh', SMOOTHING),
        )  # fmt: skip
        return [replace(law, additional_load=weight) for weight in WEIGHT_ROWS @ values[:13]]

    def loads(self, values: Array) -> Array:
        """Normal forces (N, 3) in the plane, signed; constant ones are the mean of their sizes."""
        normal = self.normal @ values[:13]
        return normal if self.varying else np.broadcast_to(np.abs(normal).mean(axis=0), normal.shape)

    def friction(self, values: Array) -> Array:
        """Friction (N, 3) of 17 parameters."""
        loads = np.abs(self.loads(values))
        every = [law.force(self.rates[:, guide], loads[:, guide]) for guide, law in enumerate(self.laws(values))]
        return np.stack(every, axis=1)

    def predicted(self, values: Array) -> Array:
        """Forces (N, 3) of 17 parameters."""
        return self.rigid @ values[:13] + self.friction(values)

    def jacobian(self, values: Array) -> Array:
        """Derivatives (N, 3, 17) from those of the laws; friction is linear in the load."""
        result = np.empty((*self.rates.shape, 17))
        normal = self.loads(values)
        slope = np.sign(self.normal @ values[:13])[..., None] * self.normal
        if not self.varying:
            slope = np.broadcast_to(slope.mean(axis=0), slope.shape)
        for guide, law in enumerate(self.laws(values)):
            speed, load = self.rates[:, guide], np.abs(normal[:, guide])
            by_load = law.force(speed, load + 1.0) - law.force(speed, load)
            names, sensitivity = list(law.nonlinear_parameters), law.nonlinear_sensitivity(speed, load)
            by_weight = sensitivity[:, names.index('additional_load')]
            result[:, guide, :13] = self.rigid[:, guide] + by_load[:, None] * slope[:, guide]
            result[:, guide, :13] += by_weight[:, None] * WEIGHT_ROWS[guide]
            columns = dict(zip(law.linear_parameter_names, law.regressor(speed, load).T, strict=True))
            static, coulomb = columns['static_coefficient'], columns['coulomb_coefficient']
            result[:, guide, 13] = coulomb if self.stribeck else coulomb + static
            result[:, guide, 14] = columns['viscous']
            result[:, guide, 15] = static if self.stribeck else 0.0
            result[:, guide, 16] = sensitivity[:, names.index('stribeck_velocity')] if self.stribeck else 0.0
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


def library_experiment(machine: Machine, data: DriveData, forces: Array) -> Experiment:
    """Rows of a recording, by the library alone.

    Parameters
    ----------
    machine : its geometry counts
    data : motion of the drives
    forces : (N, 3) measured
    """
    motion = data.motion(machine)
    names = rigid_body_parameter_names(machine, identical_legs=False)
    places = embedding(list(names), machine) @ printed_parameters()
    rigid = rigid_body_regressor(machine, motion, identical_legs=False) @ places
    still = with_friction(machine, lambda joint: JointFriction())
    start = rigid_body_parameters(machine, identical_legs=False)

    def normal(values: Array) -> Array:
        return joint_reactions(machine_with(still, tuple(names), values), motion).joint_forces[:, ::2, 1]

    first = normal(start)
    # reactions are linear in the parameters
    slopes = np.stack([normal(start + column) - first for column in places.T], axis=-1)
    return Experiment(rigid, slopes, data.velocities, forces)


@cache
def measured(path: str, motion: str = 'excitation', seed: int = 0) -> Experiment:
    """A recording with the noise of the force sensor."""
    data = truth_run(path, motion)
    return library_experiment(load_machine(path), data, data.with_noise(FORCE_NOISE, seed).efforts)
