"""Physical parameters that can exist, from identified base parameters: feasible by construction.

:func:`feasible_parameters` returns a machine whose bodies have positive mass and a positive definite pseudo-inertia,
whose friction is not negative and whose parameters keep the user's bounds: there is no other result. Within that it
stays as near to the nominal bodies as the base values allow.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from pkm_description.arrays import Array
from pkm_description.errors import ConfigurationError
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize

from pkm_identification.errors import InfeasibleParametersError
from pkm_identification.estimator.feasible_barrier import BarrierEngine
from pkm_identification.estimator.feasible_problem import FeasibleProblem
from pkm_identification.estimator.least_squares import SolverRecord
from pkm_identification.estimator.pseudo_inertia import BASIS, places_of_bodies, pseudo_inertia
from pkm_identification.estimator.residual_covariance import definite

#: weights of the pull that are tried in turn, and the change of base values, in standard deviations, that it may cost
WEIGHTS, KEPT = np.geomspace(1.0, 1e-8, 17).tolist(), 0.98
#: whitened slack, and eigenvalue against the nominal body's, up to which a limit counts as active
ACTIVE_SLACK, ACTIVE_EIGENVALUE = 1e-5, 1e-3
#: by which a limit may be passed: rounding of the engines
ACCURACY = 1e-7


class Engine(Protocol):
    """Minimises the cost of a problem for a weight of the pull."""

    name: str

    def solve(self, weight: float, start: Array | None = None) -> tuple[Array, SolverRecord]:
        """Unknowns (Z,) at the optimum, from the solution of a near weight where there is one."""
        ...


@dataclass(frozen=True)
class FeasibleParameters:
    """A machine that can exist, nearest to the base values and the nominal bodies.

    Attributes
    ----------
    names, values : (P,) all physical parameters; held ones are nominal
    covariance : (P, P), with what the trust in the nominal bodies leaves open; infinite for friction that no base
        parameter contains. Limits are not counted: they make it only smaller
    base_values, base_shifts : (B,): base parameters of the values, and their distance from the identified ones in
        standard deviations
    chi_square : squared distance of all of them, with their correlations
    weight : of the pull towards the nominal bodies; 1 takes the trust in them at its word
    least_eigenvalue : of each body's pseudo-inertia, by name
    relative_eigenvalue : the same in the axes where the nominal one is the identity, without units
    active : limits that hold the solution back, in words
    solver : the engine's own figures
    """

    names: tuple[str, ...]
    values: Array
    covariance: Array
    base_values: Array
    base_shifts: Array
    chi_square: float
    weight: float
    least_eigenvalue: dict[str, float]
    relative_eigenvalue: dict[str, float]
    active: tuple[str, ...]
    solver: SolverRecord

    @property
    def std(self) -> Array:
        """Square roots of the covariance's diagonal (P,)."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0))


def feasible_parameters(
    problem: FeasibleProblem,
    weight: float | None = None,
    engine: Callable[[FeasibleProblem, Array], Engine] = BarrierEngine,
) -> FeasibleParameters:
    """Solve a problem of :func:`~pkm_identification.estimator.feasible_problem.feasible_problem`.

    Parameters
    ----------
    problem : base values, nominal machine, trust in it, limits
    weight : of the pull towards the nominal bodies. 1 takes the trust in them at its word: the most probable machine,
        best where the drawings are right; it corrects base values that the data leave open. ``None`` takes the largest
        weight up to 1 with which every base value stays within one standard deviation of the identified one, as far
        as machines can exist there: the nominal bodies only share out what the data leave open
    engine : minimises the convex cost from unknowns (Z,) inside the limits; another one only for comparison

    Raises
    ------
    ConfigurationError
        A weight that is not positive, or limits that contradict each other.
    InfeasibleParametersError
        The engine ended at something that cannot exist or does not keep the limits; nothing is returned in its place.
    """
    if weight is not None and not weight > 0.0:
        raise ConfigurationError(f'weight = {weight} of the pull towards the nominal bodies must be positive')
    solver = engine(problem, inside(problem))
    if weight is None:
        unknowns, record, weight = _strongest_pull(problem, solver)
    else:
        unknowns, record = solver.solve(weight)
    _require_limits(problem, unknowns, solver.name)
    return _result(problem, unknowns, record, weight)


def _require_limits(problem: FeasibleProblem, unknowns: Array, engine: str) -> None:
    """Accept nothing but machines that can exist, whatever the engine says of itself."""
    beyond = problem.limits @ unknowns - problem.limit_values
    gap = np.abs(problem.held @ unknowns - problem.held_values).max(initial=0.0)
    if np.isfinite(problem.divergence(unknowns)) and max(beyond.max(initial=0.0), gap) <= ACCURACY:
        return
    worst = problem.limit_names[int(np.argmax(beyond))] if beyond.max(initial=0.0) > ACCURACY else 'a held parameter'
    raise InfeasibleParametersError(
        f'engine {engine} found no machine that can exist ({worst}, off by {max(beyond.max(initial=0.0), gap):.2g}, '
        'whitened); widen the bounds'
    )


def _strongest_pull(problem: FeasibleProblem, solver: Engine) -> tuple[Array, SolverRecord, float]:
    """Solution, record and weight for which no base value moves by more than its standard deviation."""
    tried: list[tuple[Array, SolverRecord, float]] = []
    for weight in WEIGHTS:
        tried.append((*solver.solve(weight, tried[-1][0] if tried else None), weight))
        if np.abs(problem.shifts(tried[-1][0])).max(initial=0.0) <= KEPT:
            return tried[-1]
        if problem.is_far(tried[-1][0], weight):
            break
    # the base values cannot exist: within one standard deviation of the nearest that can
    nearest = problem.shifts(tried[-1][0])
    return next(found for found in tried if np.abs(problem.shifts(found[0]) - nearest).max() <= KEPT)


def inside(problem: FeasibleProblem) -> Array:
    """Unknowns (Z,) that keep all limits strictly and held parameters exactly, near the nominal machine.

    Raises
    ------
    ConfigurationError
        There are none; names the limits that are in the way.
    """
    found = problem.start.copy()
    if len(problem.held):
        found += np.linalg.lstsq(problem.held, problem.held_values - problem.held @ found, rcond=None)[0]
        if not np.isfinite(problem.divergence(found)):
            raise ConfigurationError(
                'the parameters held at their nominal values leave no real body, for one is drawn flat or slender; '
                'hold all of its parameters or none'
            )
    margin = 1e-3
    for attempt in range(12):
        slack = problem.limit_values - problem.limits @ found
        if not slack.size or slack.min() > 1e-6:
            return found
        # a stretch of scalars at their bound, and the nearest bodies by a growing penalty
        found = _pushed(problem, found, margin * 0.5**attempt, 10.0 ** (2 + attempt))
    names = [name for name, room in zip(problem.limit_names, slack, strict=True) if room <= 1e-6]
    raise ConfigurationError(
        'no machine that can exist keeps all limits; in the way: ' + '; '.join(names) + '. Widen these bounds'
    )


def _pushed(problem: FeasibleProblem, start: Array, margin: float, factor: float) -> Array:
    """Minimise divergence and squared violations of limits, which are moved inwards by ``margin``."""

    def cost(unknowns: Array) -> float:
        excess = np.maximum(problem.limits @ unknowns - problem.limit_values + margin, 0.0)
        gap = problem.held @ unknowns - problem.held_values
        away = unknowns[problem.size :] - problem.start[problem.size :]
        return 1e-3 * (problem.divergence(unknowns) / problem.pulls.max(initial=1.0) + float(away @ away)) + factor * (
            float(excess @ excess) + 1e3 * float(gap @ gap)
        )

    def gradient(unknowns: Array) -> Array:
        excess = np.maximum(problem.limits @ unknowns - problem.limit_values + margin, 0.0)
        gap = problem.held @ unknowns - problem.held_values
        result = 2.0 * factor * (problem.limits.T @ excess + 1e3 * problem.held.T @ gap)
        size = problem.size
        result[size:] += 2e-3 * (unknowns[size:] - problem.start[size:])
        if problem.bodies:
            slopes = problem.pulls[:, None, None] * (np.eye(4) - np.linalg.inv(problem.matrices(unknowns)))
            pull = np.einsum('bij,kij->bk', slopes, BASIS).ravel()
            result[:size] += 1e-3 * pull / problem.pulls.max()
        return result

    found = minimize(cost, start, jac=gradient, method='BFGS', options={'maxiter': 2000, 'gtol': 1e-9}).x
    if len(problem.held):
        found += np.linalg.lstsq(problem.held, problem.held_values - problem.held @ found, rcond=None)[0]
    return found if np.isfinite(problem.divergence(found)) else start


def _result(problem: FeasibleProblem, unknowns: Array, record: SolverRecord, weight: float) -> FeasibleParameters:
    values = problem.parameters(unknowns)
    bodies = {body: at for body, at in places_of_bodies(problem.names).items() if body in problem.bodies}
    relative = np.linalg.eigvalsh(problem.matrices(unknowns))[:, 0] if problem.bodies else np.zeros(0)
    fit = problem.matrix @ unknowns - problem.target
    shifts = problem.to_sigmas @ fit
    return FeasibleParameters(
        problem.names, values, covariance_of(problem, unknowns, weight),
        problem.base_values + shifts * problem.base_std, shifts,
        float(fit @ fit), weight,
        {body: float(np.linalg.eigvalsh(pseudo_inertia(values[at]))[0]) for body, at in bodies.items()},
        dict(zip(problem.bodies, relative.tolist(), strict=True)), active_limits(problem, unknowns), record,
    )  # fmt: skip


def active_limits(problem: FeasibleProblem, unknowns: Array) -> tuple[str, ...]:
    """What holds a solution back, in words."""
    slack = problem.limit_values - problem.limits @ unknowns
    found = [name for name, room in zip(problem.limit_names, slack, strict=True) if room < ACTIVE_SLACK]
    for body, matrix in zip(problem.bodies, problem.matrices(unknowns), strict=True):
        least = float(np.linalg.eigvalsh(matrix)[0])
        if least < ACTIVE_EIGENVALUE:
            found.append(f'{body}: pseudo-inertia at the edge of what can exist ({least:.2g} of the nominal body)')
    return tuple(found)


def covariance_of(problem: FeasibleProblem, unknowns: Array, weight: float) -> Array:
    """Covariance (P, P) of the physical parameters at a solution (Z,).

    With the fit's matrix F, the bodies' precision G at the nominal bodies and H that of the divergence at the solution,
    its error is ``(F' F + w H)^-1 (F' noise + w G (true - nominal bodies))``. Where a body came out smaller than the
    nominal one H would be larger than G, and the error smaller: that is not counted.
    """
    fit = problem.matrix.T @ problem.matrix
    normal, spread = fit + weight * _curvature(problem, unknowns), fit + weight**2 * problem.metric
    free = np.linalg.svd(problem.held)[2][len(problem.held) :].T if len(problem.held) else np.eye(len(normal))
    normal, spread = free.T @ normal @ free, free.T @ spread @ free
    scale = np.sqrt(np.diag(normal))
    factor = cho_factor(definite(normal / np.outer(scale, scale)))
    left = cho_solve(factor, spread / np.outer(scale, scale))
    covariance = cho_solve(factor, left.T) / np.outer(scale, scale)
    outward = problem.map @ free
    result = outward @ covariance @ outward.T
    open_ones = [problem.names.index(name) for name in problem.unseen]
    result[open_ones, open_ones] = np.inf
    return np.asarray(result, dtype=float)


def _curvature(problem: FeasibleProblem, unknowns: Array) -> Array:
    """Half the Hessian (Z, Z) of the divergence at a solution's bodies, no eigenvalue of which counts below 1."""
    result = np.zeros((len(unknowns), len(unknowns)))
    for place, (pull, matrix) in enumerate(zip(problem.pulls, problem.matrices(unknowns), strict=True)):
        sizes, axes = np.linalg.eigh(matrix)
        inverse = axes / np.maximum(sizes, 1.0) @ axes.T
        block = slice(10 * place, 10 * place + 10)
        product = np.einsum('ij,kjm->kim', inverse, BASIS)
        result[block, block] = 0.5 * pull * np.einsum('kim,lmi->kl', product, product)
    return result
