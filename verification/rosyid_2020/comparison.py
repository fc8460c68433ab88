"""R2-17, R2-41 to R2-43: friction models against each other on the excitation and on a circle that no fit has used.

Synthetic data: the paper prints no error, only that varying Stribeck friction predicts best.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from pkm_description.arrays import Array
from pkm_description.friction_laws import LoadDependentStribeck, guide_loads
from pkm_description.machine import Machine
from pkm_identification.columns.friction_term import FrictionTerm
from pkm_identification.columns.observation import ObservationModel
from pkm_identification.estimator.constrained import FitResult, ForceFit, bounded_least_squares
from pkm_identification.estimator.feasible_problem import feasible_problem
from pkm_identification.estimator.least_squares import weighted
from pkm_identification.judgement.force_error import force_error
from pkm_identification.validation.other_motions import relative_absolute_error

from verification.check import Check, at_least, at_most, equal, holds, near_each
from verification.estimators.base_feasibility import INFEASIBLE, base_feasibility
from verification.rosyid_2020.data import (
    FORCE_NOISE,
    FRICTION_LIMITS,
    GRAVITY,
    NOISE,
    SHARES,
    Experiment,
    measured,
    truth,
    truth_run,
)

#: (Stribeck or not, varying normal force or its mean), in words
MODELS = {
    'Coulomb and viscous, constant': (False, False),
    'Coulomb and viscous, varying': (False, True),
    'Stribeck, constant': (True, False),
    'Stribeck, varying': (True, True),
}
BEST = 'Stribeck, varying'

#: how much worse constant normal forces fit, at least; of our own reference experiment
LEAST_RATIO = 200.0


@dataclass(frozen=True)
class Outcome:
    """A model fitted to the excitation.

    Attributes
    ----------
    data, circle : the recordings, seen by this model
    fit : its result
    """

    data: Experiment
    circle: Experiment
    fit: FitResult

    @property
    def rms(self) -> float:
        """Error on the excitation, N."""
        return float(np.sqrt(self.fit.cost / self.data.forces.size))

    @property
    def circle_rms(self) -> float:
        """Error on the circle, N."""
        return float(np.sqrt(np.mean((self.circle.predicted(self.fit.values) - self.circle.forces) ** 2)))


@cache
def outcomes(path: str) -> dict[str, Outcome]:
    """All four models."""
    data, circle = measured(path), measured(path, 'circle', seed=1)
    found = {}
    for word, (stribeck, varying) in MODELS.items():
        own, other = (replace(one, stribeck=stribeck, varying=varying) for one in (data, circle))
        found[word] = Outcome(own, other, bounded_least_squares(own.fit(FRICTION_LIMITS)))
    return found


def checks(machine: Machine, quick: bool) -> Iterator[Check]:
    """Four models, linear least squares, the circle."""
    found = outcomes(str(machine.path))
    yield from share_checks(str(machine.path))
    yield from model_checks(found)
    yield from circle_checks(machine, found)
    yield from linear_checks(machine)


def share_checks(path: str) -> Iterator[Check]:
    """R2-17: how the guides share the platform's weight, fitted to the forces of the excitation from equal shares."""
    data, clean, known = measured(path), truth_run(path).efforts, truth()
    rest = data.rigid @ known[:13]
    loads = np.abs(data.loads(known))

    def laws(free: Array) -> list[LoadDependentStribeck]:
        shares = np.append(free, 1.0 - free.sum())
        weights = guide_loads(known[0], known[1:4], known[10], shares, GRAVITY)
        return [replace(law, additional_load=float(load)) for law, load in zip(data.laws(known), weights, strict=True)]

    def forces(free: Array) -> Array:
        own = [law.force(data.rates[:, guide], loads[:, guide]) for guide, law in enumerate(laws(free))]
        return np.asarray(rest + np.stack(own, axis=1))

    def slopes(free: Array) -> Array:
        result = np.zeros((*data.rates.shape, 2))
        for guide, law in enumerate(laws(free)):
            column = list(law.nonlinear_parameters).index('additional_load')
            by_load = law.nonlinear_sensitivity(data.rates[:, guide], loads[:, guide])[:, column] * known[10] * GRAVITY
            result[:, guide] = by_load[:, None] * (np.eye(2)[guide] if guide < 2 else -np.ones(2))
        return result.reshape(-1, 2)

    for word, told, limit in (('without noise', clean, 1e-9), ('with noise of the sensor', data.forces, 1e-3)):
        def errors(free: Array, told: Array = told) -> Array:
            return (forces(free) - told).ravel()

        fit = ForceFit(('alpha1', 'alpha2'), np.full(2, 1.0 / 3.0), np.zeros(2), np.ones(2), errors, slopes)
        found = bounded_least_squares(fit).values
        shares = np.append(found, 1.0 - found.sum())
        yield near_each('R2-17', f'shares alpha fitted to the forces of the excitation, {word}', SHARES, shares, limit)


def model_checks(found: dict[str, Outcome]) -> Iterator[Check]:
    """R2-41: errors of the four models, and the ratio of constant to varying normal forces."""
    for where, kind in (('excitation', 'rms'), ('circle', 'circle_rms')):
        errors = {word: float(getattr(one, kind)) for word, one in found.items()}
        shown = ', '.join(f'{word} {error:.3g} N' for word, error in errors.items())
        best = min(errors, key=errors.__getitem__)
        yield holds('R2-41', f'{where}: model with the lowest rms error', BEST, shown, best == BEST)
        ratio = errors['Stribeck, constant'] / errors[BEST]
        least = LEAST_RATIO if where == 'excitation' else 10.0
        yield at_least('R2-41', f'{where}: rms error of Stribeck with constant over varying normal force', least, ratio)
    noise = found[BEST].rms / (NOISE / np.sqrt(3.0))
    yield at_most('R2-41', 'rms error of the best model over the noise', 1.1, noise)


def circle_checks(machine: Machine, found: dict[str, Outcome]) -> Iterator[Check]:
    """R2-43: rms error and its share of the force, axis by axis, on a full circle."""
    one = found[BEST]
    clean = truth_run(str(machine.path), 'circle')
    pose = clean.motion(machine).position[:, :2]
    middle = machine.home.position[:2]
    radius = np.linalg.norm(pose - middle, axis=1)
    turned = np.unwrap(np.arctan2(*(pose - middle)[radius > 0.079].T[::-1]))
    covered = float(np.ptp(turned)) / (2.0 * np.pi)
    yield at_least('R2-43', 'part of a full circle of 80 mm that the motion covers', 1.0, covered)
    error = force_error(one.circle.forces, one.circle.predicted(one.fit.values))
    for axis, (size, whole) in enumerate(zip(error.rms, error.force_rms, strict=True), start=1):
        what = f'circle: rms error of slider {axis} ({size:.3g} N of {whole:.3g} N)'
        yield at_most('R2-43', what, 0.1, 100.0 * float(size / whole), '%')
    stacked = relative_absolute_error(clean.efforts, one.circle.predicted(one.fit.values))
    yield at_most('R2-43', 'circle: relative absolute error against forces without noise', 1e-3, stacked)


def linear_checks(machine: Machine) -> Iterator[Check]:
    """R2-42: base parameters with Coulomb and viscous friction by linear least squares."""
    path = str(machine.path)
    friction = FrictionTerm.of(machine).with_law('viscous_coulomb', np.ones(machine.actuated_count))
    model = ObservationModel(machine, identical_legs=False, terms=(friction,))
    base = model.base_parameters()
    run = truth_run(path)
    matrix, _ = model.regressor(run.motion(machine))
    rows, truth = base.columns(matrix), model.parameters(machine).copy()
    for place, name in enumerate(model.names):
        if name.endswith('coulomb'):
            truth[place] = 40.0
    exact = weighted(rows, matrix @ truth)
    error = np.abs(exact.parameters - base.values(truth)).max() / np.abs(base.values(truth)).max()
    yield at_most('R2-42', 'linear friction, no noise: base parameters and friction, relative', 1e-9, error)
    bodies = sum('prismatic' not in name for name in base.names)
    what = 'base parameters: 10, three first moments across the rods, which the paper leaves out, and linear friction'
    yield equal('R2-42', what, [13, 6], [bodies, len(base) - bodies])
    noise = replace(run, efforts=matrix @ truth).with_noise(FORCE_NOISE, 2).efforts
    level = float(np.asarray(FORCE_NOISE.efforts))
    cases = (('linear friction', noise, True), ('the friction of the paper', measured(path).forces, False))
    for word, forces, possible in cases:
        found = weighted(rows, forces)
        # residuals that the model leaves would excuse anything: the sensor's noise decides
        covariance = found.covariance * (level / np.sqrt(np.mean(found.force_std**2))) ** 2
        problem = feasible_problem(base, found.parameters, covariance, model.names, model.parameters(machine))
        verdict = base_feasibility(problem)
        text = f'{verdict.verdict}, {verdict.distance:.3g} sigmas from the nearest machine'
        what = f'linear least squares of data with {word}: verdict by the noise of the sensor'
        required = f'not {INFEASIBLE}' if possible else INFEASIBLE
        yield holds('R2-42', what, required, text, (verdict.verdict == INFEASIBLE) != possible)
        if not possible:
            edge = '; '.join(verdict.edge)
            yield holds('R2-42', 'what stands in the way', 'named', edge or 'nothing', bool(edge))
            left = float(np.sqrt(np.mean((rows @ found.parameters - forces) ** 2)))
            what = 'rms error of linear least squares over that of the varying Stribeck model'
            yield at_least('R2-42', what, 50.0, left / outcomes(path)[BEST].rms)
