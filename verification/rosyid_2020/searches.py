"""R2-31 to R2-38, R2-40, R2-46, R2-47: the parameters of the planar 3-PRR found by pattern search and by least squares.

The data are synthetic, for those of the paper are not public: its estimates of Table 1 are the truth, moved by forward
dynamics along an excitation of 4 s, with noise of its force sensor. The model is the library's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from pkm_description.arrays import Array
from pkm_description.kinematics.workspace import random_states
from pkm_description.machine import Machine
from pkm_identification.columns.observation import ObservationModel
from pkm_identification.estimator.bodies import bodies_by_name, body_from_parameters, infeasibilities
from pkm_identification.estimator.constrained import (
    FitResult,
    ForceFit,
    bounded_least_squares,
    global_search,
    pattern_search,
    weak_directions,
)
from pkm_identification.estimator.feasible import feasible_parameters
from pkm_identification.estimator.feasible_problem import Limits, feasible_problem
from pkm_identification.estimator.least_squares import weighted

from verification.check import Check, at_least, at_most, equal, holds, near_each
from verification.rosyid_2020.data import (
    FRICTION_LIMITS,
    NAMES,
    NOISE,
    Experiment,
    measured,
    paper_rates,
    truth,
    truth_run,
)
from verification.rosyid_2020.dynamics import base_parameters
from verification.rosyid_2020.model import PlanarGeometry
from verification.rosyid_2020.table import FRICTION, geometry_of, printed_parameters

#: printed bounds of masses and first moments, Table 1
PRINTED_BOUNDS = {'slider.m': (6.255, 9.3825), 'leg3.m': (13.372, 20.058), 'leg1.mx': (2.0039, 4.0077),
                  'platform.Izz': (1.7989, 3.5979)}  # fmt: skip
CENTRAL = (0.2693, 0.1684, 0.5887, 0.7926)


def checks(machine: Machine, quick: bool) -> Iterator[Check]:
    """Checks of the searches, and of feasibility."""
    geometry, path = geometry_of(machine), str(machine.path)
    data = measured(path)
    fit = data.fit(FRICTION_LIMITS)
    yield from truth_checks(geometry, path, data)
    yield from problem_checks(fit)
    yield from search_checks(geometry, data, fit, quick)
    yield from feasibility_checks(machine, 5 if quick else 50)


def truth_checks(geometry: PlanarGeometry, path: str, data: Experiment) -> Iterator[Check]:
    """The library's rows against what forward dynamics made, and against the paper's own rows of the same poses."""
    clean = truth_run(path).efforts
    error = np.abs(data.predicted(truth()) - clean).max() / np.abs(clean).max()
    yield at_most('R2-46', 'rows times Table 1, and friction laws, against forward dynamics, relative', 1e-9, error)
    paper = paper_rates(geometry)
    close = np.sqrt(np.mean((paper - data.rates) ** 2) / np.mean(paper**2))
    yield at_most('R2-46', "rates of the run against the paper's excitation, relative rms", 0.05, close)


def problem_checks(fit: ForceFit) -> Iterator[Check]:
    """R2-31, R2-32, R2-36: parameters, cost, bounds, exact derivatives."""
    friction = [name for name in fit.names if name in ('f_v', 'mu_c', 'mu_s', 'v_s')]
    yield equal('R2-31', 'inertial and friction parameters', [13, 4], [len(fit.names) - len(friction), len(friction)])
    for name, printed in PRINTED_BOUNDS.items():
        place = fit.names.index(name)
        yield near_each('R2-36', f'bounds of {name}', printed, [fit.lower[place], fit.upper[place]], 6e-5)
    yield equal('R2-36', 'friction without design values', [0.0] * 3, fit.lower[13:16].tolist())
    errors = fit.residuals(fit.start)
    yield at_most('R2-32', "cost - e'e", 1e-12, fit.cost(fit.start) / float(errors @ errors) - 1.0)
    inside = 0.5 * (fit.lower + fit.upper)
    steps = [1e-6 * size * unit for size, unit in zip(fit.magnitudes, np.eye(17), strict=True)]
    rough = np.stack(
        [(fit.residuals(inside + s) - fit.residuals(inside - s)) / (2.0 * s.sum()) for s in steps], axis=-1
    )
    exact = fit.jacobian(inside)
    error = np.abs((rough - exact) * fit.magnitudes).max() / np.abs(exact * fit.magnitudes).max()
    yield at_most('R2-32', 'derivatives of the errors against differences, relative', 1e-6, error)


def search_checks(geometry: PlanarGeometry, data: Experiment, fit: ForceFit, quick: bool) -> Iterator[Check]:
    """R2-33 to R2-35, R2-40, R2-46, R2-47: pattern search, least squares, global search."""
    outside = []

    def watched(values: Array) -> Array:
        outside.append(bool(np.any(values < fit.lower) or np.any(values > fit.upper)))
        # beyond the bounds friction laws refuse
        return fit.residuals(np.clip(values, fit.lower, fit.upper))

    free = data.fit((np.inf,) * 4)
    rms = np.sqrt(data.forces.size)
    start = np.sqrt(fit.cost(fit.start)) / rms
    plain = pattern_search(replace(fit, residuals=watched), scaled_mesh=False, evaluations=2000 if quick else None)
    yield equal('R2-33', f'evaluations outside of the bounds, of {len(outside)}', 0, sum(outside))
    yield at_most('R2-33', f'rms error after pattern search with unit mesh, from {start:.1f} N ({plain.solver.stop})',
                  0.5 * start, np.sqrt(plain.cost) / rms, 'N')  # fmt: skip
    scaled = pattern_search(free, evaluations=2000 if quick else None)
    yield at_most(
        'R2-33', f'the same with scaled mesh ({scaled.solver.stop})', 0.5 * start, np.sqrt(scaled.cost) / rms, 'N'
    )
    local = bounded_least_squares(fit, starts=2 if quick else 5, seed=1)
    floor = NOISE / np.sqrt(3.0)
    yield at_most('R2-34', 'rms error of least squares over that of the noise', 1.1, np.sqrt(local.cost) / rms / floor)
    friction = np.abs(local.values[13:] / FRICTION - 1.0)
    yield at_most('R2-34', 'friction parameters, relative', 1e-3, friction)
    yield at_most('R2-46', 'rms error of the fit over that of the noise', 1.1, np.sqrt(local.cost) / rms / floor)
    yield at_most('R2-46', 'base parameters, relative', 2.5e-3, _base_error(geometry, local.values))
    searched = global_search(fit, seed=3, evaluations=3000 if quick else 20_000)
    yield at_most('R2-34', 'rms error of global search and finish over that of the noise', 1.1,
                  np.sqrt(searched.cost) / rms / floor)  # fmt: skip
    # without Stribeck friction nothing holds its velocity
    fixed = data.predicted(np.concatenate([truth()[:13], [0.1449, 83.18, 0.1449, 1.0]]))
    loose = replace(data, forces=fixed + 0.01 * np.random.default_rng(5).normal(size=fixed.shape)).fit((np.inf,) * 4)
    lost = bounded_least_squares(replace(loose, start=np.where(np.arange(17) == 16, 0.02, loose.start)), 1)
    named = _runaway_named(lost) or _runaway_named(scaled)
    yield holds('R2-35', 'a Stribeck velocity that no datum holds is named', 'named',
                f'v_s = {lost.values[16]:.3g}, by pattern search {scaled.values[16]:.3g} m/s', named)  # fmt: skip
    yield equal('R2-40', 'directions that the data leave open', 2, len(weak_directions(fit, local.values)))
    bodies = ForceFit(
        NAMES[:13], fit.start[:13], fit.lower[:13], fit.upper[:13], lambda x: (data.rigid @ x).ravel(),
        lambda x: data.rigid.reshape(-1, 13),
    )  # fmt: skip
    left = len(weak_directions(bodies, local.values[:13]))
    yield equal('R2-40', 'those that the forces of the bodies leave open, without their friction', 4, left)
    record = searched.solver
    logged = [bool(record.method), record.iterations > 0, record.evaluations > 0, bool(record.stop), record.seed == 3]
    yield equal('R2-47', 'optimiser, iterations, evaluations, stop and seed in the record', [True] * 5, logged)
    again = global_search(fit, seed=3, evaluations=3000 if quick else 20_000)
    yield equal('R2-47', 'final cost with the same seed', searched.cost, again.cost)


def _runaway_named(result: FitResult) -> bool:
    return 'v_s' in result.runaways


def _base_error(geometry: PlanarGeometry, values: Array) -> Array:
    """Relative errors of the nine base parameters that are not zero."""
    found, expected = (base_parameters(geometry, printed_parameters() @ x[:13]) for x in (values, truth()))
    used = expected != 0.0
    return np.asarray(found[used] / expected[used] - 1.0, dtype=float)


def feasibility_checks(machine: Machine, runs: int) -> Iterator[Check]:
    """R2-37, R2-38: the bodies of Table 1 can exist, and so can those of every constrained fit."""
    values = dict(zip(NAMES, truth(), strict=True))
    bodies = {}
    for body in ('leg1', 'leg2', 'leg3', 'platform'):
        mass, moment, inertia = (values[f'{body}.{kind}'] for kind in ('m', 'mx', 'Izz'))
        # slender: little inertia about x
        bodies[body] = np.array([mass, moment, 0.0, 0.0, 1e-3, 0.0, 0.0, inertia, 0.0, inertia])
    central = [float(body_from_parameters(body, ten).inertia[2, 2]) for body, ten in bodies.items()]
    yield near_each('R2-37', 'central inertias of the estimates, kg m^2', CENTRAL, central, 5e-5)
    yield equal('R2-37', 'bodies of Table 1 that cannot exist', [], list(infeasibilities(bodies)))
    corner = {body: ten * np.where(np.arange(10) == 1, 1.5 / 0.75, 1.0) for body, ten in bodies.items()}
    yield equal('R2-37', 'named where first moments are twice as large', 4, len(infeasibilities(corner)))
    model = ObservationModel(machine, identical_legs=False, friction='none')
    nominal = model.parameters(machine)
    regressor, _ = model.regressor(random_states(machine, 100, seed=7))
    base = model.base_parameters()
    rows, clean = base.columns(regressor), regressor @ nominal
    masses = {
        name: (value, 1.5 * value) for name, value in zip(model.names, nominal, strict=True) if name.endswith('.m')
    }
    wrong, least = 0, []
    for seed in range(runs):
        noise = 0.2 * np.sqrt(np.mean(clean**2)) * np.random.default_rng(seed).normal(size=clean.shape)
        estimate = weighted(rows, clean + noise)
        problem = feasible_problem(
            base, estimate.parameters, estimate.covariance, model.names, nominal, limits=Limits(masses)
        )
        found = feasible_parameters(problem)
        inside = all(low - 1e-6 <= found.values[model.names.index(name)] <= high + 1e-6
                     for name, (low, high) in masses.items())  # fmt: skip
        wrong += bool(infeasibilities(bodies_by_name(found.names, found.values))) or not inside
        least.append(min(found.least_eigenvalue.values()))
    yield equal('R2-38', f'of {runs} noisy fits within bounds on the masses, not feasible', 0, wrong)
    yield at_least('R2-38', 'least eigenvalue of a pseudo-inertia', 1e-300, least)
