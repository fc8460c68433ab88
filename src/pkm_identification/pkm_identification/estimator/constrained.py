"""Searches of physical parameters, with bodies that keep the constraints of Mata et al. (2008), Eqs. 28 and 29.

Physical parameters are the unknowns. Each body has to keep, with the inertia about its centre of mass::

    m > 0,  Ixx > 0,  Ixx Iyy - Ixy^2 > 0,  det I > 0

which is Sylvester's criterion. The triangle inequality is not among them, and can be asked for. :func:`sqp` keeps the
constraints as such, as the paper does, and says how well its Karush-Kuhn-Tucker conditions hold. The problem is not
convex: on a whole robot it can stop short of the optimum, which the record then says (``converged``). What is linear
but for a few parameters is better searched over these, with
:func:`~pkm_identification.estimator.feasible.feasible_parameters` for all others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pkm_description.arrays import Array
from pkm_description.errors import ConfigurationError
from pkm_description.machine.parts import inertia_tensor, unit_inertia
from scipy import optimize

from pkm_identification.estimator.bodies import is_inertial, places_of_bodies
from pkm_identification.estimator.least_squares import SolverRecord

#: final over start value, of an unbounded parameter, from which on it has run away
RUNAWAY = 100.0
#: constraint values, relative to those of the start, that count as zero; part of the start's value that is kept
ACTIVE, MARGIN = 1e-6, 1e-6

#: figure of optimality up to which a fit counts as converged, and most iterations of SQP until then
OPTIMAL, ITERATIONS = 1e-3, 300

#: factor of the squared relative distance from the start, over the cost there: 45 of 70 directions of a 3-RPS leave no
#: force, and have no other minimum
PULL = 1e-6

#: singular value of the scaled Jacobian, relative to the largest, of what the residuals hardly show
WEAK = 1e-6

#: bounds of masses and of other parameters of bodies in Rosyid's Table 1, as factors of design values
MASSES, OTHERS = (1.0, 1.5), (0.75, 1.5)

#: factors of the mesh after success and failure, and where it ends
EXPANSION, CONTRACTION, MESH_TOLERANCE = 2.0, 0.5, 1e-6

_UPPER = [*zip(*(index.tolist() for index in np.triu_indices(3)), strict=True)]


def sqp(fit: ForceFit, triangle: bool = False, pull: float = PULL) -> FitResult:
    """Constrained fit by SciPy's SLSQP with exact gradients.

    Parameters
    ----------
    fit : its start must keep the constraints strictly; bodies are found by the names of the parameters
    triangle : ask for the triangle inequality of the principal moments, too, by the positive determinant of
        ``tr(I) / 2 - I``
    pull : see :data:`PULL`

    Notes
    -----
    The record holds the norm of the Karush-Kuhn-Tucker conditions with the best multipliers, relative to the gradient
    at the start of the fit, and the largest violation.
    """
    size = fit.magnitudes
    bodies = places_of_bodies(fit.names)
    first = max(fit.cost(fit.start), 1e-300)

    def cost(scaled: Array) -> float:
        return fit.cost(scaled * size) / first + pull * float(np.sum((scaled - fit.start / size) ** 2))

    def gradient(scaled: Array) -> Array:
        values = scaled * size
        slope = 2.0 * fit.jacobian(values).T @ fit.residuals(values) * size / first
        return np.asarray(slope + 2.0 * pull * (scaled - fit.start / size), dtype=float)

    def of_bodies(values: Array) -> tuple[Array, Array]:
        """Constraints (C,) of all bodies, and their derivatives (C, P) by the scaled parameters."""
        found, rows = [np.zeros(0)], [np.zeros((0, len(values)))]
        for at in bodies.values():
            own, block = _conditions(values[at], triangle)
            found.append(own)
            rows.append(np.zeros((len(own), len(values))))
            rows[-1][:, at] = block * size[at]
        return np.concatenate(found), np.concatenate(rows)

    reference = of_bodies(fit.start)[0]
    reference = np.where(reference > 0.0, reference, 1.0)

    def conditions(scaled: Array) -> Array:
        return of_bodies(scaled * size)[0] / reference - MARGIN

    def slopes(scaled: Array) -> Array:
        return of_bodies(scaled * size)[1] / reference[:, None]

    constraints = [{'type': 'ineq', 'fun': conditions, 'jac': slopes}] if bodies else []
    lower = fit.lower / size
    for at in bodies.values():
        # constraints may be broken on the way, bounds not: beyond a mass of zero lies another, senseless branch
        lower[at[0]] = max(lower[at[0]], 1e-4)
    bounds = [*zip(lower.tolist(), (fit.upper / size).tolist(), strict=True)]
    found = optimize.minimize(
        cost, fit.start / size, jac=gradient, method='SLSQP', bounds=bounds,
        constraints=constraints, options={'maxiter': ITERATIONS, 'ftol': 1e-12},
    )  # fmt: skip
    scaled = np.asarray(found.x, dtype=float)
    left = conditions(scaled)
    active = left < ACTIVE
    unit = np.eye(len(scaled))
    columns = [*slopes(scaled)[active], *unit[scaled - lower < ACTIVE], *-unit[fit.upper / size - scaled < ACTIVE]]
    now = gradient(scaled)
    stationarity = float(optimize.nnls(np.array(columns).T, now)[1]) if columns else float(np.linalg.norm(now))
    residual = stationarity / max(float(np.linalg.norm(gradient(fit.start / size))), 1e-300)
    record = SolverRecord(
        'SQP (SLSQP) with the constraints of Mata 2008, Eq. 28' + (', triangle inequality' if triangle else ''),
        int(found.nit), bool(found.success) and residual <= OPTIMAL,
        {
            'KKT residual, relative': residual,
            'largest violation, relative': float(np.maximum(-left, 0.0).max(initial=0.0)),
            'active constraints': float(active.sum()),
        },
        int(found.nfev), str(found.message), fit.cost(scaled * size),
    )  # fmt: skip
    return result_of(fit, scaled * size, record)


def _conditions(parameters: Array, triangle: bool) -> tuple[Array, Array]:
    """Values of the constraints of a body, and their derivatives by its ten parameters."""
    mass, moments = float(parameters[0]), parameters[1:4]
    inertia = inertia_tensor(parameters[4:]) - unit_inertia(moments) / mass
    changes = np.zeros((10, 3, 3))
    changes[0] = unit_inertia(moments) / mass**2
    for axis in range(3):
        outer = np.outer(np.eye(3)[axis], moments)
        changes[1 + axis] = -(2.0 * moments[axis] * np.eye(3) - outer - outer.T) / mass
    for row, (i, j) in enumerate(_UPPER):
        changes[4 + row, i, j] = changes[4 + row, j, i] = 1.0
    matrices = [(inertia, changes)]
    if triangle:  # second moments of mass
        half = 0.5 * np.eye(3)
        matrices.append((
            np.trace(inertia) * half - inertia, np.trace(changes, axis1=1, axis2=2)[:, None, None] * half - changes,
        ))  # fmt: skip
    values, slopes = [mass], [np.eye(10)[0]]
    for matrix, parts in matrices:
        for order in (1, 2, 3):
            sizes, axes = np.linalg.eigh(matrix[:order, :order])
            values.append(float(np.prod(sizes)))
            # the derivative of a determinant is its adjugate, whose eigenvalues are products of all others
            others = [np.prod(np.delete(sizes, place)) for place in range(order)]
            slopes.append(np.einsum('ij,kji->k', axes * others @ axes.T, parts[:, :order, :order]))
    return np.array(values), np.array(slopes)


# A fit of physical parameters to forces that need not be linear in them: the problem, and what every search returns.
#
# Mata et al. (2008, Eq. 29) and Rosyid & El-Khasawneh (2020, Eq. 34) fit physical parameters, not base parameters,
# with friction laws whose parameters enter nonlinearly. Fits do not determine all of them: where a result is not
# better determined than its start, the record of the search cannot say so, but :func:`weak_directions` does.
@dataclass(frozen=True)
class ForceFit:
    """Minimise ``|residuals(x)|^2`` within bounds.

    Attributes
    ----------
    names : P parameters
    start : (P,) design values; must lie within the bounds
    lower, upper : (P,), may be infinite
    residuals : (P,) -> (M,), weighted force errors
    jacobian : (P,) -> (M, P)
    """

    names: tuple[str, ...]
    start: Array
    lower: Array
    upper: Array
    residuals: Callable[[Array], Array]
    jacobian: Callable[[Array], Array]

    def __post_init__(self) -> None:
        for name, low, value, high in zip(self.names, self.lower, self.start, self.upper, strict=True):
            if not low <= value <= high:
                raise ConfigurationError(f'{name}: start {value:.6g} is not within its bounds {low:.6g} .. {high:.6g}')

    def cost(self, values: Array) -> float:
        """Sum of squared residuals (Rosyid, Eq. 33)."""
        return float(np.sum(self.residuals(values) ** 2))

    @property
    def magnitudes(self) -> Array:
        """Size (P,) of each parameter: its start, or where that is zero the nearest finite bound, or one."""
        ends = np.where(np.isfinite(self.upper), np.abs(self.upper), np.abs(self.lower))
        fallback = np.where(np.isfinite(ends) & (ends > 0.0), ends, 1.0)
        return np.where(self.start != 0.0, np.abs(self.start), fallback)


@dataclass(frozen=True)
class FitResult:
    """Outcome of a search.

    Attributes
    ----------
    values : (P,)
    cost : sum of squared residuals
    solver : optimiser, iterations, evaluations, reason of the stop, final cost, seed
    at_bounds : names of parameters that stand at a bound
    runaways : names of parameters without a finite bound that have left their start by a factor of
        :data:`RUNAWAY`: the data do not hold them, give them a bound
    """

    values: Array
    cost: float
    solver: SolverRecord
    at_bounds: tuple[str, ...]
    runaways: tuple[str, ...]


def result_of(fit: ForceFit, values: Array, solver: SolverRecord) -> FitResult:
    """Name what stands at bounds and what has run away."""
    room = 1e-6 * fit.magnitudes
    at_bounds = (values <= fit.lower + room) | (values >= fit.upper - room)
    free_above = ~np.isfinite(fit.upper) & (values > RUNAWAY * fit.magnitudes)
    free_below = ~np.isfinite(fit.lower) & (values < -RUNAWAY * fit.magnitudes)
    return FitResult(
        values, fit.cost(values), solver, _chosen(fit.names, at_bounds), _chosen(fit.names, free_above | free_below)
    )


def weak_directions(fit: ForceFit, values: Array) -> Array:
    """Changes of the parameters (K, P), in units of their magnitudes, that the residuals hardly show."""
    _, sizes, directions = np.linalg.svd(fit.jacobian(values) * fit.magnitudes, full_matrices=True)
    small = np.ones(len(values), dtype=bool)
    small[: len(sizes)] = sizes <= WEAK * sizes[0]
    return np.asarray(directions[small], dtype=float)


def design_bounds(names: Sequence[str], design: Array) -> tuple[Array, Array]:
    """Bounds (P,), (P,) from design values, as factors: those of Rosyid's Table 1; parameters that are zero get none.

    Friction, whose design values nobody knows, gets 0 and infinity.
    """
    low, high = np.full(len(names), -np.inf), np.full(len(names), np.inf)
    for index, (name, value) in enumerate(zip(names, design, strict=True)):
        if not is_inertial(name):
            low[index] = 0.0
        elif value != 0.0:
            factors = MASSES if name.endswith('.m') else OTHERS
            low[index], high[index] = sorted(factor * float(value) for factor in factors)
    return low, high


def _chosen(names: tuple[str, ...], which: NDArray[np.bool_]) -> tuple[str, ...]:
    return tuple(name for name, chosen in zip(names, which, strict=True) if chosen)


# Searches within bounds: pattern search, least squares from several starts, and a global search.
#
# Rosyid & El-Khasawneh (2020) use a generalised pattern search with the positive basis 2N (Torczon 1997; Audet & Dennis
# 2003), for fear of local minima. SciPy has none, so it stands here, with the constants that they used. Bounded least
# squares by SciPy are the better choice where derivatives exist, and are compared with it in the reproduction.
def pattern_search(fit: ForceFit, scaled_mesh: bool = True, evaluations: int | None = None) -> FitResult:
    """Generalised pattern search with the positive basis 2N, from the start of the fit; never leaves the bounds.

    A poll tries one parameter after the other, up and down, and takes the first improvement.

    Parameters
    ----------
    fit : costs are evaluated within its bounds only
    scaled_mesh : steps in units of each parameter's start, rounded to a power of two; else of one
    evaluations : at most; default 2000 times the number of parameters. Iterations are at most 100 times their number
    """
    count = len(fit.start)
    iterations, evaluations = 100 * count, 2000 * count if evaluations is None else evaluations
    steps = (2.0 ** np.round(np.log2(fit.magnitudes)) if scaled_mesh else np.ones(count)) * np.eye(count)
    place, mesh, used, taken = fit.start.copy(), 1.0, 1, 0
    cost = fit.cost(place)
    while mesh >= MESH_TOLERANCE and used < evaluations and taken < iterations:
        taken += 1
        for step in (*steps, *-steps):
            trial = place + mesh * step
            if used == evaluations or not np.all((fit.lower <= trial) & (trial <= fit.upper)):
                continue
            used += 1
            if (value := fit.cost(trial)) < cost:
                place, cost, mesh = trial, value, mesh * EXPANSION
                break
        else:
            mesh *= CONTRACTION if used < evaluations else 1.0
    stop = f'mesh below {MESH_TOLERANCE:g}'
    if mesh >= MESH_TOLERANCE:
        stop = f'{evaluations} evaluations' if used >= evaluations else f'{iterations} iterations'
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
    random, box = np.random.default_rng(seed), _finite_box(fit)
    found = [_trust_region(fit, random.uniform(*box) if number else fit.start) for number in range(starts)]
    best = min(found, key=lambda one: one.cost)
    method = f'bounded least squares (trust region) from {starts} starts'
    return _finished(fit, best, method, int(best.nfev), sum(one.nfev for one in found), seed if starts > 1 else None)


def global_search(
    fit: ForceFit,
    method: Literal['direct', 'differential_evolution', 'dual_annealing'] = 'differential_evolution',
    seed: int = 0,
    evaluations: int = 20_000,
) -> FitResult:
    """Global search within finite bounds (SciPy), finished by bounded least squares.

    In place of infinite bounds the global part searches ten magnitudes beyond the start; the finish may pass that.
    """
    bounds = np.stack(_finite_box(fit), axis=1).tolist()
    if method == 'direct':
        found = optimize.direct(fit.cost, bounds, maxfun=evaluations, maxiter=evaluations)
    elif method == 'differential_evolution':
        generations = max(1, evaluations // (15 * len(bounds)) - 1)
        found = optimize.differential_evolution(
            fit.cost, bounds, seed=seed, maxiter=generations, polish=False, tol=1e-8
        )
    elif method == 'dual_annealing':
        found = optimize.dual_annealing(fit.cost, bounds, seed=seed, maxfun=evaluations, no_local_search=True)
    else:
        raise ConfigurationError(f'method = {method!r}: choose direct, differential_evolution or dual_annealing')
    polished = _trust_region(fit, found.x)
    return _finished(
        fit, polished, f'{method}, then bounded least squares', int(getattr(found, 'nit', 0)),
        int(found.nfev) + int(polished.nfev), None if method == 'direct' else seed,
        {'cost before the finish': float(found.fun)},
    )  # fmt: skip


def _trust_region(fit: ForceFit, start: Array) -> optimize.OptimizeResult:
    """Least squares within the bounds (SciPy), from a start (P,) that is moved inside of them."""
    inward = 1e-9 * fit.magnitudes
    return optimize.least_squares(
        fit.residuals, np.clip(start, fit.lower + inward, fit.upper - inward), fit.jacobian,
        bounds=(fit.lower, fit.upper), x_scale=fit.magnitudes, xtol=1e-12, ftol=1e-12, gtol=1e-12, max_nfev=500,
    )  # fmt: skip


def _finished(
    fit: ForceFit, found: optimize.OptimizeResult, method: str, iterations: int, evaluations: int, seed: int | None,
    further: Mapping[str, float] | None = None,
) -> FitResult:  # fmt: skip
    """Result of a trust region, with its record."""
    figures = {'gradient': float(found.optimality), **(further or {})}
    record = SolverRecord(
        method, iterations, bool(found.success), figures, evaluations, str(found.message), 2.0 * float(found.cost), seed
    )
    return result_of(fit, np.asarray(found.x, dtype=float), record)


def _finite_box(fit: ForceFit) -> tuple[Array, Array]:
    """Bounds with infinite ends replaced by ten magnitudes beyond the start."""
    reach = 10.0 * fit.magnitudes
    low = np.where(np.isfinite(fit.lower), fit.lower, fit.start - reach)
    return low, np.where(np.isfinite(fit.upper), fit.upper, fit.start + reach)
