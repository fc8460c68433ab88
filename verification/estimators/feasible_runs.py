"""Noisy runs of an identification: no machine that cannot exist, and base values kept where they can exist."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from pkm_description.machine import Machine
from pkm_description.motion.profiles import profile
from pkm_identification.columns.observation import ObservationModel
from pkm_identification.estimator.bodies import (
    bodies_by_name,
    infeasibilities,
    is_inertial,
    nominal_covariance,
    share_out,
)
from pkm_identification.estimator.feasible import BarrierEngine, FeasibleParameters, feasible_parameters
from pkm_identification.estimator.feasible_problem import FeasibleProblem, feasible_problem
from pkm_identification.estimator.least_squares import weighted
from pkm_identification.judgement.significance import excited_parameters

from verification.check import Check, at_least, at_most, equal
from verification.estimators.base_feasibility import FEASIBLE, base_feasibility
from verification.estimators.conic_peer import LmiEngine

#: noise of the forces over their rms, from the best sensors to the worst; runs; relative errors of the nominal machine
NOISE, RUNS, QUICK_RUNS = (1e-4, 0.3), 200, 10
PLATFORM, LEGS = 0.3, 0.05
#: every so many runs all engines and the test of the base values
EVERY = 10


def checks(machine: Machine, quick: bool) -> Iterator[Check]:
    """Identify from many noisy recordings of 12 s, each with another noise level and another wrong nominal machine."""
    runs = QUICK_RUNS if quick else RUNS
    model = ObservationModel(machine)
    motion = profile('drives' if machine.constraint_count else 'fourier', machine, duration=12.0, rate=25.0)
    regressor, _ = model.regressor(motion)
    truth = model.parameters(machine)
    clean = regressor @ truth
    structure = model.base_parameters()
    base, _ = excited_parameters(structure.columns(regressor), structure)
    rows, scale = base.columns(regressor), np.sqrt(np.mean(clean**2))
    spread = nominal_covariance(model.names, truth, PLATFORM / 3.0, LEGS)
    impossible = linear = kept = 0
    eigenvalues, shifts, gaps, unsettled = [], [], [], 0
    for seed in range(runs):
        random = np.random.default_rng(seed)
        level = np.exp(random.uniform(*np.log(NOISE)))
        estimate = weighted(rows, clean + level * scale * random.normal(size=clean.shape))
        nominal = _wrong_nominal(model.names, truth, spread, random)
        problem = feasible_problem(
            base, estimate.parameters, estimate.covariance, model.names, nominal, platform_uncertainty=PLATFORM,
            leg_uncertainty=LEGS,
        )  # fmt: skip
        found = feasible_parameters(problem)
        impossible += not _exists(found.names, found.values)
        unsettled += not found.solver.converged
        eigenvalues.append(min(found.least_eigenvalue.values()))
        prior = nominal_covariance(model.names, nominal, PLATFORM, LEGS)
        plain, _ = share_out(base, estimate.parameters, estimate.covariance, nominal, prior)
        linear += not _exists(model.names, plain)
        if base_feasibility(problem).verdict == FEASIBLE:
            kept += 1
            shifts.append(np.abs(found.base_shifts).max())
        if seed % EVERY == 0:
            gaps.append(_disagreement(problem, found))
    yield equal('runs', f'machines that cannot exist, of {runs} (linear share-out: {linear})', 0, impossible)
    yield at_least('runs', 'least eigenvalue of a pseudo-inertia, kg m^2', 1e-300, eigenvalues)
    yield equal('runs', f'solver did not settle, of {runs}', 0, unsettled)
    if shifts:
        what = f'base values against WLS, in its standard deviations, where a machine has exactly those ({kept} runs)'
        yield at_most('runs', what, 1.0, shifts)
    yield at_most('runs', 'barrier and conic peer, weight 1: parameters, in standard deviations', 0.02, gaps)


def _wrong_nominal(
    names: tuple[str, ...], truth: np.ndarray, spread: np.ndarray, random: np.random.Generator
) -> np.ndarray:
    """Nominal machine around the true one: bodies that can exist, half to twice the friction."""
    sizes, axes = np.linalg.eigh(spread)
    for _ in range(1000):
        nominal = truth + axes @ (np.sqrt(np.maximum(sizes, 0.0)) * random.normal(size=len(truth)))
        bodies = {body: ten for body, ten in bodies_by_name(names, nominal).items() if ten.any()}
        if not infeasibilities(bodies):
            break
    factors = np.exp(random.uniform(np.log(0.5), np.log(2.0), len(names)))
    return np.where([is_inertial(name) for name in names], nominal, truth * factors)


def _exists(names: tuple[str, ...], values: np.ndarray) -> bool:
    """Whether all bodies can exist and no friction is negative; judged by the tests of the pipeline, not the solver."""
    bodies = {body: ten for body, ten in bodies_by_name(names, values).items() if ten.any()}
    friction = [value for name, value in zip(names, values, strict=True) if not is_inertial(name)]
    return not infeasibilities(bodies) and min(friction, default=0.0) >= 0.0


def _disagreement(problem: FeasibleProblem, found: FeasibleParameters) -> float:
    """Largest difference between the engines, in standard deviations."""
    std = np.where(np.isfinite(found.std) & (found.std > 0.0), found.std, np.inf)
    values = [feasible_parameters(problem, 1.0, engine).values for engine in (BarrierEngine, LmiEngine)]
    return float(np.abs((np.ptp(values, axis=0)) / std).max())
