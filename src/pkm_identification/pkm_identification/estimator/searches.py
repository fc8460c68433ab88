"""Searches within bounds: pattern search, least squares from several starts, and a global search.

Rosyid & El-Khasawneh (2020) use a generalised pattern search with the positive basis 2N (Torczon 1997; Audet & Dennis
2003), for fear of local minima. SciPy has none, so it stands here, with the constants that they used. Bounded least
squares by SciPy are the better choice where derivatives exist, and are compared with it in the reproduction.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from pkm_description.arrays import Array
from pkm_description.errors import ConfigurationError
from scipy.optimize import differential_evolution, direct, dual_annealing, least_squares

from pkm_identification.estimator.constrained import FitResult, ForceFit, result_of
from pkm_identification.estimator.least_squares import SolverRecord

#: factors of the mesh after success and failure, and where it ends
EXPANSION, CONTRACTION, MESH_TOLERANCE = 2.0, 0.5, 1e-6


def pattern_search(
    fit: ForceFit, scaled_mesh: bool = True, iterations: int | None = None, evaluations: int | None = None
) -> FitResult:
    """Generalised pattern search with the positive basis 2N, from the start of the fit; never leaves the bounds.

    A poll tries one parameter after the other, up and down, and takes the first improvement.

    Parameters
    ----------
    fit : costs are evaluated within its bounds only
    scaled_mesh : steps in units of each parameter's start, rounded to a power of two; else of one
    iterations, evaluations : at most; default 100 and 2000 times the number of parameters
    """
    count = len(fit.start)
    iterations = 100 * count if iterations is None else iterations
    evaluations = 2000 * count if evaluations is None else evaluations
    unit = 2.0 ** np.round(np.log2(fit.magnitudes)) if scaled_mesh else np.ones(count)
    place, mesh, used, taken = fit.start.copy(), 1.0, 1, 0
    cost = fit.cost(place)
    stop = f'{iterations} iterations'
    for taken in range(1, iterations + 1):  # noqa: B007
        found = None
        for direction in range(2 * count):
            axis, sign = direction % count, 1.0 if direction < count else -1.0
            trial = place.copy()
            trial[axis] += sign * mesh * unit[axis]
            if not fit.lower[axis] <= trial[axis] <= fit.upper[axis]:
                continue
            used += 1
            value = fit.cost(trial)
            if value < cost:
                found = trial, value
                break
            if used >= evaluations:
                break
        if found is None:
            mesh *= CONTRACTION
        else:
            (place, cost), mesh = found, mesh * EXPANSION
        if mesh < MESH_TOLERANCE:
            stop = f'mesh below {MESH_TOLERANCE:g}'
            break
        if used >= evaluations:
            stop = f'{evaluations} evaluations'
            break
    record = SolverRecord(
        'pattern search, positive basis 2N', taken, mesh < MESH_TOLERANCE, {'mesh': mesh}, used, stop, cost
    )
    return result_of(fit, place, record)


def bounded_least_squares(fit: ForceFit, starts: int = 1, seed: int = 0) -> FitResult:
    """Trust-region least squares within bounds (SciPy), from the fit's start and others around it; the best of them.

    Parameters
    ----------
    fit : with its Jacobian
    starts : how many; those beyond the first are drawn within the bounds, infinite ends within a factor of ten
    seed : of the draws
    """
    random = np.random.default_rng(seed)
    inward = 1e-9 * fit.magnitudes
    low, high = _finite_box(fit)
    best, used = None, 0
    for number in range(starts):
        start = fit.start if number == 0 else random.uniform(low, high)
        found = least_squares(
            fit.residuals, np.clip(start, fit.lower + inward, fit.upper - inward), fit.jacobian,
            bounds=(fit.lower, fit.upper), x_scale=fit.magnitudes, xtol=1e-12, ftol=1e-12, gtol=1e-12, max_nfev=500,
        )  # fmt: skip
        used += found.nfev
        if best is None or found.cost < best.cost:
            best = found
    assert best is not None
    record = SolverRecord(
        f'bounded least squares (trust region) from {starts} starts', int(best.nfev), bool(best.success),
        {'gradient': float(best.optimality)}, used, str(best.message), 2.0 * float(best.cost),
        seed if starts > 1 else None,
    )  # fmt: skip
    return result_of(fit, np.asarray(best.x, dtype=float), record)


def global_search(
    fit: ForceFit,
    method: Literal['direct', 'differential_evolution', 'dual_annealing'] = 'differential_evolution',
    seed: int = 0,
    evaluations: int = 20_000,
) -> FitResult:
    """Global search within finite bounds (SciPy), finished by bounded least squares.

    In place of infinite bounds the global part searches ten magnitudes beyond the start; the finish may pass that.
    """
    low, high = _finite_box(fit)
    bounds = [*zip(low.tolist(), high.tolist(), strict=True)]
    if method == 'direct':
        found = direct(fit.cost, bounds, maxfun=evaluations, maxiter=evaluations)
    elif method == 'differential_evolution':
        generations = max(1, evaluations // (15 * len(low)) - 1)
        found = differential_evolution(fit.cost, bounds, seed=seed, maxiter=generations, polish=False, tol=1e-8)
    elif method == 'dual_annealing':
        found = dual_annealing(fit.cost, bounds, seed=seed, maxfun=evaluations, no_local_search=True)
    else:
        raise ConfigurationError(f'method = {method!r}: choose direct, differential_evolution or dual_annealing')
    polished = least_squares(
        fit.residuals, np.clip(found.x, fit.lower, fit.upper), fit.jacobian, bounds=(fit.lower, fit.upper),
        x_scale=fit.magnitudes, xtol=1e-12, ftol=1e-12, gtol=1e-12, max_nfev=500,
    )  # fmt: skip
    record = SolverRecord(
        f'{method}, then bounded least squares', int(getattr(found, 'nit', 0)), bool(polished.success),
        {'gradient': float(polished.optimality), 'cost before the finish': float(found.fun)},
        int(found.nfev) + int(polished.nfev), str(polished.message), 2.0 * float(polished.cost),
        None if method == 'direct' else seed,
    )  # fmt: skip
    return result_of(fit, np.asarray(polished.x, dtype=float), record)


def _finite_box(fit: ForceFit) -> tuple[Array, Array]:
    """Bounds with infinite ends replaced by ten magnitudes beyond the start."""
    reach = 10.0 * fit.magnitudes
    low = np.where(np.isfinite(fit.lower), fit.lower, fit.start - reach)
    return low, np.where(np.isfinite(fit.upper), fit.upper, fit.start + reach)
