"""Physical parameters that can exist, from identified base parameters: feasible by construction.

:func:`feasible_parameters` returns a machine whose bodies have positive mass and a positive definite pseudo-inertia,
whose friction is not negative and whose parameters keep the user's bounds: there is no other result. Within that it
stays as near to the nominal bodies as the base values allow.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from pkm_description.arrays import Array
from pkm_description.errors import ConfigurationError
from scipy.linalg import cho_factor, cho_solve, cholesky, null_space, solve_triangular
from scipy.optimize import minimize

from pkm_identification.errors import InfeasibleParametersError
from pkm_identification.estimator.bodies import BASIS, least_eigenvalues
from pkm_identification.estimator.feasible_problem import FeasibleProblem
from pkm_identification.estimator.least_squares import SolverRecord
from pkm_identification.estimator.residual_covariance import definite

#: weights of the pull that are tried in turn, and the change of base values, in standard deviations, that it may cost
WEIGHTS, KEPT = np.geomspace(1.0, 1e-8, 17).tolist(), 0.98
#: whitened slack, and eigenvalue against the nominal body's, up to which a limit counts as active
ACTIVE_SLACK, ACTIVE_EIGENVALUE = 1e-5, 1e-3
#: by which a limit may be passed: rounding of the engines
ACCURACY = 1e-7
#: last factor of the limits' barrier, in units of the cost (chi-square), and steps downwards of factor and weight
LAST_BARRIER, STEP = 1e-6, 0.1

#: iterations until the coordinates are chosen anew, how often at the last weight and on the way to it, and the gradient
#: in them that is enough: half of its square is what the cost still has to lose
ITERATIONS, ROUNDS, ROUNDS_ON_THE_WAY, GRADIENT = 20, 40, 5, 1e-3


class BarrierEngine:
    """Newton's method in a trust region on the pseudo-inertias themselves, where the problem is convex.

    The divergence is its own barrier; linear limits get a logarithmic one, which fades. SciPy's ``trust-exact`` has
    exact gradient and Hessian, and takes a cost of infinity outside as a step too long.

    Parameters
    ----------
    problem : the problem
    inside : (Z,) keeps all limits strictly
    """

    name = 'barrier'

    def __init__(self, problem: FeasibleProblem, inside: Array) -> None:
        self._problem = problem
        self._inside = inside
        self._free = null_space(problem.held) if len(problem.held) else None
        self._square = 2.0 * problem.matrix.T @ problem.matrix

    def solve(self, weight: float, start: Array | None = None) -> tuple[Array, SolverRecord]:
        """Unknowns (Z,) at the optimum, from the solution of a near weight, or by ever smaller weights from 1 on."""
        problem, unknowns = self._problem, self._inside if start is None else start
        iterations = evaluations = 0
        last = LAST_BARRIER if len(problem.limits) else 0.0
        stages = [(weight, last)]
        if start is None:
            # from where pull and barrier outweigh the misfit: they keep Newton's steps off the edge
            first = max(1.0, problem.misfit(unknowns) / max(len(problem.target), 1))
            count = 1 + int(np.ceil(np.log(min(weight, LAST_BARRIER if last else weight) / first) / np.log(STEP)))
            weights = np.maximum(first * STEP ** np.arange(count), weight)
            barriers = np.maximum(first * STEP ** np.arange(count), last) if last else np.zeros(count)
            stages = [*zip(weights.tolist(), barriers.tolist(), strict=True)]
        for now in stages:
            for _ in range(ROUNDS if now is stages[-1] else ROUNDS_ON_THE_WAY):
                unknowns, found = self._newton(unknowns, *now)
                iterations, evaluations = iterations + found.nit, evaluations + found.nfev
                gain = float(np.sqrt(np.sum(found.jac**2)))
                if gain <= GRADIENT:
                    break
        record = SolverRecord(
            'barrier, trust-exact on pseudo-inertias', iterations, gain <= GRADIENT,
            {
                'gradient in the metric of the Hessian': gain,
                'duality gap of the limits': now[1] * len(problem.limits),
            },
            evaluations, str(found.message), problem.cost(unknowns, weight),
        )  # fmt: skip
        return unknowns, record

    def centred(self, start: Array, barrier: float) -> Array:
        """Unknowns (Z,) that the limits push from them, from ``start`` inside."""
        return self._newton(start, 1.0 / float(self._problem.pulls.max(initial=1.0)), barrier)[0]

    def _newton(self, start: Array, weight: float, barrier: float) -> tuple[Array, Any]:
        """Minimise from ``start`` for one pair of weights, in coordinates in which its Hessian is one."""
        free = np.eye(len(start)) if self._free is None else self._free
        hessian = free.T @ self._derivatives(start, weight, barrier)[1] @ free
        scale = np.sqrt(np.diag(hessian))
        # at the edge of what can exist its condition number exceeds the digits
        root = cholesky(definite(hessian / np.outer(scale, scale)), lower=False)
        steps = free @ (solve_triangular(root, np.eye(len(root))) / scale[:, None])

        def cost(step: Array) -> float:
            return self._cost(start + steps @ step, weight, barrier)

        def gradient(step: Array) -> Array:
            return np.asarray(steps.T @ self._derivatives(start + steps @ step, weight, barrier)[0], dtype=float)

        def second(step: Array) -> Array:
            return np.asarray(
                steps.T @ self._derivatives(start + steps @ step, weight, barrier)[1] @ steps, dtype=float
            )

        found = minimize(
            cost, np.zeros(len(root)), jac=gradient, hess=second, method='trust-exact',
            options={'gtol': 1e-6, 'maxiter': ITERATIONS, 'initial_trust_radius': 1.0, 'max_trust_radius': 1e4},
        )  # fmt: skip
        return start + steps @ found.x, found

    def _cost(self, unknowns: Array, weight: float, barrier: float) -> float:
        problem = self._problem
        slack = problem.limit_values - problem.limits @ unknowns
        if slack.size and slack.min() <= 0.0:
            return np.inf
        return problem.cost(unknowns, weight) - barrier * float(np.log(slack).sum())

    def _derivatives(self, unknowns: Array, weight: float, barrier: float) -> tuple[Array, Array]:
        """Gradient (Z,) and Hessian (Z, Z); inside only."""
        problem = self._problem
        gradient = 2.0 * problem.matrix.T @ (problem.matrix @ unknowns - problem.target)
        inverse = np.asarray(np.linalg.inv(problem.matrices(unknowns)), dtype=float)
        slopes = weight * problem.pulls[:, None, None] * (np.eye(4) - inverse)
        gradient[: problem.size] += np.einsum('bij,kij->bk', slopes, BASIS).ravel()
        hessian = 2.0 * weight * problem.curvature(inverse)
        hessian += self._square
        if len(problem.limits):
            slack = problem.limit_values - problem.limits @ unknowns
            gradient += barrier * problem.limits.T @ (1.0 / slack)
            hessian += barrier * (problem.limits.T / slack**2) @ problem.limits
        return gradient, hessian


@dataclass(frozen=True)
class FeasibleParameters:
    """A machine that can exist, nearest to the base values and the nominal bodies.

    Attributes
    ----------
    names, values : (P,) all physical parameters; held ones are nominal
    covariance : (P, P), with what the trust in the nominal bodies leaves open; infinite for friction that no base
        parameter contains. Limits are not counted: they make it only smaller
    base_shifts : (B,) distance of the base parameters of the values from the identified ones, in standard deviations
    chi_square : squared distance of all of them, with their correlations
    weight : of the pull towards the nominal bodies; 1 takes the trust in them at its word
    least_eigenvalue : of each body's pseudo-inertia, by name
    active : limits that hold the solution back, in words
    solver : the engine's own figures
    """

    names: tuple[str, ...]
    values: Array
    covariance: Array
    base_shifts: Array
    chi_square: float
    weight: float
    least_eigenvalue: dict[str, float]
    active: tuple[str, ...]
    solver: SolverRecord

    @property
    def std(self) -> Array:
        """Square roots of the covariance's diagonal (P,)."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0))


def feasible_parameters(
    problem: FeasibleProblem,
    weight: float | None = None,
    engine: Callable[[FeasibleProblem, Array], Any] = BarrierEngine,
) -> FeasibleParameters:
    """Solve a problem of :func:`~pkm_identification.estimator.feasible_problem.feasible_problem`.

    Parameters
    ----------
    problem : base values, nominal machine, trust in it, limits
    weight : of the pull towards the nominal bodies. 1 takes the trust in them at its word: the most probable machine,
        best where the drawings are right; it corrects base values that the data leave open. ``None`` takes the largest
        weight up to 1 with which every base value stays within one standard deviation of the identified one, as far
        as machines can exist there: the nominal bodies only share out what the data leave open
    engine : class like :class:`BarrierEngine`; another one only for comparison

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


def _strongest_pull(problem: FeasibleProblem, solver: BarrierEngine) -> tuple[Array, SolverRecord, float]:
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
    size = len(found)
    # nothing but the nominal bodies and the limits counts; these are eased by what is missing, again and again
    task = replace(problem, matrix=1e-2 * np.eye(size), target=1e-2 * found)
    for attempt in range(12):
        slack = problem.limit_values - problem.limits @ found
        if not slack.size or slack.min() > 1e-6:
            return found
        eased = replace(task, limit_values=problem.limit_values + 1e-3 - slack.min())
        found = BarrierEngine(eased, found).centred(found, 10.0**attempt)
    names = [name for name, room in zip(problem.limit_names, slack, strict=True) if room <= 1e-6]
    raise ConfigurationError(
        'no machine that can exist keeps all limits; in the way: ' + '; '.join(names) + '. Widen these bounds'
    )


def _result(problem: FeasibleProblem, unknowns: Array, record: SolverRecord, weight: float) -> FeasibleParameters:
    values = problem.parameters(unknowns)
    fit = problem.matrix @ unknowns - problem.target
    return FeasibleParameters(
        problem.names, values, covariance_of(problem, unknowns, weight), problem.shifts(unknowns), float(fit @ fit),
        weight,
        {body: one for body, one in least_eigenvalues(problem.names, values).items() if body in problem.bodies},
        active_limits(problem, unknowns), record,
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
    sizes, axes = np.linalg.eigh(problem.matrices(unknowns))
    # no eigenvalue of a body counts below that of the nominal one
    inverses = axes / np.maximum(sizes, 1.0)[:, None] @ np.swapaxes(axes, 1, 2)
    normal = fit + weight * problem.curvature(inverses)
    spread = fit + weight**2 * problem.curvature(np.broadcast_to(np.eye(4), inverses.shape))
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
