"""M23 to M29: least squares, feasibility of base values, and the constrained fit on data of a simulated 3-RPS.

The paper's simulated robot has Stribeck friction and noisy forces, and its numbers are not public. Here the machine
file is the robot; its drives get Stribeck friction, and forward dynamics move it. Models are linear (Coulomb by
direction, viscous) and nonlinear (power law, Eq. 17), whose exponent is searched around the constrained fit. That asks
for more than Eq. 28: positive definite pseudo-inertias, which have the triangle inequality, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from pkm_description.arrays import Array
from pkm_description.dynamics import (
    BaseParameters,
    reduce_parameters,
    rigid_body_parameter_names,
    rigid_body_parameters,
    rigid_body_regressor,
)
from pkm_description.machine import Machine, PlatformMotion
from pkm_description.motion.profiles import profile
from pkm_identification.estimator.bodies import bodies_by_name, infeasibilities
from pkm_identification.estimator.feasible import feasible_parameters
from pkm_identification.estimator.feasible_problem import feasible_problem
from pkm_identification.estimator.least_squares import ordinary, weighted
from pkm_identification.validation.other_motions import relative_absolute_error
from scipy.optimize import minimize_scalar

from verification.check import Check, at_least, at_most, equal, holds
from verification.drive_data import DriveData, DriveNoise, forward_run
from verification.estimators.base_feasibility import FEASIBLE, INFEASIBLE, base_feasibility
from verification.mata_2008.data import robot

#: seconds, points and steps of a recording; N of noise (assumed); N, N s/m of the drives' friction in the file
DURATION, POINTS, STEPS, NOISE = 7.5, 75, 7500, 20.0
COULOMB, VISCOUS = 228.0, 3272.0
#: weight of the drawings: they decide only what forces do not
TIES = 1e-5
#: seeds of the excitations that the fits did not use
OTHERS = (11, 12, 13, 14, 15)


@dataclass(frozen=True, eq=False)
class Run:
    """A recording.

    Attributes
    ----------
    data : clean motion and forces
    bodies : (N, 3, P) rows of the rigid bodies
    noisy : (N, 3) measured forces
    """

    data: DriveData
    bodies: Array
    noisy: Array


@cache
def run_of(machine: Machine, seed: int, speed: float = 1.0) -> Run:
    """A recording of 75 points: the machine with Stribeck friction in its drives (Eq. 32), by forward dynamics.

    ``speed``: part of its speed at which the motion is played.
    """
    steps = round(STEPS / speed)
    wanted = slower(profile('drives', machine, duration=DURATION, rate=steps / DURATION, seed=seed), speed)
    data = forward_run(robot(str(machine.path), 'stribeck'), wanted, steps // POINTS)[:POINTS]
    bodies = rigid_body_regressor(machine, data.motion(machine), identical_legs=False)
    return Run(data, bodies, data.with_noise(DriveNoise(efforts=NOISE), seed).efforts)


def slower(motion: PlatformMotion, speed: float) -> PlatformMotion:
    """The same path at a part of its speed."""
    return PlatformMotion(
        motion.time / speed, motion.position, motion.rotation_base_platform, speed * motion.linear_velocity,
        speed * motion.angular_velocity, speed**2 * motion.linear_acceleration, speed**2 * motion.angular_acceleration,
    )  # fmt: skip


@dataclass(frozen=True)
class Model:
    """Forces of a run, linear in bodies, rotors and friction of the drives for a given exponent.

    Attributes
    ----------
    machine : nominal machine
    exponent : of ``+-Fc + Fv |v|^delta`` (Eq. 17); 1 is linear friction. Coulomb friction has a value per direction
    """

    machine: Machine
    exponent: float = 1.0

    @property
    def names(self) -> tuple[str, ...]:
        """All parameters."""
        kinds = ('rotor_inertia', 'coulomb_positive', 'coulomb_negative', 'viscous')
        legs = [joint.name for joint in self.machine.actuated_joints]
        return (
            *rigid_body_parameter_names(self.machine, identical_legs=False),
            *(f'{leg}.{kind}' for leg in legs for kind in kinds),
        )

    @property
    def nominal(self) -> Array:
        """The machine's bodies and rotors, 20 % less friction than there is."""
        rotors = self.machine.rotor_inertia[self.machine.drive_columns]
        own = [[rotor, 0.8 * COULOMB, 0.8 * COULOMB, 0.8 * VISCOUS] for rotor in rotors]
        return np.concatenate([rigid_body_parameters(self.machine, identical_legs=False), np.ravel(own)])

    def columns(self, run: Run) -> Array:
        """Observation matrix (N, 3, P)."""
        rates = run.data.velocities
        size, sign = np.abs(rates), np.sign(rates)
        own = np.stack(
            [run.data.accelerations, (sign > 0) * 1.0, (sign < 0) * -1.0, sign * size**self.exponent], axis=-1
        )
        result = np.concatenate([run.bodies, np.zeros((*rates.shape, 12))], axis=-1)
        for leg in range(3):
            at = run.bodies.shape[-1] + 4 * leg
            result[:, leg, at : at + 4] = own[:, leg]
        return result

    def base(self, run: Run) -> tuple[BaseParameters, Array]:
        """Base parameters of a run, and their columns."""
        matrix = self.columns(run)
        found = reduce_parameters(matrix.reshape(-1, matrix.shape[-1]), self.names, tolerance=1e-6)
        return found, found.columns(matrix)

    def fit(self, run: Run) -> Array:
        """Constrained fit (P,), Eq. 29: the real machine with the smallest residual, the drawings break ties.

        With the covariance of white noise, the squared distance from the base values of least squares is what the
        constraints add to the sum of squares.
        """
        base, rows = self.base(run)
        plain = ordinary(rows, run.noisy)
        flat = rows.reshape(-1, len(base))
        variance = float(np.mean(plain.residuals**2))
        covariance: Array = np.asarray(variance * np.linalg.inv(flat.T @ flat), dtype=float)
        nominal = self.nominal
        problem = feasible_problem(base, plain.parameters, covariance, self.names, nominal)
        return feasible_parameters(problem, weight=TIES).values


def checks(machine: Machine, quick: bool) -> Iterator[Check]:
    """Checks on the machine file's robot."""
    run, linear = run_of(machine, seed=1), Model(machine)
    base, rows = linear.base(run)
    truth = base.values(linear.nominal)
    exact = ordinary(rows, linear.columns(run) @ linear.nominal)
    error = np.abs(exact.parameters - truth) / np.abs(truth).max()
    yield at_most('M23', 'base parameters of noise-free data, relative to the largest', 1e-8, error)
    levels = np.array([10.0, 100.0, 400.0])
    uneven = levels * np.random.default_rng(0).normal(size=run.noisy.shape)
    found = weighted(rows, linear.columns(run) @ linear.nominal + uneven)
    yield at_most('M24', 'noise per drive from the residuals, relative', 0.35, found.force_std / levels - 1.0)
    plain = ordinary(rows, run.noisy)
    yield from feasibility_checks(linear, plain.covariance, base)
    yield from fit_checks(run, linear, rows @ plain.parameters, quick)


def feasibility_checks(model: Model, covariance: Array, base: BaseParameters) -> Iterator[Check]:
    """M25: the robot's own base values, and those with the negative limb inertias of Table 5."""
    # the file's platform is a disc without thickness: at the edge of what can exist, so half a millimetre thicker
    thick = model.nominal.copy()
    for kind in ('Ixx', 'Iyy'):
        thick[model.names.index(f'platform_link.{kind}')] += 1e-3
    table = base.values(model.nominal)
    for body, value in (('leg2', -86.2016), ('leg3', -66.6355)):
        limbs = [name.startswith(f'{body}_cylinder.I') and f'{body}_rod.I' in name for name in base.names]
        table[limbs.index(True)] = value
    for what, wanted, expected in (
        ('the machine file', base.values(thick), FEASIBLE), ('Table 5', table, INFEASIBLE)
    ):  # fmt: skip
        # taken as they stand: with their own noise those of Table 5 would be within it
        problem = feasible_problem(base, wanted, 1e-4 * np.diag(np.diag(covariance)), model.names, model.nominal)
        verdict = base_feasibility(problem)
        text = f'{verdict.verdict}, {verdict.distance:.3g} sigmas from the nearest machine'
        yield holds('M25', f'base values of {what}', expected, text, verdict.verdict == expected)


def fit_checks(run: Run, linear: Model, fitted: Array, quick: bool) -> Iterator[Check]:
    """M26 to M29: constrained fits with linear and with nonlinear friction, and motions that they did not use."""

    def residual(exponent: float) -> float:
        model = Model(linear.machine, exponent)
        return float(np.sum((model.columns(run) @ model.fit(run) - run.noisy) ** 2))

    best = minimize_scalar(residual, bounds=(0.1, 2.0), method='bounded', options={'xatol': 0.05 if quick else 1e-3})
    power = Model(linear.machine, float(best.x))
    values = {model: model.fit(run) for model in (linear, power)}
    for model, word in ((linear, 'linear friction'), (power, f'power law, exponent {power.exponent:.3f}')):
        bodies = bodies_by_name(model.names, values[model])
        yield equal('M26', f'bodies that cannot exist, {word}', [], list(infeasibilities(bodies)))
        yield at_least('M26', f'friction and rotors, {word}', 0.0, values[model][-12:])
    least = float(np.sum((fitted - run.noisy) ** 2))
    ratio = np.sqrt(np.sum((linear.columns(run) @ values[linear] - run.noisy) ** 2) / least)
    yield at_least('M27', 'residual of the constrained fit over that of least squares', 1.0, float(ratio))
    yield _compared('M28', 'noisy forces', run, run.noisy, values)
    yield _compared('M28', 'original forces', run, run.data.efforts, values)
    yield from order_checks(run, fitted, values)
    for seed in OTHERS[:2] if quick else OTHERS:
        other = run_of(linear.machine, seed)
        yield _compared('M29', f'another motion, seed {seed}', other, other.noisy, values)


def order_checks(run: Run, fitted: Array, values: dict[Model, Array]) -> Iterator[Check]:
    """M27 and M28: the order of Table 3, against noisy and against original forces."""
    predicted = {'linear, LSM': fitted}
    for model, word in zip(values, ('linear, SQP', 'nonlinear, SQP'), strict=True):
        predicted[word] = model.columns(run) @ values[model]
    for kind, forces, id in (('noisy', run.noisy, 'M27'), ('original', run.data.efforts, 'M28')):
        errors = {word: 100.0 * relative_absolute_error(forces, found) for word, found in predicted.items()}
        shown = ', '.join(f'{word} {error:.2f} %' for word, error in errors.items())
        wanted = ['nonlinear, SQP', 'linear, LSM', 'linear, SQP']
        order = sorted(errors, key=errors.__getitem__)
        yield holds(id, f'order of eps_RA in Table 3, {kind} forces', ' < '.join(wanted), shown, order == wanted)


def _compared(id: str, what: str, run: Run, forces: Array, values: dict[Model, Array]) -> Check:
    """Error of the power law over that of linear friction."""
    linear, power = (
        relative_absolute_error(forces, model.columns(run) @ found) for model, found in values.items()
    )
    note = f'{100 * power:.2f} against {100 * linear:.2f} %'
    return at_most(id, f'eps_RA of the power law over linear friction, {what}', 1.0, power / linear, note=note)

